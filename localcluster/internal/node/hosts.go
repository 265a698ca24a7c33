package node

import (
	"fmt"
	"os"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// podAddress is what names need to know of a pod.
type podAddress struct {
	namespace string
	labels    map[string]string
	ip        string
}

// serviceNames are the names of one Service with the addresses behind it.
type serviceNames struct {
	namespace, name string
	ips             []string
}

// resolveServices finds the pods behind each Service that has a selector. Every pod with an address counts, ready or not: there is no
// other way for a driver to find itself by its Service's name when it starts. The port of the name is the pods' own: no proxy
// translates a Service's port here.
func resolveServices(services []*corev1.Service, pods []podAddress) []serviceNames {
	var out []serviceNames
	for _, s := range services {
		if len(s.Spec.Selector) == 0 {
			continue
		}
		sel := labels.SelectorFromSet(s.Spec.Selector)
		n := serviceNames{namespace: s.Namespace, name: s.Name}
		for _, p := range pods {
			if p.namespace == s.Namespace && p.ip != "" && sel.Matches(labels.Set(p.labels)) {
				n.ips = append(n.ips, p.ip)
			}
		}
		if len(n.ips) > 0 {
			sort.Strings(n.ips)
			out = append(out, n)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].namespace < out[j].namespace || out[i].namespace == out[j].namespace && out[i].name < out[j].name
	})
	return out
}

// hostsFile is the text of a pod's /etc/hosts.
func hostsFile(pod *corev1.Pod, ip, hostname, apiServerIP string, services []serviceNames) string {
	var b strings.Builder
	b.WriteString("# kubespark-managed hosts file.\n127.0.0.1\tlocalhost\n")
	names := hostname
	if pod.Spec.Subdomain != "" {
		names = fmt.Sprintf("%s.%s.%s.svc.cluster.local\t%s", hostname, pod.Spec.Subdomain, pod.Namespace, hostname)
	}
	if ip != "" {
		fmt.Fprintf(&b, "%s\t%s\n", ip, names)
	}
	api := []string{"kubernetes.default.svc.cluster.local", "kubernetes.default.svc", "kubernetes.default"}
	if pod.Namespace == "default" {
		api = append(api, "kubernetes")
	}
	fmt.Fprintf(&b, "%s\t%s\n", apiServerIP, strings.Join(api, "\t"))
	for _, a := range pod.Spec.HostAliases {
		fmt.Fprintf(&b, "%s\t%s\n", a.IP, strings.Join(a.Hostnames, "\t"))
	}
	for _, s := range services {
		full := s.name + "." + s.namespace
		list := []string{full + ".svc.cluster.local", full + ".svc", full}
		if s.namespace == pod.Namespace {
			list = append(list, s.name)
		}
		for _, ip := range s.ips {
			fmt.Fprintf(&b, "%s\t%s\n", ip, strings.Join(list, "\t"))
		}
	}
	return b.String()
}

// hostnameOf is the pod's host name: the name that its spec gives, else the pod's own; 63 characters at most, as a kubelet cuts it.
func hostnameOf(pod *corev1.Pod) string {
	name := pod.Spec.Hostname
	if name == "" {
		name = pod.Name
	}
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

// rewrite gives a file new content without a new inode, because containers have it bound. It is written first and cut afterwards, so a
// reader never sees it empty.
func rewrite(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}
