#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000000 >"$dir/input"

# Others, of the ring or of files, must not come in under the numbers of standard
# descriptors that are closed.
# shellcheck disable=SC2016 # for the inner shell
closing=(sh -c 'eval "exec \"\$@\" $0"')

for without in '>&-' '<&- >&-'; do
	start c1 "${closing[@]}" "$without" "$consumer" "$ring"
	consume c2 "$ring"
	produce p -n 2 "$ring" "$dir/input"
	expect c1 5
	fatal c1 "cannot write \(standard output\): Bad file descriptor$"
	expect c2 0
	same "$dir/c2.out" "$dir/input"
	expect p 1
	no_ring
done

# What is said goes nowhere, and not into the ring or the output.
feed_begin
start p "${closing[@]}" '2>&-' "$producer" --slot-size 4M "$ring" "$dir/feed"
start c1 "${closing[@]}" '<&- 2>&-' "$consumer" --output "$dir/result" "$ring"
cat "$dir/input" >&"$feed"
wait_until ring_has_data
start_ready c2 "$consumer" "$ring"
signal c2 KILL
expect c2 137
start_ready c3 "$consumer" "$ring"
signal p TERM
expect p 143
expect c1 1
expect c3 1
fatal c3 "the producer aborted"
no_file "$dir/result"
feed_end

start p "${closing[@]}" '<&-' "$producer" "$ring" -
consume c1 --wait 2s "$ring"
expect p 5
expect c1 1 3
fatal p "cannot (open|read) \(standard input\): Bad file descriptor$"
start p "${closing[@]}" '<&-' "$producer" "$ring" "$dir/input"
consume c1 "$ring"
expect p 0
expect c1 0
same "$dir/c1.out" "$dir/input"
no_ring
