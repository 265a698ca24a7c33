//go:build long

package servertest

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// The account that Azurite documents for everybody's tests.
const (
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

func azurite(t *testing.T) (address string) {
	if address = os.Getenv("KUBESPARK_TEST_AZURITE"); address == "" {
		t.Fatal("KUBESPARK_TEST_AZURITE is not set: run make test-long")
	}
	return address
}

func TestAzure(t *testing.T) {
	address := azurite(t)
	key, err := azblob.NewSharedKeyCredential(azuriteAccount, azuriteKey)
	if err != nil {
		t.Fatal(err)
	}
	api, err := azblob.NewClientWithSharedKeyCredential("http://"+address+"/"+azuriteAccount, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.CreateContainer(context.Background(), "jobs", nil); err != nil && !strings.Contains(err.Error(), "ContainerAlreadyExists") {
		t.Fatal(err)
	}
	const host = "@" + azuriteAccount + ".dfs.core.windows.net"
	s := server{base: "abfs://jobs" + host + "/up", big: 300 << 20,
		props: map[string]string{"fs.azure.abfs.endpoint": address, "fs.azure.always.use.https": "false",
			"fs.azure.account.key." + azuriteAccount + ".dfs.core.windows.net": azuriteKey},
		read: func(path string) ([]byte, error) {
			r, err := api.DownloadStream(context.Background(), "jobs", strings.TrimPrefix(path, "/"), nil)
			if err != nil {
				return nil, err
			}
			defer func() { _ = r.Body.Close() }()
			return io.ReadAll(r.Body)
		}}
	s.exercise(t)
	s.refuses(t, "abfs://none"+host+"/x/y", "Azure refused it (none"+host+"): 404 The specified container does not exist (ContainerNotFound)")
	s.props["fs.azure.account.key."+azuriteAccount+".dfs.core.windows.net"] = "c2VjcmV0"
	s.refuses(t, "abfs://jobs"+host+"/x/y", "Azure refused it (jobs"+host+"): 403 Server failed to authenticate the request. Make sure the value of the Authorization header is formed correctly including the signature (AuthorizationFailure)")
}
