# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""import_pipe.py CULPRIT MIB BEGIN REPEAT: what import does with MIB MiB that come through a pipe: BEGIN,
then REPEAT again and again (both as Python's bytes). Prints its exit status, how many MiB it took,
how many MiB of memory its largest process had at most, and what it said."""
import os
import resource
import subprocess
import sys

culprit, limit, begin, repeat = sys.argv[1], int(sys.argv[2]) << 20, *map(
    lambda text: eval("b'" + text + "'"), sys.argv[3:])
block = repeat * (65536 // len(repeat))
child = subprocess.Popen([culprit, "import", "-o", "piped.db", "-q", "-"], stdin=subprocess.PIPE,
                         stderr=subprocess.PIPE)
taken = 0
try:
    taken += os.write(child.stdin.fileno(), begin)
    while taken < limit:
        rest = block
        while rest:
            n = os.write(child.stdin.fileno(), rest)
            rest = rest[n:]
            taken += n
except BrokenPipeError:
    pass
said = child.communicate()[1].decode()
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(child.returncode, taken >> 20, memory >> 10, said.strip())
