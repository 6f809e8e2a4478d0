#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
own_hosts 4

goals=()
for i in 2 3 4; do
	host_receives "$i" --dead-after 2s
done
host 1
send s --insecure --dead-after 2s "${goals[@]}" --summary "$dir/s.json"
feed_begin
produce p -n 3 "$ring" "$dir/feed"

# feed_to BYTES HOST... : and see it arrive there.
fed=0
feed_to() {
	local i bytes=$1

	shift
	numbers $((fed + bytes)) | tail -c "$bytes" >&"$feed"
	fed=$((fed + bytes))
	for i; do
		wait_until size_is_at_least "$dir/c$i.out" "$fed"
	done
}

feed_to 300000 2 3 4

# Cut in silence while nothing is sent.
cable 2 down
begun=${EPOCHREALTIME/./}
wait_until said s "warning: destination ${goals[1]}: .*; trying for up to 30\.0 s$"
wait_until said r2 "warning: sender .*; waiting for it for up to 30\.0 s$"
took=$((${EPOCHREALTIME/./} - begun))
[ "$took" -lt 6000000 ] || fail "noticed only after $took us"
# The others have what comes, as long as the ring has room.
feed_to 400000 3 4
[ "$(stat -c %s "$dir/c2.out")" -lt "$fed" ] || fail "a cut cable carries"
cable 2 up
wait_until size_is_at_least "$dir/c2.out" "$fed"
said s "note: destination ${goals[1]}: connected, goes on at byte [0-9]+$" || fail "its return is not told"

# Cut while data flows, one after the other, and reset.
numbers 20000000 >"$dir/rest"
to=$dir/feed start feeder cat "$dir/rest"
cable 3 down
on_host 1 ss -K dst 10.77.0.14 >"$dir/ss.out" 2>"$dir/ss.log" || fail "ss -K"
wait_until said s "warning: destination ${goals[3]}: .*; trying"
cable 3 up
expect feeder 0
feed_end
all_expect 0 p s r2 r3 r4
(numbers "$fed" && cat "$dir/rest") >"$dir/all"
for i in 2 3 4; do
	expect "c$i" 0
	same "$dir/c$i.out" "$dir/all"
done
tells s '[.destinations[].reconnects >= 1] | all'
no_ring

# One whose cable is cut for good.
rm "$dir/feed"
goals=()
for i in 2 3; do
	host_receives "$i" --dead-after 1s --retry 1500ms
done
host 1
send s --insecure --dead-after 1s --retry 1500ms --require any "${goals[@]}" --summary "$dir/s.json"
feed_begin
produce p -n 2 "$ring" "$dir/feed"
numbers 100000 >&"$feed"
for i in 2 3; do
	wait_until size_is_at_least "$dir/c$i.out" 100000
done
cable 2 down
begun=${EPOCHREALTIME/./}
cat "$dir/rest" >&"$feed"
feed_end
all_expect 0 p s r3 c3
took=$((${EPOCHREALTIME/./} - begun))
[ "$took" -lt 8000000 ] || fail "given up only after $took us"
all_expect 1 r2 c2
(numbers 100000 && cat "$dir/rest") | cmp - "$dir/c3.out" || fail "not what was sent"
tells s '.destinations[0] | .outcome == "excused" and (.reason | test("no connection for 1.5 s"))'
no_ring
