package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// notShipped are the names in the configuration directory that executors do not get (B5).
var notShipped = []string{"*.template", "spark*conf", "spark*properties", "*.gz", "*.zip", "*.jar", "*.tar"}

const propertiesName = "spark.properties"

// confFiles reads the files of the configuration directory for the executors' ConfigMap: small ones first, up to the
// limit in bytes. What is left out for its size or content is said. The list is made once for all executors.
func confFiles(dir string, limit int64) (files map[string]string, skipped []string, err error) {
	files = map[string]string{}
	if dir == "" {
		return files, nil, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the Spark configuration directory cannot be read: %w", err)
	}
	type file struct {
		name string
		size int64
	}
	var found []file
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name())) // follows links, as mounted ConfigMaps have them
		if err != nil || !info.Mode().IsRegular() || !shipped(e.Name()) {
			continue
		}
		found = append(found, file{e.Name(), info.Size()})
	}
	slices.SortFunc(found, func(a, b file) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.name, b.name)) })
	var total int64
	for _, f := range found {
		if total += f.size + int64(len(f.name)); total > limit {
			skipped = append(skipped, fmt.Sprintf("%s is not given to executors: the configuration would pass the ConfigMap's %d bytes.",
				f.name, limit))
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.name))
		if err != nil {
			return nil, nil, fmt.Errorf("the Spark configuration cannot be read: %w", err)
		}
		if !utf8.Valid(text) {
			total -= f.size + int64(len(f.name))
			skipped = append(skipped, f.name+" is not given to executors: it is not UTF-8 text.")
			continue
		}
		files[f.name] = string(text)
	}
	return files, skipped, nil
}

func shipped(name string) bool {
	return !slices.ContainsFunc(notShipped, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // the patterns are ours and well formed
		return ok
	})
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// createConfigMap makes the ConfigMap that executor pods mount, before any of them (B5). One that is there already is
// taken when it is this application's.
func (m *Manager) createConfigMap(ctx context.Context) error {
	name, ns := m.session.ConfigMapName, m.session.Namespace
	cm := feature.ExecutorConfigMap(name, ns, m.session.AppID, m.files, m.owner)
	err := kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error { return m.api.CreateConfigMap(ctx, cm) })
	if kube.Kind(err) == kube.AlreadyExists {
		return m.adoptConfigMap(ctx, name)
	}
	if kube.Kind(err) == kube.Forbidden {
		return fmt.Errorf("the executors' ConfigMap %s is refused; allow the driver's service account the verb create on "+
			"configmaps, or set spark.kubernetes.executor.disableConfigMap=true: %w", name, err)
	}
	if err != nil {
		return fmt.Errorf("the executors' ConfigMap %s cannot be created: %w", name, err)
	}
	return nil
}

func (m *Manager) adoptConfigMap(ctx context.Context, name string) error {
	old, err := m.api.GetConfigMap(ctx, name)
	switch {
	case kube.Kind(err) == kube.Forbidden && m.session.Resume != nil:
		return nil // ours from before the restart; reading it is an optional right
	case err != nil:
		return fmt.Errorf("the executors' ConfigMap %s exists and cannot be read: %w", name, err)
	case old.Labels[sparkpod.LabelAppSelector] != m.session.AppID:
		return fmt.Errorf("a ConfigMap named %s exists and belongs to another application", name)
	}
	// Pods may mount only what this one has.
	m.post(func() {
		m.conffile = slices.DeleteFunc(sortedKeys(old.Data), func(k string) bool {
			return k == propertiesName || k == "spark.kubernetes.namespace"
		})
	})
	return nil
}
