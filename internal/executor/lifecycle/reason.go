package lifecycle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// meaning is Spark's word for an exit code (L6).
func meaning(code int) string {
	switch code {
	case 0:
		return "(success)"
	case 1:
		return "(generic, look at logs to clarify)"
	case 10, 50:
		return "(Uncaught exception)"
	case 42:
		return "(Douglas Adams fan)"
	case 52:
		return "(JVM OOM)"
	case 53:
		return "(DiskStore failed to create temp dir)"
	case 126:
		return "(not executable - possibly perm or arch)"
	case 137:
		return "(SIGKILL, possible container OOM)"
	case 139:
		return "(SIGSEGV: that's unexpected)"
	case 255:
		return "(exit-1, your guess is as good as mine)"
	}
	return "(unexpected)"
}

func deletedText(p *snapshot.Pod) string {
	if p.Next > 0 {
		return fmt.Sprintf("The executor with id %d ended; its container was started again as executor %d.", p.ID, p.Next)
	}
	return fmt.Sprintf("The executor with id %d was deleted by a user or the framework.", p.ID)
}

// exitText is the text that Spark shows for a failed or finished executor, exactly as its users' log searches know it
// (L6).
func exitText(p *snapshot.Pod) string {
	e := p.Exit
	var reason, message string
	if e.Reason != "" {
		reason = "The API gave the following brief reason: " + e.Reason
	}
	if e.Message != "" {
		message = "The API gave the following message: " + e.Message
	}
	for _, c := range e.Init {
		message = strings.TrimLeft(fmt.Sprintf("%s\nThe init container %s ended with exit code %d.", message, c.Name,
			c.State.ExitCode), "\n")
	}
	var statuses []string
	for _, c := range e.Containers {
		statuses = append(statuses, containerText(c))
	}
	return fmt.Sprintf("\nThe executor with id %d exited with exit code %d%s.\n%s\n%s\n\n"+
		"The API gave the following container statuses:\n\n%s\n      ",
		p.ID, e.Code, meaning(e.Code), reason, message, strings.Join(statuses, "\n\n"))
}

func containerText(c snapshot.Container) string {
	lines := [][2]string{{"container name", c.Name}, {"container image", c.Image}}
	switch s := c.State; s.Kind {
	case "running":
		lines = append(lines, [2]string{"container state", "running"}, [2]string{"container started at", s.StartedAt})
	case "waiting":
		lines = append(lines, [2]string{"container state", "waiting"}, [2]string{"pending reason", s.Reason})
	case "terminated":
		lines = append(lines, [2]string{"container state", "terminated"}, [2]string{"container started at", s.StartedAt},
			[2]string{"container finished at", s.FinishedAt}, [2]string{"exit code", strconv.Itoa(s.ExitCode)},
			[2]string{"termination reason", s.Reason})
	default:
		lines = append(lines, [2]string{"container state", ""})
	}
	var b strings.Builder
	for _, l := range lines {
		value := l[1]
		if value == "" {
			value = "N/A"
		}
		fmt.Fprintf(&b, "\n\t %s: %s", l[0], value)
	}
	return b.String()
}

func missingText(id, registered, polled, delta int64) string {
	return fmt.Sprintf("The executor with ID %d (registered at %d ms) was not found in the cluster at the polling time "+
		"(%d ms) which is after the accepted detect delta time (%d ms) configured by "+
		"`spark.kubernetes.executor.missingPodDetectDelta`. The executor may have been deleted but the driver missed the "+
		"deletion event. Marking this executor as failed.", id, registered, polled, delta)
}

// signals are the usual ends above 128.
var signals = map[int]string{129: "SIGHUP", 130: "SIGINT", 134: "SIGABRT", 135: "SIGBUS", 137: "SIGKILL", 139: "SIGSEGV",
	143: "SIGTERM"}

// Summary is the driver log's one line about a lost executor.
func Summary(p *snapshot.Pod, state snapshot.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Executor %d lost: ", p.ID)
	e := p.Exit
	if e == nil {
		e = &snapshot.Exit{Code: snapshot.NoCode}
	}
	if state == snapshot.Deleted && p.Next > 0 {
		fmt.Fprintf(&b, "its container was started again as executor %d", p.Next)
	} else if state == snapshot.Deleted {
		b.WriteString("its pod was deleted")
	} else {
		b.WriteString("its pod " + strings.ToLower(state.String()))
	}
	if e.Code != snapshot.NoCode {
		fmt.Fprintf(&b, ", exit code %d", e.Code)
		if more := strings.Trim(signals[e.Code]+"; "+strings.TrimSuffix(e.Cause, "."), "; "); more != "" {
			b.WriteString(" (" + more + ")")
		}
	}
	if e.OOM {
		b.WriteString(", OOMKilled: the container passed its memory limit")
	}
	if e.Disrupted {
		b.WriteString(", disrupted by the cluster")
	}
	if e.Reason != "" {
		b.WriteString(", " + e.Reason)
	}
	if e.Message != "" {
		b.WriteString(": " + strings.TrimSuffix(strings.Join(strings.Fields(e.Message), " "), "."))
	}
	for _, c := range e.Init {
		fmt.Fprintf(&b, ", init container %s exit code %d", c.Name, c.State.ExitCode)
	}
	b.WriteString(" (pod " + p.Name)
	if p.Node != "" {
		b.WriteString(" on node " + p.Node)
	}
	b.WriteString(").")
	return b.String()
}
