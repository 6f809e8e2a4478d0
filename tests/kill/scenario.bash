#!/bin/bash
#
# scenario.bash VICTIM POINT COUNT HOW - one small stream, in which one process
# is killed or stopped at a testpoint.
#
#   VICTIM  p the producer; a a consumer with --output
#   POINT   the testpoint; COUNT: at which passage
#   HOW     kill   SIGKILL
#           stop   SIGSTOP, and SIGCONT once the others can do nothing more;
#                  nobody may mind
#           leave  SIGSTOP, and SIGCONT once the others are gone: they leave the
#                  victim behind after the times that they were given
#
# "scenario.bash VICTIM points" prints the testpoints that the victim passes.
#
# Producer p sends three messages in a ring of two small slots: a short one, a
# long one in two steps, a short one.  Consumers a and b are required.  A third
# joins late and fails, so that an entry is freed meanwhile.  Consumer a is held
# while the producer fills the ring, so that each side waits for the other.
#
# Whatever happens: bytes that came are the beginning of what was sent; exit 0
# and a file of the final name mean all of it; everybody else ends in time, with
# the right code; the name is gone in the end.
# shellcheck source=tests/lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

victim=$1 point=$2 passage=${3:-1} how=${4:-points}
[ "$point" != points ] || how=points

# ---- the stage ---------------------------------------------------------------

numbers 100 >"$dir/first"
numbers 1000000 >"$dir/body"
numbers 200 >"$dir/last"
cat "$dir/first" "$dir/body" "$dir/last" >"$dir/all"

policy=()
[ "$how" != leave ] || policy=(--start-timeout 3s --stall-timeout 3s --drain-timeout 3s)
action=stop
[ "$how" != kill ] || action="kill"

# traced NAME COMMAND... : start it, and let it come to harm if it is the victim.
traced() {
	local name=$1 spec=

	shift
	[ "$how" = points ] || [ "$name" != "$victim" ] || spec=$point:$passage:$action
	start "$name" env SLUICE_TESTPOINT="$spec" SLUICE_TESTPOINT_TRACE="$dir/$name.trace" "$@"
}

passed() {
	[ "$(grep -cx "$2" "$dir/$1.trace")" -ge "${3:-1}" ]
}

reached() {
	passed "$victim" "$point" "$passage"
}

victim_is_out() {
	gone "$victim" || state_is "$victim" T
}

# either COMMAND... : it succeeds, or the victim is out of the game.
either() {
	"$@" || victim_is_out
}

producer_is_held() {
	passed p wait_space_wished || gone p || { [ "$victim" = p ] && state_is p T; }
}

# The others are as far as they get without the victim: asleep whenever one looks.
others_are_quiet() {
	local name i

	for i in 1 2 3 4 5; do
		for name in p a b; do
			[ "$name" = "$victim" ] || gone "$name" || sleeps_in "$name" futex || return
		done
		[ -z "${pids[feeder]:-}" ] || gone feeder || sleeps_in feeder pipe_ || return
		pause
	done
}

# HOW stop: continue the victim wherever it stops, once it may go on.
continue_always() {
	local pid=${pids[$victim]}

	while kill -0 "$pid" 2>/dev/null; do
		[ ! -e "$dir/go" ] || ! state_is "$victim" T 2>/dev/null || kill -CONT "$pid" 2>/dev/null
		pause
	done
}

watch_victim() {
	[ "$how" = stop ] && [ "$victim" = "$1" ] || return 0
	(
		exec {feed}>&-
		continue_always
	) &
	pids[watch]=$!
}

# ---- the play ------------------------------------------------------------------

feed_begin
traced p "$producer" -n 2 --slots 2 --slot-size 64K "${policy[@]}" "$ring" \
	"$dir/first" "$dir/feed" "$dir/last"
watch_victim p
wait_until eval 'ring_is_there || gone p || state_is p T'
if ! ring_is_there && ! gone p 2>/dev/null; then
	touch "$dir/go"
	wait_until ring_is_there
fi

if ! gone p 2>/dev/null; then
	traced a "$consumer" --wait 1s --name a --output "$dir/result" "$ring"
	watch_victim a
	traced b "$consumer" --wait 1s --name b "$ring"
	wait_until either size_is_at_least "$dir/b.out" 1
fi
members=(a b)
# Points that consumer a may pass before the producer has counted it.
early=" attach_locked attach_tail_stored attach_active attach_begun attach_keyed output_opened wait_data_bit_set "
if [ "$victim:$how:$passage" = a:kill:1 ] && [[ $early = *" $point "* ]]; then
	# If it was not counted, the producer waits for another.
	expect a 137
	start r "$consumer" --wait 1s "$ring"
	members=(r b)
	wait_until size_is_at_least "$dir/r.out" 1
fi
if ! victim_is_out 2>/dev/null; then
	to=/dev/full start c "$consumer" --late --wait 1s "$ring"
	expect c 5 1 3
	wait_until either passed p entry_taken
