# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads the edges of a recording of programs/branches.c, for edges.sh."""
import json
import math
import subprocess

__all__ = ["Edges", "math"]


class Edges:
    """The edges of the image whose path ends in a name; addresses by the symbols of a file."""

    def __init__(self, dump, db, name, symbols):
        text = subprocess.run([dump, db], check=True, stdout=subprocess.PIPE).stdout
        self.to, self.windows, self.outcomes = {}, 0, 0
        for part in json.loads(text):
            for source, target, count, *_ in part.get("edges", ()):
                if not part["path"].endswith(name):
                    continue
                if source is None:
                    self.windows += count
                elif target is not None:
                    self.outcomes += count
                    self.to.setdefault(source, {}).setdefault(target, 0)
                    self.to[source][target] += count
        lines = subprocess.run(["nm", symbols], check=True, stdout=subprocess.PIPE).stdout.decode()
        self.symbols = {line.split()[2]: int(line.split()[0], 16)
                        for line in lines.splitlines() if len(line.split()) == 3}

    def taken(self, percent):
        """(times taken, times executed) of a conditional branch of two bytes."""
        at = self.symbols[f"branch_{percent}"]
        seen = self.to.get(at, {})
        return sum(seen.values()) - seen.get(at + 2, 0), sum(seen.values())

    def check_taken(self, least, sigmas=5):
        """Each branch within so many standard deviations of what it is: with 5 one of a million
        right programs fails, over the six numbers that are checked."""
        for percent in (25, 50, 90):
            taken, times = self.taken(percent)
            true = percent / 100
            # The low 16 bits modulo 100 are that to within 0.0004.
            bound = sigmas * math.sqrt(true * (1 - true) / max(times, 1)) + 0.0004
            print(f"{percent}%: {taken} of {times} = {taken / max(times, 1):.3f}, +-{bound:.3f}")
            assert times >= least, (percent, times)
            assert abs(taken / times - true) <= bound, (percent, taken, times)

    def check_call(self, least, sigmas=5):
        """The targets of the indirect call, 1 : 2 : 3."""
        seen = self.to.get(self.symbols["branch_call"], {})
        times = sum(seen.values())
        print(f"call: {[seen.get(self.symbols[f'target_{i}'], 0) for i in range(3)]} of {times}")
        assert times >= least
        for i in range(3):
            true = (i + 1) / 6
            got = seen.get(self.symbols[f"target_{i}"], 0) / times
            assert abs(got - true) <= sigmas * math.sqrt(true * (1 - true) / times), (i, got)
