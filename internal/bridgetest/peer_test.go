package bridgetest

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// manager is the other end of a Peer's pipes.
type manager struct {
	t    *testing.T
	in   *bufio.Scanner
	out  *io.PipeWriter
	read error
	done chan struct{}
}

type recorder struct{ said []string }

func (r *recorder) Request(method string, params Object) (Object, func()) {
	r.said = append(r.said, "request "+method)
	return Object{"n": params["n"]}, func() { r.said = append(r.said, "after "+method) }
}

func (r *recorder) Notified(method string, _ Object) { r.said = append(r.said, method) }

func join(t *testing.T, h Handler) (*Peer, *manager) {
	toManager, write := io.Pipe()
	read, fromManager := io.Pipe()
	p := NewPeer(write)
	m := &manager{t: t, in: bufio.NewScanner(toManager), out: fromManager, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.read = p.Read(read, h)
	}()
	return p, m
}

func (m *manager) says(line string) {
	if _, err := io.WriteString(m.out, line+"\n"); err != nil {
		m.t.Error(err)
	}
}

func (m *manager) hears() Object {
	if !m.in.Scan() {
		m.t.Fatalf("nothing was sent: %v", m.in.Err())
	}
	var o Object
	if err := json.Unmarshal(m.in.Bytes(), &o); err != nil {
		m.t.Fatal(err)
	}
	return o
}

func TestConversation(t *testing.T) {
	h := &recorder{}
	p, m := join(t, h)
	answered := make(chan Object)
	go func() {
		a, err := p.Call("ping", Object{}, time.Minute)
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	ping := m.hears()
	if ping["method"] != "ping" || ping["jsonrpc"] != "2.0" {
		t.Errorf("sent %v", ping)
	}
	m.says(`{"jsonrpc":"2.0","method":"log","params":{}}`)
	m.says(`{"jsonrpc":"2.0","id":7,"method":"ids.reserve","params":{"n":3}}`)
	if a := m.hears(); a["id"] != 7.0 || a["result"].(Object)["n"] != 3.0 {
		t.Errorf("answered %v", a)
	}
	m.says(`{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`)
	if a := <-answered; a["result"].(Object)["ok"] != true {
		t.Errorf("the call returned %v", a)
	}
	if err := m.out.Close(); err != nil {
		t.Error(err)
	}
	<-m.done
	if m.read != nil {
		t.Error(m.read)
	}
	if got := strings.Join(h.said, ", "); got != "log, request ids.reserve, after ids.reserve" {
		t.Error(got)
	}
}

func TestCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, m := join(t, &recorder{})
		call := func() chan error {
			failed := make(chan error)
			go func() {
				_, err := p.Call("ping", Object{}, time.Minute)
				failed <- err
			}()
			m.hears()
			return failed
		}
		if err := <-call(); err == nil || !strings.Contains(err.Error(), "no answer within 1m0s") {
			t.Error(err)
		}
		failed := call()
		if err := m.out.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "ended without an answer") {
			t.Error(err)
		}
		<-m.done
	})
}

func TestNonsense(t *testing.T) {
	_, m := join(t, &recorder{})
	m.says("no JSON")
	<-m.done
	if m.read == nil || !strings.Contains(m.read.Error(), `the manager wrote "no JSON"`) {
		t.Error(m.read)
	}
}
