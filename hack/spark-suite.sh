#!/usr/bin/env bash
# Spark's Kubernetes integration suite, mirrored in hack/sparksuite, on a local cluster of its own. Goes on where it stopped:
# the cells of this round are in bin/spark-suite.jsonl. Arguments go to sparksuite run, -rows 1-12,18 for instance. With
# RECORD=no nothing is resumed or recorded.
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
journal=bin/spark-suite.jsonl results=hack/sparksuite/results.jsonl code=0
class_data=true
if [ "${RECORD:-}" = no ]; then journal=$(mktemp -u) results= class_data=false; fi
bin/sparksuite run -root "$root" -bin "$root/bin" -cache "$cache" -journal "$journal" -logs bin/spark-suite-logs \
	-results "$results" -commit "$commit" -parallel 2 -class-data=$class_data "$@" "${homes[@]}" || code=$?
if [ "$results" ]; then bin/sparksuite page "$root" "$results" docs/spark-suite.md; else rm -f "$journal"; fi
exit $code
