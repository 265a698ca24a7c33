package trial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// downloads lets one row fetch while others wait for it.
var downloads sync.Mutex

// fetched is a folder in the cache that make fills once.
func (c *Cluster) fetched(name string, make func(folder string) error) (string, error) {
	downloads.Lock()
	defer downloads.Unlock()
	cached := filepath.Join(c.Cache, name)
	if _, err := os.Stat(cached + ".complete"); err != nil {
		if err := os.RemoveAll(cached); err != nil {
			return "", err
		}
		if err := os.MkdirAll(cached, 0o755); err != nil {
			return "", err
		}
		if err := make(cached); err != nil {
			return "", fmt.Errorf("download %s: %w", name, err)
		}
		if err := os.WriteFile(cached+".complete", nil, 0o644); err != nil {
			return "", err
		}
	}
	// The cache may lie in a folder that other users cannot enter.
	open := filepath.Join(c.Work, name)
	if _, err := os.Stat(open); err == nil {
		return open, nil
	}
	return open, command(exec.Command("cp", "-r", "--reflink=auto", cached, open))
}

// connectLibraries are what the Connect client of Spark 4 imports.
var connectLibraries = []string{"grpcio==1.76.0", "grpcio-status==1.76.0", "googleapis-common-protos==1.71.0", "pandas==2.3.3", "pyarrow==22.0.0", "zstandard==0.25.0"}

// ConnectLibraries is a folder with the Python libraries of the Connect client.
func (t *Trial) ConnectLibraries() (string, error) {
	return t.fetched("python-connect", func(folder string) error {
		return command(exec.Command("python3", append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder}, connectLibraries...)...))
	})
}

// s3SDK is the version of Amazon's library that a Hadoop version's hadoop-aws was built with, and of the accelerator.
var s3SDK = map[string][2]string{"3.5.0": {"2.35.4", "1.3.1"}}

// S3Libraries is a folder with hadoop-aws of the Spark version's Hadoop and the parts of Amazon's library that it uses: the
// bundle that it names has 600 MB. What Spark brings itself is left out.
func (t *Trial) S3Libraries() (string, error) {
	jars, err := t.JarsOf(t.Spark, "hadoop-client-api-")
	if err != nil {
		return "", err
	}
	hadoop := strings.TrimSuffix(strings.TrimPrefix(jars[0], "hadoop-client-api-"), ".jar")
	sdk, ok := s3SDK[hadoop]
	if !ok {
		return "", fmt.Errorf("no version of Amazon's library is known for Hadoop %s", hadoop)
	}
	return t.fetched("hadoop-aws-"+hadoop, func(folder string) error {
		pom := filepath.Join(t.Dir, "pom.xml")
		text := strings.NewReplacer("${hadoop}", hadoop, "${sdk}", sdk[0], "${accelerator}", sdk[1]).Replace(s3Project)
		if err := os.WriteFile(pom, []byte(text), 0o644); err != nil {
			return err
		}
		return command(exec.Command("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+folder,
			"-DexcludeGroupIds=io.netty,org.slf4j,commons-codec,commons-logging"))
	})
}

const s3Project = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>suite</groupId><artifactId>s3</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId><version>${hadoop}</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>
<dependency><groupId>software.amazon.awssdk</groupId><artifactId>s3</artifactId><version>${sdk}</version></dependency>
<dependency><groupId>software.amazon.awssdk</groupId><artifactId>s3-transfer-manager</artifactId><version>${sdk}</version></dependency>
<dependency><groupId>software.amazon.awssdk</groupId><artifactId>sts</artifactId><version>${sdk}</version></dependency>
<dependency><groupId>software.amazon.awssdk</groupId><artifactId>apache-client</artifactId><version>${sdk}</version></dependency>
<dependency><groupId>software.amazon.s3.analyticsaccelerator</groupId><artifactId>analyticsaccelerator-s3</artifactId><version>${accelerator}</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>
</dependencies></project>
`
