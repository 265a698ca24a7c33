//go:build e2e

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	stockImage = "stock/spark:" + defaultSpark // Spark without anything of kubespark
	ownImage   = "kubespark:e2e"               // of make image
)

// loadImages makes the image that lacks kubespark, and loads the one that brings it.
func loadImages(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"image", "build-spark", "--state-dir", cluster.stateDir, "--spark-home", cluster.sparkHomes[defaultSpark], "--kubespark", "none", stockImage},
		{"image", "load", "--state-dir", cluster.stateDir, "--name", ownImage, cluster.bin + "/kubespark-image.tar"},
	} {
		if err := cluster.command("kubespark-cluster", args...); err != nil {
			t.Fatal(err)
		}
	}
}

// Jar and manager come into a stock image by an init container or an image volume, where a quota counts every container, the level is
// restricted, the root file system is read-only, and the user has a class path of their own.
func TestManagerOnAnyImage(t *testing.T) {
	loadImages(t)
	for name, volume := range map[string]string{"init container": "false", "image volume": "true"} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, "pod-security.kubernetes.io/enforce=restricted")
			j.hasQuota("requests.cpu=4", "requests.memory=8Gi", "limits.memory=8Gi", "pods=4")
			j.hasProgram("classpath.py")
			template := write(t, t.TempDir()+"/template.yaml", strings.Replace(readFile(t, "testdata/restricted.yaml"), "      volumeMounts:\n",
				"      volumeMounts:\n        - {name: apps, mountPath: /apps}\n", 1)+"    - {name: apps, configMap: {name: apps}}\n")
			const theirs = "/opt/theirs/first.jar"
			j.with("spark.kubernetes.container.image="+stockImage, "spark.kubespark.image="+ownImage, "spark.kubespark.image.volume="+volume,
				"spark.kubernetes.driver.podTemplateFile="+template, "spark.kubernetes.executor.podTemplateFile="+cluster.apps+"/restricted.yaml",
				"spark.driver.defaultExtraClassPath="+theirs)
			pods := j.watchPods()
			j.submit("--driver-class-path", "/opt/theirs/second.jar", "local:///apps/classpath.py").exits(0)
			createdBy(t, pods(), "kubespark")
			_, path, _ := strings.Cut(j.driverLog(), "class path: ")
			path, _, _ = strings.Cut(path, "\n")
			stock := strings.Index(path, "/opt/spark/jars/")
			if ours := strings.Index(path, "/opt/kubespark/kubespark.jar:"+theirs+":"); ours < 0 || ours > stock || !strings.Contains(path, "/opt/theirs/second.jar") {
				t.Errorf("the driver's class path is %s", path)
			}
			if init := j.driver().Spec.InitContainers; (len(init) == 1) != (volume == "false") {
				t.Errorf("%d init containers", len(init))
			}
			j.leavesNothing()
		})
	}
}

func (j *job) hasQuota(limits ...string) {
	j.t.Helper()
	hard := corev1.ResourceList{}
	for _, l := range limits {
		name, amount, _ := strings.Cut(l, "=")
		hard[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	if _, err := cluster.client.CoreV1().ResourceQuotas(j.namespace).Create(j.t.Context(), quota, metav1.CreateOptions{}); err != nil {
		j.t.Fatal(err)
	}
}

// programs is the ConfigMap of hasProgram.
const programs = "apps"

// hasProgram puts a test application into a ConfigMap.
func (j *job) hasProgram(name string) {
	j.t.Helper()
	apps := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: programs}, Data: map[string]string{name: readFile(j.t, "testdata/"+name)}}
	if _, err := cluster.client.CoreV1().ConfigMaps(j.namespace).Create(j.t.Context(), apps, metav1.CreateOptions{}); err != nil {
		j.t.Fatal(err)
	}
}

// An image with class-data archives starts driver and executor with them. A class path that begins otherwise than the archive's voids
// it and nothing else.
func TestClassDataArchives(t *testing.T) {
	const archived = "archived/spark:" + defaultSpark
	if err := cluster.command("kubespark-cluster", "image", "build-spark", "--state-dir", cluster.stateDir, "--spark-home", cluster.sparkHomes[defaultSpark],
		"--kubespark", cluster.bin, "--class-data", archived); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ driver, own string }{
		"image's class path": {driver: "/opt/class-data/kubespark.jsa"},
		"user's class path":  {own: "/opt/theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t).withApps().with("spark.kubernetes.container.image=" + archived)
			if tt.own != "" {
				j.with("spark.driver.extraClassPath=" + tt.own)
			}
			j.submit("local:///apps/archive.py").exits(0)
			log := j.driverLog()
			if maps := lineOf(log, "driver maps"); strings.Contains(maps, "kubespark.jsa") != (tt.driver != "") {
				t.Errorf("driver: %q", maps)
			}
			if maps := lineOf(log, "executor maps"); !strings.Contains(maps, "/opt/class-data/spark.jsa") {
				t.Errorf("executor: %q", maps)
			}
			j.leavesNothing()
		})
	}
}

// lineOf is the line of a log that begins so.
func lineOf(log, begin string) string {
	_, rest, _ := strings.Cut(log, begin)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
