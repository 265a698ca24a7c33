package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

// submitCommand is one call of `kubespark submit`, or of spark-submit.
type submitCommand struct {
	Process
	name  string
	log   *slog.Logger
	given []string // the environment that this process was started with
	// streams are the properties files that could be read only once, by name.
	streams map[string][]byte
}

func readAll(r io.Reader) []byte {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return b
}

// run is spark-submit: parse, look at what is asked, do it.
func (c *submitCommand) run(argv []string) int {
	c.given = c.Environ
	c.Environ = withHome(c.Environ, homeOf(c.called()))
	lookup := environment(c.Environ)
	lead, _ := lookup("_SPARK_CMD_USAGE")
	if len(argv) == 0 {
		writeUsage(c.Stderr, c.name, lead)
		return exitNoArgs
	}
	p, err := parse(argv)
	if err != nil {
		return c.fail(err, nil)
	}
	c.log = newLogger(c.Stderr, p.Verbose, c.Now)
	switch {
	case p.follow && c.name == sparkSubmitName: // stock has no such option
		return c.fail(lineError("Unrecognized option: "+followOption), nil)
	case p.help:
		writeUsage(c.Stderr, c.name, lead)
		return exitOK
	case p.usageError:
		writeUsage(c.Stderr, c.name, lead)
		return exitError
	case p.version:
		return c.version()
	}
	code, err := c.dispatch(p, argv)
	if err != nil {
		return c.fail(err, p)
	}
	return code
}

// dispatch decides who does the work: this program, or the real spark-submit.
func (c *submitCommand) dispatch(p *parsed, argv []string) (int, error) {
	s, err := c.settings(p)
	if err != nil {
		return exitError, err
	}
	if p.shell && !s.Native() || c.handOver(s) {
		return c.delegate(p, s, argv)
	}
	if p.shell { // refused as every shell in cluster mode
		s.PrimaryResource = strings.TrimSuffix(argv[0], "-main")
	}
	if p.example {
		if err := c.example(p, s); err != nil {
			return exitError, err
		}
	}
	if err := s.Check(p.Args); err != nil {
		return exitError, err
	}
	if len(s.Actions) > 0 {
		return c.operate(s)
	}
	return c.submit(s, p.Verbose)
}

// settings joins the arguments with files and environment, spark-env.sh's included.
func (c *submitCommand) settings(p *parsed) (*submit.Settings, error) {
	if err := c.readStreams(p); err != nil {
		return nil, err
	}
	s, err := submit.Resolve(p.Args, c.env(c.Environ))
	if err != nil {
		return nil, err
	}
	environ, warning, err := sparkEnviron(c.Environ, s)
	if err != nil {
		return nil, &submit.Error{Text: err.Error(), Err: err}
	}
	if warning != "" {
		c.log.Warn(warning, "logger", "SparkSubmit")
	}
	c.Environ = environ
	return submit.Resolve(p.Args, c.env(c.Environ))
}

// handOver says whether the real spark-submit has to do it.
func (c *submitCommand) handOver(s *submit.Settings) bool {
	if s.Props[conf.SubmitFallback.Key()] == sparkSubmitName {
		return true
	}
	switch s.DeployMode {
	case "", "client", "cluster":
	default:
		return false // Check refuses it
	}
	if s.Native() {
		return false
	}
	switch m := s.Master; {
	case len(s.Actions) > 0:
		return strings.HasPrefix(m, "spark://") || m == "yarn"
	case s.Remote != "":
		return m == ""
	case strings.HasPrefix(m, "local"):
		return !s.IsCluster()
	}
	return s.Master == "yarn" || strings.HasPrefix(s.Master, "spark") || submit.IsKubernetes(s.Master)
}

// submit makes the plan, creates it and waits.
func (c *submitCommand) submit(s *submit.Settings, verbose bool) (int, error) {
	plan, err := s.Plan(c.env(c.Environ))
	if err != nil {
		return exitError, err
	}
	if verbose {
		if err := c.showPlan(s, plan); err != nil {
			return exitError, err
		}
	}
	c.warnContext(plan)
	watching, err := c.following(plan)
	if err != nil {
		return exitError, err
	}
	cfg, err := submit.RESTConfig(plan.Conf, plan.APIServer, environment(c.Environ))
	if err != nil {
		return exitError, err
	}
	progress := newUploadProgress(c.Stderr, c.log, c.Now)
	client, err := submit.NewClient(cfg, submit.WithLogger(c.log), submit.WithUploadProgress(progress.report))
	if err != nil {
		return exitError, err
	}
	ctx, stop := c.interruptible()
	defer stop(nil)
	c.log.Info(plan.Manager, "logger", "SparkSubmit")
	err = client.Create(ctx, plan)
	progress.close()
	if err != nil {
		var sig interrupted
		if errors.As(context.Cause(ctx), &sig) {
			say(c.Stderr, "Interrupted: nothing was submitted, and what had been created is removed.")
			return sig.code(), nil
		}
		return exitError, err
	}
	if !plan.Wait && watching == nil { // whoever follows the log waits
		client.ReportDeployed(plan.Submission)
		return exitOK, nil
	}
	r, err := client.Watch(ctx, plan.Submission, watching...)
	if err != nil {
		var sig interrupted
		if errors.As(context.Cause(ctx), &sig) {
			c.farewell(plan)
			return sig.code(), nil
		}
		return exitError, err
	}
	if r.Reason != "" {
		c.log.Error(fmt.Sprintf("Application %s failed: %s", plan.AppName, r.Reason), "logger", "Client")
	}
	return r.ExitCode, nil
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ sig os.Signal }

