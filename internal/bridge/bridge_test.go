package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what the transcripts gave into testdata")

// transcript is a session that writes down what it is told.
type transcript struct {
	mu  sync.Mutex
	out strings.Builder
}

func (r *transcript) line(mark, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.out, "%s %s\n", mark, text)
}

func (r *transcript) heard(name string, p any) {
	raw, err := json.Marshal(p)
	if err != nil {
		raw = []byte(err.Error())
	}
	r.line("=", name+" "+string(raw))
}

func (r *transcript) Open(p OpenParams, reply func(OpenResult, error)) {
	r.heard("Open", p)
	if p.AppID == "refused" {
		reply(OpenResult{}, &Error{CodeFatal, "No pod was found named driver."})
		return
	}
	reply(OpenResult{Protocol: Protocol, ManagerVersion: "test", PID: 42, DriverPodUID: "uid"}, nil)
}

func (r *transcript) Start(p StartParams, reply func(error)) {
	r.heard("Start", p)
	reply(errors.New("the ConfigMap is refused"))
}

func (r *transcript) Stop(p StopParams, reply func(StopResult, error)) {
	r.heard("Stop", p)
	reply(StopResult{Left: 1}, nil)
}

func (r *transcript) Targets(p Targets)           { r.heard("Targets", p) }
func (r *transcript) Kill(p Kill)                 { r.heard("Kill", p) }
func (r *transcript) Release(p Release)           { r.heard("Release", p) }
func (r *transcript) Assigned(p Assigned)         { r.heard("Assigned", p) }
func (r *transcript) Registered(p Registered)     { r.heard("Registered", p) }
func (r *transcript) Removed(p Removed)           { r.heard("Removed", p) }
func (r *transcript) Disconnected(p Disconnected) { r.heard("Disconnected", p) }
func (r *transcript) ConfSet(p ConfSet)           { r.heard("ConfSet", p) }

// says carries out a "!" line: something the manager says to the driver.
func says(s *Server, r *transcript, line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "remove":
		s.Remove(Remove{ID: 1, Code: 137, CausedByApp: true, Text: rest, CountsAsFailure: true, At: 1700000000000},
			func(err error) { r.heard("remove answered", fmt.Sprint(err)) })
	case "deny":
		s.Deny([]int64{3, 4}, func(ids []int64, err error) { r.heard("deny answered", []any{ids, fmt.Sprint(err)}) })
	case "allow":
		s.Allow([]int64{4})
	case "reserve":
		s.Reserve(100, func(from, to int64, err error) { r.heard("reserve answered", []any{from, to, fmt.Sprint(err)}) })
	case "list":
		s.List(func(l ListResult, err error) { r.heard("list answered", []any{l, fmt.Sprint(err)}) })
	case "created":
		s.PodsCreated()
	case "exit":
		s.Exit(11, rest)
	case "done":
		s.CommandDone(7)
	case "log":
		h := NewLogHandler(io.Discard)
		h.Attach(s)
		slog.New(h).With(LoggerKey, "org.apache.spark.X").Warn(rest)
	case "metrics":
		s.Metrics(map[string]float64{"pods.running": 2})
	}
}

// TestTranscripts plays the files of testdata: ">" lines go to the manager, "!" lines are said by it; what it writes
// ("<"), hears ("=") and complains about ("?") must be as in the file.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(string(text)) })
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(text), got); d != "" {
				t.Errorf("(-file +got; go test -rewrite writes it):\n%s", d)
			}
		})
	}
}

func play(text string) string {
	r := &transcript{}
	in, toManager := io.Pipe()
	fromManager, out := io.Pipe()
	s := Serve(context.Background(), in, out, func(*Server) Session { return r }, func(text string) { r.line("?", text) })
	go func() {
		for lines := bufio.NewScanner(fromManager); lines.Scan(); {
			r.line("<", lines.Text())
		}
	}()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			r.line(">", line[2:])
			_, _ = io.WriteString(toManager, line[2:]+"\n") // the pipe is open
		case strings.HasPrefix(line, "! "):
			r.line("!", line[2:])
			says(s, r, line[2:])
		case strings.HasPrefix(line, "#"), line == "":
			r.mu.Lock()
			r.out.WriteString(line + "\n")
			r.mu.Unlock()
		}
		synctest.Wait()
	}
	_ = toManager.Close()
	<-s.Done()
	_ = s.Flush(context.Background())
	_ = out.Close()
	synctest.Wait()
	return r.out.String()
}

// E233: a driver that does not read its pipe never blocks the manager.
func TestNeverBlocksE233(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, toManager := io.Pipe()
		fromManager, out := io.Pipe()
		s := Serve(context.Background(), in, out, func(*Server) Session { return &transcript{} }, func(string) {})
		for range 10_000 {
			s.Log("INFO", "x", "nobody reads this")
		}
		s.Remove(Remove{ID: 1}, func(error) {})
		_ = toManager.Close()
		<-s.Done()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Flush(ctx); err == nil {
			t.Error("Flush did not say that nobody reads")
		}
		_ = fromManager.Close()
		synctest.Wait()
	})
}

// E254: a line that is too long is skipped, the session goes on.
func TestLongLineE254(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, toManager := io.Pipe()
		var out bytes.Buffer
		var warned []string
		s := Serve(context.Background(), in, &out, func(*Server) Session { return &transcript{} }, func(text string) { warned = append(warned, text) })
		_, _ = io.WriteString(toManager, `{"x":"`+strings.Repeat("a", 9<<20)+"\"}\n") // the pipe is open
		_, _ = io.WriteString(toManager, `{"jsonrpc":"2.0","id":5,"method":"ping"}`+"\n")
		_ = toManager.Close()
		<-s.Done()
		synctest.Wait()
		if len(warned) != 1 || !strings.Contains(out.String(), `"id":5`) {
			t.Errorf("warned %q, wrote %q", warned, out.String())
		}
	})
}

// Lines of before the session, and of a client library.
func TestLogHandlerEarly(t *testing.T) {
	var early bytes.Buffer
	h := NewLogHandler(&early)
	slog.New(h).Warn("hello", "n", 1)
	slog.New(h).Debug("detail")
	slog.New(h.AtLeast(slog.LevelWarn)).Info("a request body")
	if got := early.String(); got != "kubespark-manager: WARN: hello n=1\n" {
		t.Errorf("wrote %q", got)
	}
}
