#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How long the flame graph's page takes to open, in a headless Chromium, by contexts."""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.abspath(sys.argv[1])
BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")


def can_open():
    return os.access(BROWSER, os.X_OK) and os.path.isdir(
        os.path.join(ROOT, "tests/browser/node_modules/playwright-core"))


for contexts in (2000, 200_000):
    if not can_open():
        print(f"row\tflame graph of {contexts:,} contexts opens\tms\t-\t-\t-\t-")
        continue
    stacks = subprocess.run([sys.executable, os.path.join(ROOT, "tests/browser/stacks.py"),
                             str(contexts)], check=True, stdout=subprocess.PIPE).stdout
    with open("page.html", "wb") as page:
        subprocess.run([os.path.join(build, "tests/browser/mkflame"), "cpu-clock"], input=stacks,
                       stdout=page, check=True)
    out = subprocess.run(["node", os.path.join(ROOT, "bench/flame.mjs"), "page.html"], check=True,
                         stdout=subprocess.PIPE).stdout
    times = json.loads(out.splitlines()[0])
    goal = "under 1 s" if contexts == 200_000 else "-"
    print(f"row\tflame graph of {contexts:,} contexts opens\tms\t{times['open']:.0f}\t"
          f"parsing its JSON\t{times['parse']:.1f}\t{goal}")
    print(f"note {contexts:,} contexts: {os.path.getsize('page.html') / 1e6:.2f} MB; the page's own work "
          f"until the first picture {times['work']:.0f} ms")

if not can_open():
    print("note not measured: no chromium or no playwright-core; dev/deps installs them")
