#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# Items of many kinds, one of them larger than the ring.
{
	printf '\x01\x20\x39\x01\x00\xf4\xf7\xf9\x7e\x00\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a'
	printf '\xa1\x01\x80\xc1\x1a\x51\x4b\x67\xb0\x5f\x41a\x42bc\xff\x7f\x61a\xff\x9f\x9f\xff\xff\xbf\x61a\x01\xff'
	printf '\x5a\x00\x2d\xc6\xc0'
	numbers 3000000
	printf '\xe0\xf8\xff\xd8\x18\x41\x00'
} >"$dir/input"
consume c1 "$ring"
consume c2 --format null "$ring"
run 0 p "$producer" -n 2 --format cbor --slots 2 --slot-size 64K --summary "$dir/p.json" "$ring" "$dir/input"
expect c1 0
expect c2 0
/usr/bin/python3 - "$dir/input" "$dir/c1.out" <<'END' || fail "not the same values"
import sys, cbor2

def items(path):
    with open(path, "rb") as file:
        decoder = cbor2.CBORDecoder(file)
        while True:
            try:
                yield decoder.decode()
            except cbor2.CBORDecodeEOF:
                return

sent, came = list(items(sys.argv[1])), list(items(sys.argv[2]))
sys.exit(repr(sent) != repr(came))
END
[ "$(jq .messages "$dir/p.json")" = 17 ] || fail "$(jq .messages "$dir/p.json") messages"
no_ring
