# SPDX-License-Identifier: Apache-2.0
"""Collectives that a timeline shows, sorted: "collective ncclAllReduce 4000" (category, name
without its peer, bytes).

usage: nccl_shown.py FILE.json|FILE.pftrace
"""
import json
import re
import sys

CATEGORIES = ("collective", "collective_proxy")


def from_chrome(path):
    with open(path, encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") in CATEGORIES:
                yield event["cat"], event["name"], event["args"]["bytes"]


def from_perfetto(path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    trace, categories = Trace(), {}
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    for packet in trace.packet:
        for entry in packet.interned_data.event_categories:
            categories[entry.iid] = entry.name
        for iid in packet.track_event.category_iids:
            if categories[iid] not in CATEGORIES:
                continue
            for note in packet.track_event.debug_annotations:
                if note.name == "bytes":
                    yield categories[iid], packet.track_event.name, note.int_value


def main():
    read = from_perfetto if sys.argv[1].endswith(".pftrace") else from_chrome
    rows = []
    for category, name, n_bytes in read(sys.argv[1]):
        name = re.sub(r"^(nccl(Send|Recv)) .*", r"\1", name)
        rows.append(f"{category} {name} {n_bytes}")
    print("\n".join(sorted(rows)))


main()
