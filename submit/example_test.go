package submit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubespark/kubespark/internal/kubetest"
	"github.com/kubespark/kubespark/submit"
)

// A program of its own submits an application without a child process: a plan, a client for the cluster, and the wait.
func Example() {
	ctx := context.Background()
	plan, err := submit.NewPlan(submit.Args{
		Master: "k8s://https://10.0.0.1:6443", DeployMode: "cluster", Name: "nightly report",
		PrimaryResource: "local:///opt/spark/app/report.py",
		Conf: map[string]string{
			"spark.kubernetes.namespace":                              "reports",
			"spark.kubernetes.container.image":                        "example/report:1",
			"spark.kubernetes.submission.waitAppCompletion":           "false",
			"spark.kubernetes.driver.pod.name":                        "nightly-report",
			"spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
		},
	}, submit.Env{})
	if err != nil {
		log.Fatal(err)
	}
	cluster := kubetest.New().Config() // here: in memory; else rest.InClusterConfig() or submit.RESTConfig(…)
	client, err := submit.NewClient(cluster)
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Create(ctx, plan); err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.ID())
	// Output: reports:nightly-report
}
