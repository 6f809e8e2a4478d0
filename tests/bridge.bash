# shellcheck shell=bash
#
# bridge.bash - what the tests of the bridge have in common, beside lib.sh; sourced
# by each.
#
#   listen NAME RING ARGUMENT...    a receiving bridge; its address is in $address
#   send NAME ARGUMENT...           a sending bridge of $ring
#   mirrored N ARGUMENT...          receivers r1 .. rN of mirrors $ring.1 .. $ring.N,
#                                   a consumer c1 .. cN on each; $goals: --to for all
# shellcheck disable=SC2034         # what the tests use

# shellcheck source=tests/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

bridge=$SLUICE_BIN/sluice-bridge

# Where bridges are started: see host.
on=()

# Pieces of the stream so small that there are many of them.
small=(--slots 4 --slot-size 64K)

address_of() {
	wait_until eval "[ -s '$dir/$1.out' ] || gone '$1'"
	read -r address <"$dir/$1.out" || fail "$1 says no address"
	port=${address##*:}
}

listen() {
	local name=$1 ring=$2

	shift 2
	start "$name" "${on[@]}" "$bridge" "$ring" --listen "${at:-127.0.0.1:0}" "$@"
	address_of "$name"
}

# listen_again NAME RING ARGUMENT... : where the last one listened.
listen_again() {
	at=$address listen "$@"
}

send() {
	local name=$1

	shift
	start "$name" "${on[@]}" "$bridge" "$ring" "$@"
}

mirrored() {
	local i n=$1

	shift
	goals=()
	for ((i = 1; i <= n; i++)); do
		listen "r$i" "$ring.$i" "$@"
		goals+=(--to "$address")
		consume "c$i" "$ring.$i"
	done
}

# all_expect CODE NAME...
all_expect() {
	local code=$1 name

	shift
	for name; do
		expect "$name" "$code"
	done
}

# A process that stands between two bridges: proxy NAME ARGUMENT... ; $address is
# then where it listens.
proxy() {
	local name=$1

	shift
	start "$name" python3 "$tests/helpers/proxy.py" "$@"
	address_of "$name"
}

# peer NAME ARGUMENT... : somebody who is no bridge, or another one.
peer() {
	local name=$1

	shift
	start "$name" python3 "$tests/helpers/peer.py" "$@"
}

# tells NAME FILTER : true of its summary.
tells() {
	jq -e "$2" "$dir/$1.json" >"$dir/jq.out" || fail "not true of $1: $2: $(cat "$dir/$1.json")"
}

# How far a mirror is: mirror_head RING.
mirror_head() {
	ring=$1 ring_head
}

mirror_has() {
	[ "$(mirror_head "$1")" -ge "$2" ]
}

# The state of the first entry of a ring: 0 free, 1 active.
first_entry_of() {
	local ring=$1

	echo $(($(number_at $(($(number_at 32) + 384))) & 255))
}

# ---- hosts ------------------------------------------------------------------------

# own_hosts N : node1 .. nodeN, each with a network of its own, at 10.77.0.11 and on;
# their cables end at a switch.  All see the same rings.
own_hosts() {
	cluster=$root/../shared/cluster
	[ -x "$cluster/net-up.sh" ] || skip "needs ../shared/cluster"
	need_root
	need ip ss
	net=b$$
	at_end "'$cluster/net-down.sh' $net"
	"$cluster/net-up.sh" "$1" "$net" >"$dir/net.log" 2>&1 ||
		skip "may not make hosts: $(tail -n 1 "$dir/net.log")"
}

# host I : the bridges that are started next run there.
host() {
	on=(env "P=$net" "$cluster/on-host.sh" "$1")
}

on_host() {
	ip netns exec "${net}h$1" "${@:2}"
}

# cable I up|down
cable() {
	ip -n "${net}sw" link set "p$1" "$2"
}

# host_receives I ARGUMENT... : receiver rI of mirror $ring.I there, and consumer cI;
# $goals has it.
host_receives() {
	host "$1"
	at=10.77.0.$((10 + $1)):0 listen "r$1" "$ring.$1" --insecure "${@:2}"
	goals+=(--to "node$1:$port")
	consume "c$1" "$ring.$1"
}
