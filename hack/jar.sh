#!/usr/bin/env bash
# Makes bin/kubespark.jar when one of its inputs changed: the shim's sources, the manager's binaries, Spark's jars.
# usage: hack/jar.sh SPARK_HOME OUTPUT MANAGER_AMD64 MANAGER_ARM64
set -euo pipefail
. "$(dirname "$0")/lib.sh"

spark=$1 out=$2
shift 2
inputs=$({
	echo "$spark"
	find "$root/jvm" -type f ! -name '*_test.go' | sort | xargs sha256sum
	sha256sum "$@" "$root/LICENSE"
} | sed "s#$root/##" | sha256sum)
stamp=$out.inputs
if [ -f "$out" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$inputs" ]; then
	exit 0
fi
need java "install a JDK 17 or later"
began=$SECONDS
"$root/jvm/build.sh" "$spark" "$out" "$@"
echo "$inputs" >"$stamp"
say "kubespark.jar: built in $(clock $((SECONDS - began)))"
