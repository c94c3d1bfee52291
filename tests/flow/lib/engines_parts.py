# SPDX-License-Identifier: Apache-2.0
"""engines_parts.py dask|spark RUN [WORKERS [kill]]: tables of a run, a part each rank, by an engine of several
processes: all rows of all tables and of Parquet, and a query; of three tables by one worker; the query with one of
two workers killed by SIGKILL while it computes."""

import os
import signal
import sys
import tempfile
import threading
import time

import pyarrow
import pyarrow.parquet

import trainprof
from trainprof import parts

BASE = 1 << 40  # of numbers that are a rank's own


def rows_of(table):
    return pyarrow.table(table).to_pylist()


def comparable(table, rows):
    """Rows in any order; numbers of spans and stacks are those of a rank or of the run."""
    kept = [{name: value for name, value in row.items() if name not in ("id", "parent", "span", "stack")}
            for row in rows]
    if table == "stacks":
        # Each rank has those that it names.
        return sorted({repr(row) for row in kept if row["depth"] == 0})
    return sorted(map(repr, kept))


def check_tables(run, engine, tables):
    for name in tables:
        theirs = comparable(name, rows_of(run[name]))
        ours = comparable(name, engine.rows(name))
        assert ours == theirs, (name, len(ours), len(theirs), [it for it in zip(ours, theirs) if it[0] != it[1]][:1])
        print("%s: %d rows" % (name, len(ours)))


def check_parquet(run, engine):
    """As the manual has it: an engine's own writer, and all rows back."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "spans")
        engine.write_parquet("spans", path)
        ours = comparable("spans", pyarrow.parquet.read_table(path).to_pylist())
    assert ours == comparable("spans", rows_of(run["spans"])), "parquet"


def check_numbers(engine):
    """Spans are found by number, also those of other ranks; those of a rank are told apart."""
    spans = {row["id"]: row for row in engine.rows("spans")}
    parents = [row for row in spans.values() if row["parent"] is not None]
    assert parents and all(spans[row["parent"]]["process_at"] == row["process_at"] for row in parents)
    ranks = {row["rank"] for row in spans.values()}
    assert len({number // BASE for number in spans}) == len(ranks), ranks
    kernels = engine.rows("kernels")
    assert all(spans[row["span"]]["name"] == row["operator"] for row in kernels if row["span"])


def operators(run):
    """What the query gives, by the view."""
    return {row["operator"]: (row["calls"], row["total_ns"]) for row in rows_of(run["operator"])}


def kill_when(is_running, find, told):
    """Kills a worker as soon as it computes."""
    def wait():
        end = time.monotonic() + 120
        while time.monotonic() < end and not is_running():
            time.sleep(0.02)
        pid = find()
        os.kill(pid, signal.SIGKILL)
        told.append((pid, time.monotonic()))
    thread = threading.Thread(target=wait)
    thread.start()
    return thread


class Dask:
    def __init__(self, run, workers):
        from distributed import Client, LocalCluster
        from trainprof.dask import table
        self.table, self.run = table, run
        self.cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        self.client = Client(self.cluster)

    def rows(self, name):
        return pyarrow.Table.from_pandas(self.table(self.run, name).compute(), preserve_index=False).to_pylist()

    def write_parquet(self, name, path):
        self.table(self.run, name).to_parquet(path, write_index=False)

    def operators(self):
        spans = self.table(self.run, "spans")
        found = spans[spans["merged"] == 0].groupby("name")["dur_ns"].agg(["count", "sum"], split_out=1).compute()
        return {name: (int(row["count"]), int(row["sum"])) for name, row in found.iterrows()}

    def chosen(self):
        spans = self.table(self.run, "spans", columns=["rank", "name"])
        return len(spans[spans["rank"] == 1].compute())

    def is_running(self):
        return any(self.client.processing().values())

    def worker(self):
        return self.cluster.workers[0].process.process.pid

    def close(self):
        self.client.close()
        self.cluster.close()


class Spark:
    def __init__(self, run, workers):
        os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable,
                          SPARK_WORKER_DIR=os.path.join(os.path.dirname(run), "spark"))
        from pyspark.sql import SparkSession
        from trainprof.spark import Source
        self.run = run
        builder = SparkSession.builder.master("local-cluster[%d,1,1024]" % workers)
        for name, value in {
                "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "1g",
                "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"], "spark.sql.shuffle.partitions": "2",
                # How long a worker is waited for that is gone: two minutes, otherwise.
                "spark.network.timeout": "40s", "spark.network.timeoutInterval": "10s",
                "spark.executor.heartbeatInterval": "5s",
                "spark.log.level": "OFF", "spark.sql.python.filterPushdown.enabled": "true"}.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.dataSource.register(Source)

    def table(self, name, **options):
        return self.spark.read.format("trainprof").options(table=name, **options).load(self.run)

    def rows(self, name):
        return [row.asDict() for row in self.table(name).collect()]

    def write_parquet(self, name, path):
        self.table(name).write.parquet(path)

    def operators(self):
        spans = self.table("spans", columns="name,dur_ns,merged")
        found = spans.where("merged = 0").groupBy("name").agg({"dur_ns": "sum", "*": "count"})
        return {row["name"]: (row["count(1)"], row["sum(dur_ns)"]) for row in found.collect()}

    def chosen(self):
        found = self.table("spans", columns="rank,name").where("rank = 1 and name is not null")
        assert found.rdd.getNumPartitions() == 1, "the filter chooses the partition"
        return found.count()

    def is_running(self):
        return any(self.spark.sparkContext.statusTracker().getStageInfo(stage).numActiveTasks
                   for stage in self.spark.sparkContext.statusTracker().getActiveStageIds())

    def worker(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    words = file.read()
                with open("/proc/%s/environ" % pid, "rb") as file:
                    mine = os.environ["TRAINPROF_TEST"].encode() in file.read()
            except OSError:
                continue
            if mine and b"CoarseGrainedExecutorBackend" in words:
                return int(pid)
        raise AssertionError("no executor")

    def close(self):
        self.spark.stop()


def main(which, path, workers="2", kill=""):
    os.environ["TRAINPROF_TEST"] = "engines-%d" % os.getpid()
    run = trainprof.open(path)
    engine = {"dask": Dask, "spark": Spark}[which](path, int(workers))
    try:
        told = []
        if kill:
            thread = kill_when(engine.is_running, engine.worker, told)
        found = engine.operators()
        end = time.monotonic()
        assert found == operators(run), "operators"
        print("%d operators by %s workers" % (len(found), workers))
        if kill:
            thread.join()
            assert told and told[0][1] < end, "the worker was killed before the query was done"
            print("worker %d was killed %.1f s before the end" % (told[0][0], end - told[0][1]))
            return
        if int(workers) > 1:
            check_tables(run, engine, parts.BY_RANK + ("operator", "processes"))
            check_parquet(run, engine)
        else:
            check_tables(run, engine, ("spans", "kernels", "processes"))
        check_numbers(engine)
        assert engine.chosen() == sum(row["rank"] == 1 for row in rows_of(run["spans"])) > 0
    finally:
        engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
