#!/usr/bin/env bash
# Records what stock Spark sends for the cases of internal/fidelity, with each Spark version. Needs a JDK 17.
# usage: hack/record.sh [-run REGEXP] [-stale]
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

homes=()
for v in 4.2.0 4.1.1 4.3.0; do homes+=("$v=$(hack/fetch-spark.sh $v)"); done
go run ./hack/fidelity record "$@" "${homes[@]}"
