// Package servertest tries internal/upload against real servers of each store: S3 and Google Cloud Storage in this process,
// Azure's Azurite and Hadoop's mini cluster where hack/test-long.sh has started them. It is a module of its own because
// the servers bring many libraries.
package servertest
