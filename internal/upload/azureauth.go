package upload

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

const (
	azureAuthType  = "fs.azure.account.auth.type"
	azureOAuthType = "fs.azure.account.oauth.provider.type"
	azurePublicURL = "https://login.microsoftonline.com/"
)

// get reads a key of this account, which wins, or of all accounts.
func (a azureAccount) get(h *hadoopConf, key string) string { return h.get(key+"."+a.host, key) }

// client makes a container's client with the credentials that the keys of Hadoop's connectors describe.
func (a azureAccount) client(h *hadoopConf, target string, o *container.ClientOptions) (*container.Client, error) {
	key := a.get(h, "fs.azure.account.key")
	sas := h.get("fs.azure.sas.fixed.token."+a.container+"."+a.host, "fs.azure.sas.fixed.token."+a.host, "fs.azure.sas.fixed.token",
		"fs.azure.sas."+a.container+"."+a.host)
	kind := a.get(h, azureAuthType)
	if kind == "" {
		switch {
		case key != "":
			kind = "SharedKey"
		case sas != "":
			kind = "SAS"
		}
	}
	switch strings.ToLower(kind) {
	case "oauth":
		token, err := a.oauth(h, azcore.ClientOptions{Transport: o.Transport})
		if err != nil {
			return nil, err
		}
		return container.NewClient(target, token, o)
	case "sas":
		if sas == "" {
			return nil, fmt.Errorf("%s%s is SAS, and spark.hadoop.fs.azure.sas.fixed.token.%s is not set: native submission runs no token provider classes; "+
				"set spark.kubespark.submit.fallback=spark-submit to use them", sparkPrefix, azureAuthType, a.host)
		}
		return container.NewClientWithNoCredential(target+"?"+strings.TrimPrefix(sas, "?"), o)
	case "":
		if err := h.credentialFiles(); err != nil {
			return nil, err
		}
		token, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: azcore.ClientOptions{Transport: o.Transport}})
		if err != nil {
			return nil, fmt.Errorf("no credentials for %s: set spark.hadoop.fs.azure.account.key.%s: %w", a.name, a.host, err)
		}
		return container.NewClient(target, token, o)
	case "sharedkey":
		return a.sharedKey(h, key, target, o)
	}
	return nil, fmt.Errorf("%s%s: native submission does not know %s; use SharedKey, SAS or OAuth, "+
		"or set spark.kubespark.submit.fallback=spark-submit", sparkPrefix, azureAuthType, kind)
}

func (a azureAccount) sharedKey(h *hadoopConf, key, target string, o *container.ClientOptions) (*container.Client, error) {
	if key == "" {
		if err := h.credentialFiles(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("spark.hadoop.fs.azure.account.key.%s is not set", a.host)
	}
	shared, err := container.NewSharedKeyCredential(a.name, key)
	if err != nil {
		return nil, fmt.Errorf("spark.hadoop.fs.azure.account.key.%s is no account key", a.host) // the cause could quote it
	}
	return container.NewClientWithSharedKeyCredential(target, shared, o)
}

// oauth makes a token source from the name of one of Hadoop's provider classes.
func (a azureAccount) oauth(h *hadoopConf, o azcore.ClientOptions) (azcore.TokenCredential, error) {
	const base = "fs.azure.account.oauth2."
	id := a.get(h, base+"client.id")
	need := func(key string) (string, error) {
		if v := a.get(h, key); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("%s%s is not set, and %s needs it", sparkPrefix, key, azureOAuthType)
	}
	switch class := simpleName(a.get(h, azureOAuthType)); class {
	case "ClientCredsTokenProvider":
		secret, err := need(base + "client.secret")
		if err != nil {
			return nil, err
		}
		endpoint, err := need(base + "client.endpoint")
		if err != nil {
			return nil, err
		}
		authority, tenant, err := azureEndpoint(endpoint)
		if err != nil {
			return nil, err
		}
		o.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: authority}
		return azidentity.NewClientSecretCredential(tenant, id, secret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: authority != azurePublicURL})
	case "MsiTokenProvider":
		options := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: o}
		if id != "" {
			options.ID = azidentity.ClientID(id)
		}
		return azidentity.NewManagedIdentityCredential(options)
	case "WorkloadIdentityTokenProvider":
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: o, ClientID: id,
			TenantID: a.get(h, base+"msi.tenant"), TokenFilePath: a.get(h, base+"token.file")})
	default:
		return nil, fmt.Errorf("%s%s: native submission does not know %q; use ClientCredsTokenProvider, MsiTokenProvider or WorkloadIdentityTokenProvider, "+
			"or set spark.kubespark.submit.fallback=spark-submit", sparkPrefix, azureOAuthType, class)
	}
}

// azureEndpoint takes https://login.microsoftonline.com/TENANT/oauth2/token apart.
func azureEndpoint(endpoint string) (authority, tenant string, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "", "", fmt.Errorf("%sfs.azure.account.oauth2.client.endpoint is no URL", sparkPrefix)
	}
	tenant, _, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if tenant == "" {
		return "", "", fmt.Errorf("%sfs.azure.account.oauth2.client.endpoint names no tenant", sparkPrefix)
	}
	return u.Scheme + "://" + u.Host + "/", tenant, nil
}
