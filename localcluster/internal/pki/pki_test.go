package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

func written(t *testing.T) (dir string, r Request) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "pki")
	r = Request{
		Server:        "https://127.0.0.1:6443",
		APIServerDNS:  []string{"localhost", "kubernetes.default.svc"},
		APIServerIPs:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 10, 0, 1)},
		NodeNames:     []string{"local"},
		NodeIP:        net.IPv4(127, 10, 0, 1),
		Now:           time.Now(),
		ValidFor:      24 * time.Hour,
		AdminUserName: "kubernetes-admin",
	}
	if err := Write(dir, r); err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestServersAreTrusted(t *testing.T) {
	dir, r := written(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(t, filepath.Join(dir, CA)))
	for _, tc := range []struct {
		cert, key string
		names     []string
	}{
		{APIServerCert, APIServerKey, []string{"localhost", "kubernetes.default.svc", "127.0.0.1", "127.10.0.1"}},
		{KubeletCert, KubeletKey, []string{"local", "127.10.0.1"}},
	} {
		if _, err := tls.LoadX509KeyPair(filepath.Join(dir, tc.cert), filepath.Join(dir, tc.key)); err != nil {
			t.Errorf("%s: %v", tc.cert, err)
		}
		cert := parse(t, read(t, filepath.Join(dir, tc.cert)))
		for _, name := range tc.names {
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: r.Now}); err != nil {
				t.Errorf("%s as %s: %v", tc.cert, name, err)
			}
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "example.com", CurrentTime: r.Now}); err == nil {
			t.Errorf("%s passes as example.com", tc.cert)
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: r.Now.Add(r.ValidFor + time.Minute)}); err == nil {
			t.Errorf("%s is valid after its time", tc.cert)
		}
	}
}

func TestClientsAreWhoTheyShouldBe(t *testing.T) {
	dir, r := written(t)
	for file, want := range map[string][]string{ // the user, then groups
		AdminConf:             {"kubernetes-admin", "system:masters"},
		ControllerManagerConf: {"system:kube-controller-manager"},
		SchedulerConf:         {"system:kube-scheduler"},
		NodeConf:              {"system:node:local", "system:nodes"},
	} {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if config.Host != r.Server {
			t.Errorf("%s: server %s", file, config.Host)
		}
		if _, err := tls.X509KeyPair(config.CertData, config.KeyData); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		checkClient(t, file, parse(t, config.CertData), config.CAData, want)
	}
	checkClient(t, KubeletClientCert, parse(t, read(t, filepath.Join(dir, KubeletClientCert))), read(t, filepath.Join(dir, CA)),
		[]string{"kube-apiserver-kubelet-client", "system:masters"})
}

func checkClient(t *testing.T, name string, cert *x509.Certificate, ca []byte, want []string) {
	t.Helper()
	if got := append([]string{cert.Subject.CommonName}, cert.Subject.Organization...); !slices.Equal(got, want) {
		t.Errorf("%s: user and groups %q, want %q", name, got, want)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: usage}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots}); err == nil { // the default is a server's usage
		t.Errorf("%s passes as a server", name)
	}
}

func TestServiceAccountKeysBelongTogether(t *testing.T) {
	dir, _ := written(t)
	block, _ := pem.Decode(read(t, filepath.Join(dir, ServiceAccountKey)))
	private, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	block, _ = pem.Decode(read(t, filepath.Join(dir, ServiceAccountPublicKey)))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !private.PublicKey.Equal(public.(*ecdsa.PublicKey)) {
		t.Error("the public key is another one's")
	}
}

func TestKeysAreTheOwnersAlone(t *testing.T) {
	dir, _ := written(t)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", f.Name(), info.Mode())
		}
	}
	if len(files) != 13 {
		t.Errorf("%d files, want 13: the authority's key must not be among them", len(files))
	}
}
