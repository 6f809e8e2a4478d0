#!/bin/bash
# replay.sh - run each file of each corpus once through its fuzz program.
set -u
cd "$(dirname "$0")/../.." || exit 1

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

status=0
for corpus in tests/fuzz/corpus/*/; do
	name=$(basename "$corpus")
	mapfile -d '' -t inputs < <(find "$corpus" -type f -print0)
	if [ ${#inputs[@]} -eq 0 ]; then
		continue
	fi
	if [ ! -x "build/fuzz/fuzz_$name" ]; then
		echo "FAIL  $name: build/fuzz/fuzz_$name is not built (make fuzz-programs)"
		status=1
		continue
	fi
	"build/fuzz/fuzz_$name" -timeout=60 "${inputs[@]}" > "$log" 2>&1 &
	program=$!
	if wait "$program"; then
		echo "ok    $name: ${#inputs[@]} inputs"
	else
		echo "FAIL  $name: $(grep '^Running: ' "$log" | tail -n 1)"
		tail -n 40 "$log"
		# Those that have a ring name it after their process.
		rm -f /dev/shm/sluice.fuzz-"$program"-*
		status=1
	fi
done
exit $status
