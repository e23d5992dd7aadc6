# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reports on a terminal: what a person sees there, with and without a pager. Prints TAP.

    pager.py CULPRIT DB
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

LIMIT_S = 60
CULPRIT, DB = sys.argv[1:3]
count = failed = 0


def check(name, good, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(("ok" if good else "not ok") + f" {count} - {name}", flush=True)
    if not good:
        for line in str(detail).splitlines()[:30]:
            print("# " + line)


def run(arguments, columns=80, rows=24, keys=(), **variables):
    """What comes on a terminal of this size, and the exit status (None: it did not end). Each of keys
    is (what is waited for, what is typed, or a signal that the terminal's programs get)."""
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "PAGER", "LESS", "NO_COLOR")}
    env.update({"TERM": "xterm", **variables})
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen([CULPRIT, *arguments], stdin=slave, stdout=slave, stderr=slave, env=env,
                             start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    output, keys, end = b"", list(keys), time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 0.1)
        if ready:
            try:
                data = os.read(master, 65536)
            except OSError:
                break  # the last program has left
            output += data
        if keys and keys[0][0].encode() in output:
            key = keys.pop(0)[1]
            if isinstance(key, str):
                os.write(master, key.encode())
            else:
                os.killpg(child.pid, key)
    late = time.monotonic() >= end
    if late:
        os.killpg(child.pid, signal.SIGKILL)
    status = child.wait()
    os.close(master)
    return output.decode("utf-8", "replace").replace("\r\n", "\n"), None if late else status


def strip(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]", "", text)


def rows_of(text):
    """From the headings on: notes above the table are sentences, which the terminal wraps."""
    lines = strip(text).splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith("samples")), len(lines))
    return lines[begin:]


prof = ["prof", "-i", DB]
piped = subprocess.run([CULPRIT, *prof], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env=dict(os.environ, TERM="xterm", PAGER="tr a-z A-Z", COLUMNS="40"), check=True)
plain = piped.stdout.decode()
check("a pipe gets no pager, no colour, nothing cut, whatever the environment says",
      "operator()" in plain and "\x1b" not in plain and "…" not in plain, plain)

text, status = run(prof, PAGER="tr a-z A-Z")
check("a terminal gets what $PAGER makes of it", status == 0 and "SAMPLES" in text, text)
for none in ("", "cat"):
    text, status = run(prof, PAGER=none)
    check(f"PAGER='{none}' is no pager", status == 0 and "samples" in text, text)
text, status = run(prof, PAGER="tr a-z A-Z", TERM="dumb")
check("a dumb terminal gets none", status == 0 and "SAMPLES" not in text, text)
text, status = run(prof, PAGER="/no/such/pager")
check("a pager that is not there is an error with its remedy",
      status == 1 and "the pager '/no/such/pager' cannot be run; set PAGER" in text, text)
text, status = run(["prof", "-i", "/no/such.db"], PAGER="sed s/^/P:/")
check("an error comes through the pager, and its exit status", status == 1
      and re.search(r"P:culprit: .*/no/such\.db", text), (status, text))
text, status = run(["prof", "--frobnicate"], PAGER="sed s/^/P:/")
check("as does a wrong command line", status == 2 and "--frobnicate" in text, (status, text))
text, status = run(["prof", "-i", DB, "--by", "line"], PAGER="true")
check("who does not read what is paged has no error", status == 0 and "culprit:" not in text, (status, text))
text, status = run(prof, PAGER="echo up; cat >/dev/null; sleep 1; echo down",
                   keys=[("up", signal.SIGINT)])
# By the signal, or as usual when it comes while only the pager is left.
check("Ctrl-C ends it all", status in (0, -signal.SIGINT) and "culprit:" not in text, (status, text))

if shutil.which("less"):
    text, status = run(prof, rows=100)
    check("what fits the screen is not held by less", status == 0 and "operator()" in text, text)
    text, status = run(prof, rows=8, keys=[("samples", "q")])
    check("what does not is, until q", status == 0 and "operator()" not in text, (status, text))
else:
    for name in ("what fits the screen is not held by less", "what does not is, until q"):
        count += 1
        print(f"ok {count} - {name} # SKIP less is not installed")

for columns in (132, 80, 60, 40):
    text, status = run(prof, columns=columns, PAGER="")
    wide = [line for line in rows_of(text) if len(line) > columns]
    check(f"rows fit {columns} columns", status == 0 and not wide and len(rows_of(text)) > 3,
          "\n".join(wide) or text)
text, status = run(prof, columns=80, PAGER="")
check("long names keep their beginning and their end",
      re.search(r"ns::outer<.*….*operator\(\)", strip(text)), text)
text, status = run(prof, columns=80, PAGER="cat -u")
check("a pager's terminal has its width too", status == 0
      and not [line for line in rows_of(text) if len(line) > 80], text)
text, status = run(prof, columns=20, PAGER="")
check("20 columns are an end, too", status == 0 and "samples" in strip(text), text)
text, status = run(prof, columns=80, PAGER="", COLUMNS="rubbish")
check("$COLUMNS that is no number is not believed", status == 0
      and not [line for line in rows_of(text) if len(line) > 80], text)
text, status = run(prof, PAGER="")
check("headings are bold", "\x1b[1m" in text, text)
text, status = run(prof, PAGER="", NO_COLOR="1")
check("but not with NO_COLOR", "\x1b" not in text, text)
print(f"1..{count}")
sys.exit(failed > 0)
