package main

import (
	"bufio"
	"context"
	_ "embed" // timeline.py
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/bench/rig"
)

//go:embed timeline.py
var timeline []byte

// What is measured of the start of an application, from the start of the driver's container.
const (
	contextReady = "container start to SparkContext"
	firstPost    = "container start to the first executor's POST"
	firstTask    = "container start to the first task"
	managerShare = "the manager's process to the first executor's POST"
)

func startMeasurement() measurement {
	return measurement{name: "start", title: "Start of an application", node: true, audit: true, limit: 16 * time.Minute,
		how: "Real driver and executor containers of Spark 4.2.0 with a PySpark program that tells its times, with the stock manager and " +
			"with ours, in turns; ours a second time with an image that has class-data archives of the JVM's classes. The container's start is that of its first process, the POST's time is the audit log's. The manager's " +
			"own share is the time from the start of kubespark-manager until its first POST of an executor, with this program as the JVM.",
		run: (*bench).start, bounds: startBounds,
		goals: []goal{
			{"kubespark over stock until the SparkContext", "≤", 1, "×", ratio(contextReady, result.Kubespark, result.Stock)},
			{"kubespark over stock until the first executor's POST", "≤", 1, "×", ratio(firstPost, result.Kubespark, result.Stock)},
			{"kubespark over stock until the first task", "≤", 1, "×", ratio(firstTask, result.Kubespark, result.Stock)},
			{"sooner to the first task with class-data archives than without", "≥", 35, "%", func(m *result.Measurement) (float64, bool) {
				r, ok := result.Ratio(m.Get(result.Archived, firstTask), m.Get(result.Kubespark, firstTask))
				return 100 * (1 - r), ok
			}},
			{"the manager's own share, median", "≤", 150, "ms", ours(managerShare, 0.5)},
		}}
}

// times are what timeline.py prints, in seconds since the epoch.
type times struct {
	Container float64 `json:"container"`
	Context   float64 `json:"context"`
	Task      float64 `json:"task"`
}

func (b *bench) start(ctx context.Context) error {
	const ns = "start"
	if err := b.Namespace(ctx, ns); err != nil {
		return err
	}
	if err := b.shares(ctx); err != nil {
		return err
	}
	for _, c := range []contender{oursStart, archivedStart} {
		if err := b.Command(ctx, append([]string{"image", "build-spark", "--spark-home", b.sparkHome, "--kubespark", b.Bin, c.image}, c.build...)...); err != nil {
			return err
		}
	}
	contenders := []contender{oursStart, archivedStart}
	if b.stock {
		contenders = append(contenders, stockStart)
	}
	apps, err := appsFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(apps)
	for turn := range b.sizes.turns + 1 {
		for _, c := range contenders {
			if err := b.application(ctx, c, ns, apps, turn); err != nil {
				return err
			}
		}
	}
	return nil
}

// contender is one way to start an application.
type contender struct {
	who, image, agent string
	short             string // for names
	build             []string
	conf              map[string]string
}

var (
	withJar       = map[string]string{"spark.kubespark.jar": "/opt/kubespark/kubespark.jar"}
	stockStart    = contender{who: result.Stock, short: "stock", image: "kubespark/spark:4.2.0", agent: rig.StockAgent}
	oursStart     = contender{who: result.Kubespark, short: "kubespark", image: "kubespark/spark:4.2.0", agent: rig.ManagerAgent, conf: withJar}
	archivedStart = contender{who: result.Archived, short: "archived", image: "kubespark/spark:4.2.0-class-data", agent: rig.ManagerAgent, conf: withJar,
		build: []string{"--class-data"}}
)

// appsFolder holds the program, readable by the user that containers run as.
func appsFolder() (string, error) {
	dir, err := os.MkdirTemp("", "kubespark-bench-")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "timeline.py"), timeline, 0o644))
}

