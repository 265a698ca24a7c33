package feature

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
)

const localDirPrefix = "spark-local-dir-"

// localDirs gives Spark its scratch directories. It answers to LocalDirsFeatureStep.
func localDirs(b *build) error {
	var own []string
	for _, m := range b.sp.Container.VolumeMounts {
		if strings.HasPrefix(m.Name, localDirPrefix) {
			own = append(own, m.MountPath)
		}
	}
	if len(own) > 0 {
		// In an order of its own for each pod, so that not all fill the same disk first.
		seed := b.seed()
		random := rand.New(rand.NewPCG(binary.BigEndian.Uint64(seed[:8]), binary.BigEndian.Uint64(seed[8:16])))
		random.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		b.addEnv("SPARK_LOCAL_DIRS", strings.Join(own, ","))
		return nil
	}
	inMemory, err := conf.LocalDirsTmpfs.Get(b.conf)
	if err != nil {
		return err
	}
	text := b.localDirs
	if text == "" {
		text = b.conf.Raw(conf.LocalDir.Key(), b.defaultLocalDir())
	}
	for i, dir := range strings.Split(text, ",") {
		if dir == "" {
			return errors.New("an entry of SPARK_LOCAL_DIRS or spark.local.dir is empty; remove the comma too much")
		}
		source := &corev1.EmptyDirVolumeSource{}
		if inMemory {
			source.Medium = corev1.StorageMediumMemory
		}
		name := fmt.Sprintf("%s%d", localDirPrefix, i+1)
		b.addVolume(name, corev1.VolumeSource{EmptyDir: source})
		b.addMount(name, dir)
	}
	b.addEnv("SPARK_LOCAL_DIRS", text)
	return nil
}

// seed is random between applications and executors, but the same each time the pod is built.
func (b *build) seed() [sha256.Size]byte {
	return sha256.Sum256([]byte(b.appID + "\x00" + b.prefix + "\x00" + b.executorID))
}

// defaultLocalDir has a UUID in its name, made from the seed (RFC 9562, version 8).
func (b *build) defaultLocalDir() string {
	u := b.seed()
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("/var/data/spark-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
