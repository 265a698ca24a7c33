#!/usr/bin/env bash
# Says what a machine lacks; in CI installs it from the distribution's packages.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

missing=() packages=()
want() { # COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || { missing+=("$1") packages+=("$2"); }
}
want gcc gcc
want make make
want python3 python3
want java openjdk-17-jdk-headless
want javac openjdk-17-jdk-headless
python3 -m pip --version >/dev/null 2>&1 || { missing+=(pip) packages+=(python3-pip); }
[ -e /usr/include/linux/magic.h ] || { missing+=("C library headers") packages+=(libc6-dev linux-libc-dev); }

if [ ${#missing[@]} -gt 0 ]; then
	if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		say "installing: ${packages[*]}"
		apt-get update -q
		DEBIAN_FRONTEND=noninteractive apt-get install -qy "${packages[@]}"
	else
		die "missing: ${missing[*]}; on Debian or Ubuntu: apt-get install ${packages[*]}"
	fi
fi
command -v go >/dev/null || die "Go is not installed: kubespark needs $(awk '$1 == "go" {print "Go " $2 " or later"}' "$root/go.mod")"
major=$(java -version 2>&1 | awk -F '"' '/version/ {split($2, v, "."); print (v[1] == 1 ? v[2] : v[1])}')
[ "${major:-0}" -ge 17 ] || die "java is version ${major:-unknown}; a JDK of version 17 or later is needed"
