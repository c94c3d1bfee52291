#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""html_check.py - what trainprof-merge -f html wrote, without a browser

usage: html_check.py PAGE.html [ROWS.jsonl]

Every script and style of the page is one that its own policy names by its hash, everything else
is data that parses, nothing leads anywhere, no text holds what could be markup. With ROWS
(-f jsonl of the same views, --top 0) every figure of the rows' tables is in the page. Prints what is
wrong, exits 1 when something is.
"""
import base64
import hashlib
import json
import re
import sys

wrong = []


def expect(is_right, text):
    if not is_right:
        wrong.append(text)


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)


page = open(sys.argv[1], "rb").read().decode("utf-8")
policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
expect(policy, "no policy")
rules = dict((rule.split() + [""])[0:1] + [rule.split()[1:]] for rule in policy.group(1).split(";"))
expect(rules.get("default-src") == ["'none'"], f"default-src: {rules.get('default-src')}")
expect(not re.search(r"unsafe|\*|https?:|data:", policy.group(1)), f"a wide policy: {policy.group(1)}")

# Everything between two tags of these kinds; the last of each is our own code.
elements = re.findall(r"<(script|style)\b([^>]*)>(.*?)</\1>", page, re.S)
data = {}
for tag, attributes, text in elements:
    kind = re.search(r'type="application/json" id="data-(\w+)"', attributes)
    if kind:
        expect(not re.search(r"[<>&\u2028\u2029]", text), f"data-{kind.group(1)}: markup in it")
        data[kind.group(1)] = json.loads(text)
        continue
    expect(not attributes, f"a {tag} with attributes: {attributes}")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    expect(f"'sha256-{digest}'" in rules.get(f"{tag}-src", []), f"a {tag} that the policy does not know")
expect({"run", "views", "steps", "curves", "flame", "stacks", "timeline", "parts"} <= set(data),
       f"data: {sorted(data)}")
# What the page believes of its parts without reading them.
for name, rows in {"steps": "procs", "curves": "curves", "flame": "nodes", "stacks": "costs", "timeline": "steps"}.items():
    expect(data["parts"].get(f"data-{name}") == bool(data[name][rows]), f"data-parts is wrong of {name}")
rest = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", page, flags=re.S)
expect(not re.search(r"<(script|style|img|iframe|object|embed|link|base|form|svg)\b", rest),
       "another element outside of scripts")
expect(not re.search(r"<[^>]*\son\w+\s*=", rest), "a handler in markup")
for address in re.findall(r"""<[^>]*(?:src|href)\s*=\s*["']?([^"'\s>]*)""", rest):
    expect(address.startswith("#"), f"leads to {address}")
for tag, _, text in elements:
    if tag == "style":
        expect(not re.search(r"url\(|@import", text), "a style that loads something")

for step in data["timeline"]["steps"]:
    expect(re.fullmatch("[A-Za-z0-9+/]*={0,2}", step.pop("spans")), "spans that are not base64")
for name, part in data.items():
    for text in texts(part):
        expect(len(text.encode("utf-8", "surrogatepass")) <= 4100, f"data-{name}: a text of {len(text)}")
        expect(not re.search("[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text),
               f"data-{name}: not printable: {text[:60]!r}")

# Each row of the rows is in the page's table of that name, figure for figure.
tables = {}
for view in data["views"]:
    if view["way"]:
        continue
    for block in view["blocks"]:
        if "rows" in block and "name" in block:
            fields = [column.get("field") for column in block["columns"]]
            for row in block["rows"]:
                tables.setdefault(block["name"], []).append(dict(zip(fields, row)))
n_compared = 0
for line in open(sys.argv[2]) if len(sys.argv) > 2 else []:
    row = json.loads(line)
    name = row.pop("table")
    figures = {key: value for key, value in row.items() if isinstance(value, int)}

    def is_it(other):
        return all(other.get(key, value) == value or not isinstance(other.get(key), int)
                   for key, value in figures.items())

    if not tables.get(name):
        wrong.append(f"no table '{name}'")
        tables[name] = [{}]
    n_compared += len(figures)
    expect(any(is_it(other) for other in tables[name]), f"{name}: {row}")
if len(sys.argv) > 2:
    print(f"{n_compared} figures compared")
    expect(n_compared > 40, "few figures")
print("\n".join(wrong[:20]))
sys.exit(bool(wrong))
