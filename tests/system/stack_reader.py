# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads what culprit calls --json says, for the scripts of tests/system."""
import json
import os
import subprocess
import sys

__all__ = ["Stacks"]

sys.setrecursionlimit(20000)


class Stacks:
    """The stacks of one report, and how good they are: lists of nodes, from the thread's start in, with the
    samples that they stand for."""

    def __init__(self, culprit, db, *arguments):
        self.json = json.loads(subprocess.run(
            [culprit, "calls", "-i", db, *arguments, "--json"], check=True,
            stdout=subprocess.PIPE).stdout)
        self.stacks = self.json["stacks"]
        self.complete = self.json["complete"]
        self.truncated = self.json["truncated"]
        self.paths = []
        self._walk(self.json["rows"], [])
        self.samples = sum(count for path, count in self.paths)

    def _walk(self, nodes, path):
        for node in nodes:
            here = path + [node]
            if node["self"]:
                self.paths.append((here, node["self"]))
            self._walk(node["children"], here)

    def count(self, condition):
        """Samples of the stacks whose list of nodes is so."""
        return sum(count for path, count in self.paths if condition(path))

    def functions(self, path):
        return [node["function"] for node in path]

    def through(self, *functions):
        """Samples of the stacks with all of these functions."""
        return self.count(lambda path: set(functions) <= set(self.functions(path)))

    def images(self, path):
        return {os.path.basename(node["image"] or "") for node in path}
