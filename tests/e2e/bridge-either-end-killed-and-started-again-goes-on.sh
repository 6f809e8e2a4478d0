#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
numbers 30000000 >"$dir/input"

# Its death; it is started again by who calls.
again() {
	local name=$1

	signal "$name" KILL
	expect "$name" 137
}

begin() {
	mirrored 3
	send s "${goals[@]}"
	feed_begin
	produce p -n 3 "${small[@]}" "$ring" "$dir/feed"
	to=$dir/feed start feeder cat "$dir/input"
	for i in 1 2 3; do
		wait_until mirror_has "$ring.$i" 1000000
	done
}

finish() {
	expect feeder 0
	feed_end
	expect p 0
	for i in 1 2 3; do
		expect "c$i" 0
		same "$dir/c$i.out" "$dir/input"
	done
	expect s 0
	rm "$dir/feed"
	no_ring
}

# The sender, with all of its destinations.
begin
stop c1
again s
wait_until said p "warning: .*\"${goals[1]}\".*"
send s "${goals[@]}" --summary "$dir/s.json"
wait_until said s "note: destination ${goals[5]}: goes on at byte [0-9]+ of ring \"$ring\"$"
signal c1 CONT
finish
all_expect 0 r1 r2 r3
tells s '[.destinations[].outcome == "complete"] | length == 3 and all'

# A receiver, while the others go on.
begin
again r2
wait_until said c2 "warning: ring \"$ring\.2\": its bridge was killed; waiting for it to come back$"
at=${goals[3]} listen r2 "$ring.2"
finish
all_expect 0 r1 r2 r3
said c2 "note: ring \"$ring\.2\": its bridge came back$" || fail "c2 does not tell that it came back"
said r2 "note: ring \"$ring\.2\": goes on at byte [0-9]+$" || fail "r2 does not tell where it goes on"
said s "note: destination ${goals[3]}: connected, goes on at byte [0-9]+$" || fail "s does not tell"

# Everything between the producer and the consumers at once.
begin
for i in 1 2 3; do
	stop "c$i"
done
for name in s r1 r2 r3; do
	signal "$name" KILL
done
all_expect 137 s r1 r2 r3
send s "${goals[@]}"
for i in 1 2 3; do
	at=${goals[2 * i - 1]} listen "r$i" "$ring.$i"
	signal "c$i" CONT
done
finish
all_expect 0 r1 r2 r3
