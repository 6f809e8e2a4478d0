#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need python3
listen r "$ring.m"
consume c --format diag "$ring.m"
peer x "$address" evil
expect x 0
all_expect 0 r c
same "$dir/c.out" <(echo '"hello"')
[ "$(grep -c "warning: sender .*; waiting for it for up to 30\.0 s$" "$dir/r.err")" = "$(cat "$dir/x.out")" ] ||
	fail "not a line for each"
no_ring_named "$ring.m"
