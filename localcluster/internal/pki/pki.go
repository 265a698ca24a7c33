// Package pki makes the keys of a local cluster: one authority, the servers' and clients' certificates that it
// signs, the key pair of the service-account tokens, and the kubeconfigs. `up` makes a new set each time, and the
// private keys never leave the cluster's state folder.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names of the files in the folder that Write fills.
const (
	CA                      = "ca.crt" // the authority's certificate
	APIServerCert           = "apiserver.crt"
	APIServerKey            = "apiserver.key"
	KubeletCert             = "kubelet.crt" // the node's, as a server
	KubeletKey              = "kubelet.key"
	KubeletClientCert       = "apiserver-kubelet-client.crt" // the API server's, towards the node
	KubeletClientKey        = "apiserver-kubelet-client.key"
	ServiceAccountKey       = "sa.key" // signs service-account tokens
	ServiceAccountPublicKey = "sa.pub"
	AdminConf               = "admin.conf"
	ControllerManagerConf   = "controller-manager.conf"
	SchedulerConf           = "scheduler.conf"
	NodeConf                = "node.conf"
)

// Request says for whom the certificates are.
type Request struct {
	Server        string   // the API server's URL in the kubeconfigs
	APIServerDNS  []string // names and addresses under which the API server is reached
	APIServerIPs  []net.IP
	NodeNames     []string
	NodeIP        net.IP // where the API server reaches the nodes
	MetricsDNS    string // the name under which the first node serves the metrics API
	Now           time.Time
	ValidFor      time.Duration
	AdminUserName string // common name of the administrator's certificate, who is in system:masters
}

// Write makes the folder, mode 0700, and all its files, mode 0600.
func Write(dir string, r Request) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the key folder: %w", err)
	}
	a, err := newAuthority(r.Now, r.ValidFor)
	if err != nil {
		return err
	}
	if err := writeFile(dir, CA, a.certPEM); err != nil {
		return err
	}
	if err := writeServiceAccountKeys(dir); err != nil {
		return err
	}
	for _, p := range pairs(r) {
		if err := a.writePair(dir, p); err != nil {
			return err
		}
	}
	for _, c := range clients(r) {
		if err := a.writeKubeconfig(dir, r.Server, c); err != nil {
			return err
		}
	}
	return nil
}

// pair is a certificate and its key, in files of their own.
type pair struct {
	cert, key string
	template  x509.Certificate
}

func pairs(r Request) []pair {
	server := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	all := []pair{
		{APIServerCert, APIServerKey, x509.Certificate{
			Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: server,
			DNSNames: r.APIServerDNS, IPAddresses: r.APIServerIPs,
		}},
		{KubeletClientCert, KubeletClientKey, client("kube-apiserver-kubelet-client", "system:masters")},
	}
	for i, name := range r.NodeNames {
		dns := []string{name}
		if i == 0 && r.MetricsDNS != "" {
			dns = append(dns, r.MetricsDNS)
		}
		all = append(all, pair{ForNode(KubeletCert, i), ForNode(KubeletKey, i), x509.Certificate{
			Subject:     pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}},
			ExtKeyUsage: server, DNSNames: dns, IPAddresses: []net.IP{r.NodeIP},
		}})
	}
	return all
}

// ForNode is the name of a node's file, by the node's number from 0: the first node has the plain name.
func ForNode(file string, node int) string {
	if node == 0 {
		return file
	}
	ext := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), node+1, ext)
}

// conf is a kubeconfig with the client certificate in it.
type conf struct {
	file     string
	template x509.Certificate
}

func clients(r Request) []conf {
	all := []conf{
		{AdminConf, client(r.AdminUserName, "system:masters")},
		{ControllerManagerConf, client("system:kube-controller-manager", "")},
		{SchedulerConf, client("system:kube-scheduler", "")},
	}
	for i, name := range r.NodeNames {
		all = append(all, conf{ForNode(NodeConf, i), client("system:node:"+name, "system:nodes")})
	}
	return all
}

// client is the template of a client's certificate: the API server takes the user's name from the common name and
// the group from the organisation.
func client(user, group string) x509.Certificate {
	c := x509.Certificate{Subject: pkix.Name{CommonName: user}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if group != "" {
		c.Subject.Organization = []string{group}
	}
	return c
}

type authority struct {
	cert            *x509.Certificate
	certPEM         []byte
	key             *ecdsa.PrivateKey
	notBefore, ends time.Time
}

func newAuthority(now time.Time, validFor time.Duration) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, notBefore: now.Add(-time.Hour), ends: now.Add(validFor)} // an hour for clocks that are set back
	template := x509.Certificate{
		Subject: pkix.Name{CommonName: "kubespark-cluster"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a.cert = &template
	der, err := a.sign(template, key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("read the authority's own certificate: %w", err)
	}
	a.certPEM = encode("CERTIFICATE", der)
	return a, nil
}

// sign completes the template and returns the certificate in DER.
func (a *authority) sign(template x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choose a serial number: %w", err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = serial, a.notBefore, a.ends
	if template.KeyUsage == 0 {
		template.KeyUsage = x509.KeyUsageDigitalSignature
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

// issue makes a key and its certificate, both in PEM.
func (a *authority) issue(template x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	der, err := a.sign(template, key)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = encodeKey(key)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), keyPEM, nil
}

func (a *authority) writePair(dir string, p pair) error {
	cert, key, err := a.issue(p.template)
	if err != nil {
		return err
	}
	if err := writeFile(dir, p.cert, cert); err != nil {
		return err
	}
	return writeFile(dir, p.key, key)
}

func writeServiceAccountKeys(dir string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the service-account key: %w", err)
	}
	if err := writeFile(dir, ServiceAccountKey, private); err != nil {
		return err
	}
	return writeFile(dir, ServiceAccountPublicKey, encode("PUBLIC KEY", public))
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func writeFile(dir, name string, text []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
