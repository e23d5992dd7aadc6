# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads what culprit prof --json says, for the scripts of tests/system."""
import json
import math
import re
import subprocess

__all__ = ["Profile", "math", "re", "json", "subprocess", "mean_and_error"]


class Profile:
    """The rows of one report, and questions to them."""

    def __init__(self, culprit, db, *arguments):
        self.culprit, self.db = culprit, db
        text = subprocess.run([culprit, "prof", "-i", db, "--json", "--idle", "--limit", "1000000",
                               *arguments], check=True, stdout=subprocess.PIPE).stdout
        self.json = json.loads(text)
        self.rows = self.json["rows"]
        self.samples = self.json["samples"]
        self.unknown = self.json["unknown"]
        self.lost = self.json["lost"]

    def by(self, *arguments):
        """The same database, asked otherwise."""
        return Profile(self.culprit, self.db, *arguments)

    def select(self, **wanted):
        """Rows of which each named column matches the whole regular expression."""
        return [row for row in self.rows
                if all(re.fullmatch(expression, str(row.get(column, "")), re.S)
                       for column, expression in wanted.items())]

    def count(self, event=None, **wanted):
        """Samples in the rows that match."""
        return sum(row["samples"] if event is None else row["events"].get(event, 0)
                   for row in self.select(**wanted))

    def function(self, expression, **wanted):
        return self.count(function=expression, **wanted)

    def images(self, expression):
        """The distinct build-ids of the images whose path matches."""
        return {row.get("build_id") for row in self.select(image=expression)}

    def top(self, count=25):
        """For a failure's message."""
        return "\n".join(f"{row['samples']} {row.get('function')} {row.get('image')} "
                         f"{row.get('process', '')} {row.get('subject', '')}"
                         for row in self.rows[:count])


def mean_and_error(values):
    """The mean and its standard error, from independent values."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))
