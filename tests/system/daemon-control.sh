# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# The control socket, signals, and what the service manager is told.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
make_spin burn
background "$here/burn"
run_daemon=("$culprit" daemon -o "$db" --socket "$socket" --flush-every 1h)

check_status "no daemon: status 1" 1 ctl status
check_match "says how to start one" err 'no daemon is listening at .*culprit daemon'
echo precious >run/file
check_status "a file that is no socket is not replaced" 1 \
	"$culprit" daemon -o "$db" --socket "$here/run/file"
check "but kept" grep -q precious run/file
check_match "in one line" err '^culprit: cannot listen at .*/run/file'
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$socket"
check_status "a socket file that nobody listens on: status 1" 1 ctl status

# Tells what is said to NOTIFY_SOCKET.
cat >manager.py <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)
PY
background python3 manager.py "$here/run/notify" >notified
wait_until 10 test -S run/notify
start_daemon env NOTIFY_SOCKET="$here/run/notify" "${run_daemon[@]}"
check "the daemon starts in place of a dead one's socket" test $? = 0
check "the service manager knows" wait_until 5 grep -qx READY=1 notified
check "the socket is for owner and group only" test "$(stat -c %a "$socket")" = 660

check_status "status" 0 ctl status
check_match "as text" out '^samples +[0-9]+$'
check "as JSON" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["ok"] and d["database"] and d["events"][0]["name"] and d["lost"] == 0, d' "$(ctl status --json)"
check "as CSV" python3 -c '
import csv, sys
rows = {r["key"]: r["value"] for r in csv.DictReader(sys.argv[1].splitlines())}
assert rows["database"] and int(rows["samples"]) >= 0 and any(k.startswith("events.") for k in rows), rows' "$(ctl status --csv)"
check "of what nothing follows there is no word" bash -c '! "$0" ctl --socket "$1" status --json | grep -q "\"windows\""' "$culprit" "$socket"
check_status "a label that is none" 2 ctl label nonsense
check_status "an unknown request" 2 ctl frobnicate
check_status "a key that is not allowed" 1 ctl label =x
check_match "is refused by the daemon" err 'the daemon says: '

labelled() { # the samples of burn with the label's value
	"$culprit" prof -i "$db" --epoch all --image '*/burn' --subject "label.phase=$1" --json 2>/dev/null |
		python3 -c 'import json, sys; print(sum(r["samples"] for r in json.load(sys.stdin)["rows"]))'
}
stored() { # COMMAND...: what it prints of all that was sampled until now
	ctl flush >/dev/null
	"$@"
}
burnt=(stored samples_of burn_here /burn)
wait_until 10 at_least 20 "${burnt[@]}"
check "label" ctl label phase=two
wait_until 10 at_least 20 stored labelled two
check "and its end" ctl label phase=
check "flush" ctl flush
first=$(samples_of burn_here /burn)
second=$(labelled two)
check "what is sampled under a label has it" test "$second" -ge 20
check "what was sampled before has not" test "$second" -le $((first - 20))
wait_until 10 at_least $((first + 20)) "${burnt[@]}"
check "flush again" ctl flush
check "what is sampled after it has not either" test "$(labelled two)" = "$second"
check "and it goes on" test "$(samples_of burn_here /burn)" -gt "$first"

check "epoch" ctl epoch
"$culprit" epochs -i "$db" >out
check "there are two" test "$(grep -c '20[0-9]*T[0-9]*Z' out)" = 2

check_status "another user may not" 1 bash -c "$(declare -f exec_user); exec_user \"\$@\"" - \
	"$culprit" ctl --socket "$socket" stop
check_match "and is told so" err 'not allowed to use .*group'

# Clients that say nothing, too much or nonsense, and one that asks without listening.
cat >clients.py <<'PY'
import os, signal, socket, sys
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    return s
idle = [connect() for _ in range(40)]
for data in (b"x" * 100000, os.urandom(1000) + b"\n", b"\n", b"label \xff\xfe=\x01\n", b"status"):
    s = connect()
    try:
        s.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass
    idle.append(s)
