#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000 >"$dir/first"
numbers 100000 >"$dir/second"

taken() {
	[ "$(ring_tail)" -gt 1000 ] && [ "$(ring_tail)" = "$(ring_head)" ]
}

published() {
	[ "$(ring_head)" -gt 101000 ]
}

# Run "$@" while the second step is in the ring, and its consumer stopped.
spoil() {
	feed_begin
	start_ready p "$producer" "$ring" <"$dir/feed"
	consume c1 --output "$dir/result" "$ring"
	cat "$dir/first" >&"$feed"
	wait_until taken
	stop c1
	tail=$(ring_tail)
	cat "$dir/second" >&"$feed"
	wait_until published
	"$@"
	signal c1 CONT
	feed_end
	rm "$dir/feed"
	expect c1 4
	expect p 1
	said p "warning: .*failed with exit code 4$" || fail "the producer did not name it"
	no_file "$dir/result"
	no_ring
}

change_data() {
	overwrite $((tail + 50000)) X
}

change_type() {
	overwrite "$tail" Q
}

change_length() {
	overwrite $((tail + 1)) '\0377\0377\0377\0377'
}

spoil change_data
fatal c1 "ring \"$ring\": .*digest"
spoil change_type
fatal c1 "ring \"$ring\": .*byte $tail"
spoil change_length
fatal c1 "ring \"$ring\": .*byte $tail"
