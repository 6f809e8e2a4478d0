#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000000 >"$dir/input"
echo old >"$dir/result"

# written PREFIX : most of the input is in a temporary file.
written() {
	size_is_at_least "$(echo "$1"*.tmp)" 900000
}

feed_begin
consume c1 --output "$dir/result" "$ring"
produce p "$ring" <"$dir/feed"
cat "$dir/input" >&"$feed"
wait_until written "$dir/.result."
[ "$(cat "$dir/result")" = old ] || fail "replaced too early"

# Killed: as it was.
signal p KILL
expect p 137
expect c1 1
[ "$(cat "$dir/result")" = old ] || fail "replaced by an incomplete one"
rm "$dir/result"
no_file "$dir/result"

# Completed: all of it.
echo old >"$dir/result"
consume c1 --output "$dir/result" "$ring"
run 0 p "$producer" "$ring" "$dir/input"
expect c1 0
same "$dir/result" "$dir/input"
rm "$dir/result"
no_file "$dir/result"

# A file per message: those that came whole are there, the last is not.
mkdir "$dir/files"
consume c1 --output-dir "$dir/files" "$ring"
produce p "$ring" "$dir/input" - <"$dir/feed"
cat "$dir/input" >&"$feed"
wait_until written "$dir/files/.message-1."
signal p TERM
expect p 143
expect c1 1
[ "$(ls -A "$dir/files")" = input ] || fail "other files: $(ls -A "$dir/files")"
same "$dir/files/input" "$dir/input"

# Where it cannot be written, that is said before anything is taken.
feed_end
consume c1 --output "$dir/absent/result" "$ring"
produce p --start-timeout 1s "$ring" "$dir/input"
expect c1 5
fatal c1 "cannot create $dir/absent/result: No such file or directory$"
expect p 1 3
consume c2 --output-dir "$dir/absent" "$ring"
produce p --start-timeout 1s "$ring" "$dir/input"
expect c2 5
fatal c2 "cannot write to directory $dir/absent: No such file or directory$"
expect p 1 3
no_ring
