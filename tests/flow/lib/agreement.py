#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agreement.py - what our views say of a Kineto trace, beside TensorBoard's plugin and HTA

usage: agreement.py MERGE FIGURES.txt TRACE.json[.gz]...

Each TRACE is read by trainprof-merge, by torch-tb-profiler 0.4.3 and by HolisticTraceAnalysis
0.5.0 (what is not installed is left out), and every figure that two of them have is compared:
counts must be equal, times and shares as far as the other one rounds them.

FIGURES.txt gets a line for each figure: tool, view, figure, number of rows, theirs and ours (the
sum where there are many rows), the greatest difference of a row, and "equal", "known: REASON N"
(N rows differ for a reason that trainprof-merge(1) names under "Where the figures differ from
other tools") or "WRONG N". Prints a TAP line for each view of each tool, without the plan.
"""
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")
SHOWN = 6


class Report:
    """The figures of one trace, and the lines of TAP about them."""

    def __init__(self, trace):
        self.trace = trace
        self.lines = []
        self.wrong = {}		# (tool, view): what is wrong there
        self.n_figures = {}

    def compare(self, tool, view, figure, theirs, ours, near=0.0, part=0.0, known=None):
        """theirs, ours: {row: number or word}. near: by how much a row may differ; part: as a part
        of it. known(row, theirs, ours): the reason why this row differs on purpose, or None."""
        wrong = self.wrong.setdefault((tool, view), [])
        reasons, greatest, n_wrong = {}, 0, 0
        for row in sorted(set(theirs) | set(ours), key=str):
            a, b = theirs.get(row), ours.get(row)
            if is_same(a, b, near, part):
                continue
            reason = known(row, a, b) if known else None
            if reason:
                reasons[reason] = reasons.get(reason, 0) + 1
            else:
                n_wrong += 1
                wrong.append("%s of %s: %s, ours %s" % (figure, shorten(row), a, b))
            if is_number(a) and is_number(b):
                greatest = max(greatest, abs(a - b))
        verdict = ["WRONG %d" % n_wrong] if n_wrong else []
        verdict += ["known: %s %d" % item for item in sorted(reasons.items())]
        self.lines.append((tool, view, figure, len(theirs), summed(theirs), summed(ours),
                           number(greatest), ", ".join(verdict) or "equal"))
        key = (tool, view)
        self.n_figures[key] = self.n_figures.get(key, 0) + len(theirs)

    def print_tap(self):
        for (tool, view), wrong in self.wrong.items():
            print("%sok - %s: %s: %s: %d figures" % (
                "not " if wrong else "", self.trace, tool, view, self.n_figures[tool, view]))
            for text in wrong[:SHOWN]:
                print("# %s" % text)
            if len(wrong) > SHOWN:
                print("# ... and %d more" % (len(wrong) - SHOWN))


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_same(a, b, near, part):
    if is_number(a) and is_number(b):
        return a == b or abs(a - b) <= near + part * abs(a)
    return a == b


def shorten(row):
    text = row if isinstance(row, str) else str(row)
    return text if len(text) < 90 else text[:50] + "..." + text[-35:]


def summed(rows):
    numbers = [value for value in rows.values() if is_number(value)]
    if len(rows) == 1:
        value = next(iter(rows.values()))
        return number(value) if numbers else str(value)
    if numbers:
        return number(sum(numbers))
    return "%d yes" % sum(value == "yes" for value in rows.values())


def number(value):
    """At most three decimals: sums of fractions end in noise."""
    return str(value) if isinstance(value, int) else ("%.3f" % value).rstrip("0").rstrip(".")


class Rows:
    """The tables of trainprof-merge, as it writes them for programs."""

    def __init__(self, merge, traces, views, *options):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "rows.jsonl")
            subprocess.run([merge, "-q", "-f", "jsonl", "-v", views, "--top", "0", "-o", out,
                            *options, *traces], check=True, stderr=subprocess.DEVNULL)
            with open(out, encoding="utf-8") as file:
                self.all = [json.loads(line) for line in file if line.strip()]

    def table(self, name):
        return [row for row in self.all if row["table"] == name]


def main():
    merge, figures, *traces = sys.argv[1:]
    reports = []
    logging.disable(logging.CRITICAL)
    for trace in traces:
        report = Report(os.path.basename(trace).split(".json")[0])
        for name in ("agreement_tb", "agreement_hta"):
            try:
                reader = __import__(name)
            except ImportError as error:
                print("ok - %s: %s # SKIP %s" % (report.trace, name, error))
                continue
            reader.compare(report, merge, trace)
        reports.append(report)
    with open(figures, "w", encoding="utf-8") as file:
        for report in reports:
            file.write("\n%s\n" % report.trace)
            for line in report.lines:
                file.write("  %s\n" % "\t".join(map(str, line)))
            report.print_tap()
    sys.exit(any(any(report.wrong.values()) for report in reports))


if __name__ == "__main__":
    main()
