package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/submit"
)

// render prints a plan as YAML, in the order of creation. Secret values are not shown.
func (c *submitCommand) render(argv []string) int {
	if len(argv) == 0 {
		writeUsage(c.Stderr, c.name, "Usage: kubespark render [options] <app jar | python file | R file> [app arguments]")
		return exitNoArgs
	}
	p, err := parse(argv)
	if err != nil {
		return c.fail(err, nil)
	}
	c.log = newLogger(c.Stderr, p.Verbose, c.Now)
	if p.help {
		writeUsage(c.Stderr, c.name, "Usage: kubespark render [options] <app jar | python file | R file> [app arguments]")
		return exitOK
	}
	if err := c.renderPlan(p); err != nil {
		return c.fail(err, p)
	}
	return exitOK
}

func (c *submitCommand) renderPlan(p *parsed) error {
	if p.DeployMode == "" {
		p.DeployMode = "cluster"
	}
	s, err := c.settings(p)
	if err != nil {
		return err
	}
	if p.example {
		if err := c.example(p, s); err != nil {
			return err
		}
	}
	if err := s.Check(p.Args); err != nil {
		return err
	}
	if !s.Native() || len(s.Actions) > 0 {
		return &submit.Error{Text: "render shows submissions in cluster mode to a Kubernetes master (--master k8s://…) only"}
	}
	plan, err := s.Plan(c.env(c.Environ))
	if err != nil {
		return err
	}
	for _, n := range plan.Notices {
		c.log.Log(context.Background(), n.Level, n.Text, "logger", n.Logger)
	}
	return writePlan(c.Stdout, plan)
}

func writePlan(w io.Writer, plan *submit.Plan) error {
	var out strings.Builder
	doc := func(comment string, body []byte) error {
		text, err := yaml.JSONToYAML(body)
		if err != nil {
			return fmt.Errorf("write an object as YAML: %w", err)
		}
		fmt.Fprintf(&out, "---\n# %s\n%s", comment, text)
		return nil
	}
	driver, err := plan.DriverBody()
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "# %s\n", plan.Manager)
	for _, obj := range plan.PreObjects {
		if err := object(doc, "created before the driver pod", obj); err != nil {
			return err
		}
	}
	if err := doc("the driver pod", driver); err != nil {
		return err
	}
	for _, obj := range plan.Objects {
		if err := object(doc, "owned by the driver pod", obj); err != nil {
			return err
		}
	}
	executor, err := plan.SampleExecutor()
	if err != nil {
		return err
	}
	if err := doc("an executor pod, as the driver will create it: a sample, its generated names are made up", executor); err != nil {
		return err
	}
	_, err = io.WriteString(w, out.String())
	return err
}

func object(doc func(string, []byte) error, comment string, obj runtime.Object) error {
	if s, ok := obj.(*corev1.Secret); ok {
		s = s.DeepCopy()
		for k := range s.Data {
			s.Data[k] = []byte("(redacted)")
		}
		for k := range s.StringData {
			s.StringData[k] = "(redacted)"
		}
		obj = s
	}
	body, err := kube.Encode(obj)
	if err != nil {
		return err
	}
	return doc(comment, body)
}
