# SPDX-License-Identifier: Apache-2.0
"""agreement_tb.py - the figures of TensorBoard's plugin beside ours: see agreement.py

The plugin is given a trace in the words it knows (compare_tb.py), but for those of 2021, which
it reads as they are.
"""
import ast
import collections
import functools
import re

import agreement_memory
import agreement_mended
import compare_tb
import kineto_read
from agreement import Rows, is_number

CATEGORIES = (("Kernel", "kernel_ns"), ("Memcpy", "memcpy_ns"), ("Memset", "memset_ns"),
              ("Communication", "communication_ns"), ("Runtime", "runtime_ns"),
              ("DataLoader", "data_ns"), ("CPU Exec", "cpu_ns"), ("Other", "other_ns"))
GPU = (("GPU Utilization", "utilisation_percent"), ("Est. SM Efficiency", "sm_efficiency_percent"),
       ("Est. Achieved Occupancy", "occupancy_percent"),
       ("Kernel Time using Tensor Cores", "tensor_cores_percent"))
US = 1000.0
ROUNDED = 0.501		# of whole microseconds
HUNDREDTH = 0.00501	# of a percentage with two digits

WHOLE_PERCENT = 0.51
KINETO_SHARED = 48 << 10
INPUTS = 10	# of an operator: long lists of them are cut in our rows
# Not operators, but where there is none the plugin says so.
PLACE = re.compile(r"ProfilerStep#\d+$|CallTreeRoot$|N/A$|nn\.Module: .*$")


def compare(report, merge, trace):
    raw = kineto_read.load(trace)
    kineto_read.canonical_names(raw["traceEvents"])
    is_old = any(event.get("cat") == "Operator" for event in raw["traceEvents"])
    shown = compare_tb.Shown(trace, is_old, compare_tb.VIEWS)
    theirs = figures(shown)
    with agreement_mended.mended():
        mended = figures(compare_tb.Shown(trace, is_old, compare_tb.MENDED))
    ours = our_figures(merge, trace, known_rows(raw), operators_of(raw))
    over, uncalled = over_48k(raw), kernels_without_call(raw)
    has_host = any(event.get("tid") is not None for event in raw["traceEvents"]
                   if (event.get("cat") or "").lower() in ("cpu_op", "operator"))
    has_mtia = any((event.get("cat") or "").startswith("mtia") for event in raw["traceEvents"])
    has_steps = any(event["name"].startswith("ProfilerStep#") for event in raw["traceEvents"])

    @functools.cache
    def whole():
        with agreement_mended.with_all_backward():
            found = compare_tb.Shown(trace, is_old, compare_tb.MENDED)
        return found, figures(found)

    for (view, figure), (rows, near) in theirs.items():
        def known(row, a, b, key=(view, figure)):
            if not has_steps and view == "overview":
                return "no-steps"
            if a is None and view == "overview" and figure.startswith("step"):
                return "last-step"
            if "occupancy" in figure and isinstance(b, (int, float)):
                return occupancy_known(row, a, b, over)
            if has_mtia:
                return "other-devices"
            if a is None and not has_host:
                return "no-host"
            if a is None and view.startswith("kernel by") and row[1] == "-" and \
                    ours[view, "calls"][row] == uncalled.get(row[0]):
                return "no-call"
            if b == "?":
                return "device-unknown"
            if is_near(mended[key], row, b):
                return REASON.get(view + ": " + figure, REASON.get(view))
            by_name = ours["operator", figure].get(row[0]) \
                if key == ("operator by shape", "device total") else None
            if by_name is not None and is_near(mended["operator", figure], row[0], by_name):
                return "overload"
            if is_near(whole()[1][key], row, b) or (by_name is not None and is_near(
                    whole()[1]["operator", figure], row[0], by_name)):
                return "lost-backward"
            return None

        if (view, figure) in ours:
            report.compare("plugin", view, figure, rows, ours[view, figure], near, known=known)
    agreement_memory.compare(report, merge, trace, shown, known_rows(raw),
                             theirs.get(("operator", "calls"), ({}, 0))[0], lambda: whole()[0])


