package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	scripts "github.com/kubespark/kubespark/jvm/image"
	"github.com/kubespark/kubespark/localcluster/internal/image"
)

func (a *App) imageCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Manage the images that pods can name",
		Long: `The node pulls from no registry. An image is a name for a folder that is laid over the machine's own root file
system, and for files and folders of the machine that appear in it; or it is loaded from an OCI layout and has nothing of the
machine. Images go when the cluster is taken down.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.imageListCommand(), a.imageAddCommand(), a.imageLoadCommand(), a.imageBuildSparkCommand())
	return c
}

// images returns the image store of the cluster, which must exist: images live and go with it.
func (a *App) images() (image.Store, error) {
	d, err := a.dir()
	if err != nil {
		return image.Store{}, err
	}
	if _, err := os.Stat(d.Record()); err != nil {
		return image.Store{}, a.noCluster(d)
	}
	return image.Store{Dir: d.Images()}, nil
}

func (a *App) imageListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the images",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := a.images()
			if err != nil {
				return err
			}
			all, err := s.List()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(a.Out, 0, 0, 3, ' ', 0)
			fmt.Fprintln(w, "NAME\tUSER\tLAYER")
			for _, m := range all {
				layer := m.Layer
				if layer == "" {
					layer = "-"
				}
				fmt.Fprintf(w, "%s\t%d:%d\t%s\n", m.Name, m.UID, m.GID, layer)
			}
			return w.Flush()
		},
	}
}

func (a *App) imageAddCommand() *cobra.Command {
	var m image.Manifest
	var binds []string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Make an image of a folder",
		Example: `  # an image whose /app is a folder of this machine
  kubespark-cluster image add tools:1 --bind /srv/tools:/app --entrypoint /app/run`,
		Args: oneName,
		RunE: a.nested(func(_ *cobra.Command, args []string) error {
			s, err := a.images()
			if err != nil {
				return err
			}
			m.Name = args[0]
			if m.Binds, err = parseBinds(binds); err != nil {
				return err
			}
			if m.Layer, err = absolute(m.Layer); err != nil {
				return err
			}
			if err := s.Add(m); err != nil {
				return err
			}
			a.say("%s\n", image.Normalize(m.Name))
			return nil
		}),
	}
	c.Flags().StringVar(&m.Layer, "layer", "", "folder whose content is laid over the machine's root file system")
	c.Flags().StringArrayVar(&binds, "bind", nil, "SOURCE:DESTINATION, a file or folder of the machine that appears read-only in the container; repeatable")
	c.Flags().StringArrayVar(&m.Env, "env", nil, "NAME=VALUE in the container's environment; repeatable")
	c.Flags().StringArrayVar(&m.Entrypoint, "entrypoint", nil, "a word of the image's entry point; repeatable")
	c.Flags().StringArrayVar(&m.Cmd, "cmd", nil, "a word of the image's default arguments; repeatable")
	c.Flags().IntVar(&m.UID, "uid", 0, "user of containers whose pod names none")
	c.Flags().IntVar(&m.GID, "gid", 0, "group of containers whose pod names none")
	c.Flags().StringVar(&m.WorkingDir, "workdir", "", "working folder in the container")
	return c
}

func (a *App) imageLoadCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "load FILE",
		Short: "Load an image from an OCI layout",
		Long: `load takes the image of this machine's architecture out of an OCI layout, a tar file or a folder, as make image and
skopeo write it. Such an image has its own root file system alone, and can be an image volume.`,
		Example: `  kubespark-cluster image load bin/kubespark-image.tar --name kubespark:1`,
		Args:    oneFile,
		RunE: a.nested(func(_ *cobra.Command, args []string) error {
			s, err := a.images()
			if err != nil {
				return err
			}
			m, err := image.Load(s, args[0], name)
			if err != nil {
				return err
			}
			a.say("%s\n", m.Name)
			return nil
		}),
	}
	c.Flags().StringVar(&name, "name", "", "what pods call the image; the name in the layout if not given")
	return c
}

func (a *App) imageBuildSparkCommand() *cobra.Command {
	var o image.SparkOptions
	var entrypoint, decommission string
	var archives bool
	c := &cobra.Command{
		Use:   "build-spark NAME",
		Short: "Make an image of a Spark distribution and kubespark",
		Long: `build-spark makes an image with Spark at /opt/spark, kubespark at /opt/kubespark, the entry point and the user 185 of
