package feature

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// replacedValues says, one line each, which values of a pod template gave way to Spark's.
func replacedValues(whose string, template, built *sparkpod.SparkPod) []string {
	var lines []string
	note := func(field, old, new string) {
		if old != "" && old != new {
			lines = append(lines, fmt.Sprintf("The %s's %s %s is replaced by %s.", whose, field, old, new))
		}
	}
	t, b := &template.Pod.Spec, &built.Pod.Spec
	note("name", template.Pod.Name, built.Pod.Name)
	note("restartPolicy", string(t.RestartPolicy), string(b.RestartPolicy))
	note("schedulerName", t.SchedulerName, b.SchedulerName)
	note("hostname", t.Hostname, b.Hostname)
	note("serviceAccountName", t.ServiceAccountName, b.ServiceAccountName)
	note("serviceAccount", t.DeprecatedServiceAccount, b.DeprecatedServiceAccount)
	note("image", template.Container.Image, built.Container.Image)
	note("imagePullPolicy", string(template.Container.ImagePullPolicy), string(built.Container.ImagePullPolicy))
	note("terminationGracePeriodSeconds", grace(t.TerminationGracePeriodSeconds), grace(b.TerminationGracePeriodSeconds))
	note("lifecycle.preStop", preStopOf(template.Container), preStopOf(built.Container))
	noteAll := func(field string, old, new map[string]string) {
		for _, k := range sorted(old) {
			note(field+k, old[k], new[k])
		}
	}
	noteAll("label ", template.Pod.Labels, built.Pod.Labels)
	noteAll("annotation ", template.Pod.Annotations, built.Pod.Annotations)
	noteAll("nodeSelector ", t.NodeSelector, b.NodeSelector)
	was, is := template.Container.Resources, built.Container.Resources
	noteAll("resources.requests.", quantities(was.Requests), quantities(is.Requests))
	noteAll("resources.limits.", quantities(was.Limits), quantities(is.Limits))
	return lines
}

// preStopOf returns the program of a container's preStop hook.
func preStopOf(c *corev1.Container) string {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Exec == nil {
		return ""
	}
	return strings.Join(c.Lifecycle.PreStop.Exec.Command, " ")
}

func grace(seconds *int64) string {
	if seconds == nil {
		return ""
	}
	return strconv.FormatInt(*seconds, 10)
}

func quantities(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for k, q := range list {
		out[string(k)] = q.String()
	}
	return out
}
