// Package image holds the scripts of a Spark image: the entry point of driver and executor pods, with the contract of
// the one in Spark's official images, and the executors' preStop hook. The local cluster builds its images with them.
package image

import _ "embed" // the scripts

// Entrypoint is the text of /opt/entrypoint.sh.
//
//go:embed entrypoint.sh
var Entrypoint []byte

// Decommission is the text of /opt/decom.sh.
//
//go:embed decom.sh
var Decommission []byte
