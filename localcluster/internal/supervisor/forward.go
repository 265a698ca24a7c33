package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/kubespark/kubespark/localcluster/internal/process"
)

// forwarder passes the connections made to one address on to another. Pods reach the API server through one at
// port 443 of the cluster's own address, for the API server listens at a single address.
type forwarder struct {
	listener net.Listener
	target   string
}

// ForwardFrom takes the connections to a listener that somebody else opened, in another network namespace than this process's perhaps.
func ForwardFrom(listener *os.File, target string) (Running, error) {
	l, err := net.FileListener(listener)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", listener.Name(), err)
	}
	return &forwarder{listener: l, target: target}, nil
}

// Forward starts to listen at the address.
func Forward(address, target string) (Running, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	return &forwarder{listener: l, target: target}, nil
}

func (f *forwarder) ID() process.ID { return process.ID{} }

// Terminate and Kill end the loop in Wait; closing twice is harmless.
func (f *forwarder) Terminate() { _ = f.listener.Close() }
func (f *forwarder) Kill()      { _ = f.listener.Close() }

// Wait serves until the forwarder is told to stop, or can accept no more.
func (f *forwarder) Wait() string {
	ctx, cancel := context.WithCancel(context.Background())
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	for {
		c, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return "it was told to stop"
		}
		if err != nil {
			_ = f.listener.Close() // the error before it is the one to tell
			return fmt.Sprintf("it can accept no more connections: %v", err)
		}
		open.Go(func() { f.pass(ctx, c.(*net.TCPConn)) })
	}
}

// pass joins a connection with a new one to the target until both directions or the context have ended. If the
// target does not answer, the caller's connection is closed at once: it will try again.
func (f *forwarder) pass(ctx context.Context, c *net.TCPConn) {
	defer c.Close()
	up, err := new(net.Dialer).DialContext(ctx, "tcp", f.target)
	if err != nil {
		return
	}
	target := up.(*net.TCPConn)
	defer target.Close()
	defer context.AfterFunc(ctx, func() { c.Close(); target.Close() })()
	var both sync.WaitGroup
	both.Go(func() { half(target, c) })
	both.Go(func() { half(c, target) })
	both.Wait()
}

// half copies one direction and passes its end on. After an error nothing more can be said in either direction.
func half(to, from *net.TCPConn) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		to.Close()
		from.Close()
	}
}
