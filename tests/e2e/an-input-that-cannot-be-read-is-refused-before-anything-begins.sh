#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

run 5 p "$producer" "$ring" "$dir/absent"
fatal p "cannot open $dir/absent: No such file or directory$"
run 5 p "$producer" "$ring" "$dir"
fatal p "$dir: Is a directory$"
run 5 p "$producer" "$ring" "$0" "$dir/absent"
fatal p "cannot open $dir/absent: "

# Root reads everything.
as_other=()
if [ "$(id -u)" = 0 ]; then
	need_nobody
	as_other=("${as_nobody[@]}")
fi
touch "$dir/secret"
chmod 0 "$dir/secret"
run 5 p "${as_other[@]}" "$producer" "$ring" "$dir/secret"
fatal p "cannot open $dir/secret: Permission denied$"
no_ring
