package feature

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// volumes adds the volumes that properties ask for, and the claims that they need. It answers to MountVolumesFeatureStep.
func volumes(b *build) error {
	specs, err := parseVolumes(b.conf, b.roleData.volumes)
	if err != nil {
		return err
	}
	if err := checkVolumes(b, specs); err != nil {
		return err
	}
	for i, v := range specs {
		if v.kind == volumeKinds[claimKind] {
			if err := b.claim(&v, i); err != nil {
				return err
			}
		}
		at := len(b.sp.Pod.Spec.Volumes)
		b.addVolume(v.name, v.kind.source(v))
		v.kind.explicit(b.sp, v, at)
		mountAt := len(b.sp.Container.VolumeMounts)
		b.sp.Container.VolumeMounts = append(b.sp.Container.VolumeMounts, corev1.VolumeMount{
			Name: v.name, MountPath: v.path, ReadOnly: v.readOnly, SubPath: v.subPath, SubPathExpr: v.subPathExpr})
		explicitMount(b.sp, v, mountAt)
	}
	return nil
}

// explicitMount has the false and empty fields of a mount posted, as Spark does.
func explicitMount(sp *sparkpod.SparkPod, v volume, at int) {
	if !v.readOnly {
		sp.SetInContainer(false, "volumeMounts", at, "readOnly")
	}
	if v.subPath == "" {
		sp.SetInContainer("", "volumeMounts", at, "subPath")
	}
	if v.subPathExpr == "" {
		sp.SetInContainer("", "volumeMounts", at, "subPathExpr")
	}
}

// checkVolumes finds what the API would refuse.
func checkVolumes(b *build, specs []volume) error {
	names, paths := map[string]string{}, map[string]bool{}
	for _, v := range b.sp.Pod.Spec.Volumes {
		names[v.Name] = "the pod template or another step has a volume of that name, too"
	}
	for _, v := range specs {
		key := b.roleData.volumes + v.id()
		if paths[v.path] {
			return fmt.Errorf("requirement failed: Found duplicated mountPath: '%s'", v.path)
		}
		paths[v.path] = true
		if !sparkpod.IsDNSLabel(v.name) {
			return fmt.Errorf("%s: the volume's name %s is not a DNS label (at most 63 of a-z, 0-9 and -)", key, v.name)
		}
		if other, taken := names[v.name]; taken {
			return fmt.Errorf("%s: the volume's name %s is taken: %s; rename one of them", key, v.name, other)
		}
		names[v.name] = key + " has it"
	}
	return nil
}

const (
	onDemand   = "OnDemand"
	idInClaims = "SPARK_EXECUTOR_ID"
)

// claim fills the placeholders of a claim's name, and makes the claim if the properties say how.
func (b *build) claim(v *volume, index int) error {
	name := v.options["claimName"]
	class, hasClass := v.options["storageClass"]
	size, hasSize := v.options["sizeLimit"]
	if strings.Contains(name, onDemand) && !(hasClass && hasSize) {
		id := b.roleData.volumes + v.id()
		return fmt.Errorf("%s.options.claimName: a claim made on demand also needs %s.options.storageClass and %s.options.sizeLimit",
			id, id, id)
	}
	generated := fmt.Sprintf("%s-driver-pvc-%d", b.prefix, index)
	if b.executor != nil {
		generated = fmt.Sprintf("%s-pvc-%d", sparkpod.ExecutorPodName(b.prefix, b.executorID), index)
	}
	name = strings.ReplaceAll(name, onDemand, generated)
	if b.executor != nil {
		name = strings.ReplaceAll(name, idInClaims, b.executorID)
	}
	v.options["claimName"] = name
	if !hasClass || !hasSize {
		return nil
	}
	claim, err := b.newClaim(*v, name, class, size)
	if err != nil {
		return err
	}
	if b.executor != nil {
		b.claims = append(b.claims, claim)
	} else {
		b.objects = append(b.objects, claim)
	}
	return nil
}

func (b *build) newClaim(v volume, name, class, size string) (*corev1.PersistentVolumeClaim, error) {
	storage, err := quantity(b.roleData.volumes+v.id()+".options.sizeLimit", size)
	if err != nil {
		return nil, err
	}
	mode := corev1.ReadWriteOncePod
	if legacy, err := conf.LegacyReadWriteOnce.Get(b.conf); err != nil {
		return nil, err
	} else if legacy {
		mode = corev1.ReadWriteOnce
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{mode},
			StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: storage}},
		},
	}
	put(&claim.Annotations, v.annotations)
	put(&claim.Labels, v.labels)
	put(&claim.Labels, map[string]string{sparkpod.LabelAppSelector: b.appID})
	return claim, nil
}

// volume is one volume of a family.
type volume struct {
	kind                *volumeKind
	kindName, name      string
	path                string
	readOnly            bool
	subPath             string
	subPathExpr         string
	options             map[string]string
	labels, annotations map[string]string
}

func (v volume) id() string { return v.kindName + "." + v.name }

// volumeKind is what differs between the kinds of volume.
type volumeKind struct {
	required []string // options
	source   func(volume) corev1.VolumeSource
	explicit func(*sparkpod.SparkPod, volume, int) // records false and empty values that Spark posts
}

const claimKind = "persistentVolumeClaim"