Spark's official images, and this machine's JDK and Python.`,
		Example: `  kubespark-cluster image build-spark kubespark/spark:4.2.0 --spark-home /opt/spark-4.2.0`,
		Args:    oneName,
		RunE: a.nested(func(c *cobra.Command, args []string) error {
			s, err := a.images()
			if err != nil {
				return err
			}
			o.Name, o.ClassData = args[0], scripts.ClassData
			if err := completeSpark(&o); err != nil {
				return err
			}
			if o.Entrypoint, err = script(entrypoint, scripts.Entrypoint); err != nil {
				return err
			}
			if o.Decommission, err = script(decommission, scripts.Decommission); err != nil {
				return err
			}
			m, err := image.BuildSpark(s, o)
			if err != nil {
				return err
			}
			if archives {
				if err := makeClassData(c.Context(), m); err != nil {
					return err
				}
				if err := s.Add(image.WithCompiledPython(m)); err != nil {
					return err
				}
			}
			a.say("%s\n", m.Name)
			return nil
		}),
	}
	c.Flags().BoolVar(&archives, "class-data", false, "make class-data archives too, with which drivers and executors start sooner (takes a minute)")
	c.Flags().StringVar(&o.SparkHome, "spark-home", "", "the Spark distribution (default $SPARK_HOME)")
	c.Flags().StringVar(&o.Kubespark, "kubespark", "", "folder with kubespark.jar and kubespark-manager, none for an image without them (default this program's)")
	c.Flags().StringVar(&entrypoint, "entrypoint", "", "the script that becomes /opt/entrypoint.sh (default kubespark's own)")
	c.Flags().StringVar(&decommission, "decommission", "", "the script that becomes /opt/decom.sh (default kubespark's own)")
	c.Flags().StringVar(&o.JavaHome, "java-home", "", "the JDK (default $JAVA_HOME, else the one of java on the PATH)")
	c.Flags().StringArrayVar(&o.Env, "env", nil, "NAME=VALUE in the container's environment; repeatable")
	c.Flags().StringVar(&o.Python, "python", "", "the Python interpreter (default python3 on the PATH)")
	return c
}

// completeSpark fills in the places that the user left open, and makes all of them absolute.
func completeSpark(o *image.SparkOptions) error {
	o.SparkHome, o.JavaHome = cmp.Or(o.SparkHome, os.Getenv("SPARK_HOME")), cmp.Or(o.JavaHome, os.Getenv("JAVA_HOME"))
	if o.SparkHome == "" {
		return usageError{errors.New("name the Spark distribution with --spark-home, or set SPARK_HOME")}
	}
	switch o.Kubespark {
	case "none":
		o.Kubespark = ""
	case "":
		folder, err := beside("")
		if err != nil {
			return err
		}
		o.Kubespark = folder
	}
	for _, p := range []*string{&o.SparkHome, &o.Kubespark} {
		abs, err := absolute(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	return nil
}

// script reads the file that the user named, else returns the default.
func script(path string, otherwise []byte) ([]byte, error) {
	if path == "" {
		return otherwise, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	return text, nil
}

func parseBinds(texts []string) ([]image.Bind, error) {
	var binds []image.Bind
	for _, text := range texts {
		source, destination, ok := strings.Cut(text, ":")
		if !ok {
			return nil, usageError{fmt.Errorf("--bind %q has no destination: write it as SOURCE:DESTINATION", text)}
		}
		source, err := absolute(source)
		if err != nil {
			return nil, err
		}
		binds = append(binds, image.Bind{Source: source, Destination: destination})
	}
	return binds, nil
}

// absolute makes a path that is not empty absolute.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return abs, nil
}

// oneName refuses anything but one argument, as an error of the command line.
func oneName(c *cobra.Command, args []string) error { return one(c, args, "the image's name") }

func oneFile(c *cobra.Command, args []string) error { return one(c, args, "the OCI layout's path") }

func one(c *cobra.Command, args []string, what string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("%s takes one argument, %s: see %s --help", c.CommandPath(), what, c.CommandPath())}
	}
	return nil
}
