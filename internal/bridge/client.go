package bridge

import "context"

// The requests and notifications to the shim. Requests return at once; done is called on a goroutine of its own when the
// answer is there or the pipe is closed.

func call[R any](s *Server, method string, params any, done func(R, error)) {
	ctx := context.Background()
	w, err := s.conn.DispatchCall(ctx, method, params)
	if err != nil {
		go func() { var zero R; done(zero, err) }()
		return
	}
	go func() {
		var result R
		err := w.Wait(ctx, &result)
		done(result, err)
	}()
}

func (s *Server) notify(method string, params any) {
	// A closed pipe is noticed by Done; there is nobody left to tell.
	_ = s.conn.Notify(context.Background(), method, params)
}

// Remove tells Spark that an executor is gone.
func (s *Server) Remove(p Remove, done func(error)) {
	call(s, "executor.remove", p, func(_ struct{}, err error) { done(err) })
}

// Deny asks the driver to refuse the registration of executors; the answer names those that had registered before.
func (s *Server) Deny(ids []int64, done func(registered []int64, err error)) {
	call(s, "executors.deny", IDs{Texts(ids)}, func(r DenyResult, err error) { done(Numbers(r.Registered), err) })
}

// Allow takes executors out of the driver's deny set.
func (s *Server) Allow(ids []int64) { s.notify("executors.allow", IDs{Texts(ids)}) }

// Reserve asks for n executor ids that were never given out.
func (s *Server) Reserve(n int, done func(from, to int64, err error)) {
	call(s, "ids.reserve", ReserveParams{n}, func(r ReserveResult, err error) { done(r.From, r.To, err) })
}

// List asks for Spark's own table of executors.
func (s *Server) List(done func(ListResult, error)) { call(s, "executors.list", struct{}{}, done) }

// Build has the driver run the user's own feature steps on a pod.
func (s *Server) Build(p PodBuild, done func(PodBuilt, error)) { call(s, "pod.build", p, done) }

// PodsCreated tells that an executor pod of the application exists, or did.
func (s *Server) PodsCreated() { s.notify("pods.created", struct{}{}) }

// Exit ends the driver JVM.
func (s *Server) Exit(code int, text string) { s.notify("app.exit", Exit{code, text}) }

// CommandDone takes a command out of the shim's journal.
func (s *Server) CommandDone(seq int64) { s.notify("command.done", Done{seq}) }

// Log writes a line into the driver's log.
func (s *Server) Log(level, logger, text string) { s.notify("log", Log{level, logger, text}) }

// Metrics sets gauges of the driver.
func (s *Server) Metrics(values map[string]float64) { s.notify("metrics", Metrics{values}) }
