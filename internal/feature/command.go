package feature

import (
	"strings"

	"github.com/kubespark/kubespark/conf"
)

// command adds the arguments that the image's entry point hands to spark-submit in the pod. It answers to
// DriverCommandFeatureStep.
func command(b *build) error {
	in, c := b.driver, b.sp.Container
	if len(c.Args) > 0 {
		b.warn("The pod template gives the Spark container the arguments %s: they stay in front of Spark's own, which the "+
			"image's entry point does not expect.", strings.Join(c.Args, " "))
	}
	resource := in.Resource
	if resource == "" {
		resource = "spark-internal"
	}
	c.Args = append(c.Args, "driver")
	if in.ProxyUser != "" {
		c.Args = append(c.Args, "--proxy-user", in.ProxyUser)
	}
	c.Args = append(c.Args, "--properties-file", confDir+"/"+propertiesFile, "--class", in.MainClass, resource)
	c.Args = append(c.Args, in.Args...)
	b.props[conf.ResourceType.Key()] = in.ResourceType
	if in.ResourceType == Python {
		return pythonEnv(b)
	}
	return nil
}

// pythonEnv says which Python programs to run; settings go before the submitter's environment.
func pythonEnv(b *build) error {
	python, hasPython, err := conf.PythonExec.Lookup(b.conf)
	if err != nil {
		return err
	}
	driverPython, hasDriverPython, err := conf.DriverPythonExec.Lookup(b.conf)
	if err != nil {
		return err
	}
	fromEnv, hasEnv := b.driver.Env("PYSPARK_PYTHON")
	fromDriverEnv, hasDriverEnv := b.driver.Env("PYSPARK_DRIVER_PYTHON")
	addFirst := func(name string, values ...optional) {
		for _, v := range values {
			if v.ok {
				b.addEnv(name, v.value)
				return
			}
		}
	}
	addFirst("PYSPARK_PYTHON", optional{python, hasPython}, optional{fromEnv, hasEnv})
	addFirst("PYSPARK_DRIVER_PYTHON", optional{driverPython, hasDriverPython}, optional{python, hasPython},
		optional{fromDriverEnv, hasDriverEnv}, optional{fromEnv, hasEnv})
	return nil
}

type optional struct {
	value string
	ok    bool
}
