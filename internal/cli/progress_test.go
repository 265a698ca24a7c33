package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/submit"
)

func TestUploadProgress(t *testing.T) {
	const mib = 1 << 20
	steps := []struct {
		after time.Duration
		p     submit.UploadProgress
	}{
		{0, submit.UploadProgress{Files: 2, Bytes: 40 * mib}},
		{50 * time.Millisecond, submit.UploadProgress{Files: 2, Bytes: 40 * mib, BytesDone: mib}},
		{11 * time.Second, submit.UploadProgress{Files: 2, FilesDone: 1, Bytes: 40 * mib, BytesDone: 20 * mib}},
		{20 * time.Second, submit.UploadProgress{Files: 2, FilesDone: 2, Bytes: 40 * mib, BytesDone: 40 * mib}},
	}
	for _, tt := range []struct {
		name  string
		width int
		want  []string
	}{
		{"not a terminal", 0, []string{
			"INFO KubernetesUtils: Uploaded 20.0 MiB of 40.0 MiB",
			"INFO KubernetesUtils: Uploaded 2 files, 40.0 MiB in 20.0 s",
		}},
		{"a terminal", 200, []string{
			"\r\x1b[KUploading 2 files [============            ]  50%  20.0 MiB of 40.0 MiB  1.8 MiB/s" +
				"\r\x1b[KUploading 2 files [========================] 100%  40.0 MiB of 40.0 MiB  2.0 MiB/s\r\x1b[K" +
				"INFO KubernetesUtils: Uploaded 2 files, 40.0 MiB in 20.0 s",
		}},
		{"a narrow terminal", 20, []string{
			"\r\x1b[KUploading 2 files [\r\x1b[KUploading 2 files [\r\x1b[KINFO KubernetesUtils: Uploaded 2 files, 40.0 MiB in 20.0 s",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			now := start
			var out bytes.Buffer
			u := newUploadProgress(&out, newLogger(&out, false, func() time.Time { return start }), func() time.Time { return now })
			u.width = tt.width
			for _, s := range steps {
				now = start.Add(s.after)
				u.report(s.p)
			}
			text := strings.ReplaceAll(out.String(), "26/01/02 03:04:05 ", "")
			if diff := cmp.Diff(strings.Join(tt.want, "\n")+"\n", text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 29: "1.50 GiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := files(1); got != "1 file" {
		t.Error(got)
	}
}
