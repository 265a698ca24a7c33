package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// fileStore is a folder that this machine and the pods have mounted.
type fileStore struct{}

func openFile(context.Context, *hadoopConf, Location) (store, error) { return fileStore{}, nil }

func (fileStore) put(ctx context.Context, at Location, src *os.File, _ int64, wrote func(int64)) (err error) {
	if err := os.MkdirAll(path.Dir(at.Path), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(at.Path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	return copyTo(ctx, out, src, wrote)
}

// copyTo copies in steps that the kernel can do by itself, and stops between them when ctx ends.
func copyTo(ctx context.Context, dst io.Writer, src io.Reader, wrote func(int64)) error {
	const step = 4 << 20
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(dst, src, step)
		wrote(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (fileStore) remove(_ context.Context, at Location) error { return os.RemoveAll(path.Dir(at.Path)) }

func (fileStore) list(_ context.Context, at Location) ([]entry, error) {
	dir, err := os.ReadDir(at.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	var out []entry
	for _, d := range dir {
		info, err := os.Stat(path.Join(at.Path, d.Name()))
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			out = append(out, entry{d.Name(), info.IsDir()})
		}
	}
	return out, nil
}

func (fileStore) close() error { return nil }
