package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// architectures are those that kubespark-manager is built for.
var architectures = []string{"amd64", "arm64"}

// user is the image's own: an init container of the restricted level must not be root.
const user = "65532:65532"

// epoch is every time in the image: the same input gives the same bytes.
var epoch = time.Unix(0, 0).UTC()

// entry is one file of the image.
type entry struct {
	name, source string
	mode         int64
}

// build makes the image of all architectures out of the folder with the built programs. licence is the path of LICENSE.
func build(bin, licence, version string) (v1.ImageIndex, error) {
	shared, err := layer([]entry{{"LICENSE", licence, 0o644}, {"kubespark.jar", filepath.Join(bin, "kubespark.jar"), 0o644}})
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		dir := filepath.Join(bin, "linux-"+arch)
		own, err := layer([]entry{
			{"kubespark-install", filepath.Join(dir, "kubespark-install"), 0o755},
			{"kubespark-manager", filepath.Join(dir, "kubespark-manager"), 0o755},
		})
		if err != nil {
			return nil, err
		}
		image, err := imageOf(arch, version, shared, own)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index, nil
}

func imageOf(arch, version string, layers ...v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: v1.Time{Time: epoch}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: user, Entrypoint: []string{"/kubespark-install"}, WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":       "kubespark",
				"org.opencontainers.image.description": "kubespark.jar and kubespark-manager for a Spark driver",
				"org.opencontainers.image.version":     version,
				"org.opencontainers.image.licenses":    "Apache-2.0",
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("image for %s: %w", arch, err)
	}
	for _, l := range layers {
		image, err = mutate.Append(image, mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "make image"}})
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", arch, err)
		}
	}
	return image, nil
}

// layer packs files of the root folder.
func layer(files []entry) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		text, err := os.ReadFile(f.source)
		if err != nil {
			return nil, fmt.Errorf("%w: run make image, which builds it first", err)
		}
		if err := pack(w, f.name, text, f.mode); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

func pack(w *tar.Writer, name string, text []byte, mode int64) error {
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: mode, ModTime: epoch, Format: tar.FormatUSTAR})
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return nil
}
