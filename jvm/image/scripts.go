// Package image holds the scripts of a Spark image: the entry point of driver and executor pods, with the contract of
// the one in Spark's official images, the maker of its class-data archives, and the executors' preStop hook. The local cluster builds its images with them.
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

// ClassData is the text of /opt/class-data.sh, which makes an image's class-data archives and tells the entry point which fits.
//
//go:embed class-data.sh
var ClassData []byte
