package submit

import (
	"fmt"
	"net/url"
	"strings"
)

const k8sPrefix = "k8s://"

// IsKubernetes says whether a master URL means a Kubernetes cluster.
func IsKubernetes(master string) bool {
	return strings.HasPrefix(master, k8sPrefix)
}

// NormalizeMaster completes a Kubernetes master URL, k8s:// included, with the scheme https when it has none. It answers to
// Utils.checkAndGetK8sMasterUrl.
func NormalizeMaster(master string) (normalized string, warnings []Notice, err error) {
	var log notices
	rest := strings.TrimPrefix(master, k8sPrefix)
	if !strings.Contains(rest, "://") {
		rest = "https://" + rest
		log.info("Utils", "No scheme specified for kubernetes master URL, so defaulting to https. Resolved URL is "+rest+".")
	}
	scheme, _, _ := strings.Cut(rest, "://")
	switch strings.ToLower(scheme) {
	case "https":
	case "http":
		log.warn("Utils", "Kubernetes master URL uses HTTP instead of HTTPS.")
	default:
		return "", nil, &Error{Class: classArgument, Text: fmt.Sprintf("Invalid Kubernetes master scheme: %s found in URL: %s", scheme, rest)}
	}
	u, err := url.Parse(rest)
	if err != nil {
		return "", nil, &Error{Class: classArgument, Text: fmt.Sprintf("Kubernetes master URL %s is no URL", rest), Err: err}
	}
	if u.Hostname() == "" {
		return "", nil, &Error{Class: classArgument, Text: "Kubernetes master URL has no host"}
	}
	return k8sPrefix + rest, log, nil
}

// APIServer is the address that a normalized master URL names.
func APIServer(master string) string { return strings.TrimPrefix(master, k8sPrefix) }
