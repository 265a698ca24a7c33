// Command submit-many submits many applications at once from one process and prints what became of each: the use of the
// package submit by another program.
//
//	go run ./examples/submit-many -master https://127.0.0.1:6443 -image kubespark/spark:4.2.0 -n 100
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func start() error {
	j := job{}
	flag.StringVar(&j.master, "master", "", "URL of the API server")
	flag.StringVar(&j.image, "image", "kubespark/spark:4.2.0", "Spark image")
	flag.StringVar(&j.namespace, "namespace", "default", "namespace of the applications")
	flag.StringVar(&j.serviceAccount, "service-account", "", "service account of the drivers")
	flag.StringVar(&j.program, "program", "local:///opt/spark/examples/pi.py", "main program in the image")
	flag.IntVar(&j.count, "n", 100, "how many applications")
	flag.IntVar(&j.parallel, "parallel", 32, "how many submissions at a time")
	flag.BoolVar(&j.wait, "wait", false, "wait for the applications to end")
	flag.Parse()
	if j.master == "" {
		return errors.New("-master is missing: the URL of the API server")
	}
	// The kubeconfig of the environment has the credentials; a service would bring a configuration of its own.
	cfg, err := submit.RESTConfig(conf.New(nil), j.master, os.LookupEnv)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return j.run(ctx, cfg, os.Stdout)
}

// job is what all applications have in common.
type job struct {
	master, image, namespace, serviceAccount, program string
	count, parallel                                   int
	wait                                              bool
}

// outcome is one line of the table.
type outcome struct {
	id    string
	took  time.Duration
	state string
	err   error
}

// run submits all applications through one client and prints the table.
func (j job) run(ctx context.Context, cfg *rest.Config, out io.Writer) error {
	client, err := submit.NewClient(cfg)
	if err != nil {
		return err
	}
	outcomes := make([]outcome, j.count)
	slots := make(chan struct{}, max(1, j.parallel))
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range outcomes {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			outcomes[i] = j.one(ctx, client, i)
		})
	}
	wg.Wait()
	return report(out, outcomes, time.Since(begin))
}

// one plans, creates and perhaps waits for one application.
func (j job) one(ctx context.Context, client *submit.Client, i int) (o outcome) {
	begin := time.Now()
	defer func() { o.took = time.Since(begin) }()
	props := map[string]string{"spark.kubernetes.namespace": j.namespace, "spark.kubernetes.container.image": j.image}
	if j.serviceAccount != "" {
		props["spark.kubernetes.authenticate.driver.serviceAccountName"] = j.serviceAccount
	}
	plan, err := submit.NewPlan(submit.Args{Master: "k8s://" + j.master, DeployMode: "cluster", Name: fmt.Sprintf("many-%03d", i),
		PrimaryResource: j.program, Conf: props}, submit.Env{UserName: "many"})
	if err != nil {
		return outcome{err: err}
	}
	o = outcome{id: plan.ID(), state: "submitted"}
	if o.err = client.Create(ctx, plan); o.err != nil || !j.wait {
		return o
	}
	result, err := client.Watch(ctx, plan.Submission)
	o.err, o.state = err, fmt.Sprintf("%s, code %d", result.Phase, result.ExitCode)
	return o
}

func report(out io.Writer, outcomes []outcome, took time.Duration) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	failed := 0
	fmt.Fprintln(w, "SUBMISSION\tTOOK\tSTATE")
	for _, o := range outcomes {
		if o.err != nil {
			failed++
			o.state = o.err.Error()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", o.id, o.took.Round(time.Millisecond), o.state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d applications in %s: %.0f a minute\n", len(outcomes), took.Round(time.Millisecond), float64(len(outcomes))/took.Minutes())
	if failed > 0 {
		return fmt.Errorf("%d of %d submissions failed", failed, len(outcomes))
	}
	return nil
}
