package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// Load takes an image out of an OCI layout, a folder or a tar file of one, and unpacks this machine's platform of it. name is what
// pods call it; empty takes the name that stands in the layout.
func Load(s Store, path, name string) (Manifest, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return Manifest{}, err
	}
	tmp, err := os.MkdirTemp(s.Dir, ".load-")
	if err != nil {
		return Manifest{}, err
	}
	m, err := load(s, path, name, tmp)
	if err = errors.Join(err, os.RemoveAll(tmp)); err != nil {
		return Manifest{}, fmt.Errorf("load %s: %w", path, err)
	}
	return m, s.Add(m)
}

func load(s Store, path, name, tmp string) (Manifest, error) {
	dir, err := layoutFolder(path, filepath.Join(tmp, "layout"))
	if err != nil {
		return Manifest{}, err
	}
	found, refName, err := choose(dir)
	if err != nil {
		return Manifest{}, err
	}
	if name == "" {
		name = refName
	}
	if name == "" {
		return Manifest{}, errors.New("the layout says no name: give it one with --name")
	}
	config, err := found.ConfigFile()
	if err != nil {
		return Manifest{}, err
	}
	digest, err := found.Digest()
	if err != nil {
		return Manifest{}, err
	}
	// A folder for each content: containers may still run on the one of an older image of this name.
	root := filepath.Join(s.Folder(name), "root-"+digest.Hex[:12])
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		if err := unpackTo(found, filepath.Join(tmp, "root"), root); err != nil {
			return Manifest{}, err
		}
	}
	uid, gid, err := userOf(root, config.Config.User)
	return Manifest{
		Name: Normalize(name), Layer: root, Alone: true, Env: config.Config.Env, UID: uid, GID: gid,
		Entrypoint: config.Config.Entrypoint, Cmd: config.Config.Cmd, WorkingDir: config.Config.WorkingDir,
	}, err
}

// layoutFolder is the layout as a folder; a tar file is unpacked to tmp.
func layoutFolder(path, tmp string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if err := untar(f, tmp, false); err != nil {
			return "", fmt.Errorf("not the tar file of an OCI layout: %w", err)
		}
		path = tmp
	}
	if _, err := os.Stat(filepath.Join(path, "index.json")); err != nil {
		return "", errors.New("not an OCI layout: it has no index.json")
	}
	return path, nil
}

// choose finds the image of this machine's platform and its name, through indexes in indexes.
func choose(dir string) (v1.Image, string, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, "", err
	}
	want := v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
	found, name, err := search(index, want)
	if err == nil && found == nil {
		err = fmt.Errorf("it has no image for %s", want)
	}
	return found, name, err
}

func search(index v1.ImageIndex, want v1.Platform) (v1.Image, string, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, "", err
	}
	for _, d := range m.Manifests {
		var found v1.Image
		var name string
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, "", err
			}
			if found, name, err = search(inner, want); err != nil {
				return nil, "", err
			}
		case d.MediaType.IsImage() && (d.Platform == nil || d.Platform.Satisfies(want)):
			if found, err = index.Image(d.Digest); err != nil {
				return nil, "", err
			}
		}
		for _, key := range []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"} {
			if text := d.Annotations[key]; text != "" && name == "" {
				name = text
			}
		}
		if found != nil {
			return found, name, nil
		}
	}
	return nil, "", nil
}

// unpackTo makes the image's root file system, complete or not at all.
func unpackTo(img v1.Image, tmp, root string) error {
	r := mutate.Extract(img)
	err := untar(r, tmp, true)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("unpack its layers: %w", err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil { // every user's /
		return err
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	return os.Rename(tmp, root)
}

// userOf resolves an image's user: a number or a name, with a group or without.
func userOf(root, user string) (uid, gid int, err error) {
	name, group, hasGroup := strings.Cut(user, ":")
	if user == "" {
		return 0, 0, nil
	}
	if uid, gid, err = account(root, "etc/passwd", name); err != nil {
		return 0, 0, err
	}
	if hasGroup {
		gid, _, err = account(root, "etc/group", group)
	}
	return uid, gid, err
}

// account finds a name's id, and the next field as a number, in a file of the kind of passwd. A number is an id also without an entry.
func account(root, file, name string) (id, next int, err error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 3 || f[0] != name && f[2] != name {
			continue
		}
		if id, err = strconv.Atoi(f[2]); err != nil {
			continue
		}
		if len(f) > 3 {
			next, _ = strconv.Atoi(f[3]) // a group's members are no number
		}
		return id, next, nil
	}
	if id, err = strconv.Atoi(name); err != nil {
		return 0, 0, fmt.Errorf("its user %q is not in its /%s", name, file)
	}
	return id, 0, nil
}

// untar unpacks into a new folder, never outside it. owners keeps owners, modes and links as they are; without it only files matter.
func untar(r io.Reader, dir string, owners bool) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Clean(strings.TrimPrefix(h.Name, "/"))
		if err := unpackOne(root, name, h, tr); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		if owners && h.Typeflag != tar.TypeLink {
			uid, gid := userns.Known(h.Uid, h.Gid)
			err = root.Lchown(name, uid, gid)
			if err == nil && h.Typeflag != tar.TypeSymlink { // changing the owner takes set-user-id away
				err = root.Chmod(name, h.FileInfo().Mode()&(os.ModePerm|os.ModeSetuid|os.ModeSetgid|os.ModeSticky))
			}
			if err != nil {
				return err
			}
		}
	}
}

func unpackOne(root *os.Root, name string, h *tar.Header, content io.Reader) error {
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		return root.Link(filepath.Clean(strings.TrimPrefix(h.Linkname, "/")), name)
	}
	return fmt.Errorf("an entry of type %q is neither file, folder nor link", h.Typeflag)
}
