#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

run 3 c1 "$consumer" --wait 100ms "$ring"
fatal c1 "ring \"$ring\": no producer within 0\.1 s$"
run 3 c1 "$consumer" --wait 0 --output "$dir/result" "$ring"
no_file "$dir/result"
