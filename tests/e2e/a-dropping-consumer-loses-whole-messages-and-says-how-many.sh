#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

seq -f '{"number":%.0f,"text":"so that a record has some length"}' 60000 >"$dir/input"
unread_begin
produce p -n 2 --format json --slots 2 --slot-size 64K "$ring" "$dir/input"
wait_until ring_is_there
to=$dir/unread start_ready c1 "$consumer" --on-slow drop --summary "$dir/c1.json" "$ring"
consume c2 "$ring"
wait_until first_holds_back
unread_end reader
expect c1 1
fatal c1 "ring \"$ring\": [0-9]+ message\(s\) dropped, being too slow$"
expect p 1
fatal p "not every required consumer completed it"
expect c2 0
same "$dir/c2.out" "$dir/input"
expect reader 0
# What came is a part of what was sent, in order, in whole lines; the rest is counted.
diff "$dir/input" "$dir/reader.out" | grep -q '^>' && fail "a record was changed"
dropped=$(jq .dropped_messages "$dir/c1.json")
came=$(wc -l <"$dir/reader.out")
[ "$dropped" -gt 0 ] || fail "nothing was dropped"
[ $((dropped + came)) = 60000 ] || fail "$dropped were dropped, $came came"
said c1 "fatal: .* $dropped message" || fail "the count is not $dropped"
no_ring
