# SPDX-License-Identifier: Apache-2.0
"""marks_rows.py chrome|perfetto FILE - what of a timeline the program itself named

Prints, sorted: "range NAME in PARENT", "async NAME", "mark NAME VALUE", "counter NAME UNIT
VALUE", "operator NAME in PARENT" (operators right inside of a range). A value of 0 is not
shown, nor are the numbers of steps.
"""
import gzip
import json
import re
import sys

OWN_COUNTERS = {"queue"}


def from_chrome(path):
    with open(path, "rb") as file:
        data = file.read()
    data = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    events, threads = data["traceEvents"], {}
    for e in events:
        if e["ph"] == "M" and e["name"] == "thread_name":
            threads[e["pid"], e["tid"]] = e["args"]["name"]
    for e in events:
        if e["ph"] == "X" and e["cat"] in ("user_annotation", "cpu_op"):
            # In nanoseconds: sums of fractions would not be those that stand there.
            begin, length = round(float(e["ts"]) * 1000), round(float(e["dur"]) * 1000)
            yield ("span", e["name"], threads.get((e["pid"], e["tid"]), "?"), begin,
                   begin + length, e["cat"])
        elif e["ph"] == "i" and e["cat"] == "mark":
            yield ("mark", e["name"], e["args"]["value"])
        elif e["ph"] == "C":
            (unit, value), = e["args"].items()
            yield ("counter", e["name"], unit, value)


def from_perfetto(path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace, tracks, names, cats, notes, units, stacks = Trace(), {}, {}, {}, {}, {}, {}
    trace.ParseFromString(data)
    defaults, now = {}, {}
    for packet in trace.packet:
        seq = packet.trusted_packet_sequence_id
        if packet.HasField("clock_snapshot"):
            now[seq] = next(c.timestamp for c in packet.clock_snapshot.clocks if c.clock_id == 6)
        elif packet.HasField("timestamp"):
            # Of each sequence's own clock, which counts from packet to packet.
            now[seq] += packet.timestamp
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            name = d.thread.thread_name or d.name
            tracks[d.uuid] = name
            if d.HasField("counter"):
                units[d.uuid] = d.counter.unit_name
        if packet.HasField("trace_packet_defaults"):
            defaults[seq] = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for table, rows in ((names, packet.interned_data.event_names),
                            (cats, packet.interned_data.event_categories),
                            (notes, packet.interned_data.debug_annotation_names)):
            for row in rows:
                table[seq, row.iid] = row.name
        if not packet.HasField("track_event"):
            continue
        e = packet.track_event
        uuid = e.track_uuid or defaults.get(seq)
        name = e.name or names.get((seq, e.name_iid), "")
        cat = [cats.get((seq, i)) for i in e.category_iids]
        if e.type == e.TYPE_SLICE_BEGIN:
            stacks.setdefault(uuid, []).append((name, now[seq], cat))
        elif e.type == e.TYPE_SLICE_END:
            name, begin, cat = stacks[uuid].pop()
            yield ("span", name, "async" if tracks[uuid].startswith("async") else str(uuid), begin,
                   now[seq], cat[0] if cat else "")
        elif e.type == e.TYPE_INSTANT and "mark" in cat:
            note, = e.debug_annotations
            yield ("mark", name, note.double_value if note.HasField("double_value")
                   else note.int_value)
        elif e.type == e.TYPE_COUNTER:
            yield ("counter", tracks[uuid], units[uuid],
                   e.double_counter_value if e.HasField("double_counter_value")
                   else e.counter_value)


def step_name(name):
    return re.sub(r"#\d+$", "", name)


def main():
    lines, by_thread = [], {}
    for row in {"chrome": from_chrome, "perfetto": from_perfetto}[sys.argv[1]](sys.argv[2]):
        if row[0] == "span":
            by_thread.setdefault(row[2], []).append(row)
        elif row[0] == "mark":
            lines.append("mark %s%s" % (row[1], " %g" % row[2] if row[2] else ""))
        elif row[1] in OWN_COUNTERS:
            lines.append("counter %s %s %g" % (row[1], row[2], float(row[3])))
    for thread, spans in by_thread.items():
        if "async" in thread:
            lines += ["async " + span[1] for span in spans]
            continue
        open_spans = []
        for span in sorted(spans, key=lambda s: (s[3], -s[4])):
            while open_spans and open_spans[-1][4] < span[4]:
                open_spans.pop()
            parent = open_spans[-1] if open_spans else None
            open_spans.append(span)
            if span[1].startswith(("ProfilerStep", "Optimizer.")):
                continue
            if span[5] == "user_annotation":
                lines.append("range %s in %s" % (span[1], step_name(parent[1]) if parent else "-"))
            elif parent and parent[5] == "user_annotation":
                lines.append("operator %s in %s" % (span[1], step_name(parent[1])))
    print("\n".join(sorted(set(lines))))


main()
