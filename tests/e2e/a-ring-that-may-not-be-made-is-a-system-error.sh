#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

own_mounts
need_nobody
mount -t tmpfs -o mode=755 tmpfs /dev/shm
run 5 p "${as_nobody[@]}" "$producer" "$ring" </dev/null
fatal p "cannot create ring \"$ring\": Permission denied$"
