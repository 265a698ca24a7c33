package upload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"
)

const (
	gsScope    = "https://www.googleapis.com/auth/devstorage.read_write"
	gsAuthType = "fs.gs.auth.type"
)

// tokenError marks that no token could be had: trying again at once does not help.
type tokenError struct{ err error }

func (e *tokenError) Error() string {
	return "no Google credentials that work: set spark.hadoop.fs.gs.auth.service.account.json.keyfile, or log in on this machine " +
		"(application default credentials): " + strings.Join(strings.Fields(e.err.Error()), " ")
}

func (e *tokenError) Unwrap() error { return e.err }

func permanent(err error) bool {
	var t *tokenError
	return errors.As(err, &t)
}

// markedSource marks the errors of a token source.
type markedSource struct{ oauth2.TokenSource }

// Token asks the source.
func (s markedSource) Token() (*oauth2.Token, error) {
	t, err := s.TokenSource.Token()
	if err != nil {
		return nil, &tokenError{err}
	}
	return t, nil
}

// gsClient makes the HTTP client that the keys of Google's Hadoop connector describe.
func gsClient(ctx context.Context, h *hadoopConf) (*http.Client, error) {
	client := httpClient()
	source, err := gsTokens(context.WithoutCancel(ctx), h)
	if err != nil || source == nil {
		return client, err
	}
	return &http.Client{Transport: &oauth2.Transport{Source: oauth2.ReuseTokenSource(nil, markedSource{source}), Base: client.Transport}}, nil
}

// gsTokens is nil for a server that asks for no credentials.
func gsTokens(ctx context.Context, h *hadoopConf) (oauth2.TokenSource, error) {
	keyFile := h.get("fs.gs.auth.service.account.json.keyfile", "google.cloud.auth.service.account.json.keyfile")
	email := h.get("fs.gs.auth.service.account.email")
	kind := strings.ToUpper(h.get(gsAuthType, "google.cloud.auth.type"))
	if kind == "" {
		switch {
		case keyFile != "":
			kind = "SERVICE_ACCOUNT_JSON_KEYFILE"
		case email != "":
			kind = "PRIVATE_KEY"
		case h.getBool(false, "fs.gs.auth.null.enable", "google.cloud.auth.null.enable"):
			kind = "UNAUTHENTICATED"
		}
	}
	switch kind {
	case "UNAUTHENTICATED":
		return nil, nil
	case "COMPUTE_ENGINE":
		return google.ComputeTokenSource("", gsScope), nil
	case "SERVICE_ACCOUNT_JSON_KEYFILE":
		if keyFile == "" {
			return nil, fmt.Errorf("%s%s=%s needs %sfs.gs.auth.service.account.json.keyfile", sparkPrefix, gsAuthType, kind, sparkPrefix)
		}
		return h.gsFile(ctx, keyFile)
	case "PRIVATE_KEY":
		return h.gsPrivateKey(ctx, email)
	case "USER_CREDENTIALS":
		c := oauth2.Config{ClientID: h.get("fs.gs.auth.client.id"), ClientSecret: h.get("fs.gs.auth.client.secret"), Endpoint: google.Endpoint}
		return c.TokenSource(ctx, &oauth2.Token{RefreshToken: h.get("fs.gs.auth.refresh.token")}), nil
	case "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE":
		return h.gsFile(ctx, h.get("fs.gs.auth.workload.identity.federation.credential.config.file"))
	case "", "APPLICATION_DEFAULT":
		if file := h.getenv("GOOGLE_APPLICATION_CREDENTIALS"); file != "" {
			return h.gsFile(ctx, file)
		}
		c, err := google.FindDefaultCredentials(ctx, gsScope)
		if err != nil {
			return nil, &tokenError{err}
		}
		return c.TokenSource, nil
	}
	return nil, fmt.Errorf("%s%s: native submission does not know %s; use SERVICE_ACCOUNT_JSON_KEYFILE or APPLICATION_DEFAULT, "+
		"or set spark.kubespark.submit.fallback=spark-submit", sparkPrefix, gsAuthType, kind)
}

// gsFile reads credentials of any type that Google writes into files.
func (h *hadoopConf) gsFile(ctx context.Context, name string) (oauth2.TokenSource, error) {
	text, err := h.readFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the Google credentials: %w", err)
	}
	var file struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s is no file of Google credentials", name) // the cause could quote the key
	}
	c, err := google.CredentialsFromJSONWithType(ctx, text, file.Type, gsScope)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c.TokenSource, nil
}

func (h *hadoopConf) gsPrivateKey(ctx context.Context, email string) (oauth2.TokenSource, error) {
	key := h.get("fs.gs.auth.service.account.private.key")
	if email == "" || key == "" {
		if err := h.credentialFiles(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%sfs.gs.auth.service.account.email and .private.key must both be set", sparkPrefix)
	}
	c := jwt.Config{Email: email, PrivateKey: []byte(strings.ReplaceAll(key, `\n`, "\n")), PrivateKeyID: h.get("fs.gs.auth.service.account.private.key.id"),
		Scopes: []string{gsScope}, TokenURL: google.JWTTokenURL}
	if u := h.get("fs.gs.token.server.url"); u != "" {
		c.TokenURL = u
	}
	return c.TokenSource(ctx), nil
}
