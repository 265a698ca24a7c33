// Command fakemanager stands in for kubespark-manager in the tests of the shim: it speaks the bridge's protocol, starts
// stock executors as local processes instead of pods, and writes down all it is told. FAKE_DIR names the folder for its
// notes; FAKE_SCRIPT what it does beyond the ordinary, one or more words separated by blanks (see script.go).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Message is one line of the conversation.
type Message struct {
	Version string          `json:"jsonrpc"`
	ID      *int64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError is an error answer.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Note is one line of the notes: what process PID saw or did.
type Note struct {
	PID    int             `json:"pid"`
	What   string          `json:"what"`
	Params json.RawMessage `json:"params,omitempty"`
}

// fake is one child. The reading goroutine owns everything but out and notes.
type fake struct {
	dir     string
	script  map[string]string
	mu      sync.Mutex // guards out, notes and nextID
	out     *json.Encoder
	notes   *json.Encoder
	nextID  int64
	waiting map[int64]func(Message)
	open    openParams
	conf    map[string]string
}

func main() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// As in the real one: the second proof of the JVM's death, tied to the thread that forked.
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "fakemanager:", errno)
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fakemanager:", err)
		os.Exit(2)
	}
}

func run() error {
	dir := os.Getenv("FAKE_DIR")
	file, err := os.OpenFile(filepath.Join(dir, "notes.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	f := &fake{dir: dir, script: words(os.Getenv("FAKE_SCRIPT")), out: json.NewEncoder(os.Stdout), notes: json.NewEncoder(file),
		waiting: map[int64]func(Message){}}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			f.note("stdin closed", nil)
			return nil
		}
		var m Message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.Method == "" {
			f.answered(m)
			continue
		}
		f.note(m.Method, m.Params)
		if err := f.handle(m); err != nil {
			return err
		}
	}
}

// words splits "a b=1" into a map.
func words(text string) map[string]string {
	all := map[string]string{}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		all[name] = value
	}
	return all
}

func (f *fake) answered(m Message) {
	if m.ID == nil {
		return
	}
	if then := f.waiting[*m.ID]; then != nil {
		delete(f.waiting, *m.ID)
		then(m)
	}
}

func (f *fake) send(m Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.Version = "2.0"
	if err := f.out.Encode(m); err != nil {
		os.Exit(3)
	}
}

// call sends a request; then runs on the reading goroutine.
func (f *fake) call(method string, params any, then func(Message)) {
	f.nextID++
	id := f.nextID
	f.waiting[id] = then
	f.send(Message{ID: &id, Method: method, Params: raw(params)})
}

func (f *fake) notify(method string, params any) {
	f.send(Message{Method: method, Params: raw(params)})
}

func (f *fake) note(what string, params json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.notes.Encode(Note{PID: os.Getpid(), What: what, Params: params}); err != nil {
		os.Exit(3)
	}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own literals come here
	}
	return b
}
