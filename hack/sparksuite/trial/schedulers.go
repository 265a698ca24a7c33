package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Schedulers that can run beside the cluster's own, by the names under which pods ask for them.
const (
	Volcano  = "volcano"
	YuniKorn = "yunikorn"
)

// Schedulers are both.
var Schedulers = []string{Volcano, YuniKorn}

// Volcano's kinds that Spark uses.
var (
	Queues    = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}
	PodGroups = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"}
)

// schedulerConf is what Spark's VolcanoSuite and YuniKornSuite set for every test.
func schedulerConf(scheduler, namespace string) map[string]string {
	switch scheduler {
	case Volcano:
		return map[string]string{"spark.kubernetes.driver.scheduler.name": Volcano, "spark.kubernetes.executor.scheduler.name": Volcano}
	case YuniKorn:
		conf := map[string]string{"spark.kubernetes.scheduler.name": YuniKorn}
		for _, role := range []string{"driver", "executor"} {
			conf["spark.kubernetes."+role+".label.queue"] = "root." + namespace
			conf["spark.kubernetes."+role+".annotation.yunikorn.apache.org/app-id"] = "{{APP_ID}}"
		}
		return conf
	default:
		return nil
	}
}

// schedule starts a scheduler and waits until it works.
func (c *Cluster) schedule(ctx context.Context, name string) error {
	switch name {
	case Volcano:
		return c.volcano(ctx)
	case YuniKorn:
		return c.yunikorn(ctx)
	default:
		return fmt.Errorf("it is neither %s nor %s", Volcano, YuniKorn)
	}
}

// volcano starts its scheduler and its controllers. Its admission is left out: it would fill in what Spark's tests set.
func (c *Cluster) volcano(ctx context.Context) error {
	crds, conf := filepath.Join(c.Bin, "volcano-crds.yaml"), filepath.Join(c.Bin, "volcano-scheduler.conf")
	if err := c.cluster(ctx, "kubectl", "apply", "--server-side", "-f", crds); err != nil {
		return err
	}
	if err := c.cluster(ctx, "kubectl", "wait", "--for=condition=Established", "--timeout=60s", "-f", crds); err != nil {
		return err
	}
	if err := c.namespace(ctx, "volcano-system"); err != nil {
		return err
	}
	provisioners, err := c.provisioners(ctx)
	if err != nil {
		return err
	}
	common := []string{"--kubeconfig=" + c.Kubeconfig, "--leader-elect=false", "--enable-healthz=false", "-v=3"}
	if err := c.start("vc-scheduler", nil, append(common, "--scheduler-conf="+conf, "--ignored-provisioners="+provisioners)...); err != nil {
		return err
	}
	if err := c.start("vc-controller-manager", nil, common...); err != nil {
		return err
	}
	// The scheduler makes the queue, the controllers give it its state.
	return c.await(ctx, "queue default is open", func() error {
		q, err := c.Dynamic.Resource(Queues).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if state, _, err := unstructured.NestedString(q.Object, "status", "state"); err != nil || state != "Open" {
			return errors.Join(err, fmt.Errorf("its state is %q", state))
		}
		return nil
	})
}

// provisioners are those of all storage classes. Volcano takes each for a CSI driver and finds no node that has it: a
// provisioner of folders must be named to it.
func (c *Cluster) provisioners(ctx context.Context) (string, error) {
	classes, err := c.Client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	var names []string
	for _, class := range classes.Items {
		names = append(names, class.Provisioner)
	}
	return strings.Join(names, ","), nil
}

// yunikorn starts the scheduler with the settings it has without a ConfigMap: a queue for each namespace.
func (c *Cluster) yunikorn(ctx context.Context) error {
	if err := c.namespace(ctx, YuniKorn); err != nil {
		return err
	}
	if err := c.start("yunikorn-scheduler", []string{"NAMESPACE=" + YuniKorn}); err != nil {
		return err
	}
	return c.await(ctx, "its partition has the node", func() error {
		return answers(ctx, "http://127.0.0.1:9080/ws/v1/partition/default/nodes")
	})
}

func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

func (c *Cluster) namespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	return err
}

// await polls for two minutes at most, and no longer than the schedulers live.
func (c *Cluster) await(ctx context.Context, what string, condition func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		for _, d := range c.daemons {
			if dead := d.alive(); dead != nil {
				return dead
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within two minutes: %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(Every):
		}
	}
}
