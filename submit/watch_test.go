package submit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/kubetest"
)

var waitFor = Submission{AppID: "spark-1", AppName: "app", Namespace: "ns", PodName: "p", ContainerName: "spark-kubernetes-driver", ReportInterval: time.Second}

type object = kubetest.Object

func container(name string, state object) object {
	return object{"name": name, "image": "i", "state": state}
}

func exited(code int) object {
	return object{"terminated": object{"exitCode": code, "reason": "Error", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}}
}

func driverPod(phase string, containers ...any) object {
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "p", "namespace": "ns", "labels": object{"spark-role": "driver"}},
		"spec": object{}, "status": object{"phase": phase, "containerStatuses": containers}}
}

// watching runs Watch on a server whose driver pod is pending, while act changes things.
func watching(t *testing.T, s Submission, act func(*kubetest.Server)) (r Result, log string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := kubetest.New()
		srv.Put("pods", driverPod("Pending"))
		c, l := newTestClient(t, srv)
		go func() {
			time.Sleep(2500 * time.Millisecond)
			act(srv)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		r, err = c.Watch(ctx, s)
		log = l.String()
	})
	return r, log, err
}

func set(s *kubetest.Server, pod object) {
	s.Update("pods", "ns", "p", func(o object) { o["status"] = pod["status"] })
}

