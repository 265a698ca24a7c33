#!/usr/bin/env bash
# Prints the folder of a Spark distribution (a SPARK_HOME), fetching the one of PyPI when it is not in the cache.
# usage: hack/fetch-spark.sh VERSION
# SPARK_HOME, when set and of that version, is taken as it is.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

version=${1:?usage: fetch-spark.sh VERSION}
home=$cache/spark/$version

if [ -n "${SPARK_HOME:-}" ] && compgen -G "$SPARK_HOME/jars/spark-core_2.13-$version.jar" >/dev/null; then
	echo "$SPARK_HOME"
	exit 0
fi
mkdir -p "$cache/spark"
exec 9>"$cache/spark/.$version.lock"
flock 9
if [ -f "$home/.complete" ]; then
	echo "$home"
	exit 0
fi

need python3 "install Python 3 with pip, or set SPARK_HOME to a Spark $version"
python3 -m pip --version >/dev/null 2>&1 || die "python3 has no pip: install python3-pip, or set SPARK_HOME to a Spark $version"
archive=pyspark-$version.tar.gz
sum=$(awk -v f="$archive" '$2 == f {print $1}' "$root/hack/spark.sha256")
[ -n "$sum" ] || die "Spark $version has no checksum in hack/spark.sha256; known are: $(awk '{print $2}' "$root/hack/spark.sha256" | xargs)"

work=$(mktemp -d "$cache/spark/.fetch-XXXXXX")
trap 'rm -rf "$work"' EXIT
say "spark $version: downloading the source distribution (450 MB)"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$work" "pyspark==$version" >&2 ||
	die "Spark $version could not be downloaded by pip; set SPARK_HOME to an existing one"
echo "$sum  $work/$archive" | sha256sum --check --quiet - >&2 || die "$archive does not have the checksum in hack/spark.sha256"
say "spark $version: unpacking"
tar xzf "$work/$archive" -C "$work"
src=$work/pyspark-$version
rm -rf "$home"
mkdir -p "$home/python"
mv "$src"/deps/* "$home/"
mv "$src/pyspark" "$home/python/pyspark"
mv "$src/lib" "$home/python/lib"
chmod -R a+rX,go-w "$home"
chown -R "$(id -u):$(id -g)" "$home"
touch "$home/.complete"
say "spark $version: ready in $home"
echo "$home"
