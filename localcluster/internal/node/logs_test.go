package node

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
)

func testLog(t *testing.T) *containerLog {
	t.Helper()
	l, err := newContainerLog(filepath.Join(t.TempDir(), "0.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func readLog(t *testing.T, l *containerLog, o api.ContainerLogOpts) string {
	t.Helper()
	var b strings.Builder
	if err := l.read(context.Background(), &b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLogOptions(t *testing.T) {
	l := testLog(t)
	out, errOut := l.stream("stdout"), l.stream("stderr")
	write(t, out, "one\ntw")
	write(t, errOut, "bad\n")
	write(t, out, "o\nno end")
	if err := out.flush(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		o    api.ContainerLogOpts
		want string
	}{
		{api.ContainerLogOpts{}, "one\nbad\ntwo\nno end"},
		{api.ContainerLogOpts{Tail: 2}, "two\nno end"},
		{api.ContainerLogOpts{LimitBytes: 5}, "one\nb"},
	} {
		if got := readLog(t, l, tc.o); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.o, got, tc.want)
		}
	}
	stamped := readLog(t, l, api.ContainerLogOpts{Timestamps: true, Tail: 1})
	if stamp, text, _ := strings.Cut(stamped, " "); text != "no end" || !strings.HasSuffix(stamp, "Z") {
		t.Errorf("with time: %q", stamped)
	}
	if got := l.tail(2, 4); got != " end" {
		t.Errorf("tail %q", got)
	}
}

func TestLongLinesAreCutAndJoined(t *testing.T) {
	l := testLog(t)
	long := strings.Repeat("x", maxLine+10) + "\n"
	write(t, l.stream("stdout"), long)
	if got := readLog(t, l, api.ContainerLogOpts{}); got != long {
		t.Errorf("%d bytes, want %d", len(got), len(long))
	}
}

func TestFollowEndsWithTheContainer(t *testing.T) {
	l := testLog(t)
	s := l.stream("stdout")
	write(t, s, "first\n")
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.read(context.Background(), w, api.ContainerLogOpts{Follow: true})) }()
	buf := make([]byte, 6)
	if _, err := io.ReadFull(r, buf); err != nil {
		t.Fatal(err)
	}
	write(t, s, "second\n")
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if err != nil || string(rest) != "second\n" {
		t.Errorf("rest %q, %v", rest, err)
	}
}
