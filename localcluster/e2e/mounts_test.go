//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Secrets and claims made on demand, in both roles; volumes and their folders go with the claims.
func TestSecretsAndClaims(t *testing.T) {
	j, ctx := newJob(t).withApps(), t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"}, StringData: map[string]string{"password": "hunter2"}}
	if _, err := cluster.client.CoreV1().Secrets(j.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for role, class := range map[string]string{"driver": "standard", "executor": "standard-immediate"} {
		claim := "spark.kubernetes." + role + ".volumes.persistentVolumeClaim.data."
		j.with("spark.kubernetes."+role+".secrets.login=/secrets", "spark.kubernetes."+role+".secretKeyRef.PASSWORD=login:password",
			claim+"mount.path=/claim", claim+"options.claimName=OnDemand", claim+"options.storageClass="+class, claim+"options.sizeLimit=64Mi")
	}
	j.submit("local:///apps/mounts.py")
	claims := map[string]corev1.PersistentVolumeClaim{}
	eventually(t, 2*time.Minute, "the claims of driver and executors are bound", func() (bool, string) {
		list, err := cluster.client.CoreV1().PersistentVolumeClaims(j.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, c := range list.Items {
			if c.Status.Phase == corev1.ClaimBound {
				claims[c.Name] = c
			}
		}
		return len(claims) == 3, fmt.Sprintf("%d of %d claims", len(claims), len(list.Items))
	})
	j.exits(0)
	const saw = "hunter2,hunter2,kept,True"
	j.logs("driver saw " + saw).logs("executors saw ['" + saw + "']")
	for name, c := range claims {
		if c.Spec.AccessModes[0] != corev1.ReadWriteOncePod {
			t.Errorf("claim %s: %v", name, c.Spec.AccessModes)
		}
	}
	if err := cluster.client.CoreV1().Pods(j.namespace).Delete(ctx, j.driver().Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	j.everythingGoes()
	eventually(t, time.Minute, "claims, volumes and folders are gone", func() (bool, string) {
		list, err := cluster.client.CoreV1().PersistentVolumeClaims(j.namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) > 0 {
			return false, fmt.Sprintf("%v: %d claims", err, len(list.Items))
		}
		volumes, err := cluster.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, v := range volumes.Items {
			if r := v.Spec.ClaimRef; r != nil && r.Namespace == j.namespace {
				return false, "volume " + v.Name
			}
		}
		for _, c := range claims {
			if _, err := os.Stat(filepath.Join(cluster.stateDir, "node/claims", c.Spec.VolumeName)); !os.IsNotExist(err) {
				return false, fmt.Sprintf("folder of %s: %v", c.Name, err)
			}
		}
		return true, ""
	})
}

// --status and --kill by namespace and driver pod, and by a pattern.
func TestKillAndStatus(t *testing.T) {
	j := newJob(t).withApps().with("spark.kubernetes.submission.waitAppCompletion=false", "spark.kubernetes.driver.pod.name=night-run")
	j.submit("local:///apps/rounds.py", "/signals", "2").exits(0)
	eventually(t, 4*time.Minute, "the application runs", func() (bool, string) {
		_, err := os.Stat(filepath.Join(j.signals, "running"))
		return err == nil, fmt.Sprint(err)
	})
	ask := func(args ...string) string {
		j.output.reset()
		j.start("submit", append([]string{"--master", cluster.master}, args...)...).exits(0)
		return j.output.String()
	}
	status := ask("--status", j.namespace+":night-*")
	for _, want := range []string{"pod name: night-run", "namespace: " + j.namespace, "phase: Running", "container name: spark-kubernetes-driver"} {
		if !strings.Contains(status, want) {
			t.Errorf("--status lacks %q:\n%s", want, status)
		}
	}
	ask("--kill", j.namespace+":night-run")
	j.everythingGoes()
}
