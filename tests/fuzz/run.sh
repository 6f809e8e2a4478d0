#!/bin/bash
# run.sh SECONDS - run each fuzz program that is built for so long, two at a
# time, each on a copy of its corpus.  What it finds goes to build/fuzz/finds.
set -u
cd "$(dirname "$0")/../.." || exit 1

seconds=${1:-}
case $seconds in
'' | *[!0-9]*)
	echo "usage: tests/fuzz/run.sh SECONDS" >&2
	exit 2
	;;
esac

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# One program.  Leaves its verdict in NAME/verdict.
fuzz() {
	local name=$1 finds=build/fuzz/finds/$1 log=$work/$1/log program executions coverage result

	mkdir -p "$work/$name/corpus" "$finds"
	cp -r "tests/fuzz/corpus/$name/." "$work/$name/corpus" 2> /dev/null
	"build/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 \
		-artifact_prefix="$finds/" "$work/$name/corpus" > "$log" 2>&1 &
	program=$!
	wait "$program"
	result=$?
	# Those that have a ring name it after their process.
	rm -f /dev/shm/sluice.fuzz-"$program"-*
	executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	coverage=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1)
	if [ "$result" -eq 0 ]; then
		echo "ok    $name: ${executions:-0} executions,${coverage:- cov: 0}"
	else
		cp "$log" "$finds/log"
		echo "FAIL  $name: after ${executions:-?} executions; see $finds (log, and what was found)"
	fi > "$work/$name/verdict"
	return "$result"
}

names=()
for program in build/fuzz/fuzz_*; do
	if [ -x "$program" ]; then
		names+=("${program#build/fuzz/fuzz_}")
	fi
done
if [ ${#names[@]} -eq 0 ]; then
	echo "fuzz: no program is built (make fuzz-programs)" >&2
	exit 1
fi

for name in "${names[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n
	done
	fuzz "$name" &
done
wait

status=0
for name in "${names[@]}"; do
	cat "$work/$name/verdict"
	grep -q '^ok' "$work/$name/verdict" || status=1
done
exit $status
