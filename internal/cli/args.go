package cli

import "github.com/kubespark/kubespark/submit"

// ParseArgs reads a command line in spark-submit's grammar, without the program's name.
func ParseArgs(argv []string) (submit.Args, error) {
	p, err := parse(argv)
	if err != nil {
		return submit.Args{}, err
	}
	return p.Args, nil
}
