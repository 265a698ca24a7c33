// Command image packs kubespark.jar, kubespark-manager and kubespark-install into the image that spark.kubespark.image
// names, for every architecture, without a container engine. `make image` runs it on bin/. What it writes is an OCI layout
// in a tar file, with the same bytes for the same input; with -push it also sends the image to a registry, whose
// credentials come from where docker and podman keep them.
package main

import (
	"archive/tar"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built programs")
	licence := flag.String("licence", "LICENSE", "the licence's file")
	version := flag.String("version", "", "version of the programs, the image's tag")
	out := flag.String("o", "", "the tar file to write")
	push := flag.String("push", "", "name to push the image under, such as registry.example.com/kubespark:1")
	flag.Parse()
	if err := run(*bin, *licence, *version, *out, *push); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

func run(bin, licence, version, out, push string) error {
	if version == "" || out == "" {
		return errors.New("-version and -o are needed")
	}
	index, err := build(bin, licence, version)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := save(index, "kubespark:"+version, out); err != nil {
		return err
	}
	fmt.Printf("%s: kubespark:%s %s\n", out, version, digest)
	if push == "" {
		return nil
	}
	ref, err := name.ParseReference(push)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", ref, err)
	}
	fmt.Printf("pushed %s\n", ref.Context().Digest(digest.String()))
	return nil
}

// save writes the image as an OCI layout in a tar file, which `docker load`, `podman load`, `ctr images import` and
// `kubespark-cluster image load` read.
func save(index v1.ImageIndex, ref, out string) (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(out), ".image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "layout")
	path, err := layout.Write(tree, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": ref, "io.containerd.image.name": ref,
	})); err != nil {
		return err
	}
	file := filepath.Join(dir, "tar")
	if err := archive(tree, file); err != nil {
		return err
	}
	return os.Rename(file, out)
}

// archive packs a folder's files in the order of their names.
func archive(dir, file string) (err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return pack(w, filepath.ToSlash(rel), text, 0o644)
	}); err != nil {
		return err
	}
	return w.Close()
}