var volumeKinds = map[string]*volumeKind{
	"hostPath": {
		required: []string{"path"},
		source: func(v volume) corev1.VolumeSource {
			t := corev1.HostPathType(v.options["type"])
			return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: v.options["path"], Type: &t}}
		},
		explicit: func(*sparkpod.SparkPod, volume, int) {},
	},
	claimKind: {
		required: []string{"claimName"},
		source: func(v volume) corev1.VolumeSource {
			return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: v.options["claimName"], ReadOnly: v.readOnly}}
		},
		explicit: func(sp *sparkpod.SparkPod, v volume, at int) {
			if !v.readOnly {
				sp.SetInPod(false, "spec", "volumes", at, claimKind, "readOnly")
			}
		},
	},
	"emptyDir": {
		source: func(v volume) corev1.VolumeSource {
			e := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMedium(v.options["medium"])}
			if text, ok := v.options["sizeLimit"]; ok {
				q := resource.MustParse(text) // parsed in checkSize before
				e.SizeLimit = &q
			}
			return corev1.VolumeSource{EmptyDir: e}
		},
		explicit: func(sp *sparkpod.SparkPod, v volume, at int) {
			if v.options["medium"] == "" {
				sp.SetInPod("", "spec", "volumes", at, "emptyDir", "medium")
			}
			if text, ok := v.options["sizeLimit"]; ok {
				sp.SetInPod(text, "spec", "volumes", at, "emptyDir", "sizeLimit")
			}
		},
	},
	"nfs": {
		required: []string{"path", "server"},
		source: func(v volume) corev1.VolumeSource {
			return corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Path: v.options["path"], Server: v.options["server"]}}
		},
		explicit: func(*sparkpod.SparkPod, volume, int) {},
	},
}

// parseVolumes reads a family of volumes, sorted by kind and name. It answers to KubernetesVolumeUtils.
func parseVolumes(c *conf.Conf, prefix string) ([]volume, error) {
	family := c.Family(prefix)
	var out []volume
	last := ""
	for _, k := range sorted(family) {
		parts := strings.SplitN(k, ".", 3)
		if len(parts) < 2 {
			return nil, fmt.Errorf("%s%s: the key has no volume name; the form is %s<type>.<name>.<option>", prefix, k, prefix)
		}
		id := parts[0] + "." + parts[1]
		if id == last {
			continue
		}
		last = id
		v, err := parseVolume(family, parts[0], parts[1])
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b volume) int {
		return cmp.Or(strings.Compare(a.kindName, b.kindName), strings.Compare(a.name, b.name))
	})
	return out, nil
}

func parseVolume(family map[string]string, kindName, name string) (volume, error) {
	v := volume{kindName: kindName, name: name, options: map[string]string{},
		labels: map[string]string{}, annotations: map[string]string{}}
	pre := v.id() + "."
	for k, value := range family {
		rest, ok := strings.CutPrefix(k, pre)
		if !ok {
			continue
		}
		if o, ok := strings.CutPrefix(rest, "options."); ok {
			v.options[o] = value
		} else if l, ok := strings.CutPrefix(rest, "label."); ok {
			v.labels[l] = value
		} else if a, ok := strings.CutPrefix(rest, "annotation."); ok {
			v.annotations[a] = value
		}
	}
	if err := v.parseMount(family, pre); err != nil {
		return v, err
	}
	return v, v.parseKind()
}

func (v *volume) parseMount(family map[string]string, pre string) error {
	_, hasPath := family[pre+"mount.subPath"]
	_, hasExpr := family[pre+"mount.subPathExpr"]
	if hasPath && hasExpr {
		return fmt.Errorf("These config options are mutually exclusive: %smount.subPath, %smount.subPathExpr", pre, pre) //nolint:staticcheck // Spark's own text
	}
	v.subPath, v.subPathExpr = family[pre+"mount.subPath"], family[pre+"mount.subPathExpr"]
	path, ok := family[pre+"mount.path"]
	if !ok {
		return fmt.Errorf("key not found: %smount.path", pre)
	}
	v.path = path
	if text, ok := family[pre+"mount.readOnly"]; ok {
		switch strings.ToLower(text) {
		case "true":
			v.readOnly = true
		case "false":
		default:
			return fmt.Errorf("For input string: %q", text) //nolint:staticcheck // Spark's own text
		}
	}
	return nil
}

func (v *volume) parseKind() error {
	kind, ok := volumeKinds[v.kindName]
	if !ok {
		return fmt.Errorf("Kubernetes Volume type `%s` is not supported", v.kindName) //nolint:staticcheck // Spark's own text
	}
	v.kind = kind
	for _, o := range kind.required {
		if _, ok := v.options[o]; !ok {
			return fmt.Errorf("%s.options.%s is required for %s", v.id(), o, v.kindName)
		}
	}
	if text, ok := v.options["sizeLimit"]; ok {
		return checkSize(v.id()+".options.sizeLimit", text)
	}
	return nil
}

// checkSize refuses a volume of less than 1 KiB: a number of Spark's kind whose unit was forgotten.
func checkSize(key, text string) error {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n < 1024 {
		return fmt.Errorf("Volume size `%s` is smaller than 1KiB. Missing units?", text) //nolint:staticcheck // Spark's own text
	}
	_, err := quantity(key, text)
	return err
}