for _ in range(10):
    s = connect()
    s.send(b"status\n")
    s.close()
print("connected", flush=True)
signal.pause()
PY
background python3 clients.py "$socket" >clients
wait_until 10 grep -q connected clients
check "clients that say nothing or nonsense hold up nobody" timeout 100 "$culprit" ctl -s "$socket" status
before=$(field samples)
check "nor the sampling" wait_until 10 at_least $((before + 200)) field samples

check_status "a second daemon on the socket" 1 "$culprit" daemon -o "$here/state/other" --socket "$socket"
check_match "is told" err '^culprit: a daemon is already listening'
check "and leaves no database" test ! -e state/other
check_status "a second writer to the database" 1 "$culprit" daemon -o "$db" --socket "$here/run/second"
check_match "is told who has it" err "process $daemon is writing to the database"
check_status "record too" 1 "$culprit" record -o "$db" -- true
check_match "is told who has it" err "process $daemon is writing to the database"

flushes=$(field flushes)
kill -HUP "$daemon"
check "SIGHUP flushes" wait_until 10 at_least $((flushes + 1)) field flushes
wait_until 10 at_least $(($(field samples) + 200)) field samples
before=$(all_samples)
stop_daemon
check "SIGTERM ends it with 0" test $? = 0
check "and flushes" test "$(all_samples)" -ge $((before + 200))
check "the socket is gone" test ! -e "$socket"
check "the service manager knows" wait_until 5 grep -qx STOPPING=1 notified

start_daemon "${run_daemon[@]}"
check "it starts again" test $? = 0
check "stop" ctl stop
wait "$daemon"
check "ends it with 0" test $? = 0

# The journal's priorities: when stderr is the stream that JOURNAL_STREAM names.
journal() {
	JOURNAL_STREAM=$(stat -Lc %d:%i /dev/stderr) exec "${run_daemon[@]}"
}
start_daemon journal
stop_daemon
check "every line for the journal has its priority" test -z "$(grep -v '^<[3-5]>' log)"
check_match "without a name" log '^<5>collecting into'
refused() {
	JOURNAL_STREAM=$(stat -Lc %d:%i /dev/stderr) "$culprit" daemon -o /proc/nothing --socket "$socket"
}
check_status "a daemon that cannot start" 1 refused
check_match "says why with priority 3" err '^<3>cannot make the database /proc/nothing: '

# Killed at any time: what was acknowledged is there, and the next one starts as ever.
lost=0
for delay in 0.00 0.05 0.1 0.2 0.4; do
	start_daemon "${run_daemon[@]}" || fail "it starts after a kill" "$(cat log)"
	wait_until 10 at_least 100 field samples
	ctl epoch && acknowledged=$(all_samples)
	sleep "$delay"
	kill -KILL "$daemon"
	wait "$daemon"
	[ "$(all_samples)" -ge "$acknowledged" ] || lost=$((lost + 1))
done 2>/dev/null
check "what was acknowledged survives SIGKILL" test $lost = 0
start_daemon "${run_daemon[@]}"
wait_until 10 at_least 100 field samples
acknowledged=$(field samples)
before=$(all_samples)
ctl flush
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
check "a flush that was acknowledged is on the disk" \
	test "$(all_samples)" -ge $((before + acknowledged))
start_daemon "${run_daemon[@]}"
stop_daemon
start_daemon "$culprit" daemon -o "$here/caf"$'\xe9'.db --socket "$socket" --flush-every 1h
check_status "status of a database whose name is not UTF-8" 0 ctl status --json
check_match "escapes it" out 'caf.*xe9.db"'
check_status "a label that is not, without a key" 1 ctl label $'=\xe9'
check_match "is told why by the daemon" err "the daemon says: label '=.*xe9' is not KEY=VALUE"
stop_daemon
check "no leaves of those killed" test -z "$(find "$db" -name '*.tmp*' -o -name 'removing*')"
tap_end
