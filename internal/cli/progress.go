package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/kubespark/kubespark/submit"
)

// uploadProgress shows how far the uploads are: a bar that is drawn over itself on a terminal, else a line in the log now
// and then. Its method report is called for one step at a time.
type uploadProgress struct {
	out      io.Writer
	log      *slog.Logger
	now      func() time.Time
	width    int // of the terminal; 0: none
	began    time.Time
	shown    time.Time
	finished bool
}

const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
	barCells  = 24
)

func newUploadProgress(out io.Writer, log *slog.Logger, now func() time.Time) *uploadProgress {
	u := &uploadProgress{out: out, log: log, now: now}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			u.width = w
		}
	}
	return u
}

func (u *uploadProgress) report(p submit.UploadProgress) {
	now := u.now()
	if u.began.IsZero() {
		u.began, u.shown = now, now
	}
	done := p.FilesDone == p.Files
	switch since := now.Sub(u.shown); {
	case u.finished:
		return
	case u.width > 0 && (since >= barEvery || done):
		say0(u.out, "\r\x1b[K"+clip(uploadBar(p, now.Sub(u.began)), u.width-1))
		u.shown = now
	case u.width == 0 && since >= lineEvery && !done:
		u.log.Info(fmt.Sprintf("Uploaded %s of %s", size(p.BytesDone), size(p.Bytes)), "logger", "KubernetesUtils")
		u.shown = now
	}
	if done {
		u.close()
		u.log.Info(fmt.Sprintf("Uploaded %s, %s in %.1f s", files(p.Files), size(p.Bytes), now.Sub(u.began).Seconds()), "logger", "KubernetesUtils")
	}
}

// close takes the bar away, so that what is written next stands on a line of its own.
func (u *uploadProgress) close() {
	if u.width > 0 && !u.began.IsZero() && !u.finished {
		say0(u.out, "\r\x1b[K")
	}
	u.finished = true
}

// say0 writes without a line's end; there is nobody to tell when a terminal is gone.
func say0(out io.Writer, text string) { _, _ = io.WriteString(out, text) }

func uploadBar(p submit.UploadProgress, took time.Duration) string {
	share := 1.0
	if p.Bytes > 0 {
		share = float64(p.BytesDone) / float64(p.Bytes)
	}
	full := int(share * barCells)
	text := fmt.Sprintf("Uploading %s [%s%s] %3d%%  %s of %s", files(p.Files), strings.Repeat("=", full), strings.Repeat(" ", barCells-full),
		int(share*100), size(p.BytesDone), size(p.Bytes))
	if s := took.Seconds(); s >= 1 {
		text += fmt.Sprintf("  %s/s", size(int64(float64(p.BytesDone)/s)))
	}
	return text
}

func clip(text string, width int) string { return text[:min(len(text), max(width, 0))] }

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// size words a number of bytes.
func size(n int64) string {
	const kib = 1 << 10
	switch {
	case n < kib:
		return fmt.Sprintf("%d B", n)
	case n < kib*kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < kib*kib*kib:
		return fmt.Sprintf("%.1f MiB", float64(n)/kib/kib)
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/kib/kib/kib)
}
