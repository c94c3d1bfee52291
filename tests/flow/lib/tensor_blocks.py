# SPDX-License-Identifier: Apache-2.0
"""What was alive when, by rows tensor_blocks of trainprof-merge -v memory."""


def replay(blocks):
    """[(ns, bytes of all, {category: bytes}) after each event]; before the window is no time."""
    edges = []
    for block in blocks:
        begin, end, n = block["allocated_ns"], block["freed_ns"], block["bytes"]
        begin = float("-inf") if begin in ("", None) else begin
        category = "temporary" if block["temporary_ns"] > 0 else block["category"]
        edges.append((begin, 1, category, n))
        since = begin + block["temporary_ns"]
        if category != block["category"] and since != end:
            edges += (since, 0, category, -n), (since, 0, block["category"], n)
            category = block["category"]
        if end not in ("", None):
            edges.append((end, 0, category, -n))
    # Freed before allocated, at one time.
    edges.sort(key=lambda edge: edge[:2])
    alive, now, moments = {}, 0, []
    for ns, _, category, n in edges:
        alive[category] = alive.get(category, 0) + n
        now += n
        moments.append((ns, now, {category: n for category, n in alive.items() if n}))
    return moments
