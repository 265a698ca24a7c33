// Package image keeps the local cluster's images. No registry is involved: an image is a name with a folder that is laid over the
// host's root file system, and host folders that are bound read-only on top, or it is loaded from an OCI layout and stands alone. The
// node package asks it for the image of a container or of an image volume.
package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Host is the image that adds nothing to the host's own root file system.
const Host = "kubespark/host:latest"

// Manifest describes one image.
type Manifest struct {
	// Name is what a pod's image field says, such as kubespark/spark:4.2.0. A name without tag means :latest.
	Name string `json:"name"`
	// Layer is the folder whose content is laid over the host's root; empty for none.
	Layer string `json:"layer,omitempty"`
	// Alone: the layer is the whole root file system; nothing of the host is under it, as with an image of any other cluster.
	Alone bool `json:"alone,omitempty"`
	// Binds are host files and folders that appear read-only in the container.
	Binds []Bind `json:"binds,omitempty"`
	// Env are name=value pairs that a pod's own variables override.
	Env []string `json:"env,omitempty"`
	// UID and GID are the user of containers whose pod names none.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Entrypoint and Cmd as in any image: a pod's command replaces both, a pod's args replace Cmd.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
}

// Bind is a host file or folder at a place in the container.
type Bind struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

// Store is a folder of manifests.
type Store struct{ Dir string }

const manifestFile = "image.json"

// Add writes an image's manifest, in place of an older one of the same name.
func (s Store) Add(m Manifest) error {
	m.Name = Normalize(m.Name)
	if err := m.validate(); err != nil {
		return err
	}
	dir := s.Folder(m.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("image %s: %w", m.Name, err)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("image %s: %w", m.Name, err)
	}
	tmp := filepath.Join(dir, manifestFile+".new")
	if err := os.WriteFile(tmp, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("image %s: %w", m.Name, err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, manifestFile)); err != nil {
		return fmt.Errorf("image %s: %w", m.Name, err)
	}
	return nil
}

// ErrUnknown is wrapped by Get's error for a name that no image has.
var ErrUnknown = errors.New("unknown image")

// Get finds an image. The error for an unknown name lists the known ones.
func (s Store) Get(name string) (Manifest, error) {
	name = Normalize(name)
	if name == Host {
		return hostImage(), nil
	}
	m, err := s.read(s.Folder(name))
	if errors.Is(err, os.ErrNotExist) {
		return Manifest{}, s.unknown(name)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("image %s: %w", name, err)
	}
	return m, nil
}

// Root is the folder with the whole content of an image that stands alone.
func (s Store) Root(name string) (string, error) {
	m, err := s.Get(name)
	if err != nil {
		return "", err
	}
	if !m.Alone {
		return "", fmt.Errorf("image %s lies over the host's root file system and has no content of its own to mount: load one from an OCI layout", m.Name)
	}
	return m.Layer, nil
}

func (s Store) unknown(name string) error {
	known := []string{}
	all, err := s.List()
	if err != nil {
		return err
	}
	for _, m := range all {
		known = append(known, m.Name)
	}
	return fmt.Errorf("%w %q: this node has no registry to pull from; it has %s", ErrUnknown, name, strings.Join(known, ", "))
}

// List returns the images by name, the host image among them.
func (s Store) List() ([]Manifest, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("images: %w", err)
	}
	out := []Manifest{hostImage()}
	for _, e := range entries {
		m, err := s.read(filepath.Join(s.Dir, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // a folder that is being built
		}
		if err != nil {
			return nil, fmt.Errorf("images: %w", err)
		}
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// Folder is where an image's manifest and layer belong.
func (s Store) Folder(name string) string {
	return filepath.Join(s.Dir, strings.NewReplacer("/", "_", ":", "_", "@", "_").Replace(Normalize(name)))
}

func (s Store) read(dir string) (Manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", filepath.Join(dir, manifestFile), err)
	}
	return m, nil
}

// Normalize gives a name without tag the tag latest, and drops docker.io's prefixes.
func Normalize(name string) string {
	for _, p := range []string{"docker.io/library/", "docker.io/"} {
		name = strings.TrimPrefix(name, p)
	}
	if strings.Contains(name, "@") || strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
		return name
	}
	return name + ":latest"
}

func hostImage() Manifest {
	return Manifest{Name: Host, Env: []string{"PATH=" + defaultPath}, Cmd: []string{"/bin/sh"}}
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (m Manifest) validate() error {
	if m.Name == ":latest" {
		return errors.New("image: give it a name")
	}
	for _, b := range m.Binds {
		if !filepath.IsAbs(b.Source) || !filepath.IsAbs(b.Destination) {
			return fmt.Errorf("image %s: bind %s to %s: both must be absolute paths", m.Name, b.Source, b.Destination)
		}
	}
	for _, e := range m.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return fmt.Errorf("image %s: environment %q: write it as NAME=VALUE", m.Name, e)
		}
	}
	if m.Alone && m.Layer == "" {
		return fmt.Errorf("image %s: it stands alone and has no layer", m.Name)
	}
	if m.Layer != "" && !filepath.IsAbs(m.Layer) {
		return fmt.Errorf("image %s: layer %s must be an absolute path", m.Name, m.Layer)
	}
	return nil
}
