#!/usr/bin/env bash
# Prints the folder of the kubeflow Spark operator's Go module. Its manager is built from there into the cache folder, with
# the module's own versions, unless it is there already: $cache/spark-operator/VERSION/spark-operator.
# usage: hack/contracts/operator.sh [--binary]   (prints the program's path instead)
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

module=github.com/kubeflow/spark-operator/v2
version=v2.4.0
sum=h1:Bo5rz5dlhqYEa7e/TLtUEVXDMNRotnVaQ4VLCyeLeOc=
program=$cache/spark-operator/$version/spark-operator

need go "see README"
info=$(cd / && GOFLAGS= go mod download -json "$module@$version") || die "the Go module $module $version could not be had"
field() { sed -n "s/^\t\"$1\": \"\(.*\)\",*$/\1/p" <<<"$info"; }
[ "$(field Sum)" = "$sum" ] || die "$module $version does not have the checksum that is known here"
dir=$(field Dir)

mkdir -p "${program%/*}"
exec 9>"${program%/*}/.lock"
flock 9
if [ ! -x "$program" ]; then
	say "spark-operator: building $version"
	(cd "$dir" && GOFLAGS= CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags '-s -w' -o "$program.new" ./cmd/operator) ||
		die "the operator could not be built"
	mv "$program.new" "$program"
fi
if [ "${1:-}" = --binary ]; then echo "$program"; else echo "$dir"; fi
