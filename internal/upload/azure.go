package upload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

const (
	azureBlock    = 16 << 20
	azureParallel = 4
)

// azureStore is one container of a storage account. It speaks the account's Blob service, which accounts with a hierarchical
// name space have too: a file written there is the same file for abfss.
type azureStore struct {
	api  *container.Client
	name string
	http *http.Client
}

// azureAccount is what a URL's authority names.
type azureAccount struct {
	container string
	host      string // as keys end with: name.dfs.core.windows.net
	name      string
}

func azureOf(at Location) (azureAccount, error) {
	c, host, ok := strings.Cut(at.Authority, "@")
	name, _, dotted := strings.Cut(host, ".")
	if !ok || c == "" || !dotted {
		return azureAccount{}, fmt.Errorf("%s does not name container and account: write %s://container@account.dfs.core.windows.net/folder", at, at.Scheme)
	}
	return azureAccount{container: c, host: host, name: name}, nil
}

// url is that of the container at the account's Blob service. fs.azure.abfs.endpoint puts another server in its place, as
// it does in Hadoop.
func (a azureAccount) url(h *hadoopConf, scheme string) string {
	proto := "https"
	if secure := scheme == "abfss" || scheme == "wasbs"; !secure && !h.getBool(scheme == "abfs", "fs.azure.always.use.https") {
		proto = "http"
	}
	if e := h.get("fs.azure.abfs.endpoint"); e != "" {
		return proto + "://" + e + "/" + a.name + "/" + a.container
	}
	return proto + "://" + strings.Replace(a.host, ".dfs.", ".blob.", 1) + "/" + a.container
}

func openAzure(_ context.Context, h *hadoopConf, at Location) (store, error) {
	a, err := azureOf(at)
	if err != nil {
		return nil, err
	}
	s := &azureStore{name: a.container + "@" + a.host, http: httpClient()}
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s.http}}
	s.api, err = a.client(h, a.url(h, at.Scheme), options)
	return s, err
}

func (s *azureStore) put(ctx context.Context, at Location, src *os.File, _ int64, wrote func(int64)) error {
	_, err := s.api.NewBlockBlobClient(at.key()).UploadFile(counted(ctx, wrote), src,
		&blockblob.UploadFileOptions{BlockSize: azureBlock, Concurrency: azureParallel})
	return s.explain(err)
}

func (s *azureStore) remove(ctx context.Context, at Location) error {
	if _, err := s.api.NewBlobClient(at.key()).Delete(ctx, nil); err != nil && !gone(err) {
		return s.explain(err)
	}
	// With a hierarchical name space the folder is a thing of its own.
	if _, err := s.api.NewBlobClient(at.folder().key()).Delete(ctx, nil); err != nil && !gone(err) {
		return s.explain(err)
	}
	return nil
}

func gone(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && re.StatusCode == http.StatusNotFound
}

func (s *azureStore) list(ctx context.Context, at Location) ([]entry, error) {
	prefix := at.key()
	var out []entry
	pages := s.api.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix, Include: azblob.ListBlobsInclude{Metadata: true}})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		for _, b := range page.Segment.BlobItems {
			if flag := b.Metadata["hdi_isfolder"]; flag == nil || *flag != "true" {
				out = appendObject(out, strings.TrimPrefix(*b.Name, prefix))
			}
		}
		for _, p := range page.Segment.BlobPrefixes {
			out = appendObject(out, strings.TrimPrefix(*p.Name, prefix))
		}
	}
	return out, nil
}

func (s *azureStore) close() error {
	s.http.CloseIdleConnections()
	return nil
}

// explain words what Azure answered, in one line and without the URL.
func (s *azureStore) explain(err error) error {
	var re *azcore.ResponseError
	if !errors.As(err, &re) {
		return err
	}
	text := http.StatusText(re.StatusCode)
	if re.RawResponse != nil && re.RawResponse.Status != "" {
		text = re.RawResponse.Status
	}
	return &answerError{store: "Azure", of: s.name, code: re.ErrorCode, text: text, err: err}
}