// shares starts managers on their own.
func (b *bench) shares(ctx context.Context) error {
	for i := range b.sizes.shareTurns {
		app := fmt.Sprintf("share-%d", i)
		w, err := b.WatchPods(ctx, "start", rig.Executors(app), "", nil)
		if err != nil {
			return err
		}
		m, err := b.OpenBridge(b.URL, "start", app, 1)
		if err != nil {
			return err
		}
		_, err = w.Reached(ctx, 1)
		w.Close()
		if err == nil {
			_, err = m.Stop(10 * time.Second)
		}
		if err = errors.Join(err, m.Close()); err != nil {
			return err
		}
		post, err := b.firstPost(rig.ManagerAgent, m.Spawned)
		if err != nil {
			return err
		}
		b.m.Add(result.Kubespark, managerShare, "ms", ms(post.Sub(m.Spawned)))
		b.m.Add(result.Kubespark, "of it until session.open is answered", "ms", ms(m.Opened.Sub(m.Spawned)))
		b.m.Add(result.Kubespark, "of it until session.start is answered", "ms", ms(m.Started.Sub(m.Opened)))
	}
	return nil
}

func (b *bench) firstPost(agent string, since time.Time) (time.Time, error) {
	found, err := rig.Requests(b.AuditLog(), agent, since)
	if err != nil {
		return time.Time{}, err
	}
	for _, r := range found {
		if r.Verb == "create" && r.ObjectRef.Resource == "pods" && r.ObjectRef.Subresource == "" {
			return r.Received, nil
		}
	}
	return time.Time{}, fmt.Errorf("the audit log has no POST of a pod by %s", agent)
}

// application runs one program from submission to end. The first turn warms the files.
func (b *bench) application(ctx context.Context, c contender, ns, apps string, turn int) error {
	name := fmt.Sprintf("%s-%d", c.short, turn)
	props := map[string]string{"spark.kubernetes.namespace": ns, "spark.kubernetes.container.image": c.image,
		"spark.kubernetes.driver.pod.name": name, "spark.executor.instances": "1", "spark.driver.memory": "512m", "spark.executor.memory": "512m",
		"spark.kubernetes.authenticate.driver.serviceAccountName": "default", "spark.kubernetes.node.selector.kubernetes.io/hostname": "local",
		"spark.kubernetes.driver.volumes.hostPath.apps.mount.path": "/apps", "spark.kubernetes.driver.volumes.hostPath.apps.options.path": apps,
		"spark.kubernetes.submission.waitAppCompletion": "true"}
	maps.Copy(props, c.conf)
	args := []string{"submit", "--master", "k8s://" + b.URL, "--deploy-mode", "cluster", "--name", name}
	for k, v := range props {
		args = append(args, "--conf", k+"="+v)
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, filepath.Join(b.Bin, "kubespark"), append(args, "local:///apps/timeline.py")...)
	cmd.Env = b.Env()
	if _, err := rig.Run(cmd); err != nil {
		return err
	}
	t, err := b.told(ctx, ns, name)
	if err != nil {
		return err
	}
	post, err := b.firstPost(c.agent, began)
	if err != nil || turn == 0 {
		return err
	}
	b.m.Add(c.who, contextReady, "s", t.Context-t.Container)
	b.m.Add(c.who, firstPost, "s", float64(post.UnixMicro())/1e6-t.Container)
	b.m.Add(c.who, firstTask, "s", t.Task-t.Container)
	return nil
}

// told reads the program's times from the driver's log.
func (b *bench) told(ctx context.Context, ns, pod string) (t times, err error) {
	log, err := b.Kube.Core().Get().Namespace(ns).Resource("pods").Name(pod).SubResource("log").Stream(ctx)
	if err != nil {
		return t, err
	}
	defer log.Close()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "TIMES "); ok {
			return t, json.Unmarshal([]byte(text), &t)
		}
	}
	return t, fmt.Errorf("the driver %s told no times", pod)
}
