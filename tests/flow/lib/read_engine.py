# SPDX-License-Identifier: Apache-2.0
"""read_engine.py ENGINE RUN: sums and names by the engine, as by hand; the same back from Parquet."""

import os
import sys
import tempfile

import trainprof
from read_rows import fields


def by_duckdb(duckdb, table, spans=None):
    got = duckdb.sql("select count(*), sum(dur_ns) from " + table).fetchall()[0]
    return got + ([row[0] for row in duckdb.sql("select name::varchar from " + table).fetchall()],)


def by_polars(frame):
    return frame.height, frame["dur_ns"].sum(), frame["name"].to_list()


def main(engine, path):
    spans = trainprof.open(path)["spans"]
    _, rows = fields(spans)
    wanted = (len(rows), sum(row["dur_ns"] for row in rows), [row["name"] for row in rows])
    if engine == "duckdb":
        import duckdb
        got = by_duckdb(duckdb, "spans", spans)
        with tempfile.TemporaryDirectory() as folder:
            file = "'%s/spans.parquet'" % folder
            duckdb.sql("copy (from spans) to " + file)
            assert by_duckdb(duckdb, file) == got
    elif engine == "polars":
        import polars
        frame = polars.DataFrame(spans)
        got = by_polars(frame)
        with tempfile.TemporaryDirectory() as folder:
            frame.write_parquet(folder + "/spans.parquet")
            assert by_polars(polars.read_parquet(folder + "/spans.parquet")) == got
    else:
        import pyarrow
        import pyarrow.parquet
        table = pyarrow.table(spans)
        assert table.schema.field("dur_ns").metadata[b"unit"] == b"ns"
        got = (table.num_rows, sum(table["dur_ns"].to_pylist()), table["name"].to_pylist())
        with tempfile.TemporaryDirectory() as folder:
            spans.run.write(folder, "spans", "operator")
            assert sorted(os.listdir(folder)) == ["operator.arrow", "spans.arrow"]
            with pyarrow.ipc.open_file(os.path.join(folder, "spans.arrow")) as file:
                assert file.read_all().to_pylist() == table.to_pylist()
            pyarrow.parquet.write_table(table, folder + "/spans.parquet")
            assert pyarrow.parquet.read_table(folder + "/spans.parquet").to_pylist() == table.to_pylist()
    assert tuple(got) == wanted, (got[:2], wanted[:2])


if __name__ == "__main__":
    main(*sys.argv[1:])
