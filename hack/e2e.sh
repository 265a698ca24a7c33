#!/usr/bin/env bash
# The end-to-end tests: real Spark on a local cluster of their own, started from bin/. Arguments go to go test.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

[ "$(id -u)" = 0 ] || die "the end-to-end tests need root: the node makes real containers"
homes=
for v in 4.1.1 4.2.0 4.3.0; do homes+=${homes:+,}$v=$(hack/fetch-spark.sh $v); done
export KUBESPARK_SPARK_HOMES=$homes KUBESPARK_BIN=$root/bin
cd localcluster
exec go test -tags e2e -count=1 -timeout 60m -v "$@" ./e2e/...
