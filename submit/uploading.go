package submit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	parallelUploads = 8
	globTime        = time.Minute // for one pattern of remote files
)

// UploadProgress is how far the uploads of one submission are.
type UploadProgress struct {
	Files, FilesDone int
	Bytes, BytesDone int64
}

// WithUploadProgress has uploads tell f how far they are: once before the first byte, then at each step, and at the end.
// Calls come one at a time; f must be quick.
func WithUploadProgress(f func(UploadProgress)) ClientOption {
	return func(c *Client) { c.progress = f }
}

// upload makes all copies of the plan before anything is created. Every file is looked at before the first byte goes. What
// it has begun is in j.uploaded when it returns.
func (j *creation) upload(ctx context.Context) (err error) {
	if len(j.p.Uploads) == 0 {
		return nil
	}
	t := &uploadTracker{tell: j.c.progress, now: UploadProgress{Files: len(j.p.Uploads)}}
	sizes := make([]int64, len(j.p.Uploads))
	for i, u := range j.p.Uploads {
		if sizes[i], err = u.check(); err != nil {
			return err
		}
		t.now.Bytes += sizes[i]
	}
	for _, u := range j.p.Uploads {
		j.c.logLine(slog.LevelInfo, "KubernetesUtils", fmt.Sprintf("Uploading file: %s to dest: %s...", u.Source, u.Target))
	}
	defer func() {
		if cerr := j.p.storage.Close(); err == nil && cerr != nil {
			err = sparkError("closing the connections of the uploads failed: " + cerr.Error())
		}
	}()
	t.add(0, 0)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelUploads)
	for i, u := range j.p.Uploads {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.began(j, u)
			return u.copy(ctx, j.p.storage, sizes[i], t)
		})
	}
	return g.Wait()
}

// uploadTracker counts for all copies.
type uploadTracker struct {
	mu   sync.Mutex
	now  UploadProgress
	tell func(UploadProgress)
}

func (t *uploadTracker) began(j *creation, u Upload) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j.uploaded = append(j.uploaded, u)
}

func (t *uploadTracker) add(bytes int64, files int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.BytesDone += bytes
	t.now.FilesDone += files
	if t.tell != nil {
		t.tell(t.now)
	}
}

// check opens the file once: what cannot be read is found before anything is sent.
func (u Upload) check() (size int64, err error) {
	f, err := os.Open(u.Source)
	if err != nil {
		return 0, u.failed(err)
	}
	info, err := f.Stat()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return 0, u.failed(err)
	}
	return info.Size(), nil
}

// copy makes one upload.
func (u Upload) copy(ctx context.Context, to Storage, size int64, t *uploadTracker) (err error) {
	src, err := os.Open(u.Source)
	if err != nil {
		return u.failed(err)
	}
	defer func() { _ = src.Close() }() // it was only read
	count := &uploadCount{size: size, to: t}
	if err := to.Put(ctx, u.url, src, size, count.wrote); err != nil {
		return u.failed(err)
	}
	count.end()
	return nil
}

// uploadCount keeps one copy's share between nothing and its size, whatever is sent again.
type uploadCount struct {
	mu        sync.Mutex
	size, sum int64 // sum may pass size
	to        *uploadTracker
}

func (c *uploadCount) wrote(n int64) {
	c.mu.Lock()
	before := min(max(c.sum, 0), c.size)
	c.sum += n
	step := min(max(c.sum, 0), c.size) - before
	c.mu.Unlock()
	if step != 0 {
		c.to.add(step, 0)
	}
}

func (c *uploadCount) end() {
	c.mu.Lock()
	rest := c.size - min(max(c.sum, 0), c.size)
	c.mu.Unlock()
	c.to.add(rest, 1)
}

// failed words an upload's failure: Spark's sentences, then where it should have gone and whose it was.
func (u Upload) failed(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == u.Source {
		err = pe.Err
	}
	return &Error{Class: classSpark, Err: err, Text: fmt.Sprintf("Uploading file %s failed... Error uploading file %s to %s: %v (%s: %s; use local:// for a file inside the image)",
		u.Source, path.Base(u.Source), u.Target, err, uploadedAs(u.Key), u.Item)}
}

// removeUploads takes the copies back after a failure; each failure of its own is a warning.
func (j *creation) removeUploads(ctx context.Context) {
	if len(j.uploaded) == 0 {
		return
	}
	var g errgroup.Group
	g.SetLimit(parallelUploads)
	for _, u := range j.uploaded {
		g.Go(func() error {
			j.warn("the upload "+u.Target, j.p.storage.Remove(ctx, u.url))
			return nil
		})
	}
	_ = g.Wait() // its functions return nothing
	j.warn("a connection of the uploads", j.p.storage.Close())
}
