# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# culprit record where a newcomer goes wrong: commands that cannot be run, databases that cannot be made, the
# end before the beginning. Each refusal is one line that says what to do, and leaves nothing behind.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB

mkdir dir
echo 'echo hello' >script
chmod 644 script
refused() { # NAME STATUS REGEX ARGUMENT...
	local name=$1 status=$2 regex=$3 got
	shift 3
	timeout 200 "$culprit" record "$@" >out 2>err </dev/null
	got=$?
	if [ $got = "$status" ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && [ ! -e culprit.db ] &&
		grep -Eq -- "$regex" err; then
		pass "$name"
	else
		fail "$name" "status $got, not $status; wanted '$regex' in:" "$(cat err)" "$(cat out)" "$(ls)"
	fi
	rm -rf culprit.db
}
refused 'a command that is nowhere' 1 "cannot run 'nosuchcmd': it is not in .PATH; name it by its path" -- nosuchcmd
refused 'a path that is nowhere' 1 "cannot run './nosuch': No such file" -- ./nosuch
refused "a shell's line in quotes" 1 "cannot run 'ls \| wc -l': .* record -- sh -c" -- 'ls | wc -l'
refused 'a directory' 1 "cannot run './dir': it is a directory; name a program in it" -- ./dir
refused 'a file that is not executable' 1 "cannot run './script': Permission denied; .*chmod \+x" -- ./script
refused 'a rate of stacks that is none' 2 "'0' is neither all nor from 1 to 100000 stacks a second" --stack-rate 0 true
refused 'a word' 2 "'most' is neither all nor from 1" --stack-rate most true
refused 'no name' 1 "the command's name is empty" -- ''
refused 'a name with escapes' 1 "cannot run '\\\\x1b\[31m\\\\n': " -- $'\e[31m\n'
refused 'nothing after --' 2 'say what to sample' --
refused 'a database without a name' 2 "the database's name is empty" -o '' -- true
python3 -c 'import threading, time
def body():
    print(threading.get_native_id(), flush=True)
    time.sleep(600)
threading.Thread(target=body, daemon=True).start()
time.sleep(600)' >thread &
threaded=$!
until [ -s thread ]; do sleep 0.02; done
refused 'a thread' 2 "$(cat thread) is a thread of process $threaded; -p $threaded samples all" -p "$(cat thread)"
kill $threaded
mkdir bin
ln -s ../dir bin/nosuchcmd
check_status 'a directory of that name in the path is passed over' 1 env PATH="$PWD/bin:$PATH" "$culprit" record -- nosuchcmd
check_match 'and so there is none' err "cannot run 'nosuchcmd': it is not in .PATH"
if [ "$(id -u)" = 0 ]; then
	cp "$culprit" copy && chmod 755 .
	check_status 'nobody' 1 env -i setpriv --reuid=65534 --regid=65534 --clear-groups ./copy record -- true
	check_match 'is told what right to ask for' err 'run as root, or .*CAP_PERFMON'
	check 'in one line' [ "$(wc -l <err)" = 1 ]
else
	skip 'nobody' 'needs root'
fi

if ! "$culprit" record -q -o probe.db -- true 2>why; then
	skip 'the rest' "this machine cannot sample: $(head -n 1 why)"
	tap_end
fi

chmod 755 script
check_status 'a script without a first line is run by a shell' 0 "$culprit" record -q -o script.db -- ./script
check_match 'as a shell would' out '^hello$'
printf '#!/nowhere/interpreter\n' >orphan
chmod 755 orphan
refused 'a label that is none' 2 "--label 'foo' is not KEY=VALUE.*culprit help record" -l foo -- true
check_status 'a script whose interpreter is not there' 1 "$culprit" record -o orphan.db -- ./orphan
check_match 'is told from a script that is not there' err 'cannot run the command: what its first line'
check_status 'a command that dies at once' 137 "$culprit" record -q -o dies.db -- sh -c 'kill -9 $$'
check_status 'without a home' 0 env -i "$culprit" record -q -o home.db -- /bin/true
# What we change for ourselves is not for the command: the limit of files, the signals that are blocked.
echo 'ulimit -Sn; grep -E "Sig(Blk|Ign)" /proc/self/status' >tell
as_called() { # COMMAND...
	(ulimit -Sn 200 && exec python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.execv(sys.argv[1], sys.argv[1:])' "$@")
}
as_called /bin/sh tell >alone
as_called "$culprit" record -q -o as_called.db --repeat 2 -- /bin/sh tell >recorded 2>err
check 'a command has the limits and signals that it has without us' cmp <(cat alone alone) recorded
# A parent may have children that nobody waits for, and hand that on.
deaf() { # COMMAND...
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$@"
}
check_status 'the status of a command, though our parent ignores the ends of children' 3 \
	deaf "$culprit" record -o deaf.db -- sh -c 'exit 3'
if unshare -m true 2>/dev/null; then
	mkdir readonly
	# shellcheck disable=SC2016
	check_status 'a directory that cannot be written' 1 unshare -m sh -c \
		'mount -t tmpfs -o ro none readonly && cd readonly && exec "$1" record -- true' - "$culprit"
	check_match 'has a remedy' err 'cannot make the database culprit.db: Read-only file system; name one elsewhere \(-o DB\)'
else
	skip 'a directory that cannot be written' 'no mounts here'
fi
if unshare -pfm --mount-proc true 2>/dev/null; then
	check_refused 'a PID namespace of its own' 1 "^culprit: in a PID namespace .*: run it on the host, or in a container with --pid=host" \
		unshare -pfm --mount-proc "$culprit" record -F 100 -o inside.db -- true
	check 'leaves nothing behind' [ ! -e inside.db ]
	unshare -pfm --mount-proc "$culprit" doctor >out
	check_match 'doctor says so too' out 'NO +pid_namespace'
	check_refused 'no /proc' 1 '/proc is not mounted.*: mount -t proc proc /proc' \
		unshare -m sh -c 'umount -l /proc && exec "$1" record -F 100 -o inside.db -- true' - "$culprit"
else
	skip 'a PID namespace of its own' 'no namespaces here'
fi
# What was sampled is kept, whoever reads the table.
"$culprit" record -F 100 -o pipe.db -- true 2>err | true
check 'nobody reads the table' [ "${PIPESTATUS[0]}" != 0 ]
check_status 'and the database is whole' 0 "$culprit" db verify -i pipe.db

# Stopped while the first line of what it does is being read: the pipe is too small for more.
python3 - "$culprit" >out 2>&1 <<'PY'
import fcntl, os, signal, subprocess, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    db = f"stopped.{number}.db"
    # It cannot get past telling what it samples with until it is heard, so the signal is there first.
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 4096)  # F_SETPIPE_SZ
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"\n" * 4096):
            pass
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    child = subprocess.Popen([sys.argv[1], "record", "-F", "100", "-o", db, "--", "touch", "ran"],
                             stderr=writer, stdout=subprocess.PIPE,
                             preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (number,)])
    os.close(writer)
    while not os.path.exists(db):
        assert child.poll() is None
        os.sched_yield()
    child.send_signal(number)
    said = b""
    while chunk := os.read(reader, 65536):
        said += chunk
    os.close(reader)
    said = said.strip()
    assert child.stdout.read() == b"" and child.wait() == 128 + number, (number, child.returncode, said)
    assert not os.path.exists("ran"), said
    assert said.endswith(b"stopped before sampling began; the command was not run"), said
    assert not [f for _, _, fs in os.walk(db) for f in fs if f.startswith("seg-")]
PY
check 'stopped before the command began, it is never run' [ $? = 0 ]
[ ! -s out ] || sed 's/^/# /' out
tap_end
