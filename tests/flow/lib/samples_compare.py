# SPDX-License-Identifier: Apache-2.0
"""samples_compare.py OURS THEIRS POINTS - two files of folded stacks: the same functions, the same shares?

Of stacks in the program's own work (functions work_* and beside) each function's part, with what it
calls. Prints the functions, where they are the same and no share differs by more than POINTS percent;
else what differs.
"""
import re
import sys


def read(path):
    """{function: part of the samples}"""
    counts, n_all = {}, 0
    with open(path) as lines:
        for line in lines:
            stack, n = line.rstrip("\n").rsplit(" ", 1)
            names = []
            for frame in stack.split(";"):
                name = re.match(r"(.*) \((?:.*/)?sampled\.py(?::\d+)?\)$", frame)
                if name:
                    names.append(name.group(1).rsplit(".", 1)[-1])
            if not any(name.startswith("work_") or name == "beside" for name in names):
                continue
            n_all += int(n)
            # Comprehensions have frames of their own up to 3.11, a module only on the main thread.
            for name in {name for name in names if not name.startswith("<")}:
                counts[name] = counts.get(name, 0) + int(n)
    return {name: 100 * n / n_all for name, n in counts.items()}, n_all


def main():
    (ours, n_ours), (theirs, n_theirs) = read(sys.argv[1]), read(sys.argv[2])
    points = float(sys.argv[3])
    wrong = []
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name, 0), theirs.get(name, 0)
        # What one of them met once may have been met by chance.
        if abs(a - b) > points or (max(a, b) > 1 and not min(a, b)):
            wrong.append("%s %.1f against %.1f" % (name, a, b))
    if n_ours < 500 or n_theirs < 500:
        wrong.append("%d and %d samples" % (n_ours, n_theirs))
    print("; ".join(wrong) if wrong else " ".join(sorted(n for n, part in theirs.items() if part > 1)))
    print("%d and %d samples; the largest difference %.2f points" % (n_ours, n_theirs, max(
        abs(ours.get(n, 0) - theirs.get(n, 0)) for n in set(ours) | set(theirs))), file=sys.stderr)


main()
