# SPDX-License-Identifier: Apache-2.0
"""Tables of a run as a source of Spark's, a partition each rank. Needs pyspark >= 4.1 and pyarrow.

    from trainprof.spark import Source
    spark.dataSource.register(Source)
    spans = spark.read.format("trainprof").option("table", "spans").load("trainprof-run/")

Options: table (default events), columns (a list, `name,dur_ns`: others are not made), ranks, windows, steps.
With spark.sql.python.filterPushdown.enabled a filter of `rank` chooses partitions, and others of a column and
a value drop rows where they are read. Executors import trainprof, and read the files by the same paths.
"""

import pyarrow
import pyarrow.compute
from pyspark.sql import datasource

from . import parts

_TYPES = {pyarrow.int64(): "bigint", pyarrow.float64(): "double", pyarrow.string(): "string"}
_COMPARISONS = {
    datasource.EqualTo: lambda column, value: column == value,
    datasource.GreaterThan: lambda column, value: column > value,
    datasource.GreaterThanOrEqual: lambda column, value: column >= value,
    datasource.LessThan: lambda column, value: column < value,
    datasource.LessThanOrEqual: lambda column, value: column <= value,
    datasource.In: lambda column, value: column.isin([it for it in value if it is not None]),
}


def _expression(condition):
    """A filter of Spark's as an expression of pyarrow's; None: Spark is to do it."""
    if isinstance(condition, datasource.IsNotNull):
        return pyarrow.compute.field(condition.attribute[0]).is_valid()
    if isinstance(condition, datasource.IsNull):
        return pyarrow.compute.field(condition.attribute[0]).is_null()
    compare = _COMPARISONS.get(type(condition))
    return compare and compare(pyarrow.compute.field(condition.attribute[0]), condition.value)


class Partition(datasource.InputPartition):
    """A part; its value is a parts.Part."""


class Reader(datasource.DataSourceReader):
    """Reads the parts of one table."""

    def __init__(self, its_parts):
        self.parts, self.conditions = its_parts, []

    def pushFilters(self, filters):
        for condition in filters:
            expression = _expression(condition)
            if expression is None:
                yield condition
                continue
            # Not the expression: the reader is pickled.
            self.conditions.append(condition)
            if condition.attribute == ("rank",) and len(self.parts) > 1:
                self.parts = parts.select(self.parts, expression)

    def partitions(self):
        return [Partition(part) for part in self.parts]

    def read(self, partition):
        # Where no part is left Spark reads none.
        if partition is None:
            return
        for batch in parts.batches(partition.value):
            for condition in self.conditions:
                batch = batch.filter(_expression(condition))
            if batch.num_rows:
                yield batch


class Source(datasource.DataSource):
    """spark.read.format("trainprof")"""

    @classmethod
    def name(cls):
        return "trainprof"

    def __init__(self, options):
        super().__init__(options)
        if not options.get("path"):
            raise ValueError("trainprof: which run? .load(\"trainprof-run/\")")
        columns = options.get("columns")
        self.plan = parts.plan([options["path"]], options.get("table", "events"),
                               columns and [name.strip() for name in columns.split(",")],
                               *(options.get(name) for name in ("ranks", "windows", "steps")))

    def schema(self):
        return ", ".join("`%s` %s" % (field.name, _TYPES[field.type]) for field in self.plan[0])

    def reader(self, schema):
        return Reader(self.plan[1])
