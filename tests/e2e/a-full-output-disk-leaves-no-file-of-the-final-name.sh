#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

own_mounts

mkdir "$dir/small"
mount -t tmpfs -o size=1m tmpfs "$dir/small"
numbers 5000000 >"$dir/input"
consume c1 --name full --output "$dir/small/result" "$ring"
consume c2 "$ring"
produce p -n 2 "$ring" "$dir/input"
expect c1 5
fatal c1 "cannot write $dir/small/result: No space left on device$"
expect c2 0
same "$dir/c2.out" "$dir/input"
expect p 1
said p "warning: .*\"full\" .*failed with exit code 5$" || fail "the producer did not name it"
[ -z "$(ls -A "$dir/small")" ] || fail "something is left"
no_ring

# Standard output on a full disk, and a file per message.
to=$dir/small/stdout consume c1 "$ring"
mkdir "$dir/small/files"
consume c2 --output-dir "$dir/small/files" "$ring"
produce p -n 2 "$ring" "$dir/input"
expect c1 5
fatal c1 "cannot write \(standard output\): No space left on device$"
expect c2 5
fatal c2 "cannot write .*/files/input: No space left on device$"
expect p 1
[ -z "$(ls -A "$dir/small/files")" ] || fail "something is left"
no_ring
umount "$dir/small"
