#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need pkg-config make

# Installed, and moved: nothing of it may be where it says.
make -s -C "$root" VARIANT="$VARIANT" DESTDIR="$dir/stage" PREFIX=/opt/sluice install >"$dir/install.err" 2>&1 ||
	fail "cannot be installed"
export PKG_CONFIG_PATH=$dir/stage/opt/sluice/lib/pkgconfig
cp -r "$root/examples" "$dir/examples"
cat >"$dir/pkg-config" <<'END'
#!/bin/sh
# The stage stands for the root, for what is of ours.
pkg-config "$@" | sed "s,\(-[IL]\)/opt/sluice,\1$PKG_CONFIG_PATH/../..,g"
END
chmod +x "$dir/pkg-config"
make -s -C "$dir/examples" PKG_CONFIG="$dir/pkg-config" CFLAGS="-O2 -Wall -Wextra -Werror $(sanitizer_flags)" \
	>"$dir/make.err" 2>&1 || fail "the examples cannot be built"
PATH=$dir/stage/opt/sluice/bin:$PATH

# The one reads what the other writes.
start r "$dir/examples/readings-read" "$ring"
start w "$dir/examples/readings-write" "$ring" 100000
expect w 0
expect r 0
[ "$(wc -l <"$dir/r.out")" = 100000 ] || fail "not as many records"
[ "$(sed -n 100p "$dir/r.out")" = "sensor-1 1700000000000099000 99 99.125 99.25 99.375" ] ||
	fail "not the record: $(sed -n 100p "$dir/r.out")"
[ "$(sed -n '$p' "$dir/r.out" | cut -d' ' -f 1-3)" = "sensor-4 1700000000099999000 99999" ] ||
	fail "not the last record"

# Who exits without the end is told of.
start r "$dir/examples/readings-read" "$ring"
start w "$dir/examples/readings-write" "$ring" 100000000
wait_until size_is_at_least "$dir/r.out" 100000
kill -KILL "${pids[w]}"
expect w 137
expect r 1
grep -q '^readings-read: ' "$dir/r.err" || fail "the reader said nothing"
"$consumer" --wait 10ms "$ring" 2>/dev/null || :     # removes the name
no_ring

# The same from Python.
/usr/bin/python3 -c 'import cbor2' 2>/dev/null || skip "no Python with cbor2 (Debian: python3-cbor2)"
start r "$dir/examples/readings-read" "$ring"
start w "$dir/examples/readings-write" "$ring" 20000
expect w 0
expect r 0
start c sluice-consumer --format cbor "$ring"
start w "$dir/examples/readings-write" "$ring" 20000
expect w 0
expect c 0
/usr/bin/python3 "$dir/examples/readings.py" <"$dir/c.out" >"$dir/python.out" || fail "Python cannot read it"
same "$dir/python.out" "$dir/r.out"
no_ring
