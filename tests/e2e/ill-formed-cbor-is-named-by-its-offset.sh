#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# refused OFFSET GOOD BYTES : after GOOD items
refused() {
	printf '%b' "$2$3" >"$dir/input"
	consume c1 --format cbor "$ring"
	run 4 p "$producer" --format cbor "$ring" "$dir/input"
	fatal p "cannot parse $dir/input: byte $1: "
	expect c1 1
	printf '%b' "$2" | cmp - "$dir/c1.out" || fail "not the good items"
}

refused 0 '' '\0377'
refused 2 '\0001\0002' '\0377\0001'
refused 1 '\0001' '\0034'
refused 3 '\0001' '\0202\0001\0037'
refused 1 '\0001' '\0141\0377'
refused 3 '\0001' '\0202\0001'
refused 9 '\0001' '\0132\0377\0377\0377\0377abc'
no_ring
