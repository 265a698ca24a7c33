//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// compile makes the jar of a Java program in testdata.
func compile(t *testing.T, program string) string {
	t.Helper()
	classes := t.TempDir()
	javac := exec.Command("javac", "-nowarn", "-cp", filepath.Join(cluster.sparkHomes[defaultSpark], "jars", "*"), "-d", classes, "testdata/"+program+".java")
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return pack(t, filepath.Join(t.TempDir(), strings.ToLower(program)+".jar"), classes)
}

// A Java program from a jar of this machine, with a container beside Spark's in both roles' pods: the job has ended when
// Spark's container has, whatever the other does, and --follow shows the log of Spark's.
func TestJavaProgramBesideASidecar(t *testing.T) {
	j := newJob(t).withApps()
	j.withUploads()
	for _, role := range []string{"driver", "executor"} {
		j.with("spark.kubernetes."+role+".podTemplateFile="+cluster.apps+"/sidecar.yaml", "spark.kubernetes."+role+".podTemplateContainerName=spark")
	}
	j.submit("--class", "Words", "--follow", compile(t, "Words"), "to", "be", "or", "not", "to", "be").exits(0)
	j.prints("words {be=2, not=1, or=1, to=2}")
	if strings.Contains(j.output.String(), "beside Spark") {
		t.Error("--follow shows the other container's log")
	}
	driver := j.driver()
	if driver.Status.Phase != corev1.PodRunning {
		t.Errorf("the driver pod is %s while its sidecar runs", driver.Status.Phase)
	}
	for _, p := range j.executors() { // the sidecar may use its grace time
		if p.DeletionTimestamp == nil {
			t.Errorf("executor pod %s is not deleted", p.Name)
		}
	}
	if err := cluster.client.CoreV1().Pods(j.namespace).Delete(t.Context(), driver.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	j.everythingGoes()
}
