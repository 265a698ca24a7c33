package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

// followOption shows the driver's log. It is an option of kubespark submit alone.
const followOption = "--follow"

// following are the options of the wait: none, or that the driver's log is shown.
func (c *submitCommand) following(plan *submit.Plan) ([]submit.WatchOption, error) {
	on, err := conf.SubmitFollow.Get(plan.Conf)
	if err != nil || !on {
		return nil, err
	}
	out := c.Stdout
	if c.name == sparkSubmitName {
		out = quietExitCodes{out}
	}
	return []submit.WatchOption{submit.FollowLog(out)}, nil
}

// withoutFollow takes our own option from a line for the real spark-submit: in client mode the driver's log is here anyway.
func withoutFollow(argv []string, p *parsed) []string {
	if !p.follow {
		return argv
	}
	if i := slices.Index(argv, followOption); i >= 0 {
		return slices.Delete(slices.Clone(argv), i, i+1)
	}
	return argv
}

var exitCodeLine = regexp.MustCompile(`([eE]xit code): *([0-9])`)

// quietExitCodes takes the colon out of "exit code: N" in the driver's log. Tools that know us as spark-submit take the last
// such words of all our output for the driver's own exit code.
type quietExitCodes struct{ out io.Writer }

func (q quietExitCodes) Write(line []byte) (int, error) {
	if _, err := q.out.Write(exitCodeLine.ReplaceAll(line, []byte("$1 $2"))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// warnContext says that the kubeconfig's context would place the application elsewhere than the default of the key does.
func (c *submitCommand) warnContext(plan *submit.Plan) {
	if conf.Namespace.IsSet(plan.Conf) {
		return
	}
	ns, err := submit.DefaultNamespace(plan.Conf, environment(c.Environ))
	if err != nil || ns == "" || ns == plan.Namespace {
		return // a broken kubeconfig is reported by the client
	}
	c.log.Warn(fmt.Sprintf("The application goes into the namespace %s, although the kubeconfig's context has %s: set %s to choose.", plan.Namespace, ns, conf.Namespace.Key()),
		"logger", "SparkSubmit")
}
