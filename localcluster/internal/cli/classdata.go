package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/image"
)

// makeClassData runs the image's own script in a container of the image: an archive fits only the paths that it was made with.
// What the script writes becomes part of the image.
func makeClassData(ctx context.Context, m image.Manifest) (err error) {
	fail := func(err error) error { return fmt.Errorf("class-data archives of image %s: %w", m.Name, err) }
	state, err := os.MkdirTemp("", "kubespark-image-")
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, container.Clean(state), os.RemoveAll(state)) }()
	runtime, err := container.New(state)
	if err != nil {
		return fail(err)
	}
	var said bytes.Buffer
	spec := container.Spec{
		ID: "class-data", Hostname: "image", Layer: m.Layer, Args: []string{image.ClassDataScript}, Env: m.Env,
		Capabilities: container.DefaultCapabilities(), Stdout: &said, Stderr: &said,
		Mounts: []container.Mount{{Source: filepath.Join(m.Layer, image.ClassDataFolder), Destination: image.ClassDataFolder}},
	}
	for _, b := range m.Binds {
		spec.Mounts = append(spec.Mounts, container.Mount{Source: b.Source, Destination: b.Destination, ReadOnly: true})
	}
	c, err := runtime.Start(spec)
	if err != nil {
		return fail(err)
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		err := c.Kill()
		<-c.Done()
		return errors.Join(ctx.Err(), err)
	}
	if code := c.Exit().Code; code != 0 {
		return fail(fmt.Errorf("%s ended with %d: %s", image.ClassDataScript, code, strings.TrimSpace(said.String())))
	}
	return nil
}
