package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/sourcegraph/jsonrpc2"
)

// Session is what the manager does with what the shim says. Every method returns at once; calls come one after another, in
// the order sent. The answers of the three session requests are given later, through reply.
type Session interface {
	Open(p OpenParams, reply func(OpenResult, error))
	Start(p StartParams, reply func(error))
	Stop(p StopParams, reply func(StopResult, error))
	Targets(Targets)
	Kill(Kill)
	Release(Release)
	Assigned(Assigned)
	Registered(Registered)
	Removed(Removed)
	Disconnected(Disconnected)
	ConfSet(ConfSet)
}

// Server is one session over a pair of pipes.
type Server struct {
	conn   *jsonrpc2.Conn
	stream *stream
	handle map[string]func(*jsonrpc2.Request)
}

// Serve begins the session on in and out. warn is told about lines that are no messages of the protocol.
func Serve(ctx context.Context, in io.Reader, out io.Writer, session func(*Server) Session, warn func(text string)) *Server {
	s := &Server{stream: newStream(in, out, warn)}
	s.handle = s.methods(ctx, session(s), warn)
	ready := make(chan struct{})
	s.conn = jsonrpc2.NewConn(ctx, s.stream, handlerFunc(func(r *jsonrpc2.Request) {
		<-ready
		s.dispatch(ctx, r, warn)
	}), jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	close(ready)
	return s
}

// Done is closed when the shim has closed its end: the JVM is gone or has ended the session.
func (s *Server) Done() <-chan struct{} { return s.conn.DisconnectNotify() }

// Flush waits until everything that was queued before Close is written.
func (s *Server) Flush(ctx context.Context) error {
	if err := s.stream.Close(); err != nil {
		return err
	}
	select {
	case <-s.stream.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the driver did not read the last messages: %w", ctx.Err())
	}
}

type handlerFunc func(*jsonrpc2.Request)

func (f handlerFunc) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) { f(r) }

func (s *Server) dispatch(ctx context.Context, r *jsonrpc2.Request, warn func(string)) {
	if h := s.handle[r.Method]; h != nil {
		h(r)
		return
	}
	text := fmt.Sprintf("The manager knows no method %q.", r.Method)
	warn(text)
	if !r.Notif {
		s.fail(ctx, r, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: text})
	}
}

// methods is the list of what the shim may send.
func (s *Server) methods(ctx context.Context, to Session, warn func(string)) map[string]func(*jsonrpc2.Request) {
	return map[string]func(*jsonrpc2.Request){
		"session.open": request(ctx, s, func(p OpenParams, reply func(any, error)) {
			if p.Protocol != Protocol {
				reply(nil, &Error{CodeProtocol, fmt.Sprintf("The driver's kubespark.jar speaks version %d of the protocol and "+
					"kubespark-manager version %d: use a jar and a manager of one release.", p.Protocol, Protocol)})
				return
			}
			to.Open(p, func(r OpenResult, err error) { reply(r, err) })
		}),
		"session.start": request(ctx, s, func(p StartParams, reply func(any, error)) {
			to.Start(p, func(err error) { reply(struct{}{}, err) })
		}),
		"session.stop": request(ctx, s, func(p StopParams, reply func(any, error)) {
			to.Stop(p, func(r StopResult, err error) { reply(r, err) })
		}),
		"ping":                  request(ctx, s, func(_ struct{}, reply func(any, error)) { reply(struct{}{}, nil) }),
		"targets.set":           notification(warn, to.Targets),
		"executors.kill":        notification(warn, to.Kill),
		"executors.release":     notification(warn, to.Release),
		"execId.assigned":       notification(warn, to.Assigned),
		"executor.registered":   notification(warn, to.Registered),
		"executor.removed":      notification(warn, to.Removed),
		"executor.disconnected": notification(warn, to.Disconnected),
		"conf.set":              notification(warn, to.ConfSet),
	}
}

func decode[P any](r *jsonrpc2.Request) (p P, err error) {
	if r.Params == nil {
		return p, nil
	}
	if err := json.Unmarshal(*r.Params, &p); err != nil {
		return p, fmt.Errorf("the parameters of %s cannot be read: %w", r.Method, err)
	}
	return p, nil
}

func notification[P any](warn func(string), f func(P)) func(*jsonrpc2.Request) {
	return func(r *jsonrpc2.Request) {
		p, err := decode[P](r)
		if err != nil {
			warn(err.Error())
			return
		}
		f(p)
	}
}

func request[P any](ctx context.Context, s *Server, f func(P, func(any, error))) func(*jsonrpc2.Request) {
	return func(r *jsonrpc2.Request) {
		p, err := decode[P](r)
		if err != nil {
			s.fail(ctx, r, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()})
			return
		}
		f(p, func(result any, err error) {
			if err == nil {
				// A pipe that is gone ends the process by itself.
				_ = s.conn.Reply(ctx, r.ID, result)
				return
			}
			answer := &jsonrpc2.Error{Code: CodeGeneral, Message: err.Error()}
			if e := (*Error)(nil); errors.As(err, &e) {
				answer.Code = e.Code
			}
			s.fail(ctx, r, answer)
		})
	}
}

func (s *Server) fail(ctx context.Context, r *jsonrpc2.Request, e *jsonrpc2.Error) {
	// As above: an answer that cannot be written means that nobody waits for it.
	_ = s.conn.ReplyWithError(ctx, r.ID, e)
}
