package volume

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

const dataLink = "..data"

// writeFiles gives a volume its content at one stroke: a reader sees all old files or all new ones. The files lie in a folder named
// from the time, "..data" points at it, and each visible name points through "..data".
func writeFiles(dir string, files map[string]file, group *int64, now time.Time) error {
	old, _ := os.Readlink(filepath.Join(dir, dataLink)) // none at first
	if old != "" && same(filepath.Join(dir, old), files) {
		return nil
	}
	stamp := now.UTC().Format("..2006_01_02_15_04_05.000000000")
	if err := writeStamped(filepath.Join(dir, stamp), files, group); err != nil {
		return err
	}
	tmp := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(stamp, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, dataLink)); err != nil {
		return err
	}
	if err := link(dir, files); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

func writeStamped(dir string, files map[string]file, group *int64) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, f := range files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("file %q would lie outside the volume", name)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return err
		}
		uid, gid, mode := -1, -1, os.FileMode(f.mode&0o777)
		if f.uid != nil {
			uid = int(*f.uid)
		}
		if group != nil {
			gid, mode = int(*group), mode|0o440
		}
		if err := userns.Lchown(path, uid, gid); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	return nil
}

// link makes the visible names and removes those that no file has any more.
func link(dir string, files map[string]file) error {
	want := map[string]bool{}
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		want[top] = true
	}
	have, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range have {
		switch {
		case strings.HasPrefix(e.Name(), ".."):
		case want[e.Name()]:
			delete(want, e.Name())
		default:
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for name := range want {
		if err := os.Symlink(dataLink+"/"+name, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// same says whether a folder holds exactly these files.
func same(dir string, files map[string]file) bool {
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil || n != len(files) {
		return false
	}
	for name, f := range files {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(have, f.data) {
			return false
		}
	}
	return true
}

// Tokens keeps issued service-account tokens until four fifths of their life are over, so that bringing a volume up to date does not
// issue a new one each time.
type Tokens struct {
	mu    sync.Mutex
	known map[tokenKey]issued
}

type tokenKey struct {
	pod      types.UID
	audience string
	seconds  int64
}

type issued struct {
	token string
	renew time.Time
}

// Forget drops a pod's tokens.
func (t *Tokens) Forget(pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.known {
		if k.pod == pod {
			delete(t.known, k)
		}
	}
}

func (m *Manager) cachedToken(ctx context.Context, pod *corev1.Pod, audience string, seconds int64) (string, error) {
	key := tokenKey{pod.UID, audience, seconds}
	now := m.Now()
	m.Tokens.mu.Lock()
	have, ok := m.Tokens.known[key]
	m.Tokens.mu.Unlock()
	if ok && now.Before(have.renew) {
		return have.token, nil
	}
	token, ends, err := m.Fetcher.Token(ctx, pod, audience, seconds)
	if err != nil {
		return "", err
	}
	m.Tokens.mu.Lock()
	defer m.Tokens.mu.Unlock()
	if m.Tokens.known == nil {
		m.Tokens.known = map[tokenKey]issued{}
	}
	m.Tokens.known[key] = issued{token, now.Add(ends.Sub(now) * 4 / 5)}
	return token, nil
}
