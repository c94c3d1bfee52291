# SPDX-License-Identifier: Apache-2.0
"""read_kineto.py TRACE.json - a trace of torch.profiler into a pandas frame by trainprof, beside pandas.read_json
of its events and HolisticTraceAnalysis, where they are installed. CPU seconds of all threads; goals: at most a
fifth and a tenth of theirs."""

import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))


def cost(name, make, ours=None, rounds=1):
    best = None
    for _ in range(rounds):
        begin = time.process_time()
        make()
        took = time.process_time() - begin
        best = took if best is None else min(best, took)
    print("%-24s cpu %.2f s%s" % (name, best, " = %.1fx ours" % (best / ours) if ours else ""))
    return best


def main(path):
    import pyarrow

    import trainprof
    ours = cost("trainprof", lambda: pyarrow.table(trainprof.open(path)["events"]).to_pandas(), rounds=3)
    import pandas
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        with open(path) as trace:
            json.dump(json.load(trace)["traceEvents"], file)
        file.flush()
        cost("pandas.read_json", lambda: pandas.read_json(file.name), ours)
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig
    cost("HTA", lambda: parse_trace_dataframe(path, ParserConfig.get_default_cfg()), ours)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ImportError as error:
        print("not measured: %s" % error)
