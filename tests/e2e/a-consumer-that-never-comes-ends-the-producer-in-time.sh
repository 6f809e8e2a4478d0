#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

run 3 p "$producer" --start-timeout 100ms "$ring" "$0"
fatal p "ring \"$ring\": 0 of 1 consumers came within 0\.1 s$"
no_ring

# One of two: it learns that it is over before it began.
consume c1 --output "$dir/result" "$ring"
run 3 p "$producer" -n 2 --start-timeout 1s "$ring" "$0"
fatal p "ring \"$ring\": [01] of 2 consumers came within 1\.0 s$"
expect c1 3
fatal c1 "the producer aborted at message 0, byte 0 \(exit code 3\)"
no_file "$dir/result"
no_ring
