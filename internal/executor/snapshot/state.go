package snapshot

import "strings"

// state applies the rules of spec section 4 in their order; P12 comes before P5.
func (r *Reader) state(w *Wire) State {
	phase := strings.ToLower(w.Status.Phase)
	if w.Metadata.DeletionTimestamp != "" && phase != "running" && phase != "terminating" {
		return Deleted // P3
	}
	switch phase {
	case "", "pending":
		return Pending // P4
	case "running":
		return r.runningState(w)
	case "failed":
		return Failed
	case "succeeded":
		return Succeeded
	case "terminating":
		return Terminating
	}
	return Unknown // P9
}

func (r *Reader) runningState(w *Wire) State {
	spark := sparkStatus(w, r.Container)
	if r.RestartIsEnd && spark != nil && spark.RestartCount > 0 {
		return Failed // P12
	}
	if r.CheckAll && w.Spec.RestartPolicy == "Never" {
		for _, c := range w.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
				return Failed // P5
			}
		}
	}
	if spark != nil && spark.State.Terminated != nil {
		if spark.State.Terminated.ExitCode == 0 {
			return Succeeded // P6
		}
		return Failed
	}
	return Running // P7
}

func sparkStatus(w *Wire, name string) *WireContainer {
	for i := range w.Status.ContainerStatuses {
		if c := &w.Status.ContainerStatuses[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// exit gathers what the reason sent to Spark is made of (P11, L6, L7).
func (r *Reader) exit(w *Wire) *Exit {
	e := &Exit{Code: NoCode, Reason: w.Status.Reason, Message: w.Status.Message}
	if t := r.end(w); t != nil {
		e.Code, e.OOM, e.Cause = t.ExitCode, t.Reason == "OOMKilled", cause(t)
	}
	for _, c := range w.Status.Conditions {
		if c.Type == "DisruptionTarget" && c.Status == "True" {
			e.Disrupted = true
		}
	}
	for _, c := range w.Status.ContainerStatuses {
		e.Containers = append(e.Containers, container(c))
	}
	for _, c := range w.Status.InitContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			e.Init = append(e.Init, container(c))
		}
	}
	return e
}

// end is the termination that gives the exit code: the Spark container's, never another's (P11).
func (r *Reader) end(w *Wire) *WireTerminated {
	spark := sparkStatus(w, r.Container)
	if spark == nil {
		return nil
	}
	if r.RestartIsEnd && spark.RestartCount > 0 && spark.LastState.Terminated != nil {
		return spark.LastState.Terminated
	}
	return spark.State.Terminated
}

func container(c WireContainer) Container {
	out := Container{Name: c.Name, Image: c.Image}
	switch s := c.State; {
	case s.Running != nil:
		out.State = ContainerState{Kind: "running", StartedAt: s.Running.StartedAt}
	case s.Waiting != nil:
		out.State = ContainerState{Kind: "waiting", Reason: s.Waiting.Reason}
	case s.Terminated != nil:
		t := s.Terminated
		out.State = ContainerState{Kind: "terminated", StartedAt: t.StartedAt, FinishedAt: t.FinishedAt,
			ExitCode: t.ExitCode, Reason: t.Reason}
	}
	return out
}

// cause is what a termination says beyond its code: a reason that is not the usual one, and the first line of its message.
func cause(t *WireTerminated) string {
	reason := t.Reason
	if reason == "Error" || reason == "Completed" || reason == "OOMKilled" {
		reason = ""
	}
	text := firstLine(t.Message)
	if reason != "" && text != "" {
		reason += ": "
	}
	return reason + text
}
