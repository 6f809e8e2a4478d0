#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 100000 >"$dir/input"
feed_begin

# A ring whose producer was killed before anybody came.
leave_stale_ring() {
	produce old "$ring" <"$dir/feed"
	wait_until ring_is_there
	signal old KILL
	expect old 137
}

# remover ACTION PROGRAM ARGUMENT... : it comes to harm while it removes the name.
remover() {
	start v env SLUICE_TESTPOINT="remove_before_unlink:1:$1" "${@:2}"
}

pass_data() {
	consume c1 "$ring"
	run 0 q "$producer" "$ring" "$dir/input"
	expect c1 0
	same "$dir/c1.out" "$dir/input"
	no_ring
}

consumer_comes() {
	remover "$1" "$consumer" --wait 0 "$ring"
}

producer_comes() {
	remover "$1" "$producer" --start-timeout 100ms "$ring" "$dir/input"
}

for who in consumer producer; do
	leave_stale_ring
	"${who}_comes" kill
	expect v 137
	ring_is_there || fail "the $who was not killed before it removed the name"
	pass_data

	leave_stale_ring
	"${who}_comes" stop
	wait_until state_is v T
	# Who is stopped holds the name up; others are told, and can try again.
	run 3 q "$producer" "$ring" "$dir/input"
	fatal q "ring \"$ring\""
	run 3 c1 "$consumer" --wait 0 "$ring"
	signal v CONT
	expect v 3
	no_ring
	pass_data
done
