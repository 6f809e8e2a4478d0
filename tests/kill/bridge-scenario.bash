#!/bin/bash
#
# bridge-scenario.bash VICTIM POINT COUNT HOW - one small stream through a bridge,
# one end of which is killed at a testpoint and started again.
#
#   VICTIM  s the sending end; r the receiving end; S, R the one that was started
#           again after such a death in mid-stream: it is killed, too, and started
#           a third time
#   POINT   the testpoint; COUNT: at which passage
#   HOW     kill; anything else is not played here
#
# "bridge-scenario.bash VICTIM points" prints the testpoints that the victim passes.
#
# Producer p sends three messages in small slots; consumer c of the mirror writes a
# file.  It is held until the mirror is full.  Whatever happens: p and c exit 0, the
# file is what was sent, whoever was started again ends well, and no name is left.
# shellcheck source=tests/bridge.bash
. "${BASH_SOURCE[0]%/*}/../bridge.bash"

victim=$1 point=$2 passage=${3:-1}
mirror=$ring.m
numbers 100 >"$dir/first"
numbers 500000 >"$dir/body"
numbers 200 >"$dir/last"
cat "$dir/first" "$dir/body" "$dir/last" >"$dir/all"

# ---- who is killed, and when ----------------------------------------------------

end=${victim,}                     # s or r
declare -A lives=([s]=0 [r]=0)

# Each life of the victim's end has its own death; the last has none.
case $victim in
S) deaths=(record_sent:2 "$point:$passage") ;;
R) deaths=(record_received:3 "$point:$passage") ;;
*) deaths=("$point:$passage") ;;
esac
[ "$point" != points ] || unset "deaths[-1]"

# begin END ARGUMENT... : s or r, as s1, s2, ...; it is to die if it is its turn.
begin() {
	local spec='' name

	lives[$1]=$((lives[$1] + 1))
	name=$1${lives[$1]}
	[ "$1" != "$end" ] || spec=${deaths[lives[$1] - 1]:-}
	start "$name" env SLUICE_TESTPOINT="${spec:+$spec:kill}" SLUICE_TESTPOINT_TRACE="$dir/$name.trace" \
		"$bridge" "${@:2}"
}

begin_s() {
	begin s "$ring" --to "$address" --wait "$patience" --retry 4s
}

# Where r listens first is where it listens.
begin_r() {
	begin r "$mirror" --listen "${address:-127.0.0.1:0}" --slots 2 --wait "$patience" --retry 4s
	[ -n "${address:-}" ] || address_of "r${lives[r]}"
}

present() {
	echo "$end${lives[$end]}"
}

is_out() {
	gone "$(present)" 2>/dev/null
}

either() {
	"$@" 2>/dev/null || is_out
}

# Start again who died of its testpoint.
declare -A codes=()
reached=
care() {
	local name

	while is_out; do
		name=$(present)
		[ -n "${pids[$name]:-}" ] || break
		ended_with "$name"
		codes[$name]=$code
		[ "$code" = 137 ] || break
		[ "${lives[$end]}" -lt "${#deaths[@]}" ] || reached=1
		patience=1s
		"begin_$end"
	done
}

# cared COMMAND... : wait for it, and care meanwhile.
cared() {
	local until=$((SECONDS + DEADLINE))

	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$until" ] || explain "not within $DEADLINE s: $*"
		care
		pause
	done
}

explain() {
	fail "$victim at $point:$passage: $*"
}

# ---- the play ---------------------------------------------------------------------

patience=30s
begin_r
consume c --output "$dir/result" "$mirror"
feed_begin
produce p "${small[@]}" "$ring" "$dir/first" "$dir/feed" "$dir/last"
wait_until ring_is_there
begin_s
case $victim:$point in
s:attach_active | s:attach_begun)
	# An entry without its key cannot be taken up again.  If it was counted,
	# the producer has lost a consumer, and says so.
	cared eval 'mirror_has "$mirror" 1 || gone p'
	if gone p 2>/dev/null; then
		all_expect 1 p r1 c
		expect s2 3
		feed_end
		no_ring
		no_ring_named "$mirror"
		exit 0
	fi ;;
esac
cared mirror_has "$mirror" 1
stop c
to=$dir/feed start feeder cat "$dir/body"
cared mirror_has "$mirror" 120000
signal c CONT
cared gone feeder
feed_end
cared gone p
cared gone c
expect p 0
expect c 0
same "$dir/result" "$dir/all"

# The last life of each end.
both_gone() {
	gone "s${lives[s]}" && gone "r${lives[r]}"
}

cared both_gone
care                               # it may have died of the last thing it did
cared both_gone
for name in "s${lives[s]}" "r${lives[r]}"; do
	if [ -n "${pids[$name]:-}" ]; then
		ended_with "$name"
		codes[$name]=$code
	fi
	case ${codes[$name]}:${name:0:1}:$end:$point in
	0:*) ;;
	# All was over when it died; there was nothing left to take up.
	3:s:s:outcome_stored | 3:s:s:result_stored | 3:s:s:detach_* | 3:s:s:remove_*) ;;
	3:r:r:destroy_after_unlink | 3:r:r:remove_*) ;;
	*) explain "$name exited with ${codes[$name]}" ;;
	esac
done
no_ring
no_ring_named "$mirror"
if [ "$point" = points ]; then
	sort -u "$dir/$(present).trace"
elif [ "$passage" = 1 ]; then
	case $end:$point in
	# Who waits for whom is a matter of luck; and so is whether a consumer is gone
	# before the receiver is, which looks for that now and then.
	*:wait_* | *:release_wish_taken | *:publish_bits_taken | *:remove_before_unlink) ;;
	r:entry_taken) ;;
	*) [ -n "$reached" ] || explain "it was not reached" ;;
	esac
fi