func (i interrupted) Error() string { return "interrupted by " + i.sig.String() }

func (i interrupted) code() int {
	if i.sig == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupt
}

// interruptible is a context that the first signal ends.
func (p Process) interruptible() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		select {
		case sig := <-p.Signals:
			cancel(interrupted{sig})
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// farewell says what goes on after an interrupt, and how to go on with it.
func (c *submitCommand) farewell(p *submit.Plan) {
	command := c.name
	say(c.Stderr, `
Interrupted: the application goes on running as driver pod %[2]s in namespace %[1]s.
  to follow it:   kubectl logs -f -n %[1]s %[2]s
  to look at it:  %[3]s --master k8s://%[4]s --status %[1]s:%[2]s
  to end it:      %[3]s --master k8s://%[4]s --kill %[1]s:%[2]s`, p.Namespace, p.PodName, command, p.APIServer)
}

// operate is --kill and --status.
func (c *submitCommand) operate(s *submit.Settings) (int, error) {
	if !submit.IsKubernetes(s.Master) {
		return exitError, &submit.Error{Text: "No external SparkSubmitOperations clients found for master url: '" + s.Master + "'"}
	}
	master, notices, err := submit.NormalizeMaster(s.Master)
	if err != nil {
		return exitError, err
	}
	for _, n := range notices {
		c.log.Log(context.Background(), n.Level, n.Text, "logger", n.Logger)
	}
	op := operation{action: s.Actions[0], id: s.SubmissionID, conf: conf.New(s.Props, conf.WithEnv(environment(c.Environ))), server: submit.APIServer(master), shown: s.Master}
	if submit.APIServer(master) != submit.APIServer(s.Master) { // the scheme is a guess
		op.plain = func() {
			c.log.Warn("The server at "+submit.APIServer(s.Master)+" speaks plain HTTP: it is used without TLS and without credentials. "+
				"Write k8s://http://"+submit.APIServer(s.Master)+" if that is meant.", "logger", "Config")
		}
	}
	return op.run(c.Process, c.Environ)
}

// example turns run-example's class into a jar submission.
func (c *submitCommand) example(p *parsed, s *submit.Settings) error {
	if s.PrimaryResource == "" {
		return lineError("Missing example class name.")
	}
	home, _ := environment(c.Environ)("SPARK_HOME")
	if home == "" {
		return &submit.Error{Text: "run-example needs SPARK_HOME, whose examples it submits"}
	}
	dir := filepath.Join(home, "examples", "jars")
	names, err := submit.OSFiles{}.Regular(dir)
	if err != nil {
		return &submit.Error{Text: "run-example needs the examples of Spark in " + dir + ": " + err.Error(), Err: err}
	}
	const pkg = "org.apache.spark.examples."
	class := s.PrimaryResource
	if !strings.HasPrefix(class, pkg) {
		class = pkg + class
	}
	var jars []string
	main := ""
	for _, n := range names {
		jars = append(jars, filepath.Join(dir, n))
		if strings.HasPrefix(n, "spark-examples") {
			main = filepath.Join(dir, n)
		}
	}
	if main == "" {
		return &submit.Error{Text: "there is no spark-examples jar in " + dir}
	}
	if s.Jars != "" {
		jars = append([]string{s.Jars}, jars...)
	}
	p.MainClass, p.Jars, p.PrimaryResource = class, strings.Join(jars, ","), main
	resolved, err := submit.Resolve(p.Args, c.env(c.Environ))
	if err != nil {
		return err
	}
	*s = *resolved
	return nil
}

// fail prints a refusal and returns its exit code. Tools keep the last lines of our output: the error is the last.
func (c *submitCommand) fail(err error, p *parsed) int {
	var e *submit.Error
	launcher := errors.As(err, &e) && e.Stage == submit.StageLauncher
	text := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	if launcher {
		lead, _ := environment(c.Environ)("_SPARK_CMD_USAGE")
		writeUsage(c.Stderr, c.name, lead)
		say(c.Stderr, "")
	}
	if p != nil && p.Verbose {
		for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
			say(c.Stderr, "Caused by: %s", cause)
		}
	}
	if c.name == sparkSubmitName && !launcher {
		say(c.Stderr, `Exception in thread "main" %s: %s`, submit.ClassOf(err), text)
	} else {
		say(c.Stderr, "Error: %s", text)
	}
	return exitError
}
