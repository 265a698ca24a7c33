//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// lastLine is the last line of the command's output that is not empty.
func (j *job) lastLine() string {
	lines := strings.Split(strings.TrimSpace(j.output.String()), "\n")
	return lines[len(lines)-1]
}

// A job that fails gives its exit code.
func TestExitCodeOfTheDriver(t *testing.T) {
	j := newJob(t).withApps()
	j.submit("local:///apps/fail.py", "3").exits(3)
	if left := j.executors(); len(left) > 0 {
		t.Errorf("%d executor pods are left", len(left))
	}
}

// A missing application file: refused before anything is created.
func TestMissingApplicationFile(t *testing.T) {
	j := newJob(t).with("spark.kubernetes.file.upload.path=file:///tmp/uploads")
	j.submit("no-such-file.py").exits(1)
	if last := j.lastLine(); !strings.Contains(last, "no-such-file.py") {
		t.Errorf("the last line does not name the file: %q", last)
	}
	if left := j.objects(); len(left) > 0 {
		t.Errorf("objects were made: %v", left)
	}
}

// An unknown flag: usage first, the error last.
func TestUnknownFlag(t *testing.T) {
	j := newJob(t)
	j.start("submit", append([]string{"--frob"}, j.arguments(pi)...)...).exits(1)
	if last := j.lastLine(); last != "Error: Unrecognized option: --frob" {
		t.Errorf("last line: %q", last)
	}
}

// An image that does not exist: the submitter says what the driver waits for.
func TestMissingImage(t *testing.T) {
	j := newJob(t).with("spark.kubernetes.driver.container.image=kubespark/none:1")
	j.submit(pi)
	eventually(t, time.Minute, "submit tells of the image", func() (bool, string) {
		out := j.output.String()
		for line := range strings.Lines(out) {
			if strings.Contains(line, "kubespark/none:1") && strings.Contains(line, "ImagePull") {
				return true, ""
			}
		}
		return false, tail(out, 5)
	})
}
