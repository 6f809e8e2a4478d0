#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

shm=/dev/shm/sluice.$ring

refused() {
	run 4 c1 "$consumer" --wait 5 "$ring"
	fatal c1 "$1"
	rm "$shm"
}

: >"$shm"
refused "\"$ring\" is not a ring, or a broken one$"
numbers 1000000 >"$shm"
refused "\"$ring\" is not a ring, or a broken one$"
numbers 10 >"$shm"
refused "\"$ring\" is not a ring, or a broken one$"
ln -s "$0" "$shm"
refused "\"$ring\" is not a ring, or a broken one$"
mkfifo "$shm"
refused "\"$ring\" is not a ring, or a broken one$"

# A true one, to be spoilt.
feed_begin
produce p "$ring.model" <"$dir/feed"
wait_until ring_is_there "$ring.model"
model=/dev/shm/sluice.$ring.model

# spoil OFFSET BYTES : a copy with other bytes there.
spoil() {
	cp "$model" "$shm"
	printf '%b' "$2" | dd of="$shm" bs=1 seek="$1" conv=notrunc status=none
}

cp "$model" "$shm"
truncate -s -1 "$shm"
refused "\"$ring\" is not a ring, or a broken one$"
cp "$model" "$shm"
truncate -s 4096 "$shm"
refused "\"$ring\" is not a ring, or a broken one$"
spoil 0 X
refused "\"$ring\" is not a ring, or a broken one$"
spoil 8 '\0377'
refused "ring \"$ring\" is of another version; this is Sluice [0-9]"
spoil 12 '\0001\0002\0003\0004'
refused "ring \"$ring\" is of another version; this is Sluice [0-9]"
spoil 24 '\0377'
refused "\"$ring\" is not a ring, or a broken one$"
spoil 28 '\0377\0377\0377\0377'
refused "\"$ring\" is not a ring, or a broken one$"
spoil 40 '\0377\0377\0377\0377'
refused "\"$ring\" is not a ring, or a broken one$"

# A copy has no owner: that is a ring whose producer is gone.
cp "$model" "$shm"
run 3 c1 "$consumer" --wait 0 "$ring"
fatal c1 "ring \"$ring\": no producer within 0\.0 s$"
no_ring

# The model is unharmed.
consume c1 "$ring.model"
feed_end
expect p 0
expect c1 0
no_ring_named "$ring.model"
