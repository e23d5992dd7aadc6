# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# shares the machine: 6
# What a new user sees of culprit record: the table at the end, what was used and lost, how far it is.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB COLUMNS PAGER
# shellcheck disable=SC2016
spin='i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done >&2'

check_status "a command is sampled, without a word on where" 0 "$culprit" record -- sh -c "$spin"
check "into ./culprit.db" [ -d culprit.db ]
check_match "the event used and its period are told" err '^culprit: (cycles|cpu-clock) every '
check_match "lost and unknown are counted" err '^culprit: [0-9]+ samples, [0-9]+ lost \(.*\), [0-9]+ unknown \(.*\), in culprit.db$'
check_match "the table has them too" out '^lost [0-9]+.*, unknown [0-9]+'
check_match "the table is ranked" out '^samples +% +cum% +function +image'
check_match "and has the command" out '/(da|ba)?sh$'
check_match "what the command says is seen" err '^done$'
check "no progress where there is no terminal" bash -c '! grep -q "Ctrl-C ends it" err'

"$culprit" record -o order.db -- sh -c "$spin" >all 2>&1
check "one line of facts, the table, then the rest of them" python3 -c '
lines = open("all").read().splitlines()
facts, table = [next(i for i, l in enumerate(lines) if s in l) for s in (" samples, ", "cum%")]
assert facts < table and not any("stacks," in l or "windows," in l for l in lines[:table]), lines
assert lines[facts + 1].startswith(("cpu-clock", "cycles")), lines[facts + 1]'

check "the rest of them in a user's words" bash -c 'grep -Eq "^culprit: [0-9]+ stacks, .* \(see culprit calls\)$" all &&
	! grep -q "unwind table" all'
"$culprit" record -v -o verbose.db -- sh -c "$spin" >all 2>&1
check "with -v all of them" grep -Eq "^culprit: [0-9]+ unwind tables of " all

python3 - "$culprit" >out 2>&1 <<'PY'
import os, pty, select, signal, subprocess, sys, time, fcntl, termios

def run(arguments, until=None):
    """On a terminal of its own; Ctrl-C once the text has come."""
    master, slave = pty.openpty()
    child = subprocess.Popen([sys.argv[1], *arguments], stdin=slave, stdout=slave, stderr=slave,
                             env=dict(os.environ, TERM="xterm"), start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    output, end = b"", time.monotonic() + 100
    while time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            try:
                output += os.read(master, 65536)
            except OSError:
                break
        if until and until in output:
            os.write(master, b"\x03")
            until = None
    else:
        os.killpg(child.pid, signal.SIGKILL)
    return output.decode("utf-8", "replace"), child.wait()

text, status = run(["record", "-o", "all.db", "-a"], b"Ctrl-C ends it")
assert status == 0, (status, text)
assert "\r\x1b[Kculprit: " in text, text
# The line is taken away before the report.
assert text.rindex("Ctrl-C ends it") < text.rindex("\r\x1b[K") < text.index("cum%"), text
text, status = run(["record", "-o", "one.db", "--", "sleep", "2"])
assert status == 0 and "Ctrl-C ends it" not in text, (status, text)
PY
check "on a terminal it says how far it is, until Ctrl-C, and ends with the table" [ $? = 0 ]
[ ! -s out ] || sed 's/^/# /' out
tap_end