def is_near(rows_and_near, row, ours):
    rows, near = rows_and_near
    theirs = rows.get(row)
    return theirs == ours or (is_number(theirs) and is_number(ours) and
                              abs(theirs - ours) <= near)


REASON = {"overview": "collectives", "overview: tensor_cores_percent": "tensor-core-share",
          "overview: step: DataLoader": "data-loader",
          "operator: tensor cores eligible": "first-call", "operator: device total": "nested",
          "operator by shape: device total": "nested",
          "operator: host self": "ranges", "operator: device self": "ranges",
          "operator by shape: host self": "ranges", "operator by shape: device self": "ranges",
          "operator": "tensor-core-names", "kernel": "tensor-core-names",
          "kernel by operator and launch": "tensor-core-names"}


def over_48k(raw):
    return {event["name"] for event in raw["traceEvents"]
            if (event.get("cat") or "").lower() == "kernel" and
            kineto_read.whole(event["args"].get("shared memory"), 0) > KINETO_SHARED}


def kernels_without_call(raw):
    """{name: how many}"""
    events, _, _ = kineto_read.events_of(raw)
    calls = {event.correlation() for event in events if event.kind == "api"}
    return collections.Counter(event.name for event in events
                               if event.kind == "kernel" and event.correlation() not in calls)


def occupancy_known(row, theirs, ours, over):
    """torch.profiler writes the occupancy of each launch as a whole percent, and 0 for blocks with
    over 48 KiB of shared memory (which compare_tb.py leaves out)."""
    if abs(theirs - ours) <= WHOLE_PERCENT:
        return "whole-percent"
    return "shared-memory" if over and (row in over or row.isdigit()) else None


def operators_of(raw):
    return {event["name"] for event in raw["traceEvents"]
            if (event.get("cat") or "").lower() in ("cpu_op", "operator") and
            not event["name"].startswith("ProfilerStep#")}


def known_rows(raw):
    """What the plugin calls an operator."""
    return {name for name in operators_of(raw)
            if not name.startswith(("enumerate(DataLoader)#", "enumerate(DataPipe)#",
                                          "Optimizer.")) and
            name not in ("DataParallel.forward", "DistributedDataParallel.forward")}


# ---- the plugin's ----

def figures(shown):
    """{(view, figure): ({row: number or word}, how near ours must be)}"""
    found = {}
    overview(found, shown)
    table = shown.operation_table["data"]
    operators(found, "operator", {row["name"]: row for row in table})
    shapes = {}
    for row in shown.by_shape["data"]:
        add(shapes, (row["name"], dims(row["input_shape"])), row)
    operators(found, "operator by shape", shapes)
    for figure, title, near in (("tensor cores eligible", "tc_eligible", 0),
                                ("tensor cores self %", "tc_self_ratio", HUNDREDTH),
                                ("tensor cores total %", "tc_total_ratio", HUNDREDTH)):
        found["operator", figure] = ({row["name"]: word(row[title]) for row in table}, near)
    if shown.kernels:
        kernels(found, shown)
        launched(found, shown)
    return found


def overview(found, shown):
    steps = shown.overview["steps"]
    titles = [column["name"] for column in steps["columns"] if "name" in column][1:]
    rows = {int(row[0]): dict(zip(titles, row[1::2])) for row in steps["rows"]}
    for title, _ in CATEGORIES:
        found["overview", "step: " + title] = (
            {step: row.get(title, 0) for step, row in rows.items()}, ROUNDED)
    found["overview", "step: time"] = ({step: sum(row.values()) for step, row in rows.items()},
                                       ROUNDED)
    found["overview", "average step"] = ({"": shown.overview["performance"][0]["value"]}, ROUNDED)
    for title, field in GPU:
        rows = {name.split()[1]: compare_tb.percent(facts[title])
                for name, facts in shown.devices.items() if title in facts}
        if rows:
            found["overview", field] = (rows, HUNDREDTH)


