package submit

import (
	"errors"
	"strings"

	"github.com/kubespark/kubespark/conf"
)

// Stage says which of stock's two programs refuses an argument: scripts see a difference in how the line begins.
type Stage int

// The stages.
const (
	StageSubmit   Stage = iota // SparkSubmit: an exception
	StageLauncher              // the launcher: "Error: …" and the usage text
)

// Error is a refused submission, worded as Spark words it.
type Error struct {
	Stage Stage
	Class string // the exception's class in Spark
	Text  string // one line
	Err   error  // cause, may be nil
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Err }

// Classes of Spark's exceptions.
const (
	classSpark    = "org.apache.spark.SparkException"
	classArgument = "java.lang.IllegalArgumentException"
	classConf     = "org.apache.spark.SparkIllegalArgumentException"
	classClient   = "io.fabric8.kubernetes.client.KubernetesClientException"
)

func sparkError(text string) error { return &Error{Class: classSpark, Text: text} }

func launcherError(text string) error {
	return &Error{Stage: StageLauncher, Class: classArgument, Text: text}
}

func requirement(text string) error {
	return &Error{Class: classArgument, Text: "requirement failed: " + text}
}

// ClassOf returns the class of the exception that Spark throws for err.
func ClassOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Class != "" {
		return e.Class
	}
	var v *conf.ValueError
	switch {
	case errors.As(err, &v):
		return classConf
	case strings.HasPrefix(err.Error(), "requirement failed: "):
		return classArgument
	}
	return classSpark
}
