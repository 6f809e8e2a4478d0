#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

feed_begin
consume here "$ring"
produce p "$ring" "$dir/feed"
echo something >&"$feed"
listen r "$ring.m"
wait_until size_is_at_least "$dir/here.out" 4
run 1 s "$bridge" "$ring" --to "$address"
fatal s "ring \"$ring\": the stream has begun, and this bridge would miss its first bytes \(--late sends the rest\)$"
signal p TERM
expect p 143
all_expect 1 here
signal r TERM
expect r 143
feed_end
rm "$dir/feed"
no_ring

# rest ARGUMENT... : a consumer with these behind a late bridge.
rest() {
	feed_begin
	consume here "$ring"
	produce p --format json "${small[@]}" "$ring" "$dir/feed"
	seq 1 50000 >&"$feed"
	wait_until size_is_at_least "$dir/here.out" 280000
	listen r "$ring.m" --start-timeout 1s
	consume there "$@" "$ring.m"
	send s --late --to "$address"
	wait_until said p "note: .*\"$address\".* joined late"
	seq 50001 200000 >&"$feed"
	feed_end
	expect p 0
	expect here 0
	rm "$dir/feed"
}

rest --late
all_expect 0 there r s
[ -s "$dir/there.out" ] || fail "nothing came"
tail -n "$(wc -l <"$dir/there.out")" "$dir/here.out" | cmp - "$dir/there.out" || fail "not the rest"

# Who did not ask for a part does not take it for the whole.
rest
expect there 1
fatal there "too late: the stream began, and [0-9]+ bytes of it are gone"
# It may be gone before it was counted.
expect r 1 3
expect s 1 3
fatal s .
fatal r .
no_ring