fi
holding=
if [ "$how" != leave ] && ! victim_is_out 2>/dev/null; then
	holding=1
	kill -STOP "${pids[a]}" 2>/dev/null || :
fi
to=$dir/feed start feeder cat "$dir/body"
if [ -n "$holding" ]; then
	wait_until producer_is_held
	kill -CONT "${pids[a]}" 2>/dev/null || :
elif [ "$how" = stop ] && ! gone "$victim" 2>/dev/null; then
	wait_until others_are_quiet
fi
touch "$dir/go"
wait_until eval 'gone feeder || gone p || { gone a && gone b; }'
feed_end

# ---- the end ---------------------------------------------------------------------

declare -A codes=()

# end_of NAME : how it ended, as a word of $codes.
end_of() {
	local code

	[ -n "${pids[$1]:-}" ] || return 0
	ended_with "$1"
	codes[$1]=$code
}

if [ "$how" = leave ]; then
	end_of p
	end_of b
	wait_until victim_is_out
	kill -CONT "${pids[$victim]}" 2>/dev/null || :
fi
for name in p "${members[@]}"; do
	end_of "$name"
done

explain() {
	fail "$victim $how at $point:$passage: $* ($(for name in "${!codes[@]}"; do
		printf '%s=%s ' "$name" "${codes[$name]}"
	done))"
}

# is NAME CODE... : it was there, and ended so.
is() {
	local name=$1 want

	shift
	for want; do
		[ "${codes[$name]:-none}" != "$want" ] || return 0
	done
	explain "$name should be one of $*"
}

# What is true of every play.
[ ! -e "$dir/b.out" ] || begins "$dir/b.out" "$dir/all"
[ "${codes[b]:-1}" != 3 ] || same "$dir/b.out" /dev/null
[ "${codes[b]:-1}" != 0 ] || same "$dir/b.out" "$dir/all"
[ "${codes[a]:-1}" != 0 ] || [ -e "$dir/result" ] || explain "a succeeded without a file"
[ ! -e "$dir/result" ] || same "$dir/result" "$dir/all"
case ${codes[a]:-none} in
0 | 137 | none) ;;
*) no_file "$dir/result" ;;
esac
for name in "${!codes[@]}"; do
	case ${codes[$name]} in
	0 | 137) ;;
	*) fatal "$name" . ;;
	esac
done

case $how in
points)
	is p 0
	is a 0
	is b 0
	no_ring
	sort -u "$dir/$victim.trace"
	exit 0
	;;
stop)
	is p 0
	is a 0
	is b 0
	;;
esac
if ! reached; then
	is p 0
	is a 0
	is b 0
	no_ring
	exit 0
fi
case $how-$victim in
kill-p)
	is p 137
	case $point:$passage in
	create_* | barrier_looked:*) [ -z "${codes[a]:-}" ] || { is a 1 3 && is b 1 3 && no_ring; } ;;
	# The stream is complete; they may have left before the producer died.
	end_after_store:* | drain_looked:1 | destroy_*) is a 0 && is b 0 ;;
	*:1) is a 1 3 && is b 1 3 && no_ring ;;
	*) is a 0 1 3 && is b 0 1 3 ;;
	esac
	;;
kill-a)
	[ "${members[0]}" = r ] || is a 137
	is b 0
	case $point:$passage in
	attach_locked:* | attach_tail_stored:*) is r 0 && is p 0 ;;
	attach_*:1 | output_opened:1 | wait_data_bit_set:1) is r 0 && is p 0 1 ;;
	result_stored:* | detach_* | remove_*) is p 0 ;;
	*:1) is p 1 ;;
	*) is p 0 1 ;;
	esac
	no_ring
	;;
leave-a)
	case $point:$passage in
	attach_locked:* | attach_tail_stored:*) is p 3 && is b 3 && is a 3 ;;
	attach_*) is p 1 && is b 0 && is a 1 3 ;;
	output_synced:* | output_renamed:* | result_before_store:*) is p 6 && is b 0 && is a 0 ;;
	result_stored:* | detach_* | remove_*) is p 0 && is b 0 && is a 0 ;;
	# The producer need not wait for it again.
	release_wish_taken:*) is p 1 6 && is b 0 && is a 0 1 ;;
	*:1) is p 1 && is b 0 && is a 1 ;;
	*) is p 0 1 6 && is b 0 && is a 0 1 ;;
	esac
	no_ring
	;;
esac

# Where nobody was left to do so, the next of that name replaces it.
start q "$producer" -n 2 "$ring" "$dir/all"
start d "$consumer" "$ring"
start e "$consumer" --output "$dir/again" "$ring"
for name in q d e; do
	end_of "$name"
	is "$name" 0
done
same "$dir/d.out" "$dir/all"
same "$dir/again" "$dir/all"
no_ring
