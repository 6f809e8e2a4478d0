#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
numbers 12000000 >"$dir/input"

# play REQUIRE CODE : of three receivers the second is stopped.
play() {
	mirrored 3
	feed_begin
	send s --require "$1" --stall-timeout 1s "${goals[@]}" --summary "$dir/s.json"
	produce p -n 3 "${small[@]}" "$ring" "$dir/feed"
	numbers 100000 >&"$feed"
	for i in 1 2 3; do
		wait_until mirror_has "$ring.$i" 100000
	done
	stop r2
	cat "$dir/input" >&"$feed"
	feed_end
	expect p "$2"
	expect s "$2"
	for i in 1 3; do
		all_expect 0 "r$i" "c$i"
		(numbers 100000 && cat "$dir/input") | cmp - "$dir/c$i.out" || fail "not what was sent"
	done
	said s "note: ${goals[3]} +$3 .* no progress for 1\.0 s while it held the ring full$" ||
		fail "the stopped one is not named"
	tells s '[.destinations[].outcome] == ["complete", "'"$3"'", "complete"]'
	# It hears of it when it goes on.
	signal r2 CONT
	expect r2 1
	fatal r2 "sender .* gave up: no progress for 1\.0 s"
	expect c2 1
	rm "$dir/feed"
	no_ring
}

play all 1 failed
fatal s "2 of 3 destinations completed, 3 are required; first ${goals[3]}: no progress"
play 2 0 excused
