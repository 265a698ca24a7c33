#!/usr/bin/env bash
# Prints the Python of a virtual environment with Apache Airflow, made in the cache folder when it is not there.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

list=$root/hack/contracts/airflow.txt
venv=$cache/airflow/$(sha256sum <"$list" | cut -c1-12)

mkdir -p "$cache/airflow"
exec 9>"$cache/airflow/.lock"
flock 9
if [ ! -f "$venv/.complete" ]; then
	need python3 "install Python 3.11 with venv"
	say "airflow: installing (150 packages, 160 MB)"
	rm -rf "$venv"
	python3 -m venv "$venv" || die "python3 cannot make virtual environments: install python3-venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9 >&2
	VIRTUAL_ENV=$venv "$venv/bin/uv" pip install --quiet --no-cache -r "$list" >&2 || die "Apache Airflow could not be installed"
	touch "$venv/.complete"
fi
echo "$venv/bin/python"
