# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 41
# Ctrl-C and kill at any moment: a clean end, a valid database, nobody and nothing left behind.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# Copies of our own: what runs of them is ours.
cp "$programs/spots-one" prey
cp "$culprit" culprit
culprit=$PWD/culprit
# running PROGRAM: processes that are that program, whatever they call themselves.
running() { find /proc -maxdepth 2 -name exe -lname "$1" 2>/dev/null; }
valid() { "$culprit" db verify -i "$1" >verify 2>&1; }

# Signals at random moments, from before the start to after the end of a recording of about a second.
RANDOM=$$
mkdir dbs
bad=() codes=() left=()
for i in $(seq 50); do
	signal=INT
	[ $((i % 2)) = 0 ] || signal=TERM
	if [ $((i % 4)) -lt 2 ]; then
		what=(--for 600ms -a)
	else
		what=(-- ./prey 300000)
	fi
	# bash starts what is in the background with SIGINT ignored.
	setsid env --default-signal=INT "$culprit" record -q -F 1000 -o dbs/$i.db "${what[@]}" >out 2>err &
	pid=$!
	# One in four in the first 50 ms.
	if [ $((RANDOM % 4)) = 0 ]; then sleep "$(printf '0.%03d' $((RANDOM % 50)))"; else
		sleep "$(printf '%d.%03d' $((RANDOM % 2)) $((RANDOM % 1000)))"
	fi
	kill -$signal $pid 2>/dev/null
	wait $pid
	status=$?
	codes+=("$status")
	# 0; of the command that was ended; or before culprit could take the signal: by the signal.
	case $status in
	0 | 143 | 130) ;;
	*) bad+=("$i: $signal, status $status: $(cat err)") ;;
	esac
	if [ -e dbs/$i.db ] && ! valid dbs/$i.db; then bad+=("$i: $(cat verify)"); fi
	[ -z "$(running "$PWD/prey")" ] || left+=("$i: a command")
	[ -z "$(find dbs -name '*tmp*')" ] || left+=("$i: $(find dbs -name '*tmp*')")
done
if [ ${#bad[@]} = 0 ]; then pass '50 signals at random moments'; else fail '50 signals at random moments' "${bad[@]}"; fi
if [ ${#left[@]} = 0 ]; then pass 'leave nothing behind'; else fail 'leave nothing behind' "${left[@]}"; fi
printf '%s\n' "${codes[@]}" | sort | uniq -c | sed 's/^/# status: /'

# As a terminal does it: to the command and to the helpers that parse files as well.
cp prey passing
setsid env --default-signal=INT "$culprit" record -q -F 1000 -o group.db -- ./passing 60000000 >out 2>err &
pid=$!
until passing=$(pgrep -g $pid -f '^\./passing'); do sleep 0.05; done
await_cpu "$passing" 50
kill -INT -- -$pid
wait $pid
status=$?
rm passing
if [ $status = 130 ] && valid group.db; then pass 'Ctrl-C for all of them'; else
	fail 'Ctrl-C for all of them' "status $status" "$(cat err verify)"
fi
expect 'and what was sampled has its names' group.db '
assert p.function("one_first") > 20 and p.unknown == 0, p.top()
'

# kill -9: what was acknowledged stays. Flushes come by themselves only once a minute, so the daemon,
# which can be told to, stands for both.
"$culprit" daemon -o killed.db --socket "$PWD/socket" -F 1000 2>daemon.err &
daemon=$!
until "$culprit" ctl --socket "$PWD/socket" status >/dev/null 2>&1; do sleep 0.1; done
./prey 700000
"$culprit" ctl --socket "$PWD/socket" flush >flush.out 2>&1
flushed=$?
./prey 300000 &
sleep 0.2
kill -9 $daemon
{ wait; } 2>/dev/null
if [ $flushed = 0 ] && valid killed.db; then
	pass 'after kill -9 the database is valid'
else
	fail 'after kill -9 the database is valid' "$(cat flush.out verify daemon.err)"
fi
expect 'and what was flushed is in it' killed.db '
print(p.function("one_first"), "samples")
assert p.function("one_first") > 50, p.top()
'
"$culprit" record -q -o killed.db -F 1000 -- ./prey 300000 >out 2>&1
expect 'and the next recording goes on in it' killed.db '
every = p.by("--epoch", "all")
assert len(every.json["epochs"]) == 2, every.json["epochs"]
assert every.function("one_first") > p.function("one_first") > 50
assert p.unknown < 0.01 * p.samples
'
# The helpers that parse files end with their master, however that ended.
for _ in $(seq 600); do
	strays=$(running "$culprit")
	[ -n "$strays" ] || break
	sleep 0.05
done
check_same 'no process stays' '' "$strays"
tap_end
