# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Compiles what is measured and what measures."""
import os
import subprocess

import programs

HERE = os.path.dirname(os.path.abspath(__file__))


def compile_programs(build):
    """The kernels and the program that calls OpenBLAS. Returns what could not be built."""
    folder, missing = os.path.join(build, "accuracy"), []
    os.makedirs(os.path.join(folder, "kernels"), exist_ok=True)
    wanted = [("kernels/" + name, ["-lm"]) for name in programs.KERNELS]
    wanted += [("linear", ["-l:libopenblas.so.0"]), ("repeat", [])]
    for name, libraries in wanted:
        source, target = os.path.join(HERE, name + ".c"), os.path.join(folder, name)
        if os.path.exists(target) and os.path.getmtime(target) >= os.path.getmtime(source):
            continue
        if subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", "-o", target, source,
                           *libraries]).returncode:
            missing.append(name)
    return missing
