#!/usr/bin/env bash
# Spark's Kubernetes integration suite, mirrored in hack/sparksuite, on a local cluster of its own. Goes on where it stopped:
# the cells of this round are in bin/spark-suite.jsonl. Arguments go to sparksuite run, -rows 1-12,18 for instance.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

[ "$(id -u)" = 0 ] || die "the suite needs root: the local cluster's node makes real containers"
need javac "install a JDK 17 or later"
homes=()
for v in 4.2.0 4.1.1 4.3.0; do homes+=("$v=$(hack/fetch-spark.sh $v)"); done
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
if [ -n "$(git status --porcelain -- cmd conf internal jvm submit localcluster hack/sparksuite ':!hack/sparksuite/results.jsonl' 2>/dev/null)" ]; then commit+=+; fi
(cd hack/sparksuite && go build -o "$root/bin/sparksuite" .)
code=0
bin/sparksuite run -root "$root" -bin "$root/bin" -cache "$cache" -journal bin/spark-suite.jsonl -logs bin/spark-suite-logs \
	-results hack/sparksuite/results.jsonl -commit "$commit" -parallel 2 "$@" "${homes[@]}" || code=$?
bin/sparksuite page "$root" hack/sparksuite/results.jsonl docs/spark-suite.md
exit $code
