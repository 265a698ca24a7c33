#!/usr/bin/env bash
# Everything that must pass: build, gate, shim on each Spark version, containers, end-to-end tests. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

[ "$(id -u)" = 0 ] || die "make test needs root: the local cluster's node makes real containers"
"$root/hack/prerequisites.sh"

# The other Spark versions come down while the compiler works.
(for v in 4.2.0 4.1.1 4.3.0; do hack/fetch-spark.sh $v >/dev/null; done) &
fetching=$!
trap 'kill $fetching 2>/dev/null || true' EXIT

# Waits for those that are still coming: the download holds a lock.
spark_versions() { spark_homes >/dev/null; }

spark_homes() {
	local v out=
	for v in 4.1.1 4.2.0 4.3.0; do out+=${out:+,}$v=$(hack/fetch-spark.sh $v); done
	echo "$out"
}

shim_tests() { KUBESPARK_SPARK_HOMES=$(spark_homes) go test -tags spark -count=1 -timeout 20m ./jvm/...; }

# The executor package against a simulated cluster and Spark, as many fixed seeds as take a minute or two; the gate's race
# detector runs the first 150, make test-long three times as many.
simulation() { go test ./internal/executor/simulation -count=1 -timeout 20m -run 'TestSimulate$' -seeds 5000; }

container_tests() { (cd localcluster && go test -tags container -count=1 -timeout 10m ./internal/...); }

# Pi, logging configuration, Python files, volumes: rows of Spark's own suite that take less than a minute.
suite_rows() { RECORD=no hack/spark-suite.sh -columns kubespark-kubespark -spark 4.2.0 -rows 2,16,19,34; }

part "build" make build
part "gate" hack/presubmit.sh
part "Spark 4.1.1, 4.2.0, 4.3.0" spark_versions
part "shim on each Spark" shim_tests
part "containers" container_tests
part "simulation" simulation
part "end to end" hack/e2e.sh
part "rows of Spark's suite" suite_rows
parts_table
