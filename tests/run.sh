#!/bin/bash
#
# run.sh PART... - build and run tests; PART is unit, e2e, kill, corpora, model
# or fuzz.  VARIANT (default: release) says which build is tested; the kill
# tests need testpoints and take that variant instead of release.
#
# One line per test, its output only if it fails.  A test that exits with 77
# was skipped; its last line says why.  The last line is
#
#   N passed, N failed, N skipped
set -u

shopt -s nullglob
cd "$(dirname "$0")/.." || exit 2
VARIANT=${VARIANT:-release}
AT_ONCE=${AT_ONCE:-2}
LIMIT=${LIMIT:-240}                # seconds for one test
# The recipe that called us shares no job slots with us.
MAKEFLAGS=$(printf '%s' "${MAKEFLAGS:-}" | sed -E 's/(^| )(-j[0-9]*|--jobserver-[^ ]*)//g')
export VARIANT MAKEFLAGS
export CK_DEFAULT_TIMEOUT=120      # seconds for one unit test; Check's 4 are few on a busy machine
unset MAKELEVEL SLUICE_TESTPOINT SLUICE_TESTPOINT_TRACE

passed=0 failed=0 skipped=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-run.XXXXXXXX") || exit 2
declare -A running=()              # name, by pid

leave() {
	trap - EXIT
	local pid

	for pid in "${!running[@]}"; do
		kill -TERM "$pid" 2>/dev/null
	done
	wait
	rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- one test ----------------------------------------------------------------

output_of() {
	echo "$scratch/${1//\//_}.log"
}

temporary_of() {
	echo "$scratch/${1//\//_}.tmp"
}

# outcome NAME STATUS
outcome() {
	local name=$1 status=$2 log left

	log=$(output_of "$name")
	left=$(ls -A "$(temporary_of "$name")")
	if [ "$status" = 77 ]; then
		skipped=$((skipped + 1))
		echo "skip   $name: $(tail -n 1 "$log")"
		return
	fi
	if [ "$status" = 0 ] && [ -z "$left" ]; then
		passed=$((passed + 1))
		echo "ok     $name"
		return
	fi
	failed=$((failed + 1))
	echo "FAIL   $name (exit $status)"
	[ "$status" != 124 ] || echo "       not over after $LIMIT s"
	[ -z "$left" ] || echo "       left in its temporary folder: $left"
	sed 's/^/       /' "$log"
}

# Wait until fewer than $1 tests are running.
settle() {
	local pid name status

	while [ "${#running[@]}" -ge "$1" ]; do
		status=0
		wait -n -p pid "${!running[@]}" || status=$?
		name=${running[$pid]}
		unset "running[$pid]"
		outcome "$name" "$status"
	done
}

# start NAME COMMAND...
start() {
	local name=$1

	shift
	settle "$AT_ONCE"
	mkdir "$(temporary_of "$name")"
	TMPDIR=$(temporary_of "$name") timeout -k 10 "$LIMIT" "$@" \
		</dev/null >"$(output_of "$name")" 2>&1 &
	running[$!]=$name
}

# ---- parts ---------------------------------------------------------------------

build() {
	local log=$scratch/build.log

	make -s -j2 VARIANT="$VARIANT" "$@" >"$log" 2>&1 && return
	failed=$((failed + 1))
	echo "FAIL   make $*"
	sed 's/^/       /' "$log"
	return 1
}

# scripts PART
scripts() {
	local script

	for script in "tests/$1"/*.sh; do
		start "$1/$(basename "$script" .sh)" "$script"
	done
}

run_unit() {
	local source name

	build all unit-programs || return
	for source in tests/unit/test_*.c; do
		name=$(basename "$source" .c)
		start "unit/$name" "build/$VARIANT/unit/$name"
	done
}

run_e2e() {
	build all || return
	scripts e2e
}

run_kill() {
	local VARIANT=$VARIANT

	[ "$VARIANT" != release ] || VARIANT=testpoints
	export VARIANT
	build all || return
	scripts kill
	settle 1
}

run_corpora() {
	build all || return
	scripts corpora
}

run_model() {
	start model tests/model/run.sh
}

run_fuzz() {

	if ! command -v clang >/dev/null; then
		skipped=$((skipped + 1))
		echo "skip   fuzz: needs clang"
		return
	fi
	build fuzz-programs || return
	start fuzz tests/fuzz/replay.sh
}

for part; do
	case $part in
	unit | e2e | kill | corpora | model | fuzz) "run_$part" ;;
	*)
		echo "run.sh: no part $part" >&2
		exit 2
		;;
	esac
	settle 1
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
