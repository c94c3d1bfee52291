#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memviz_check.py PICKLE ROWS - is it a memory snapshot, and the same memory as the view's rows?

Replays what pytorch.org/memory_viz does with it: MemoryViz.js fails on a block outside of all
segments and on categories without "unknown", and is blind to what is not balanced.
"""
import json
import pickle
import sys

with open(sys.argv[1], "rb") as file:
    snapshot = pickle.load(file)
peak = None
with open(sys.argv[2], encoding="utf-8") as file:
    for row in map(json.loads, file):
        if row["table"] == "tensor_categories" and row["category"] != "unknown":
            peak = peak or {}
            peak[row["category"]] = row["peak_bytes"]
assert set(snapshot) == {"device_traces", "segments"}, set(snapshot)
(trace,) = snapshot["device_traces"]
alive, now, most, at_peak, categories = {}, 0, 0, {}, set()
segments = sorted((s["address"], s["total_size"]) for s in snapshot["segments"])


def has_segment(address, size):
    return any(begin <= address and address + size <= begin + n for begin, n in segments)


last = None
for event in trace:
    assert last is None or event["time_us"] >= last, event
    last = event["time_us"]
    categories.add(event.get("category", "unknown"))
    address = event["addr"]
    if event["action"] == "alloc":
        assert address not in alive and event["size"] > 0, event
        assert has_segment(address, event["size"]), event
        alive[address] = event
        now += event["size"]
    elif event["action"] == "free_requested":
        assert alive[address]["size"] == event["size"], event
    elif event["action"] == "free_completed":
        now -= alive.pop(address)["size"]
    else:
        assert event["action"] == "snapshot", event
    if now > most:
        most, at_peak = now, {}
        for block in alive.values():
            name = block["category"]
            at_peak[name] = at_peak.get(name, 0) + block["size"]
assert "unknown" in categories and "parameter" in categories and "activation" in categories
# What was there before the window and nobody named is not in the snapshot: of two steps that had as much but for
# a few bytes it may have the other one at its peak.
for name in set(at_peak) | {name for name, n in peak.items() if n}:
    assert abs(at_peak.get(name, 0) - peak.get(name, 0)) <= most / 1000, (name, at_peak, peak)
blocks = 0
for segment in snapshot["segments"]:
    address = segment["address"]
    for block in segment["blocks"]:
        assert block["address"] == address, block
        address += block["size"]
        if block["state"] == "active_allocated":
            blocks += 1
            assert alive[block["address"]]["size"] == block["size"], block
    assert address == segment["address"] + segment["total_size"], segment
assert blocks == len(alive), (blocks, len(alive))
named = [e for e in trace if e["action"] == "alloc" and e.get("user_metadata") == "head.weight"]
assert named and named[0]["category"] == "parameter"
assert any(e["frames"] and e["frames"][0]["name"] == "aten::linear" for e in trace
           if e["action"] == "alloc")
modules = [e["frames"][1:] for e in trace if e["action"] == "alloc" and
           e["frames"] and e["frames"][0]["name"] == "aten::linear"]
assert any(len(frames) == 2 and frames[0]["filename"] == "Linear" and
           frames[0]["name"].startswith("GPT.blocks.0.") and
           frames[1]["filename"].endswith("train_gpt.py") and frames[1]["line"] > 0
           for frames in modules), modules[:3]
print(f"{len(trace)} events, {len(segments)} segments, {blocks} blocks, {most} bytes at the peak, "
      f"{sum(e['size'] for e in alive.values())} at the end")
