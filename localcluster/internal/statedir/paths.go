// Package statedir is the folder that holds everything a local cluster has on disk: its keys, data, logs and the
// record of its processes. It knows the places in it, who may change it, and how to take it away without touching
// anything that is not the cluster's.
package statedir

import (
	"fmt"
	"path/filepath"
)

// Dir is the absolute path of a cluster's state folder.
type Dir string

// maxPath is the longest path at which etcd's sockets still fit into a socket address.
const maxPath = 107 - len("/etcd/client.sock")

// New makes the path absolute and refuses one that cannot hold a cluster.
func New(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("state folder %q: %w", path, err)
	}
	if path == "" || abs == "/" {
		return "", fmt.Errorf("%q cannot be the state folder: name a folder of the cluster's own with --state-dir", path)
	}
	if len(abs) > maxPath {
		return "", fmt.Errorf("the state folder's path %q has %d characters, a socket in it allows %d: choose a shorter one with --state-dir", abs, len(abs), maxPath)
	}
	return Dir(abs), nil
}

// Join returns a path below the folder.
func (d Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Record is the file that says which processes make up the cluster and how it was started.
func (d Dir) Record() string { return d.Join("cluster.json") }

// PKI is the folder of keys, certificates and the components' kubeconfigs.
func (d Dir) PKI() string { return d.Join("pki") }

// Key returns the path of a file of the PKI folder.
func (d Dir) Key(name string) string { return d.Join("pki", name) }

// Kubeconfig is the administrator's.
func (d Dir) Kubeconfig() string { return d.Join("kubeconfig") }

// Logs is the folder with one log per component.
func (d Dir) Logs() string { return d.Join("logs") }

// Log returns the path of a component's log.
func (d Dir) Log(component string) string { return d.Join("logs", component+".log") }

// Etcd is etcd's folder: data and sockets.
func (d Dir) Etcd() string { return d.Join("etcd") }

// EtcdSocket is where etcd serves the API server. A socket and no port, because pods share the host's network and
// etcd asks nobody who he is.
func (d Dir) EtcdSocket() string { return d.Join("etcd", "client.sock") }

// Node is a node's folder, by its number from 0: containers and volumes.
func (d Dir) Node(node int) string { return d.Join(Numbered("node", node)) }

// Numbered is the name of a node's own thing: the first node has the plain name, the others a number behind it.
func Numbered(name string, node int) string {
	if node == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, node+1)
}

// Images is the folder of image manifests.
func (d Dir) Images() string { return d.Join("images") }

// entries are all the names that a cluster has in its state folder; `down` removes these and nothing else.
func entries() []string {
	all := []string{"etcd", "images", "kubeconfig", "logs"}
	for i := range maxNodes {
		all = append(all, Numbered("node", i))
	}
	return append(all, "pki", "cluster.json.new", "cluster.json")
}
