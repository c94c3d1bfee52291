#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pftrace_decode.py - every packet of a .pftrace.gz against Perfetto's published schema

usage: pftrace_decode.py FILE

Fails on a field that the schema does not know, at any depth; on a name used before it was
sent; on a begin without an end; on times that go back in a sequence; on an event of a track
that was never described.
"""

import collections
import gzip
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

DELTA_CLOCK = 64


def unknown_fields(message, where):
    found = [f"{where}: field {field.field_number}" for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        repeated = value if not hasattr(value, "ListFields") else [value]
        for item in repeated:
            found += unknown_fields(item, f"{where}.{field.name}")
    return found


def main():
    with gzip.open(sys.argv[1]) as file:
        trace = pb.Trace()
        trace.ParseFromString(file.read())
    wrong = unknown_fields(trace, "Trace")
    kinds, tracks, used = collections.Counter(), set(), set()
    depth, names, default = collections.Counter(), {}, {}
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        kinds[packet.WhichOneof("data")] += 1
        if not sequence:
            wrong.append("a packet without a sequence")
        if packet.sequence_flags & pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            names[sequence] = {"name": set(), "category": set(), "argument": set(),
                               "string": set()}
            if not packet.first_packet_on_sequence:
                wrong.append(f"sequence {sequence} is cleared twice")
        if packet.HasField("trace_packet_defaults"):
            default[sequence] = packet.trace_packet_defaults
        known = names[sequence]
        for kind, entries in (("name", packet.interned_data.event_names),
                              ("category", packet.interned_data.event_categories),
                              ("argument", packet.interned_data.debug_annotation_names),
                              ("string", packet.interned_data.debug_annotation_string_values)):
            for entry in entries:
                if not entry.iid:
                    wrong.append(f"iid 0 of a {kind}")
                known[kind].add(entry.iid)
        if packet.HasField("track_descriptor"):
            tracks.add(packet.track_descriptor.uuid)
        if packet.HasField("clock_snapshot"):
            clocks = {clock.clock_id for clock in packet.clock_snapshot.clocks}
            if not {6, DELTA_CLOCK} <= clocks or packet.clock_snapshot.primary_trace_clock != 6:
                wrong.append(f"clock snapshot of {sorted(clocks)}")
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        track = event.track_uuid or default[sequence].track_event_defaults.track_uuid
        used.add(track)
        if packet.sequence_flags != pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE:
            wrong.append("an event that does not say it needs its sequence's state")
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            depth[track] += 1
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            depth[track] -= 1
            if depth[track] < 0:
                wrong.append("an end without a begin")
        if event.name_iid and event.name_iid not in known["name"]:
            wrong.append(f"name {event.name_iid} was not sent")
        for iid in event.category_iids:
            if iid not in known["category"]:
                wrong.append(f"category {iid} was not sent")
        for argument in event.debug_annotations:
            if argument.name_iid not in known["argument"]:
                wrong.append(f"argument {argument.name_iid} was not sent")
            if argument.string_value_iid and argument.string_value_iid not in known["string"]:
                wrong.append(f"string {argument.string_value_iid} was not sent")
    wrong += [f"{n} spans of track {track} have no end" for track, n in depth.items() if n]
    wrong += [f"track {track} was never described" for track in sorted(used - tracks)]
    print("\n".join(wrong[:20]) or f"{sum(kinds.values())} packets")
    return 1 if wrong or not kinds["track_event"] else 0


if __name__ == "__main__":
    sys.exit(main())
