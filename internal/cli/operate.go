package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/submit"
)

// operation is a --kill or a --status.
type operation struct {
	action, id string
	conf       *conf.Conf
	server     string // API server; "": the kubeconfig's
	shown      string // the master as the user wrote it
	namespace  string // for ids without one; "": the kubeconfig's
	// plain is told that the server speaks plain HTTP; nil: that is an error.
	plain func()
}

func (o operation) run(p Process, environ []string) (int, error) {
	lookup := environment(environ)
	t, err := submit.ParseSubmissionID(o.id)
	if err != nil {
		return exitError, err
	}
	if t.Namespace == "" {
		t.Namespace = o.namespace
	}
	if t.Namespace == "" {
		if t.Namespace, err = submit.DefaultNamespace(o.conf, lookup); err != nil {
			return exitError, err
		}
	}
	opts := submit.OperationOptions{Stock: conf.IsStock(o.conf, "kill-status"), Print: func(line string) { say(p.Stderr, "%s", line) }}
	grace := "not set."
	if d, ok, err := conf.AppKillGracePeriod.Lookup(o.conf); err != nil {
		return exitError, err
	} else if ok {
		seconds := int64(d.Seconds())
		opts.GraceSeconds, grace = &seconds, fmt.Sprint(seconds)
	}
	cfg, err := submit.RESTConfig(o.conf, o.server, lookup)
	if err != nil {
		return exitError, err
	}
	if o.plain != nil {
		kube.AllowPlainHTTP(cfg, o.plain)
	}
	client, err := submit.NewClient(cfg)
	if err != nil {
		return exitError, err
	}
	ctx, stop := p.interruptible()
	defer stop(nil)
	if o.action == submit.ActionKill {
		opts.Print(fmt.Sprintf("Submitting a request to kill submission %s in %s. Grace period in secs: %s", o.id, o.shown, grace))
		err = client.Kill(ctx, t, opts)
	} else {
		opts.Print(fmt.Sprintf("Submitting a request for the status of submission %s in %s.", o.id, o.shown))
		err = client.Status(ctx, t, opts)
	}
	var sig interrupted
	if err != nil && errors.As(context.Cause(ctx), &sig) {
		return sig.code(), nil
	}
	if errors.Is(err, submit.ErrNotFound) {
		return exitError, nil
	}
	if err != nil {
		return exitError, err
	}
	return exitOK, nil
}
