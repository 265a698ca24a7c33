package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The words of FAKE_SCRIPT:
//
//	open-error=CODE   answer session.open with this error
//	die-at-open       end before the first answer
//	die-at-resume     end before the first answer if another child was there before
//	start-error       answer session.start with an error
//	exit=CODE         ask for the driver's end with this code after the start
//	deny              refuse the second executor before it registers, and ask the same for the first after it has
//	no-ack            never acknowledge a command
//	die-at-stop       end instead of answering the first session.stop
//	build             ask for the user's feature steps on the pods of executors 1 and 2
//	idle              start no executor
//	hang              the first child stops reading and answering at the second target
//	execid            start the executors without ids: they ask for them
//	remove-lost       report executors whose connection broke as ended
//	remove            report executor 1 as ended as soon as it is registered, twice

type openParams struct {
	AppID  string            `json:"appId"`
	Secret string            `json:"authSecret"`
	Conf   map[string]string `json:"conf"`
	Resume *struct {
		Totals    map[string]int   `json:"totals"`
		Executors map[string]int64 `json:"executors"`
	} `json:"resume"`
}

func (f *fake) handle(m Message) error {
	switch m.Method {
	case "session.open":
		return f.handleOpen(m)
	case "session.start":
		return f.handleStart(m)
	case "session.stop":
		return f.handleStop(m)
	case "executor.disconnected":
		return f.handleDisconnected(m)
	case "executor.registered":
		return f.handleRegistered(m)
	case "ping":
		f.reply(m, struct{}{})
	case "targets.set", "executors.kill", "executors.release", "conf.set", "execId.assigned":
		return f.acknowledge(m)
	}
	return nil
}

func (f *fake) reply(m Message, result any) { f.send(Message{ID: m.ID, Result: raw(result)}) }

func (f *fake) refuse(m Message, code int, text string) {
	f.send(Message{ID: m.ID, Error: &RPCError{Code: code, Message: text}})
}

func (f *fake) handleOpen(m Message) error {
	if err := json.Unmarshal(m.Params, &f.open); err != nil {
		return err
	}
	if _, ok := f.script["die-at-open"]; ok {
		return fmt.Errorf("told to die")
	}
	if _, ok := f.script["die-at-resume"]; ok && f.open.Resume != nil {
		return fmt.Errorf("told to die again")
	}
	if code, ok := f.script["open-error"]; ok {
		n, err := strconv.Atoi(code)
		if err != nil {
			return err
		}
		f.refuse(m, n, "told to refuse")
		return nil
	}
	f.reply(m, map[string]any{"protocol": 1, "managerVersion": "fake", "pid": os.Getpid(), "driverPodUid": ""})
	return nil
}

