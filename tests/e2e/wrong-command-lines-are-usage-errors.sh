#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

usage() {
	local program=$1

	shift
	run 2 u "$program" "$@"
	fatal u "\(see --help\)$"
	same "$dir/u.out" /dev/null
}

usage "$producer"
usage "$consumer"
usage "$consumer" "$ring" another
for program in "$producer" "$consumer"; do
	usage "$program" --no-such-option "$ring"
	usage "$program" -x "$ring"
	usage "$program" --format "$ring"
	usage "$program" --format xml "$ring"
	usage "$program" --progress=maybe "$ring"
	usage "$program" --ready-fd x "$ring"
	usage "$program" --ready-fd -1 "$ring"
done
for bad in 0 65 -1 x 1x '' 99999999999999999999; do
	usage "$producer" --consumers "$bad" "$ring"
done
for bad in 0 32K 100K 128M 64KK x '' -64K 18446744073709551616; do
	usage "$producer" --slot-size "$bad" "$ring"
done
for bad in 0 1 4097 x ''; do
	usage "$producer" --slots "$bad" "$ring"
done
for bad in x '' -1 1d 1.5s 99999999999999999999; do
	usage "$producer" --start-timeout "$bad" "$ring"
	usage "$producer" --drain-timeout "$bad" "$ring"
	usage "$producer" --stall-timeout "$bad" "$ring"
	usage "$consumer" --wait "$bad" "$ring"
done
for bad in 0400 1600 8 x '' 0x600; do
	usage "$producer" --mode "$bad" "$ring"
done
usage "$producer" --digest maybe "$ring"
usage "$producer" --split maybe "$ring"
for option in "--csv-header no" "--delimiter ;" "--quote none" --infer "--encoding latin1"; do
	# shellcheck disable=SC2086 # an option and its value
	usage "$producer" --format json $option "$ring"
done
for bad in '' ab $'\n' $'\xe9' tabs; do
	usage "$producer" --format csv --delimiter "$bad" "$ring"
	usage "$producer" --format csv --quote "$bad" "$ring"
done
usage "$producer" --format csv --csv-header maybe "$ring"
usage "$producer" --format csv --delimiter '"' "$ring"
usage "$producer" --format csv --encoding latin-one "$ring"
usage "$consumer" --on-slow wait "$ring"
usage "$consumer" --output x --output-dir y "$ring"
usage "$consumer" --name "$(printf '%064d' 0)" "$ring"
no_ring