// S074 to S083: how an application may end, and what the exit code is then.
func TestWatchOutcomes(t *testing.T) {
	running := object{"running": object{"startedAt": "2026-01-01T00:00:00Z"}}
	stock := func(names ...string) Submission {
		s := waitFor
		s.Stock = map[string]bool{}
		for _, n := range names {
			s.Stock[n] = true
		}
		return s
	}
	tests := []struct {
		name    string
		sub     Submission
		act     func(*kubetest.Server)
		code    int
		deleted bool
		reason  string
	}{
		{name: "S074 succeeded", act: func(s *kubetest.Server) {
			set(s, driverPod("Succeeded", container("spark-kubernetes-driver", exited(0))))
		}},
		{name: "S075, C008 failed", act: func(s *kubetest.Server) { set(s, driverPod("Failed", container("spark-kubernetes-driver", exited(3)))) }, code: 3,
			reason: "the driver exited with 3 (Error)"},
		{name: "S075 stock", sub: stock("exit-code"), act: func(s *kubetest.Server) { set(s, driverPod("Failed", container("spark-kubernetes-driver", exited(3)))) },
			reason: "the driver exited with 3 (Error)"},
		{name: "S079, C010 deleted", act: func(s *kubetest.Server) { s.Remove("pods", "ns", "p") }, code: 1, deleted: true, reason: "the driver pod was deleted"},
		{name: "S080, C010 410 and then gone", act: func(s *kubetest.Server) {
			s.Fail(kubetest.Fault{Verb: "watch", Status: 410, Reason: "Expired"})
			s.DropWatches()
			time.Sleep(time.Second)
			s.Remove("pods", "ns", "p")
		}, code: 1, deleted: true, reason: "the driver pod was deleted"},
		{name: "C012 a sidecar that lives on, first in the list", act: func(s *kubetest.Server) {
			set(s, driverPod("Running", container("a-sidecar", running), container("spark-kubernetes-driver", exited(0))))
		}},
		{name: "C012 a sidecar that fails after a good end", act: func(s *kubetest.Server) {
			set(s, driverPod("Failed", container("sidecar", exited(137)), container("spark-kubernetes-driver", exited(0))))
		}},
		{name: "C013 failed, and its container still waits", act: func(s *kubetest.Server) {
			pod := driverPod("Failed", container("spark-kubernetes-driver", object{"waiting": object{"reason": "ContainerCreating"}}))
			pod["status"].(object)["reason"] = "Evicted"
			set(s, pod)
		}, code: 1, reason: "the driver pod failed: Evicted"},
		{name: "C010 deleted after a good end", act: func(s *kubetest.Server) {
			s.Update("pods", "ns", "p", func(o object) { // the end and the deletion come together
				o["status"] = driverPod("Running", container("spark-kubernetes-driver", exited(0)))["status"]
			})
			s.Remove("pods", "ns", "p")
		}},
		{name: "S081 a sidecar lives on", act: func(s *kubetest.Server) {
			set(s, driverPod("Running", container("spark-kubernetes-driver", exited(0)), container("sidecar", running)))
		}},
		{name: "S082 watches are refused", act: func(s *kubetest.Server) {
			s.Fail(kubetest.Fault{Verb: "watch", Status: 403, Reason: "Forbidden"})
			s.DropWatches()
			time.Sleep(time.Minute)
			set(s, driverPod("Failed", container("spark-kubernetes-driver", exited(143))))
		}, code: 143, reason: "the driver exited with 143 (Error)"},
		{name: "out of memory", act: func(s *kubetest.Server) {
			s.Update("pods", "ns", "p", func(o object) {
				o["spec"] = object{"containers": []any{object{"name": "spark-kubernetes-driver", "resources": object{"limits": object{"memory": "1408Mi"}}}}}
				o["status"] = driverPod("Failed", container("spark-kubernetes-driver", object{"terminated": object{"exitCode": 137, "reason": "OOMKilled"}}))["status"]
			})
		}, code: 137, reason: "the driver exited with 137 (OOMKilled): it needed more memory than its limit of 1408Mi; raise spark.driver.memory, or spark.driver.memoryOverhead for what is beside the heap"},
		{name: "a start that fails", act: func(s *kubetest.Server) {
			set(s, driverPod("Failed", container("spark-kubernetes-driver", object{"terminated": object{"exitCode": 128, "reason": "StartError", "message": "no such file:\n/opt/entrypoint.sh"}})))
		}, code: 128, reason: "the driver exited with 128 (StartError): no such file: /opt/entrypoint.sh"},
		{name: "an init container that fails", act: func(s *kubetest.Server) {
			pod := driverPod("Failed")
			pod["status"].(object)["initContainerStatuses"] = []any{container("fetch", exited(2))}
			set(s, pod)
		}, code: 1, reason: "the driver pod failed: its init container fetch exited with 2 (Error)"},
		{name: "S083 evicted", act: func(s *kubetest.Server) {
			s.Update("pods", "ns", "p", func(o object) {
				o["status"] = object{"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
			})
		}, code: 1, reason: "the driver pod failed: Evicted: low on memory"},
		{name: "S078 410 and on", act: func(s *kubetest.Server) {
			for range 5 {
				s.ExpireWatches()
				time.Sleep(300 * time.Millisecond)
			}
			set(s, driverPod("Succeeded"))
		}},
		{name: "C009 the end comes while no watch is open", act: func(s *kubetest.Server) {
			s.Fail(kubetest.Fault{Verb: "watch", Times: 3, Status: 500})
			s.Fail(kubetest.Fault{Verb: "get", Times: 2, Status: 503})
			s.DropWatches()
			set(s, driverPod("Failed", container("spark-kubernetes-driver", exited(7))))
		}, code: 7, reason: "the driver exited with 7 (Error)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.sub.AppID == "" {
				tt.sub = waitFor
			}
			r, log, err := watching(t, tt.sub, tt.act)
			if err != nil || r.ExitCode != tt.code || r.Deleted != tt.deleted || r.Reason != tt.reason {
				t.Errorf("%+v, %v\n%s", r, err, log)
			}
			if !strings.HasSuffix(log, "INFO Application app with application ID spark-1 and submission ID ns:p finished\n") {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// S074: the lines of a plain run; state only when it changes, the phase at each interval and once more at the end.
func TestWatchLines(t *testing.T) {
	_, log, err := watching(t, waitFor, func(s *kubetest.Server) {
		s.Update("pods", "ns", "p", func(o object) { o["metadata"].(object)["annotations"] = object{"a": "b"} }) // nothing that is shown
		set(s, driverPod("Succeeded", container("spark-kubernetes-driver", exited(0))))
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "INFO") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		"INFO State changed, new state:",
		"INFO Waiting for application app with application ID spark-1 and submission ID ns:p to finish...",
		"INFO Application status for spark-1 (phase: Pending)",
		"INFO Application status for spark-1 (phase: Pending)",
		"INFO State changed, new state:",
		"INFO Application status for spark-1 (phase: Succeeded)",
		"INFO Container final statuses:",
		"INFO Application app with application ID spark-1 and submission ID ns:p finished",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// S078: watches that break at once are not opened in a hot loop.
func TestWatchBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.New()
		s.Put("pods", driverPod("Running"))
		s.Fail(kubetest.Fault{Verb: "watch", Status: 410, Reason: "Expired"})
		c, _ := newTestClient(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Watch(ctx, waitFor); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if n := len(s.Calls("watch", "pods")); n < 10 || n > 25 {
			t.Errorf("%d watches in a minute", n)
		}
	})
}

// S076, S077, S083: the exact text of a state.
func TestStateText(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "u", Labels: map[string]string{"c": "d", "a": "b"}, CreationTimestamp: at},
		Spec:   corev1.PodSpec{ServiceAccountName: "sa", NodeName: "n1", Volumes: []corev1.Volume{{Name: "v1"}, {Name: "v2"}}},
		Status: corev1.PodStatus{Phase: "Running", StartTime: &at}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "spark", Image: "i1", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", StartedAt: at, FinishedAt: at}}},
		{Name: "w", Image: "i2", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
		{Name: "x", Image: "i3", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}},
		{Name: "y", Image: "i4"},
	}
	want := "\n\t pod name: p\n\t namespace: ns\n\t labels: a -> b, c -> d\n\t pod uid: u\n\t creation time: 2026-01-02T03:04:05Z" +
		"\n\t service account name: sa\n\t volumes: v1, v2\n\t node name: n1\n\t start time: 2026-01-02T03:04:05Z\n\t phase: Running\n\t container status: " +
		"\n\t\t container name: w\n\t\t container image: i2\n\t\t container state: waiting\n\t\t pending reason: CrashLoopBackOff\n\n" +
		"\n\t\t container name: x\n\t\t container image: i3\n\t\t container state: running\n\t\t container started at: 2026-01-02T03:04:05Z\n\n" +
		"\n\t\t container name: y\n\t\t container image: i4\n\t\t container state: N/A\n\n" +
		"\n\t\t container name: spark\n\t\t container image: i1\n\t\t container state: terminated\n\t\t container started at: 2026-01-02T03:04:05Z" +
		"\n\t\t container finished at: 2026-01-02T03:04:05Z\n\t\t exit code: 3\n\t\t termination reason: Error"
	if diff := cmp.Diff(want, stateText(pod, "spark")); diff != "" {
		t.Error(diff)
	}
	empty := "\n\t pod name: N/A\n\t namespace: N/A\n\t labels: N/A\n\t pod uid: N/A\n\t creation time: N/A\n\t service account name: N/A" +
		"\n\t volumes: N/A\n\t node name: N/A\n\t start time: N/A\n\t phase: N/A\n\t container status: N/A"
	if diff := cmp.Diff(empty, stateText(&corev1.Pod{}, "spark")); diff != "" {
		t.Error(diff)
	}
}

// S073: what is said without waiting.
func TestReportDeployed(t *testing.T) {
	l := &lines{}
	(&Client{log: slog.New(l)}).ReportDeployed(waitFor)
	want := "INFO Deployed Spark application app with application ID spark-1 and submission ID ns:p into Kubernetes\nINFO pod name: p\n"
	if diff := cmp.Diff(want, l.String()); diff != "" {
		t.Error(diff)
	}
}
