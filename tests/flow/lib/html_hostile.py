#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""html_hostile.py - a trace whose names try to be markup, script or another direction of writing

usage: html_hostile.py IN.json.gz OUT.json

IN is of kineto_synth.py; its operators, kernels and threads get names that would run, end an element
or turn the line round if a page took them for anything but text.
"""
import gzip
import json
import sys

NAMES = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "\"><svg onload=window.hacked=3>",
    "</style><body onload=window.hacked=4>",
    "javascript:window.hacked=5",
    "<!--<script>",
    "]]>{{data}}{{scripts}}",
    "\u202egnp.exe\u2066 turned",
    "line\u2028separator\u2029here",
    "nul\x00 bell\x07 escape\x1b[31m tab\t",
    "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "long" * 300000,
    "__proto__",
    "constructor",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "emoji \U0001f4a5 \U000e0001",
]

trace = json.load(gzip.open(sys.argv[1]))
n = 0
renamed = {}
for event in trace["traceEvents"]:
    if event.get("cat") in ("cpu_op", "kernel", "user_annotation") and not \
            event["name"].startswith("ProfilerStep"):
        if event["name"] not in renamed:
            renamed[event["name"]] = NAMES[n % len(NAMES)] + ("" if n < len(NAMES) else str(n))
            n += 1
        # Three of four operators; the rest keep theirs, so that views have something to say.
        event["name"] = renamed[event["name"]]
    elif event.get("name") in ("thread_name", "process_name"):
        event["args"]["name"] = NAMES[n % len(NAMES)][:100]
        n += 1
for i, name in enumerate(NAMES):
    first = next(event for event in trace["traceEvents"] if event.get("cat") == "cpu_op")
    trace["traceEvents"].append(dict(first, name=name, ts=first["ts"] + 0.001 * i, dur=0.001))
with open(sys.argv[2], "w") as out:
    # Half of a pair, as bytes that are no UTF-8 would come.
    out.write(json.dumps(trace).replace("javascript:", "\\ud83d javascript:"))
