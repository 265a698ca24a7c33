package sparkpod

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Lengths that Kubernetes allows.
const (
	MaxName  = 253 // pods, ConfigMaps, Secrets, claims
	MaxLabel = 63  // services, host names, label values, volumes, containers
)

// maxPrefix leaves room for the longest name made from a prefix, "<prefix>-driver-podspec-conf-map".
const maxPrefix = MaxName - len("-driver-podspec-conf-map")

var (
	notName     = regexp.MustCompile(`[^a-z0-9-]`)
	dashes      = regexp.MustCompile(`-+`)
	dnsLabel    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	leadingNon  = regexp.MustCompile(`^[^A-Za-z0-9_]+`)
	notHostname = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// Unique returns the text that makes names unique: six hexadecimal digits of the random bytes, then the milliseconds
// since the epoch modulo 2^40. It answers to KubernetesUtils.uniqueID.
func Unique(random [3]byte, now time.Time) string {
	const low40 = 1<<40 - 1
	return hex.EncodeToString(random[:]) + strconv.FormatInt(now.UnixMilli()&low40, 16)
}

// NamePrefix returns the prefix of the names of an application's objects, "<name>-<unique>" in the letters that
// Kubernetes allows. A name so long that an object's name would not fit is cut.
func NamePrefix(appName, unique string) string {
	p := strings.TrimPrefix(nameLetters(appName+"-"+unique), "-")
	if p != "" && p[0] >= '0' && p[0] <= '9' {
		p = "x" + p[1:]
	}
	if len(p) > maxPrefix {
		room := maxPrefix - len(unique) - 1
		p = strings.TrimRight(p[:room], "-") + "-" + unique
	}
	return p
}

// AppNameLabel returns the value of the label spark-app-name.
func AppNameLabel(appName string) string {
	l := nameLetters(appName)
	if len(l) > MaxLabel {
		l = l[:MaxLabel]
	}
	return strings.TrimSuffix(strings.TrimPrefix(l, "-"), "-")
}

// nameLetters trims and lower-cases as a JVM does, and puts one dash for each run of other characters.
func nameLetters(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.ReplaceAll(s, "\u0130", "i\u0307") // the JVM keeps the dot of a Turkish capital I
	return dashes.ReplaceAllString(notName.ReplaceAllString(strings.ToLower(s), "-"), "-")
}

// ServiceName returns the name of the driver's Service: "<prefix>-driver-svc" if that fits, else one made from a fresh
// unique text and a warning for the log.
func ServiceName(prefix string, unique func() string) (name, warning string) {
	preferred := prefix + "-driver-svc"
	if len(preferred) <= MaxLabel {
		return preferred, ""
	}
	name = "spark-" + unique() + "-driver-svc"
	return name, fmt.Sprintf("Driver's hostname would preferably be %s, but this is too long (must be <= 63 characters). "+
		"Falling back to use %s as the driver service's name.", preferred, name)
}

// Hostname returns the host name of a pod: the end of its name in the letters that host names have.
func Hostname(podName string) string {
	h := podName
	if len(h) > MaxLabel {
		h = h[len(h)-MaxLabel:]
	}
	return notHostname.ReplaceAllString(leadingNon.ReplaceAllString(h, ""), "-")
}

// IsDNSLabel says whether the text can name a volume, a container or a port.
func IsDNSLabel(s string) bool { return len(s) <= MaxLabel && dnsLabel.MatchString(s) }

// ExecutorPodName returns the name of an executor's pod.
func ExecutorPodName(prefix, id string) string { return prefix + "-exec-" + id }

// DriverConfigMapName returns the name of the driver's ConfigMap.
func DriverConfigMapName(unique string) string { return configMapName("spark-drv-" + unique) }

// ExecutorConfigMapName returns the name of the executors' ConfigMap.
func ExecutorConfigMapName(unique string) string { return configMapName("spark-exec-" + unique) }

// configMapName cuts what is too long for a name in front of the common end.
func configMapName(prefix string) string {
	const end, limit = "-conf-map", 253
	return prefix[:min(len(prefix), limit-len(end))] + end
}
