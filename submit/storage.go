package submit

import (
	"context"
	"maps"
	"os"
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/upload"
)

// Storage reaches the file systems that uploads go to, and that patterns of remote files are listed in, by the URLs of
// Hadoop. It opens nothing before its first use and is safe for concurrent use.
type Storage interface {
	// Supported says whether URLs of a scheme can be reached; "" is this machine's file system.
	Supported(scheme string) bool
	// Put copies size bytes of src to url, over a file that is there. wrote is told how many bytes have gone since its
	// last call, a negative number when some have to go again.
	Put(ctx context.Context, url string, src *os.File, size int64, wrote func(int64)) error
	// Remove deletes a file that Put wrote, with the folder that was made for it alone. What is not there is gone.
	Remove(ctx context.Context, url string) error
	// Glob returns the URLs of the files that a pattern of Hadoop's matches, sorted.
	Glob(ctx context.Context, pattern string) ([]string, error)
	// Close ends connections; the next call opens them again.
	Close() error
}

// hadoopPrefix begins the properties that Spark hands to Hadoop.
const hadoopPrefix = "spark.hadoop."

// newStorage is the Storage of an Env that has none: shared mounts, S3, Google Cloud Storage, Azure and HDFS, configured
// by the spark.hadoop.* properties that Hadoop's own connectors read.
func newStorage(c *conf.Conf, env Env, user string) Storage {
	return upload.New(upload.Options{Props: c.Family(hadoopPrefix), Env: env.Lookup, ReadFile: env.Files.ReadFile, User: user})
}

// storage is made once for a plan.
func (p *planner) storage() Storage {
	if p.store != nil {
		return p.store
	}
	props := maps.Clone(p.s.System)
	maps.Copy(props, p.s.Props)
	c := conf.New(props, conf.WithEnv(p.env.Lookup))
	if p.env.Storage != nil {
		p.store = p.env.Storage(c)
	} else {
		p.store = newStorage(c, p.env, p.hadoopUser())
	}
	return p.store
}

// hadoopUser is who HDFS takes the submission for.
func (p *planner) hadoopUser() string {
	for _, name := range []string{p.s.ProxyUser, p.env.get("HADOOP_USER_NAME"), p.env.UserName} {
		if name != "" {
			return name
		}
	}
	return "spark"
}

func (p *planner) files() Files { return p.env.Files }

// remoteGlob lists the files of a pattern on another file system.
func (p *planner) remoteGlob(pattern string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), globTime)
	defer cancel()
	found, err := p.storage().Glob(ctx, pattern)
	if cerr := p.storage().Close(); err == nil {
		err = cerr
	}
	return found, err
}

// lists says whether patterns of a scheme can be listed.
func (p *planner) lists(scheme string) bool { return p.storage().Supported(scheme) }

// warnProxyUser says whose rights an upload has.
func (p *planner) warnProxyUser(to string) {
	if p.s.ProxyUser != "" && !strings.HasPrefix(to, "hdfs:") {
		p.log.warn("SparkSubmit", "the uploads to spark.kubernetes.file.upload.path are made with this machine's own rights, not as --proxy-user "+p.s.ProxyUser)
	}
}
