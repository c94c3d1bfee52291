# SPDX-License-Identifier: Apache-2.0
"""view_operator.py MERGE FOLDER AVERAGES.json - does the operator view say what torch says?

Runs the merge on a terminal so wide that nothing is cut, reads the table back, and compares
it with key_averages(): names and calls must be equal, memory within the rounding of three
digits, times within what two profilers at once cost each other. One TAP line a question;
its numbers are added by the shell.
"""
import json
import os
import re
import subprocess
import sys

UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6, "B": 1, "KiB": 1024, "MiB": 1 << 20,
         "GiB": 1 << 30, "%": 1}


def on_terminal(command):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "on_terminal.py")
    return subprocess.run([sys.executable, here, "1000", "600", *command], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={**os.environ, "NO_COLOR": "1"}).stdout


def number(cell):
    parts = cell.replace(",", "").replace("<", "").split(" ")
    return float(parts[0]) * (UNITS[parts[1]] if len(parts) > 1 else 1)


def table(text):
    lines = text.split("\n")
    head = next(i for i, line in enumerate(lines) if line.startswith("operator "))
    # Cells stand under their titles: right-aligned ones end where the title ends.
    ends = [m.end() for m in re.finditer(r"\S+(?: \S+)*", lines[head])]
    titles = re.split(r"  +", lines[head].strip())
    rows = []
    for line in lines[head + 1:]:
        if re.match(r"[\d,]+ calls, ", line) or not line.strip():
            break
        first_number = titles.index("calls")
        cells, at = [], len(line)
        for i in range(len(titles) - 1, first_number - 1, -1):
            assert at <= ends[i], (line, titles[i])
            start = ends[i - 1] if i > first_number else None
            if start is None:
                match = re.search(r"([\d,]+)$", line[:ends[i]])
                start = match.start()
            cells.insert(0, line[start:ends[i]].strip())
            at = start
        row = dict(zip(titles[first_number:], cells))
        left = re.split(r"  +", line[:at].strip())
        row["operator"] = left[0]
        row["inputs"] = left[1] if len(left) > 1 else ""
        rows.append(row)
    return rows


def torch_shapes(inputs):
    """Our text of the inputs -> torch's lists: no types, nothing of lists of tensors, and
    nothing of what follows the last tensor."""
    out, depth, item = [], 0, ""
    for c in inputs + ",":
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            item = item.strip()
            sizes = re.fullmatch(r"\w+\[(.*)\]", item)
            if sizes:
                out.append([int(n) for n in sizes.group(1).split(",") if n.strip()])
            elif item:
                out.append([])
            item = ""
        else:
            item += c
    return json.dumps(trim(out))


def trim(shapes):
    while shapes and shapes[-1] == []:
        shapes = shapes[:-1]
    return shapes


failed = []


def say(what, wrong):
    print(("not ok" if wrong else "ok") + " - " + what)
    for line in wrong[:20]:
        print("# " + line)
    failed.extend(wrong)


def near(a, b, part, absolute):
    return abs(a - b) <= absolute + part * max(abs(a), abs(b))


def check_averages(merge, folder, theirs):
    """The tables of key_averages(): each by its own order, exact."""
    lines = subprocess.run([merge, "-q", "-v", "averages", "--top", "0", "-f", "jsonl", folder], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    tables = {}
    for row in map(json.loads, lines):
        tables.setdefault(row["table"], []).append(row)
    orders = {"averages_host_time": "total_ns", "averages_host_memory": "self_host_bytes"}
    say("averages: two tables without a GPU", [] if set(tables) == set(orders) else list(tables))
    for name, order in orders.items():
        rows = tables.get(name, [])
        say(f"{name}: the same operators, calls and bytes", sorted(
            {(r["operator"], r["calls"], r["self_host_bytes"], r["total_host_bytes"]) for r in rows} ^
            {(n, t["calls"], t["self_bytes"], t["total_bytes"]) for n, t in theirs.items()}, key=str))
        values = [r[order] for r in rows]
        say(f"{name}: by {order}", [] if values == sorted(values, reverse=True) else [str(values[:10])])
    text = subprocess.run([merge, "-q", "--no-pager", "-v", "averages", folder], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    say("averages: 20 rows of each unless more are asked for",
        [] if text.count(f"{len(theirs) - 20} more rows") == 2 else text.splitlines())


def main():
    merge, folder, file = sys.argv[1:4]
    truth = json.load(open(file))
    # What torch adds by itself.
    ours = {row["operator"]: row
            for row in table(on_terminal([merge, "--no-pager", "-v", "operator", "--top", "0", folder]))}
    theirs = {row["name"]: row for row in truth["name"] if row["name"] != "[memory]"}

    say("operators are the same", sorted(set(ours) ^ set(theirs)))
    both = sorted(set(ours) & set(theirs))
    say(f"calls are equal ({sum(theirs[name]['calls'] for name in both)})",
        [f"{n}: {ours[n]['calls']}, torch {theirs[n]['calls']}" for n in both
         if number(ours[n]["calls"]) != theirs[n]["calls"]])
    say("self memory is equal",
        [f"{n}: {ours[n]['self mem']}, torch {theirs[n]['self_bytes']}" for n in both
         if not near(number(ours[n]["self mem"]), theirs[n]["self_bytes"], 0.006, 0)])
    say("total memory is equal",
        [f"{n}: {ours[n]['total mem']}, torch {theirs[n]['total_bytes']}" for n in both
         if not near(number(ours[n]["total mem"]), theirs[n]["total_bytes"], 0.006, 0)])
    # A call's time differs by what the other profiler does inside it: a few us for each span
    # that it encloses. On a busy machine one of the two may lose the processor between the
    # other's reading of the clock and its own: some rows may differ, not many.
    odd = [f"{n}: {ours[n]['total']}, torch {theirs[n]['total_us']:.1f} us" for n in both
           if not near(number(ours[n]["total"]), theirs[n]["total_us"], 0.25,
                       20 * theirs[n]["calls"])]
    say("total times are equal but for the profilers' own", odd if len(odd) > len(both) / 10 else [])
    ratio = sorted(number(ours[n]["self"]) / theirs[n]["self_us"] for n in both
                   if theirs[n]["self_us"] > 20)
    ratio = ratio[len(ratio) // 2]
    say(f"self times are equal but for the profilers' own (median {ratio:.2f} of torch's)",
        [] if 0.7 < ratio < 1.3 else ["they are not"])

    check_averages(merge, folder, theirs)
    by_shape = {}
    for row in table(on_terminal([merge, "--no-pager", "-v", "operator", "--by-shape", "--top", "0", folder])):
        key = (row["operator"], torch_shapes(row["inputs"]))
        by_shape[key] = by_shape.get(key, 0) + int(number(row["calls"]))
    wanted = {}
    for row in truth["shape"]:
        if row["name"] != "[memory]":
            key = (row["name"], json.dumps(trim(row["shapes"])))
            wanted[key] = wanted.get(key, 0) + row["calls"]
    say(f"calls by input shapes are equal ({len(wanted)} rows)",
        [f"{k}: {by_shape.get(k)}, torch {wanted.get(k)}"
         for k in sorted(set(by_shape) | set(wanted)) if by_shape.get(k) != wanted.get(k)])
    return bool(failed)


sys.exit(main())
