#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 8000000 >"$dir/input"
cp "$dir/input" "$dir/before"
unread_begin
to=$dir/unread consume c1 "$ring"
consume c2 --output "$dir/result" "$ring"
produce p -n 2 --slots 2 --slot-size 64K "$ring" "$dir/input"
wait_until sleeps_in c1 pipe_
wait_until sleeps_in p futex
truncate -s 4000000 "$dir/input"
unread_end reader
expect p 1
fatal p "$dir/input: the file shrank while it was read: [0-9]+ of 8000000 bytes$"
for i in 1 2; do
	expect "c$i" 1
	fatal "c$i" "the producer aborted at message 0, byte [0-9]+ \(exit code 1\)"
done
expect reader 0
begins "$dir/reader.out" "$dir/before"
no_file "$dir/result"
no_ring
