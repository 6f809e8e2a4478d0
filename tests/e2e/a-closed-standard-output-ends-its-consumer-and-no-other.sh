#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 30000000 >"$dir/input"
mkfifo "$dir/pipe"
to=$dir/pipe consume c1 --name early "$ring"
start head head -c 10 <"$dir/pipe"
consume c2 "$ring"
produce p -n 2 "$ring" "$dir/input"
expect c1 1
fatal c1 "\(standard output\) was closed by its reader"
expect c2 0
same "$dir/c2.out" "$dir/input"
expect p 1
said p "warning: .*\"early\" .*failed with exit code 1$" || fail "the producer did not name it"
fatal p "not every required consumer completed it"
begins "$dir/head.out" "$dir/input"
no_ring
