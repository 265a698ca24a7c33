# Shared by the scripts in hack/ and .ci/: messages, the cache folder, timed parts. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Everything fetched lies below this one folder, which can be deleted at any time.
cache=${KUBESPARK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubespark}

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# need COMMAND HOW: stops with one sentence when a tool is missing.
need() { command -v "$1" >/dev/null 2>&1 || die "$1 is not installed: $2"; }

# clock SECONDS: 75 -> 1:15
clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

part_names=() part_times=()

# part NAME COMMAND…: runs the command, keeps its time for parts_table, stops the script if it fails.
part() {
	local name=$1 began=$SECONDS code=0
	shift
	say "--- $name"
	# In a subshell of its own, and not behind || or if: there bash ignores set -e, and a failed first command with it.
	set +e
	(set -e; "$@")
	code=$?
	set -e
	part_names+=("$name") part_times+=($((SECONDS - began)))
	if [ $code -ne 0 ]; then
		say "--- $name failed (exit $code) after $(clock $((SECONDS - began)))"
		parts_table
		exit $code
	fi
	say "--- $name: $(clock $((SECONDS - began)))"
}

parts_table() {
	local i total=0
	printf '\n%-32s %8s\n' part time
	for i in "${!part_names[@]}"; do
		printf '%-32s %8s\n' "${part_names[$i]}" "$(clock "${part_times[$i]}")"
		total=$((total + part_times[i]))
	done
	printf '%-32s %8s\n\n' total "$(clock $total)"
}
