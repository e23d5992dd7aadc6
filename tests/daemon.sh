# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154,SC2034 # names from tap.sh, and for the tests
# For the tests of the daemon, after tap.sh: `. "$root/tests/daemon.sh"`. The program is copied
# where any user may run it. Processes that a test starts are ended with it.
if [ "$(id -u)" != 0 ] || ! timeout 200 "$culprit" doctor >/dev/null 2>&1; then
	skip "the daemon" "sampling does not work here, or not root"
	tap_end
fi
chmod 711 "$tap_scratch"
here=$tap_scratch
install -m 755 "$culprit" "$here/culprit"
culprit=$here/culprit
socket=$here/run/control
db=$here/state/db
mkdir -m 755 run state
started=()
paranoid=/proc/sys/kernel/perf_event_paranoid
paranoid_kept=$(cat $paranoid)

# The programs that were sampled, so that they do not hold up the reports on them.
end_started() {
	local pid
	for pid in "${started[@]}"; do kill -KILL "$pid"; done
	wait "${started[@]}"
	started=()
} 2>/dev/null

end_all() {
	echo "$paranoid_kept" >$paranoid
	end_started
	wait
	umount -l "$here/disk"
	rm -rf "$tap_scratch"
} 2>/dev/null
trap end_all EXIT

# compile NAME [FLAG...]: from the C program on stdin.
compile() {
	cc -O1 -g -x c -o "$1" - "${@:2}" || exit 1
}

# make_spin NAME: a program of its own build-id that burns time in burn_here() until it is killed.
make_spin() {
	compile "$1" -DNAME="\"$1\"" <<'C'
const char *volatile name = NAME;
volatile unsigned long n;
__attribute__((noinline)) void burn_here(void)
{
	for (int i = 0; i < 1000000; i++)
		n++;
}
int main(void)
{
	for (;;)
		burn_here();
}
C
}

# background COMMAND...: its PID in $pid.
background() {
	"$@" &
	pid=$!
	started+=("$pid")
}

# background_as_user PROGRAM: by somebody without any privilege; waits until it is that program.
background_as_user() {
	background exec_user "$1"
	wait_until 10 runs "$pid" "$1"
}
runs() {
	[ "$(readlink "/proc/$1/exe")" = "$2" ]
}

# wait_until SECONDS COMMAND...: tries it until it succeeds. Only a limit on how long a broken
# program is waited for, by tries, which take longer on a loaded machine.
wait_until() {
	local tries=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ $((tries--)) -gt 0 ] || return 1
		sleep 0.05
	done
}

ctl() {
	"$culprit" ctl --socket "$socket" "$@"
}

# start_daemon COMMAND...: in the background, until it answers. Its PID in $daemon, what it says in
# the file log.
start_daemon() {
	"$@" >log 2>&1 &
	daemon=$!
	started+=("$daemon")
	wait_until 20 answers_or_ended && ctl status >/dev/null 2>&1
}
answers_or_ended() {
	ctl status || ! kill -0 "$daemon"
}

# stop_daemon: by SIGTERM; its exit status.
stop_daemon() {
	kill -TERM "$daemon"
	wait "$daemon"
}

# field NAME: of the daemon's status.
field() {
	ctl status | sed -n "s/^$1  *//p"
}

# at_least NUMBER COMMAND...: the number that the command prints is.
at_least() {
	local least=$1
	shift
	[ "$("$@")" -ge "$least" ]
}

# samples_of [--by WHAT] NAME IMAGE: samples in the database of rows of that function (or what the
# option says) whose image ends so. Either may be empty: any.
samples_of() {
	local by=function
	if [ "$1" = --by ]; then
		by=$2
		shift 2
	fi
	"$culprit" prof -i "$db" --epoch all --idle --by "$by" --json >samples.json 2>samples.err || {
		echo 0
		return
	}
	python3 - "$by" "$@" <<'PY'
import json, sys
by, name, image = sys.argv[1:]
rows = json.load(open("samples.json"))["rows"]
# Of all events: the governor may have chosen another rate after a restart.
print(sum(sum(r["events"].values()) for r in rows if (not name or r.get(by) == name)
          and str(r.get("image", "")).endswith(image)))
PY
}

# all_samples: in the database, of whatever.
all_samples() {
	"$culprit" epochs -i "$db" --json 2>samples.err | grep -o '"samples":[0-9]*' |
		awk -F: '{ n += $2 } END { print n + 0 }'
}

# header NAME: a number of the header of prof over the whole database.
header() {
	"$culprit" prof -i "$db" --epoch all --json 2>samples.err |
		python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# Samples that are unknown, but for code of the kernel that was gone before anybody asked for it, of its tracing or of BPF
# programs that ended: none in most runs, one of a thousand samples in some; more than five are told.
unknown() {
	"$culprit" prof -i "$db" --epoch all --json 2>samples.err | python3 -c 'import json, re, sys
j = json.load(sys.stdin)
gone = sum(int(n) for note in j["notes"] for n in re.findall(r"unknown, by cause:.* kernel (\d+)", note))
print(j["unknown"] - (gone if gone <= 5 else 0))'
}

# The daemon as packaging/culprit.service runs it, except for the system calls: another user with
# just the capabilities given. To be run in the background: start_daemon exec_service CAPABILITIES
# COMMAND...
service_user=64123
unit=$build/packaging/culprit.service
unit_capabilities=$(sed -n 's/^AmbientCapabilities=//p' "$unit" | tr '[:upper:]' '[:lower:]' | sed 's/cap_//g')
exec_service() {
	local set
	# shellcheck disable=SC2086 # one word each
	set=-all$(printf ',+%s' $1)
	shift
	chown -R "$service_user:$service_user" run state
	umask 027
	# The unit's limits; where raising them takes a privilege that is not there, what there is.
	{ ulimit -l unlimited; ulimit -n 65536; ulimit -r "$(sed -n 's/^LimitRTPRIO=//p' "$unit")"; } 2>/dev/null
	exec setpriv --reuid $service_user --regid $service_user --clear-groups --no-new-privs \
		--inh-caps "$set" --ambient-caps "$set" --bounding-set "$set" "$@"
}

# Somebody without any privilege; in the background too, or in a subshell.
exec_user() {
	exec setpriv --reuid 64124 --regid 64124 --clear-groups --bounding-set -all "$@"
}

# The same with what the program's file has.
exec_given() {
	exec setpriv --reuid 64124 --regid 64124 --clear-groups "$@"
}