OPERATOR = (("calls", "calls", "calls", 1, 0),
            ("host self", "host_self_duration", "self_ns", US, ROUNDED),
            ("host total", "host_total_duration", "total_ns", US, ROUNDED),
            ("device self", "device_self_duration", "device_self_ns", US, ROUNDED),
            ("device total", "device_total_duration", "device_total_ns", US, ROUNDED))
KERNEL = (("calls", "Calls", "calls", 1, 0),
          ("total", "Total Duration (us)", "total_ns", US, ROUNDED),
          ("mean", "Mean Duration (us)", "mean_ns", US, ROUNDED),
          ("max", "Max Duration (us)", "max_ns", US, ROUNDED),
          ("min", "Min Duration (us)", "min_ns", US, ROUNDED),
          ("blocks per SM", "Mean Blocks Per SM", "blocks_per_sm", 1, HUNDREDTH),
          ("occupancy", "Mean Est. Achieved Occupancy (%)", "occupancy_percent", 1, HUNDREDTH))
LAUNCHED = (("calls", 0), ("total", ROUNDED), ("max", ROUNDED), ("min", ROUNDED))


def operators(found, view, rows):
    for figure, title, _, _, near in OPERATOR:
        if rows and title in next(iter(rows.values())):
            found[view, figure] = ({key: row[title] for key, row in rows.items()}, near)


def kernels(found, shown):
    titles = [column["name"] for column in shown.kernel_table["data"]["columns"]][1:]
    rows = {name: dict(zip(titles, row)) for name, row in shown.kernels.items()}
    for figure, title, _, _, near in KERNEL:
        if title in titles:
            found["kernel", figure] = ({name: row[title] for name, row in rows.items()}, near)
    found["kernel", "tensor cores"] = (
        {name: word(row["Tensor Cores Used"]) for name, row in rows.items()}, 0)


def launched(found, shown):
    """By name, operator, grid, block, registers and shared memory."""
    rows, words = {}, {}
    for row in shown.kernel_op_table["data"]["rows"]:
        key = (row[0], PLACE.sub("-", row[1]), shape_of(row[2]), shape_of(row[3]), int(row[4]),
               int(row[5]))
        add(rows, key, dict(calls=row[8], total=row[9], max=row[11], min=row[12]))
        words[key] = (word(row[6]), word(row[7]))
    put_launched(found, rows, words)


def put_launched(found, rows, words):
    view = "kernel by operator and launch"
    for figure, near in LAUNCHED:
        found[view, figure] = ({key: row[figure] for key, row in rows.items()}, near)
    for at, figure in enumerate(("tensor cores", "operator eligible")):
        found[view, figure] = ({key: of[at] for key, of in words.items()}, 0)


# ---- ours ----

def our_figures(merge, trace, names, places):
    """{(view, figure): {row: number or word}}"""
    views = Rows(merge, [trace], "overview,operator,kernel")
    steps = {row["step"]: row for row in views.table("step_breakdown")}
    found = {("overview", "step: " + title): {step: row[field] / US for step, row in steps.items()}
             for title, field in CATEGORIES}
    found["overview", "step: time"] = {step: row["time_ns"] / US for step, row in steps.items()}
    found["overview", "average step"] = {
        "": sum(found["overview", "step: time"].values()) / max(1, len(steps))}
    for _, field in GPU:
        found["overview", field] = {row["gpu"]: row[field] for row in views.table("gpu")}
    rows = {row["operator"]: row for row in views.table("operator") if row["operator"] in names}
    our_operators(found, "operator", rows)
    if any("tensor_cores_eligible" in row for row in rows.values()):
        for figure, field in (("tensor cores eligible", "tensor_cores_eligible"),
                              ("tensor cores self %", "tensor_cores_percent"),
                              ("tensor cores total %", "tensor_cores_total_percent")):
            found["operator", figure] = {
                name: word(row[field]) if "eligible" in figure else share(row[field])
                for name, row in rows.items()}
    shapes = {}
    for row in Rows(merge, [trace], "operator", "--by-shape").table("operator"):
        if row["operator"] in names:
            add(shapes, (row["operator"], our_dims(row["inputs"])), row)
    our_operators(found, "operator by shape", shapes)
    our_kernels(found, views.table("kernel"))
    our_launched(found, Rows(merge, [trace], "kernel", "--by-grid", "--by-operator"), places)
    return found


