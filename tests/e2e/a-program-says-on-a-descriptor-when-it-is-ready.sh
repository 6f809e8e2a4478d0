#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

start_ready p "$producer" -n 2 "$ring" "$0"
ring_is_there || fail "ready without a ring"
start_ready c1 "$consumer" "$ring"
consume c2 "$ring"
expect p 0
expect c1 0
expect c2 0

# A descriptor that is not there.
run 2 p "$producer" --ready-fd 99 "$ring" "$0"
fatal p "--ready-fd: file descriptor 99 is not open .see --help.$"
no_ring
