package conf

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
)

// Family is a group of keys that share a prefix, and whose rest the user chooses. Their values are read as they were given:
// neither trimmed nor expanded.
type Family struct {
	Pattern string // with the free parts in brackets
	Doc     string
	Since   string
}

// Families lists the groups of keys that submission and pod building read, sorted by pattern.
func Families() []Family {
	var all []Family
	for _, role := range []struct{ name, pods string }{{"driver", "the driver pod"}, {"executor", "executor pods"}} {
		all = append(all, roleFamilies("spark.kubernetes."+role.name+".", role.pods)...)
		all = append(all,
			Family{"spark." + role.name + ".resource.[resourceName].amount", "How many of a resource, such as gpu, " + role.pods + " get.", "3.0.0"},
			Family{"spark." + role.name + ".resource.[resourceName].vendor", "Vendor domain of the resource in Kubernetes, such as nvidia.com.", "3.0.0"})
	}
	all = append(all,
		Family{"spark.driver.resource.[resourceName].discoveryScript", "Program in the driver's image that finds the resource.", "3.0.0"},
		Family{"spark.kubernetes.driverEnv.[EnvironmentVariableName]", "Environment variable of the driver.", "2.3.0"},
		Family{"spark.executorEnv.[EnvironmentVariableName]", "Environment variable of executors.", "0.9.0"},
		Family{"spark.kubernetes.node.selector.[labelKey]", "Label that the nodes of all pods must have.", "2.3.0"},
		Family{"spark.kubernetes.driver.service.label.[LabelName]", "Label of the driver's Service.", "3.4.0"},
		Family{"spark.kubernetes.driver.service.annotation.[AnnotationName]", "Annotation of the driver's Service.", "3.0.0"},
		Family{"spark.hadoop.[key]", "Property of Hadoop's configuration.", "0.9.0"},
		Family{"spark.security.credentials.[service].enabled", "Whether tokens of a service are obtained.", "2.3.0"},
		Family{"spark.[*].port", "Ports, which executors get at their start.", ""},
		Family{"spark.port.[*]", "Rules for ports, which executors get at their start.", ""},
		Family{"spark.auth[*]", "Authentication, which executors get at their start; the secret goes another way.", ""},
		Family{"spark.network[*]", "Network settings, which executors get at their start.", ""},
		Family{"spark.rpc[*]", "Settings of remote calls, which executors get at their start.", ""},
		Family{"spark.ssl[*]", "TLS settings, which executors get at their start, passwords left out.", ""})
	slices.SortFunc(all, func(a, b Family) int { return strings.Compare(a.Pattern, b.Pattern) })
	return all
}

// roleFamilies are the groups that both roles have.
func roleFamilies(prefix, pods string) []Family {
	volume := prefix + "volumes."
	named := volume + "[VolumeType].[VolumeName]."
	claim := volume + "persistentVolumeClaim.[VolumeName]."
	return []Family{
		{prefix + "annotation.[AnnotationName]", "Annotation of " + pods + ".", "2.3.0"},
		{prefix + "label.[LabelName]", "Label of " + pods + "; Spark's own names are refused.", "2.3.0"},
		{prefix + "node.selector.[labelKey]", "Label that the nodes of " + pods + " must have.", "3.3.0"},
		{prefix + "secretKeyRef.[EnvName]", "Environment variable of " + pods + " from a Secret, as name:key.", "2.4.0"},
		{prefix + "secrets.[SecretName]", "Folder in " + pods + " where a Secret is mounted.", "2.3.0"},
		{named + "mount.path", "Where a volume of " + pods + " is mounted; the types are hostPath, emptyDir, nfs and persistentVolumeClaim.", "2.4.0"},
		{named + "mount.readOnly", "Whether the mount cannot be written.", "2.4.0"},
		{named + "mount.subPath", "Folder of the volume that is mounted.", "3.0.0"},
		{named + "mount.subPathExpr", "The same with environment variables; not together with subPath.", "4.0.0"},
		{volume + "emptyDir.[VolumeName].options.medium", "Memory for a volume in memory.", "2.4.0"},
		{volume + "emptyDir.[VolumeName].options.sizeLimit", "Most that the volume may hold.", "2.4.0"},
		{volume + "hostPath.[VolumeName].options.path", "Path on the node.", "2.4.0"},
		{volume + "hostPath.[VolumeName].options.type", "What must be there, or is made: see the type of a hostPath volume.", "4.0.0"},
		{volume + "nfs.[VolumeName].options.path", "Path on the NFS server.", "3.1.0"},
		{volume + "nfs.[VolumeName].options.server", "NFS server.", "3.1.0"},
		{claim + "annotation.[AnnotationName]", "Annotation of a claim that is made.", "4.0.0"},
		{claim + "label.[LabelName]", "Label of a claim that is made.", "4.0.0"},
		{claim + "options.claimName", "Name of the claim; OnDemand makes one for each pod.", "2.4.0"},
		{claim + "options.sizeLimit", "Size of a claim that is made.", "3.1.0"},
		{claim + "options.storageClass", "Storage class of a claim that is made.", "3.1.0"},
	}
}

var freePart = regexp.MustCompile(`\\\[[^\]]*\\\]`)

// Matches says whether a key belongs to the family.
func (f Family) Matches(key string) bool {
	pattern := freePart.ReplaceAllStringFunc(regexp.QuoteMeta(f.Pattern), func(part string) string {
		if part == `\[VolumeType\]` || part == `\[VolumeName\]` {
			return `[^.]+`
		}
		return `.+`
	})
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(key)
}

// FamilyOf returns the family of a key, the most special one first; ok is false if it is of none.
func FamilyOf(key string) (f Family, ok bool) {
	for _, candidate := range Families() {
		if candidate.Matches(key) && (!ok || len(candidate.Pattern) > len(f.Pattern)) {
			f, ok = candidate, true
		}
	}
	return f, ok
}

// readersTable has a row for each key and family that Spark's submission and pod building read: the name, a tab, and who
// reads it.
//
//go:embed readers.tsv
var readersTable string

// ReadBy says which parts read a key or family, or "" when only kubespark's own documentation knows.
func ReadBy(name string) string {
	for line := range strings.Lines(readersTable) {
		if key, by, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t"); ok && key == name {
			return by
		}
	}
	return ""
}
