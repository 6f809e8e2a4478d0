#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 100000 >"$dir/input"

# The address is told on standard output and on the descriptor.
mkfifo "$dir/ready"
exec {fd}<>"$dir/ready"
held+=("$fd")
ready=$dir/ready start r "$bridge" "$ring.m" --listen 127.0.0.1:0 --ready-fd 9
read -rt "$DEADLINE" -u "$fd" told || fail "it is not ready in time"
address_of r
[ "$told" = "$address" ] || fail "two addresses: $told, $address"

# The sender is ready when every destination is attached.
ready=$dir/ready start s "$bridge" "$ring" --to "$address" --ready-fd 9
produce p "$ring" "$dir/input"
pause
! read -rt 0.1 -u "$fd" told || fail "ready before anybody is there"
consume c "$ring.m"
read -rt "$DEADLINE" -u "$fd" told || fail "the sender is not ready in time"
[ -z "$told" ] || fail "it said more than a newline"
all_expect 0 p s r c

for where in localhost:0/localhost '[::1]:0/[::1]' 127.0.0.1:0/localhost; do
	[[ $where != *::1* ]] || grep -qs ' lo$' /proc/net/if_inet6 || continue
	at=${where%/*} listen r "$ring.m"
	consume c "$ring.m"
	send s --to "${where#*/}:$port" --retry 2s
	produce p "$ring" "$dir/input"
	all_expect 0 p s r c
	same "$dir/c.out" "$dir/input"
done

run 3 s "$bridge" "$ring" --to 127.0.0.1:1 --wait 0
produce p "$ring" "$dir/input"
run 3 s "$bridge" "$ring" --to no-such-host.invalid:1 --retry 100ms
fatal s "no-such-host\.invalid"
expect p 1
no_ring
