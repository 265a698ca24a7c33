#!/usr/bin/env bash
# go build with progress, for builds that take minutes: says how many packages are done.
# usage: hack/gobuild.sh OUTPUT PACKAGE [go build flags…]   (run in the module's folder)
set -euo pipefail
. "$(dirname "$0")/lib.sh"

out=$1 package=$2
shift 2
name=$(basename "$out")
total=$(go list -deps "$package" 2>/dev/null | wc -l)
began=$SECONDS last=$SECONDS count=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
exec 3< <(go build -v -o "$out" "$@" "$package" 2>&1; echo "exit=$?")
code=1
while IFS= read -r line <&3; do
	case $line in
	exit=*) code=${line#exit=} ;;
	"go: downloading"*) ;;
	*/* | [a-z]*)
		echo "$line" >>"$log"
		count=$((count + 1))
		;;
	*) echo "$line" >>"$log" ;;
	esac
	if [ $((SECONDS - last)) -ge 15 ]; then
		last=$SECONDS
		say "$name: compiled $count packages (of $total at most), $(clock $((SECONDS - began)))"
	fi
done
if [ "$code" -ne 0 ]; then
	grep -v '^[a-z0-9./_@-]*$' "$log" >&2 || true
	die "$name could not be built"
fi
say "$name: built in $(clock $((SECONDS - began)))"
