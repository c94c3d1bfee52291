# SPDX-License-Identifier: Apache-2.0
"""Tables as HTML, for notebooks."""

import html

MOST = 20  # rows of a table


def _scaled(value, units):
    """Three figures and a unit: 93.0 ms. units: [(from which value on, name)], the greatest first."""
    for least, name in units:
        if abs(value) >= least:
            value /= least
            return "%.*f %s" % (0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2, value, name)
    return "%d %s" % (value, units[-1][1])


_TIMES = [(10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns")]
_SIZES = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")]


def _shown(value, unit):
    if value is None:
        return ""
    if unit == "ns":
        return _scaled(value, _TIMES)
    if unit == "bytes":
        return _scaled(value, _SIZES)
    if unit in ("percent", "bar"):
        return "%.1f %%" % value
    if unit == "real":
        return "%.4g" % value
    return html.escape(str(value))


def _cell(value, unit):
    if unit in ("text", "place"):
        return "<td style='text-align:left'>%s</td>" % _shown(value, unit)
    return "<td style='text-align:right' title='%s'>%s</td>" % ("" if value is None else value, _shown(value, unit))


def table(title, columns, rows):
    """columns: (name, format, unit) of each; those that say nothing in any row are left out."""
    told = [(name, unit) for name, _, unit in columns if any(row[name] is not None for row in rows)]
    lines = ["<table><caption>%s</caption>" % html.escape(title), "<thead><tr>"]
    for name, unit in told:
        shown = name[:-len(unit) - 1] if name.endswith("_" + unit) else name
        lines.append("<th title='%s'>%s</th>" % (html.escape(unit), html.escape(shown.replace("_", " "))))
    lines.append("</tr></thead><tbody>")
    for row in rows[:MOST]:
        lines.append("<tr>%s</tr>" % "".join(_cell(row[name], unit) for name, unit in told))
    lines.append("</tbody></table>")
    if len(rows) > MOST:
        lines.append("<p>%d more rows</p>" % (len(rows) - MOST))
    return "\n".join(lines)


def run(tables, text):
    """The tables that have rows, and the same as text."""
    parts = [table(title, columns, rows) for title, columns, rows in tables if rows]
    return "\n".join(parts + ["<details><summary>as text</summary><pre>%s</pre></details>" % html.escape(text)])
