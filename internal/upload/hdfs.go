package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"
)

const (
	hdfsPort     = "8020"
	hdfsDialTime = 20 * time.Second
)

// hdfsStore is one name service.
type hdfsStore struct {
	api *hdfs.Client

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func openHDFS(ctx context.Context, h *hadoopConf, at Location) (store, error) {
	if how := h.get("hadoop.security.authentication"); strings.EqualFold(how, "kerberos") {
		return nil, errors.New("hadoop.security.authentication=kerberos: native submission does not log in to Kerberos; " +
			"set spark.kubespark.submit.fallback=spark-submit, or use another upload path")
	}
	addresses, err := namenodes(h, at)
	if err != nil {
		return nil, err
	}
	s := &hdfsStore{conns: map[net.Conn]bool{}}
	user := h.user
	if user == "" {
		user = h.getenv("HADOOP_USER_NAME")
	}
	s.api, err = hdfs.NewClient(hdfs.ClientOptions{
		Addresses: addresses, User: user, NamenodeDialFunc: s.dial, DatanodeDialFunc: s.dial,
		UseDatanodeHostname: h.getBool(false, "dfs.client.use.datanode.hostname"),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to HDFS at %s: %w", strings.Join(addresses, ", "), err)
	}
	return s, nil
}

// namenodes are the addresses behind a URL's authority: a name service of the configuration, or a host. Without one it is
// that of fs.defaultFS.
func namenodes(h *hadoopConf, at Location) ([]string, error) {
	name := at.Authority
	if name == "" {
		def, err := Parse(h.get("fs.defaultFS", "fs.default.name") + "/")
		if err != nil || def.Scheme != "hdfs" || def.Authority == "" {
			return nil, fmt.Errorf("%s names no host, and fs.defaultFS is no hdfs:// URL: set HADOOP_CONF_DIR or spark.hadoop.fs.defaultFS", at)
		}
		name = def.Authority
	}
	var out []string
	for node := range strings.SplitSeq(h.get("dfs.ha.namenodes."+name), ",") {
		key := "dfs.namenode.rpc-address." + name
		if node = strings.TrimSpace(node); node != "" {
			key += "." + node
		}
		if a := h.get(key); a != "" {
			out = append(out, withPort(a))
		} else if node != "" {
			return nil, fmt.Errorf("%s is not set, and dfs.ha.namenodes.%s names it", key, name)
		}
	}
	if len(out) == 0 {
		out = []string{withPort(name)}
	}
	return out, nil
}

func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, hdfsPort)
}

// dial keeps the connection, so that the end of a put's context can end it: the library takes no context.
func (s *hdfsStore) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: hdfsDialTime}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := &hdfsConn{Conn: c, store: s}
	s.conns[kept] = true
	return kept, nil
}

type hdfsConn struct {
	net.Conn
	store *hdfsStore
}

// Close ends the connection.
func (c *hdfsConn) Close() error {
	c.store.mu.Lock()
	delete(c.store.conns, c)
	c.store.mu.Unlock()
	return c.Conn.Close()
}

// untilDone breaks all connections when ctx ends before stop is called.
func (s *hdfsStore) untilDone(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			_ = c.SetDeadline(time.Unix(1, 0)) // the reader or writer reports it
		}
	})
}

func (s *hdfsStore) put(ctx context.Context, at Location, src *os.File, _ int64, wrote func(int64)) (err error) {
	defer s.untilDone(ctx)()
	if err := s.api.MkdirAll(path.Dir(at.Path), 0o755); err != nil {
		return s.explain(at, err)
	}
	if err := s.api.Remove(at.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.explain(at, err)
	}
	out, err := s.api.Create(at.Path)
	if err != nil {
		return s.explain(at, err)
	}
	err = copyTo(ctx, out, src, wrote)
	if cerr := s.finish(ctx, out); err == nil {
		err = cerr
	}
	return s.explain(at, err)
}

// finish closes a file; the name node may first want to see the last block's replicas.
func (s *hdfsStore) finish(ctx context.Context, out *hdfs.FileWriter) error {
	const tries, pause = 50, 200 * time.Millisecond
	for try := 1; ; try++ {
		err := out.Close()
		if !hdfs.IsErrReplicating(err) || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (s *hdfsStore) remove(ctx context.Context, at Location) error {
	defer s.untilDone(ctx)()
	if err := s.api.RemoveAll(path.Dir(at.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.explain(at.folder(), err)
	}
	return nil
}

func (s *hdfsStore) list(ctx context.Context, at Location) ([]entry, error) {
	defer s.untilDone(ctx)()
	infos, err := s.api.ReadDir(at.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.explain(at, err)
	}
	out := make([]entry, len(infos))
	for i, info := range infos {
		out[i] = entry{info.Name(), info.IsDir()}
	}
	return out, nil
}

func (s *hdfsStore) close() error { return s.api.Close() }

// explain names the user when HDFS refuses one.
func (s *hdfsStore) explain(at Location, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &answerError{store: "HDFS", of: "user " + s.api.User(), code: "permission denied", text: at.Path, err: err}
	}
	return err
}
