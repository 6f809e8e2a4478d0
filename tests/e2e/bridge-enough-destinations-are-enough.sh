#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
numbers 2000000 >"$dir/input"

# A port where nobody listens.
listen r "$ring.m"
signal r TERM
expect r 143
nobody=$address

# one_absent REQUIRE CODE : of three destinations one never comes up.
one_absent() {
	mirrored 2
	send s --require "$1" "${goals[@]}" --to "$nobody" --retry 300ms --summary "$dir/s.json"
	run "$2" p "$producer" -n 3 --summary "$dir/p.json" "$ring" "$dir/input"
	for i in 1 2; do
		all_expect 0 "r$i" "c$i"
		same "$dir/c$i.out" "$dir/input"
	done
	expect s "$3"
	said s "warning: destination $nobody: cannot connect: Connection refused; trying for up to 0\.3 s$" ||
		fail "the absent one is not named"
	tells s '[.destinations[].outcome] == ["complete", "complete", "'"$4"'"]'
	tells s '.destinations[2] | .code == 3 and (.reason | test("Connection refused")) and .position == 0'
	no_ring
}

one_absent any 0 0 excused
one_absent 2 0 0 excused
one_absent 3 1 3 failed
fatal s "2 of 3 destinations completed, 3 are required; first $nobody: .*Connection refused"
one_absent all 1 3 failed
said p "\"$nobody\" .* failed with exit code 3" || fail "the producer does not name it"

# one_fails REQUIRE CODE : the consumer of one cannot write.
one_fails() {
	listen rf "$ring.f"
	bad=$address
	to=/dev/full consume cf "$ring.f"
	mirrored 2
	send s --require "$1" --to "$bad" "${goals[@]}" --summary "$dir/s.json"
	run "$2" p "$producer" -n 3 "$ring" "$dir/input"
	expect cf 5
	expect rf 1
	expect s "$2"
	for i in 1 2; do
		all_expect 0 "r$i" "c$i"
		same "$dir/c$i.out" "$dir/input"
	done
	tells s '[.destinations[].outcome] == ["'"$3"'", "complete", "complete"]'
	tells s '.destinations[0] | .code == 1 and (.reason | test("failed"))'
	said s "note: $bad +$3 .*failed" || fail "the table does not tell"
	no_ring
}

one_fails 2 0 excused
one_fails all 1 failed

# None is left to be enough.
mirrored 1
send s --require any "${goals[@]}" --to "$nobody" --retry 200ms
feed_begin
produce p -n 2 "$ring" "$dir/feed"
numbers 100000 >&"$feed"
wait_until mirror_has "$ring.1" 100000
signal c1 KILL
expect c1 137
expect s 1 3
fatal s "0 of 2 destinations completed, 1 are required"
expect p 1
expect r1 1
feed_end
no_ring