def our_operators(found, view, rows):
    for figure, _, field, unit, _ in OPERATOR:
        found[view, figure] = {key: (row.get(field) or 0) / unit for key, row in rows.items()}


def readable(rows):
    for row in rows:
        row["cat"], row["name"] = "kernel", row["kernel"]
    kineto_read.canonical_names(rows)
    return rows


def our_kernels(found, rows):
    rows = {row["name"]: row for row in readable(rows)}
    for figure, _, field, unit, _ in KERNEL:
        found["kernel", figure] = {name: row[field] / unit if row[field] != "?" else "?"
                                   for name, row in rows.items()}
    found["kernel", "tensor cores"] = {name: word(row["tensor_cores"])
                                       for name, row in rows.items()}


def our_launched(found, views, names):
    rows, words = {}, {}
    for row in readable(views.table("kernel")):
        # Ranges that are no operators are none of the plugin's.
        operator = row["operator"] if row["operator"] in names else "-"
        key = (row["name"], operator, shape_of(str(row["grid"])), shape_of(str(row["block"])),
               row["registers"], row["shared_bytes"])
        add(rows, key, dict(calls=row["calls"], total=row["total_ns"] / US,
                            max=row["max_ns"] / US, min=row["min_ns"] / US))
        words[key] = (word(row["tensor_cores"]), word(row["tensor_cores_eligible"]))
    one = {}
    put_launched(one, rows, words)
    found.update((key, rows) for key, (rows, _) in one.items())


# ---- of both ----

def word(value):
    """Yes and No; shares stay numbers."""
    if isinstance(value, (int, float)):
        return value
    return "yes" if value in ("Yes", "yes") else "no"


def share(value):
    return value if isinstance(value, (int, float)) else 0


def add(rows, key, row):
    """Rows of one key are one: we tell types of inputs apart, they tell scalars apart."""
    of = rows.setdefault(key, {})
    for title, value in row.items():
        if not isinstance(value, (int, float)):
            continue
        if title in ("max", "min") and title in of:
            of[title] = max(of[title], value) if title == "max" else min(of[title], value)
        else:
            of[title] = of.get(title, 0) + value


def dims(text):
    """Inputs as '[[64, 3], [], []]'. Lists that are empty say nothing at the end."""
    parsed = ast.literal_eval(text) if text not in ("None", "") else []
    return without_tail(map(tuplized, parsed or ()))


def tuplized(value):
    """A list of tensors is a list to us, whatever is in it."""
    if not isinstance(value, list) or any(isinstance(one, list) for one in value):
        return ()
    return tuple(value)


def our_dims(text):
    """Ours: 'f32[64,3], scalar'."""
    found = []
    for one in re.findall(r"[^\s,\[]*\[[^\]]*\]|[^\s,\[\]]+", text or ""):
        inside = re.search(r"\[(.*)\]", one)
        found.append(tuple(int(d) for d in inside.group(1).split(",") if d) if inside else ())
    return without_tail(found)


def without_tail(shapes):
    shapes = list(shapes)[:INPUTS]
    while shapes and not shapes[-1]:
        shapes.pop()
    return tuple(shapes)


def shape_of(text):
    """'[4, 2, 1]' and '4,2'"""
    found = [int(d) for d in re.findall(r"\d+", text)]
    while len(found) > 1 and found[-1] == 1:
        found.pop()
    return tuple(found or [0])
