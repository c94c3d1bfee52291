#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heap_files.py - the formats of host memory by stack, read by others' rules and by each other

usage: heap_files.py check FOLDER FILE.speedscope.json FILE.heap.pb.gz
       heap_files.py cost FOLDER FILE.heap.pb.gz COST FUNCTION

check: the folded files (as flamegraph.pl splits them), the JSON (as speedscope's schema wants it)
and the profile (as protobuf reads profile.proto) are well formed, and say the same of every path
of functions. cost: prints what FUNCTION and all that it calls cost, in folded and in the profile.
"""

import collections
import gzip
import json
import os
import re
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet

COSTS = {"peak": ("bytes at the peak", "peak_space"),
         "allocations": ("allocations", "alloc_objects"),
         "leaked": ("bytes alive at the end", "inuse_space"),
         "temporary": ("temporary allocations", "temporary_objects"),
         "host-time": ("time of the host in operators", "host"),
         "device-time": ("time of devices", "device")}
HEAP_UNITS = {"alloc_objects": "count", "alloc_space": "bytes", "inuse_objects": "count",
              "inuse_space": "bytes", "peak_objects": "count", "peak_space": "bytes",
              "temporary_objects": "count"}
TIME_UNITS = {"host": "nanoseconds", "device": "nanoseconds"}
# PyTorch's own way to a module's forward() and into a range: left out.
GLUE = ("record_function.__enter__", "OpOverloadPacket.__call__", "Module._wrapped_call_impl",
        "Module._call_impl")

# profile.proto: name, number, type (i: int64, u: uint64, b: bool, s: string, else a message),
# "*" when repeated.
MESSAGES = {
    "ValueType": "type 1 i, unit 2 i",
    "Label": "key 1 i, str 2 i, num 3 i, num_unit 4 i",
    "Sample": "location_id 1 u*, value 2 i*, label 3 Label*",
    "Mapping": "id 1 u, memory_start 2 u, memory_limit 3 u, file_offset 4 u, filename 5 i, "
               "build_id 6 i, has_functions 7 b, has_filenames 8 b, has_line_numbers 9 b, "
               "has_inline_frames 10 b",
    "Line": "function_id 1 u, line 2 i",
    "Location": "id 1 u, mapping_id 2 u, address 3 u, line 4 Line*, is_folded 5 b",
    "Function": "id 1 u, name 2 i, system_name 3 i, filename 4 i, start_line 5 i",
    "Profile": "sample_type 1 ValueType*, sample 2 Sample*, mapping 3 Mapping*, "
               "location 4 Location*, function 5 Function*, string_table 6 s*, drop_frames 7 i, "
               "keep_frames 8 i, time_nanos 9 i, duration_nanos 10 i, period_type 11 ValueType, "
               "period 12 i, comment 13 i*, default_sample_type 14 i",
}


def profile_class():
    kinds = {"i": 3, "u": 4, "b": 8, "s": 9}
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            field, number, kind = text.split()
            added = message.field.add(name=field, number=int(number),
                                      label=3 if kind.endswith("*") else 1)
            kind = kind.rstrip("*")
            added.type = kinds.get(kind, 11)
            if kind not in kinds:
                added.type_name = ".p." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


def need(what, message):
    if not what:
        sys.exit(message)


def unknown(message):
    found = [field.field_number for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
                found += unknown(item)
    return found


def read_profile(path):
    """{sample type: {path of functions: value}}"""
    profile = profile_class()()
    profile.ParseFromString(gzip.open(path).read())
    need(not unknown(profile), "fields that profile.proto does not have")
    strings = profile.string_table
    need(strings[0] == "", "the first string is not the empty one")
    types = [(strings[t.type], strings[t.unit]) for t in profile.sample_type]
    need(dict(types) in (HEAP_UNITS, TIME_UNITS, {**TIME_UNITS, **HEAP_UNITS}),
         f"sample types: {types}")
    need(strings[profile.default_sample_type] in dict(types), "default sample type")
    need(profile.time_nanos > 10**18 and profile.duration_nanos > 0, "no time")
    mapping = {m.id: m for m in profile.mapping}
    function = {f.id: f for f in profile.function}
    location = {at.id: at for at in profile.location}
    for table, rows in ((mapping, profile.mapping), (function, profile.function),
                        (location, profile.location)):
        need(0 not in table and len(table) == len(rows), "ids are not unique")
    for at in profile.location:
        need(not at.mapping_id or mapping[at.mapping_id].memory_start <= at.address
             < mapping[at.mapping_id].memory_limit, "an address outside of its mapping")
        need(at.line or at.address, "a location of nothing")
    paths = {name: collections.Counter() for name, _ in types}
    for sample in profile.sample:
        need(len(sample.value) == len(types), "a sample with too few values")
        names = []
        for at in sample.location_id:
            lines = location[at].line
            names += [strings[function[line.function_id].name] for line in lines]
            if not lines:
                names.append("[" + os.path.basename(
                    strings[mapping[location[at].mapping_id].filename]) + "]")
        for (name, _), value in zip(types, sample.value):
            paths[name][tuple(reversed(names))] += value
    return paths


def read_folded(folder):
    """The same by cost, names as flamegraph.pl splits them."""
    paths = {}
    for cost in COSTS:
        paths[cost] = counts = collections.Counter()
        path = f"{folder}/{cost}.folded"
        if not os.path.exists(path):
            continue
        lines = open(path, encoding="utf-8", errors="strict").read().split("\n")
        need(lines.pop() == "" and lines, f"'{path}' is empty or cut")
        for line in lines:
            match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
            need(match and not line.startswith("#"), f"no stack: {line!r}")
            need(not re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", match[1]), f"two values: {line!r}")
            names = match[1].split(";")
            need(all(names), f"a frame without a name: {line!r}")
            counts[tuple(names)] += int(match[2])
    return paths


def read_speedscope(path):
    file = json.load(open(path, encoding="utf-8", errors="strict"))
    need(file["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema")
    need(set(file) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"},
         f"properties: {list(file)}")
    frames = file["shared"]["frames"]
    for frame in frames:
        need(set(frame) <= {"name", "file", "line", "col"} and isinstance(frame["name"], str) and
             isinstance(frame.get("file", ""), str) and isinstance(frame.get("line", 1), int),
             f"a frame: {frame}")
    need(0 <= file["activeProfileIndex"] < len(file["profiles"]), "no such profile")
    paths = {}
    for profile in file["profiles"]:
        need(set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples",
                              "weights"} and profile["type"] == "sampled", "a profile")
        need(profile["unit"] == ("bytes" if "bytes" in profile["name"] else
                                 "nanoseconds" if "time of" in profile["name"] else "none"), "unit")
        need(len(profile["samples"]) == len(profile["weights"]) > 0, "samples and weights")
        need(profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"]),
             "the end is not the sum of the weights")
        counts = paths[profile["name"]] = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            counts[tuple(frames[at]["name"] for at in sample)] += weight
    return paths


def plain(name):
    """What the formats call differently: files of Python, addresses, what folded escapes."""
    name = re.sub(r" \(\S+\.py\)$|\+0x[0-9a-f]+$", "", name).replace(";", ":")
    name = "".join(c if c.isprintable() else " " for c in name)
    return name.strip("[]")


def plain_paths(counts):
    result = collections.Counter()
    for path, value in counts.items():
        if value:
            result[tuple(plain(name) for name in path)] += value
    return result


def check(folder, json_path, profile_path):
    folded, speedscope = read_folded(folder), read_speedscope(json_path)
    profile = read_profile(profile_path)
    is_folding = any(name.startswith("(other: ") for counts in folded.values()
                     for path in counts for name in path)
    for cost, (title, kind) in COSTS.items():
        need(bool(folded[cost]) == (title in speedscope), f"{cost}: a profile without a file")
        sums = [sum(counts.values())
                for counts in (folded[cost], speedscope.get(title, {}), profile.get(kind, {}))]
        need(len(set(sums)) == 1, f"{cost}: sums differ: {sums}")
        # Places are told apart more finely in one than in the other, so they fold elsewhere.
        if is_folding:
            continue
        want = plain_paths(folded[cost])
        for name, counts in (("speedscope", speedscope.get(title, {})),
                             ("pprof", profile.get(kind, {}))):
            counts = plain_paths(counts)
            for path in set(want) | set(counts):
                need(want[path] == counts[path],
                     f"{cost}: {path}: {want[path]} in folded, {counts[path]} in {name}")
    print(f"ok {sum(len(paths) for paths in folded.values())} paths")


def cost(folder, profile_path, which, function):
    def sum_of(counts):
        return sum(value for path, value in counts.items()
                   if any(name.startswith(function) for name in path))
    print(sum_of(read_folded(folder)[which]), sum_of(read_profile(profile_path)[COSTS[which][1]]))


def stacks(folder, log, operator):
    want, found = collections.Counter(), set()
    for line in open(log):
        _, stack = json.loads(line)
        want[tuple(f"{function} ({'/'.join(file.split('/')[-2:])})" for function, file, _ in
                   reversed(stack) if function not in GLUE)] += 1
    for path in read_folded(folder)["host-time"]:
        if path[-1] == operator:
            # Without the operators around it.
            found.add(tuple(name for name in path if name.endswith(".py)")))
    for path in list(set(want) ^ found)[:4]:
        print("not there:" if path in want else "made up:", ";".join(path))
    need(set(want) == found and sum(want.values()) >= 400, "stacks differ")
    print(f"ok {len(want)} stacks of {sum(want.values())} calls")


def sums(path, rows, field):
    found, want = collections.Counter(), collections.Counter()
    for line in open(path, encoding="utf-8"):
        names, value = line.rstrip("\n").rsplit(" ", 1)
        found[names.rsplit(";", 1)[-1]] += int(value)
    for line in open(rows, encoding="utf-8"):
        row = json.loads(line)
        name = row.get("operator") or row.get("kernel")
        if name and field in row:
            want[plain(name)] += row[field]
    want = +want
    for name in want:
        need(want[name] == found[name], f"{name}: {found[name]} instead of {want[name]}")
    need(want, "no rows")
    print(f"ok {len(want)} names")


{"check": check, "cost": cost, "stacks": stacks, "sums": sums}[sys.argv[1]](*sys.argv[2:])
