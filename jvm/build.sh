#!/usr/bin/env bash
# Builds kubespark.jar: the shim, compiled by the Scala compiler among Spark's own jars, with the manager's binaries inside.
#
#   build.sh SPARK_HOME OUT_JAR MANAGER_AMD64 [MANAGER_ARM64]
#
# Needs a JDK 17 or newer (JAVA_HOME, else the one on PATH) and nothing else. Equal inputs give equal bytes.
# KUBESPARK_VERSION is written into the jar; without it, "dev".
set -euo pipefail
export LC_ALL=C

fail() { echo "build.sh: $*" >&2; exit 1; }

(( $# == 3 || $# == 4 )) || fail "usage: build.sh SPARK_HOME OUT_JAR MANAGER_AMD64 [MANAGER_ARM64]"
spark=$1 out=$2 amd64=$3 arm64=${4:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
java=java jar=jar
if [[ -n ${JAVA_HOME:-} ]]; then java=$JAVA_HOME/bin/java jar=$JAVA_HOME/bin/jar; fi

[[ -d $spark/jars ]] || fail "$spark has no folder jars: give the home of a Spark 4.2 distribution"
for file in "$amd64" ${arm64:+"$arm64"}; do
  [[ -x $file ]] || fail "$file is no executable file: build kubespark-manager first"
done
command -v "$jar" >/dev/null || fail "no jar tool found: install a JDK 17 or newer and set JAVA_HOME"

# one_jar PATTERN - the one jar of the distribution whose name fits.
one_jar() {
  local found
  found=$(compgen -G "$spark/jars/$1" | head -n 1) || true
  [[ -n $found ]] || fail "$spark/jars has no $1: the distribution must be one of Spark 4 for Scala 2.13"
  echo "$found"
}
compiler=$(one_jar 'scala-compiler-2.13.*.jar'):$(one_jar 'scala-library-2.13.*.jar'):$(one_jar 'scala-reflect-2.13.*.jar')
compiler+=:$(one_jar 'jline-3*.jar')

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage/tree
mkdir -p "$tree/META-INF" "$tree/kubespark"

class_path=$(printf '%s:' "$spark"/jars/*.jar)
(cd "$here/src/main/scala" && find . -name '*.scala' | sort) >"$stage/sources"
if ! (cd "$here/src/main/scala" && "$java" -Xss8m -XX:TieredStopAtLevel=1 -cp "$compiler" scala.tools.nsc.Main \
    -release 17 -deprecation -feature -Xlint -Xfatal-warnings -d "$tree" -classpath "$class_path" "@$stage/sources") \
    >"$stage/compiler.log" 2>&1; then
  cat "$stage/compiler.log" >&2
  fail "the shim does not compile against $spark"
fi

cp -r "$here/src/main/resources/." "$tree/"
cp "$here/../LICENSE" "$tree/META-INF/LICENSE"
version=${KUBESPARK_VERSION:-dev}
printf 'version=%s\n' "$version" >"$tree/kubespark/kubespark.properties"
printf 'Manifest-Version: 1.0\r\nImplementation-Title: kubespark\r\nImplementation-Version: %s\r\n\r\n' "$version" \
  >"$tree/META-INF/MANIFEST.MF"
install -D -m 0755 "$amd64" "$tree/kubespark/linux-amd64/kubespark-manager"
if [[ -n $arm64 ]]; then install -D -m 0755 "$arm64" "$tree/kubespark/linux-arm64/kubespark-manager"; fi

# The manifest first, the rest by name, all with one date: equal inputs give equal bytes.
(cd "$tree" && { echo META-INF/MANIFEST.MF; find . -type f -printf '%P\n' | grep -vx META-INF/MANIFEST.MF | sort; }) \
  >"$stage/entries"
mkdir -p "$(dirname "$out")"
(cd "$tree" && "$jar" --create --no-manifest --date=2026-01-01T00:00:00Z --file "$stage/out.jar" "@$stage/entries")
mv "$stage/out.jar" "$out"
chmod 0644 "$out"
