package pki

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig issues the client's certificate and writes a kubeconfig that holds all it needs.
func (a *authority) writeKubeconfig(dir, server string, c conf) error {
	cert, key, err := a.issue(c.template)
	if err != nil {
		return err
	}
	const name = "kubespark"
	user := c.template.Subject.CommonName
	config := api.Config{
		Clusters:       map[string]*api.Cluster{name: {Server: server, CertificateAuthorityData: a.certPEM}},
		AuthInfos:      map[string]*api.AuthInfo{user: {ClientCertificateData: cert, ClientKeyData: key}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: user}},
		CurrentContext: name,
	}
	text, err := clientcmd.Write(config)
	if err != nil {
		return fmt.Errorf("encode %s: %w", c.file, err)
	}
	return writeFile(dir, c.file, text)
}
