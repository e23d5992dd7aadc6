# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Fixed amounts of work for budget.py and end_to_end.py."""
import glob
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def c_files():
    found = glob.glob(os.path.join(ROOT, "src/**/*.c"), recursive=True)
    return [s for s in sorted(found) if "/bpf/" not in s and "/collect/" not in s]


def compiler(build):
    return ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", f"-I{ROOT}/src", f"-I{build}", "-c", "-o", "/dev/null"]


def build_argv(build, scratch, files):
    """A build of so many C files of this project, as many at once as there are CPUs, without a compiler's cache."""
    listed = os.path.join(scratch, "sources")
    with open(listed, "w", encoding="utf-8") as out:
        out.write("\n".join(c_files()[:files]) + "\n")
    # What does not compile by itself costs its time all the same.
    return ["sh", "-c", f"CCACHE_DISABLE=1 xargs -P{os.cpu_count()} -n1 {' '.join(compiler(build))} "
            f"<{listed} 2>/dev/null || true"]


def compile_argv(build):
    """The same for budget-slices: the compiler, and files that it is soon done with."""
    small = sorted(c_files(), key=os.path.getsize)[:60]
    return ["build", *compiler(build), "--", *small]


def server_argv(build, requests):
    return [os.path.join(build, "bench", "budget-load"), "server", str(requests)]


def memory_argv(build, millions):
    return [os.path.join(build, "bench", "budget-load"), "memory", str(millions)]


class Forever:
    """A load again and again, until the end of the block; None: nothing."""

    def __init__(self, argv):
        self.argv = argv

    def __enter__(self):
        self.process = self.argv and subprocess.Popen(
            ["sh", "-c", 'while :; do "$@"; done', "sh", *self.argv], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        return self

    def __exit__(self, *_):
        if self.process:
            os.killpg(self.process.pid, 9)
            self.process.wait()
