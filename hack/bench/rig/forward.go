package rig

import (
	"io"
	"net"
	"sync/atomic"
)

// Forwarder passes connections on to the API server and counts their bytes: what really went over the wire, TLS included.
type Forwarder struct {
	listener net.Listener
	to       string
	up, down atomic.Int64
}

// Forward starts a forwarder at a free port of 127.0.0.1.
func Forward(to string) (*Forwarder, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &Forwarder{listener: l, to: to}
	go f.accept()
	return f, nil
}

// URL is what a client connects to.
func (f *Forwarder) URL() string { return "https://" + f.listener.Addr().String() }

// Bytes is what clients sent and were sent so far.
func (f *Forwarder) Bytes() int64 { return f.up.Load() + f.down.Load() }

// Close takes no more connections; those that are open end with their clients.
func (f *Forwarder) Close() { _ = f.listener.Close() } // nothing is lost by it

func (f *Forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", f.to)
		if err != nil {
			_ = client.Close() // the client sees a broken connection, as without a forwarder
			continue
		}
		go pipe(server, client, &f.up)
		go pipe(client, server, &f.down)
	}
}

func pipe(to, from net.Conn, count *atomic.Int64) {
	defer to.Close()
	defer from.Close()
	_, _ = io.Copy(to, counter{from, count}) // a broken connection is broken for both ends
}

type counter struct {
	from  io.Reader
	count *atomic.Int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.count.Add(int64(n))
	return n, err
}
