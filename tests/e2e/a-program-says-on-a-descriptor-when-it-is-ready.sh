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
run 5 p "$producer" --ready-fd 99 "$ring" "$0"
fatal p "cannot write to --ready-fd 99: Bad file descriptor$"
no_ring