func (f *fake) handleStart(m Message) error {
	var p struct {
		Conf          map[string]string `json:"conf"`
		InitialTarget int               `json:"initialTarget"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err
	}
	f.conf = p.Conf
	if _, ok := f.script["start-error"]; ok {
		f.refuse(m, -32002, "told to refuse the start")
		return nil
	}
	f.reply(m, struct{}{})
	f.notify("log", map[string]string{"level": "INFO", "logger": "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsAllocator",
		"text": "the fake manager has started"})
	f.notify("metrics", map[string]any{"values": map[string]int{"pods.running": 0}})
	if _, ok := f.script["build"]; ok {
		f.build("1")
		f.build("2")
	}
	if code, ok := f.script["exit"]; ok {
		n, err := strconv.Atoi(code)
		if err != nil {
			return err
		}
		f.notify("app.exit", map[string]any{"code": n, "text": "told to end the application"})
		return nil
	}
	if _, ok := f.script["idle"]; ok {
		return nil
	}
	if _, ok := f.script["execid"]; ok {
		for i := range p.InitialTarget {
			f.startExecutorAs("EXECID", "pod-"+strconv.Itoa(i))
		}
		return nil
	}
	missing := p.InitialTarget
	if r := f.open.Resume; r != nil {
		missing = r.Totals["0"] - len(r.Executors)
	}
	if missing > 0 {
		f.call("ids.reserve", map[string]int{"n": missing}, f.create)
	}
	return nil
}

// build has the user's own feature steps run on a pod.
func (f *fake) build(id string) {
	f.call("pod.build", map[string]any{"id": id, "profile": 0, "steps": strings.Split(f.conf["spark.kubernetes.executor.pod.featureSteps"], ","),
		"driverPodName": "driver", "driverPodUid": "driver-uid",
		"pod": map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "exec-" + id, "labels": map[string]string{"a": "b"}},
			"spec": map[string]any{"containers": []any{}, "newPodField": map[string]any{"x": 1}}},
		"container": map[string]any{"name": "spark", "newField": "kept", "resources": map[string]any{"limits": map[string]any{"memory": "1408Mi"}}},
	}, func(m Message) {
		if m.Error != nil {
			f.note("not built", raw(m.Error))
			return
		}
		f.note("built", m.Result)
	})
}

// create starts the executors whose ids were just reserved.
func (f *fake) create(m Message) {
	var ids struct{ From, To int }
	if err := json.Unmarshal(m.Result, &ids); err != nil {
		f.note("bad answer: "+err.Error(), m.Result)
		return
	}
	_, deny := f.script["deny"]
	for id := ids.From; id <= ids.To; id++ {
		name := strconv.Itoa(id)
		if deny && id == 2 {
			f.call("executors.deny", map[string][]string{"ids": {name}}, func(m Message) {
				f.note("denied", m.Result)
				f.startExecutor(name)
			})
			continue
		}
		f.startExecutor(name)
	}
}

func (f *fake) handleRegistered(m Message) error {
	var p struct{ ID string }
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err
	}
	if p.ID != "1" {
		return nil
	}
	if _, ok := f.script["deny"]; ok {
		f.call("executors.deny", map[string][]string{"ids": {"1"}}, func(m Message) { f.note("denied", m.Result) })
	}
	if _, ok := f.script["remove"]; ok {
		for range 2 {
			f.call("executor.remove", map[string]any{"id": "1", "code": 137, "causedByApp": true, "text": "told to remove it (OOM)",
				"countsAsFailure": true, "at": time.Now().UnixMilli()}, func(m Message) { f.note("removed", m.Result) })
		}
		f.call("executors.list", struct{}{}, func(m Message) { f.note("listed", m.Result) })
	}
	return nil
}

func (f *fake) handleDisconnected(m Message) error {
	var p struct{ ID string }
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err
	}
	if _, ok := f.script["remove-lost"]; ok {
		f.call("executor.remove", map[string]any{"id": p.ID, "code": 137, "causedByApp": true, "text": "its connection broke",
			"countsAsFailure": true, "at": time.Now().UnixMilli()}, func(m Message) { f.note("removed", m.Result) })
	}
	return nil
}

func (f *fake) handleStop(m Message) error {
	if _, ok := f.script["die-at-stop"]; ok && f.open.Resume == nil {
		return fmt.Errorf("told to die")
	}
	f.killExecutors()
	f.reply(m, map[string]int{"left": 0})
	return nil
}

func (f *fake) acknowledge(m Message) error {
	if _, ok := f.script["no-ack"]; ok {
		return nil
	}
	var p struct{ Seq int64 }
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err
	}
	if _, ok := f.script["hang"]; ok && f.open.Resume == nil && p.Seq > 1 {
		f.note("hangs", nil)
		time.Sleep(time.Hour) // longer than any test
	}
	f.notify("command.done", map[string]int64{"seq": p.Seq})
	return nil
}

// killExecutors ends the executors that any fake of this folder has started.
func (f *fake) killExecutors() {
	b, err := os.ReadFile(f.pidFile())
	if err != nil {
		return // none was started
	}
	for _, pid := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended by itself
		}
	}
}
