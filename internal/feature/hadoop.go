package feature

import (
	"errors"
	"fmt"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
)

const hadoopConfEnv = "HADOOP_CONF_DIR"

func checkHadoop(b *build) error {
	_, named, err := conf.HadoopConfigMap.Lookup(b.conf)
	if err != nil {
		return err
	}
	if _, dir := b.driver.Env(hadoopConfEnv); dir && named {
		return errors.New("requirement failed: Do not specify both the `HADOOP_CONF_DIR` in your ENV and the ConfigMap " +
			"as the creation of an additional ConfigMap, when one is already specified is extraneous")
	}
	return nil
}

// hadoopConf mounts the Hadoop configuration. It answers to HadoopConfDriverFeatureStep and HadoopConfExecutorFeatureStep.
func hadoopConf(b *build) error {
	source := executorHadoop
	if b.driver != nil {
		source = driverHadoop
	}
	volume, ok, err := source(b)
	if err != nil || !ok {
		return err
	}
	const name = "hadoop-properties"
	b.addVolume(name, corev1.VolumeSource{ConfigMap: volume})
	b.addMount(name, hadoopConfDir)
	b.addEnv(hadoopConfEnv, hadoopConfDir)
	if b.driver != nil {
		b.props[conf.ExecutorHadoopConfigMap.Key()] = volume.Name
	}
	return nil
}

func executorHadoop(b *build) (*corev1.ConfigMapVolumeSource, bool, error) {
	name, ok, err := conf.ExecutorHadoopConfigMap.Lookup(b.conf)
	return &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}, ok, err
}

func driverHadoop(b *build) (*corev1.ConfigMapVolumeSource, bool, error) {
	name, named, err := conf.HadoopConfigMap.Lookup(b.conf)
	if err != nil {
		return nil, false, err
	}
	if named {
		return &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}, true, nil
	}
	dir, ok := b.driver.Env(hadoopConfEnv)
	if !ok {
		return nil, false, nil
	}
	files, err := hadoopFiles(b, dir)
	if err != nil {
		return nil, false, err
	}
	name = b.prefix + "-hadoop-config"
	b.objects = append(b.objects, configMap(name, files))
	volume := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	for _, f := range sorted(files) {
		volume.Items = append(volume.Items, corev1.KeyToPath{Key: f, Path: f})
	}
	return volume, true, nil
}

// hadoopFiles reads a Hadoop configuration directory. One that is missing has no files.
func hadoopFiles(b *build, dir string) (map[string]string, error) {
	if b.driver.Files == nil {
		return nil, fmt.Errorf("%s names %s, but this plan has no access to files", hadoopConfEnv, dir)
	}
	names, err := b.driver.Files.Regular(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: the directory %s cannot be read: %w", hadoopConfEnv, dir, err)
	}
	out := map[string]string{}
	for _, n := range names {
		content, err := b.readFile(hadoopConfEnv, dir+"/"+n)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(content) {
			return nil, fmt.Errorf("%s: %s/%s is not UTF-8 text and cannot go into a ConfigMap; move it elsewhere", hadoopConfEnv, dir, n)
		}
		out[n] = string(content)
	}
	return out, nil
}
