#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need jq
numbers 1000000 >"$dir/input"

# tells PROGRAM FILTER : true of its summary.
tells() {
	jq -e "$2" "$dir/$1.json" >"$dir/jq.out" || fail "not true of $1: $2: $(cat "$dir/$1.json")"
}

consume c1 --name 'q"uo\te' --summary "$dir/c1.json" "$ring"
run 0 p "$producer" --summary "$dir/p.json" "$ring" "$dir/input"
expect c1 0
tells p '.program == "sluice-producer" and .exit == 0 and .reason == "" and .messages == 1 and
	.input_bytes == 1000000 and .bad_records == 0 and .seconds > 0 and .peak_memory_kib > 0 and
	.slots == 8 and .slot_size == 524288 and .ring == "'"$ring"'"'
tells p '.consumers | length == 1 and (.[0] | .outcome == "complete" and .required and
	.name == "q\"uo\\te" and .dropped_messages == 0)'
tells p ".consumers[0].position == .stream_bytes"
tells c1 '.program == "sluice-consumer" and .exit == 0 and .reason == "" and .messages == 1 and
	.output_bytes == 1000000 and .dropped_messages == 0 and .name == "q\"uo\\te" and .start == 0'

# One that failed, and its reason.
run 3 c1 "$consumer" --wait 0 --summary "$dir/c1.json" "$ring"
tells c1 '.exit == 3 and (.reason | test("no producer within"))'
run 3 p "$producer" --start-timeout 10ms --summary "$dir/p.json" "$ring" "$dir/input"
tells p '.exit == 3 and (.reason | test("0 of 1 consumers came")) and .messages == 0'

# A signal.
feed_begin
consume c1 --summary "$dir/c1.json" "$ring"
produce p --summary "$dir/p.json" "$ring" <"$dir/feed"
echo something >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 10
signal p TERM
expect p 143
expect c1 1
tells p '.exit == 143 and (.reason | test("stopped by signal 15"))'
tells p '.consumers[0].outcome | IN("pending", "failed")'
tells c1 '.exit == 1 and (.reason | test("the producer aborted"))'

# Where it cannot be written.
consume c1 --summary "$dir/absent/c1.json" "$ring"
run 5 p "$producer" --summary "$dir/absent/p.json" "$ring" "$dir/input"
fatal p "cannot write $dir/absent/p.json: No such file or directory$"
expect c1 5
fatal c1 "cannot write $dir/absent/c1.json: No such file or directory$"
[ -z "$(find "$dir" -name '*.tmp')" ] || fail "a temporary file is left"
