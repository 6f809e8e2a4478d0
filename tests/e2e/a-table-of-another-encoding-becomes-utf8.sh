#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need iconv
{ printf 'nombre,a\303\261o\n'; yes $'Se\303\261or \342\202\254,"1,5"' | head -n 20000; } >"$dir/utf8.csv"
for encoding in ISO-8859-15 CP1252 UTF-16 UTF-16BE UTF-32 UTF-8; do
	iconv -f UTF-8 -t "$encoding" "$dir/utf8.csv" >"$dir/input"
	consume c1 "$ring"
	run 0 p "$producer" --format csv --encoding "$encoding" "$ring" "$dir/input"
	expect c1 0
	same "$dir/c1.out" "$dir/utf8.csv"
done
# Its first byte that is no UTF-8 has a place.
iconv -f UTF-8 -t ISO-8859-15 "$dir/utf8.csv" >"$dir/input"
consume c1 "$ring"
run 4 p "$producer" --format csv "$ring" "$dir/input"
fatal p "cannot parse $dir/input: line 1, column 9: bytes that are not UTF-8"
expect c1 1
no_ring
