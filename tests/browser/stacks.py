#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Stacks for mkflame: `stacks.py CONTEXTS` makes a tree of about so many, the same each time."""
import sys


def grow(wanted):
    """Distinct paths, each a new leaf: breadth and depth of a large program's."""
    state, made, stacks = 12345, 0, set()
    while made < wanted:
        path = []
        for level in range(40):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            draw = state >> 33
            path.append(f"f{draw % (3 + level * 40)}@/lib/image-{draw % 7}.so")
            if level > 6 and draw % 11 == 0:
                break
        for depth in range(1, len(path) + 1):
            prefix = ";".join(path[:depth])
            made += prefix not in stacks
            stacks.add(prefix)
    for path in sorted(stacks, key=lambda path: path.split(";")):
        print(path, 1 + hash_of(path) % 9)


def hash_of(text):
    value = 0
    for byte in text.encode():
        value = (value * 31 + byte) % 2**32
    return value


grow(int(sys.argv[1]))
