#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

helper send

run_one() {
	start p "$helper" "$ring" x-future
	consume c1 "$@" "$ring"
}

run_one
expect c1 4
fatal c1 "ring \"$ring\": message 0 is of type \"x-future\", which this version does not know; use --format cbor, diag or null$"
same "$dir/c1.out" /dev/null
expect p 1

run_one --format diag
expect c1 0
expect p 0
[ "$(cat "$dir/c1.out")" = '{"answer": 42}' ] || fail "wrong diagnostic notation"

run_one --format cbor
expect c1 0
expect p 0
printf '\xa1\x66answer\x18\x2a' | cmp - "$dir/c1.out" || fail "wrong CBOR"

run_one --format null
expect c1 0
expect p 0
same "$dir/c1.out" /dev/null
no_ring
