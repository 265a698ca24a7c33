//go:build e2e && e2elong

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	leakPods  = 500
	leakAlive = 60      // pods that live at the same time
	leakMark  = "13579" // seconds that the pods' processes sleep, by which they are found
)

// 500 pods of several kinds; pods are deleted with grace and without, their processes are killed, and so is the node, again and again. When
// the pods are gone nothing of them is left on the machine: no process, mount, cgroup or file.
func TestNodeLeavesNothing(t *testing.T) {
	c := spare(t)
	c.start(t)
	defer func() {
		if out, code := c.run("down", "--state-dir", c.stateDir); code != 0 {
			t.Errorf("down: exit %d\n%s", code, out)
		}
		c.nothingLeft(t)
	}()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.stateDir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 100, 200
	c.client = kubernetes.NewForConfigOrDie(config)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	l := leak{t: t, c: c, rnd: rand.New(rand.NewPCG(seed, 0))}
	for made := 0; made < leakPods; {
		if pods := l.pods(); len(pods) < leakAlive {
			for range min(10, leakPods-made) {
				l.create(made)
				made++
			}
		}
		l.harm()
		if made%100 == 0 && l.rnd.IntN(3) == 0 || l.rnd.IntN(60) == 0 {
			l.killNode()
		}
	}
	for _, p := range l.pods() {
		l.delete(p.Name, int64(l.rnd.IntN(3)))
	}
	eventually(t, 2*time.Minute, "all pods are gone", func() (bool, string) {
		var left []string
		for _, p := range l.pods() {
			left = append(left, fmt.Sprintf("%s: %s, deleted %v, policy %s, %+v", p.Name, p.Status.Phase, p.DeletionTimestamp, p.Spec.RestartPolicy, p.Status.ContainerStatuses))
		}
		return len(left) == 0, strings.Join(left, "\n")
	})
	t.Logf("%d pods, %d processes and %d nodes killed, %d pods deleted", leakPods, l.processes, l.nodes, l.deleted)
	eventually(t, 30*time.Second, "nothing of the pods is left", func() (bool, string) {
		left := l.left()
		return len(left) == 0, strings.Join(left, "\n")
	})
}

type leak struct {
	t                         *testing.T
	c                         *testCluster
	rnd                       *rand.Rand
	processes, nodes, deleted int
}

func (l *leak) pods() []corev1.Pod {
	l.t.Helper()
	list, err := l.c.client.CoreV1().Pods("default").List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

// create makes a pod with files, memory and processes of its own: some end by themselves, some restart, some have a sidecar.
func (l *leak) create(n int) {
	p := shellPod(fmt.Sprintf("leak-%d", n), []string{
		"sleep " + leakMark + " & sleep 0.3", "trap '' TERM; sleep " + leakMark + " & wait; wait", "exec sleep " + leakMark, "exit 3",
	}[l.rnd.IntN(4)])
	p.Spec.RestartPolicy = []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure}[l.rnd.IntN(3)]
	grace := int64(l.rnd.IntN(3))
	p.Spec.TerminationGracePeriodSeconds = &grace
	mount(p, "disk", emptyDir("", ""))
	mount(p, "memory", emptyDir(corev1.StorageMediumMemory, "1Mi"))
	if l.rnd.IntN(4) == 0 {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []corev1.Container{{Name: "beside", Image: hostImage, RestartPolicy: &always, Command: []string{"sleep", leakMark}}}
	}
	if _, err := l.c.client.CoreV1().Pods("default").Create(l.t.Context(), p, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *leak) delete(pod string, grace int64) {
	err := l.c.client.CoreV1().Pods("default").Delete(l.t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	if err == nil {
		l.deleted++
	} else if !apierrors.IsNotFound(err) {
		l.t.Errorf("delete %s: %v", pod, err)
	}
}

// harm deletes a few pods and kills a few of their processes.
func (l *leak) harm() {
	pods := l.pods()
	for range min(6, len(pods)) {
		l.delete(pods[l.rnd.IntN(len(pods))].Name, int64(l.rnd.IntN(2)))
	}
	if own := l.own(); len(own) > 0 {
		if syscall.Kill(own[l.rnd.IntN(len(own))].pid, syscall.SIGKILL) == nil { // it may just have ended
			l.processes++
		}
	}
	time.Sleep(time.Duration(l.rnd.IntN(300)) * time.Millisecond)
}

// own are the processes of pods.
func (l *leak) own() []process {
	var own []process
	for _, p := range processes() {
		if strings.HasPrefix(p.cmdline, "sleep "+leakMark) {
			own = append(own, p)
		}
	}
	return own
}

func (l *leak) killNode() {
	for _, p := range processes() {
		if strings.Contains(p.cmdline, " node --state-dir="+l.c.stateDir) {
			if syscall.Kill(p.pid, syscall.SIGKILL) == nil {
				l.nodes++
			}
		}
	}
	time.Sleep(time.Second)
}

// left lists what pods have on the machine.
func (l *leak) left() []string {
	var left []string
	for _, p := range l.own() {
		left = append(left, fmt.Sprintf("process %d %s", p.pid, p.cmdline))
	}
	node := filepath.Join(l.c.stateDir, "node")
	for _, line := range l.c.leftovers() {
		if strings.HasPrefix(line, "mount ") && !strings.Contains(line, " "+node+"/disk ") {
			left = append(left, line)
		}
	}
	for _, dir := range []string{"pods", "logs", "rootfs", "runtime", "disk/volumes", "disk/claims"} {
		found, _ := filepath.Glob(filepath.Join(node, dir, "*"))
		left = append(left, found...)
	}
	sum := sha256.Sum256([]byte(node))
	cgroup := "kubespark-" + hex.EncodeToString(sum[:6])
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && filepath.Base(filepath.Dir(path)) == cgroup {
			left = append(left, "cgroup "+path)
		}
		return nil // cgroups come and go while they are listed
	})
	return left
}
