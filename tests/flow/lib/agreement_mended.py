# SPDX-License-Identifier: Apache-2.0
"""agreement_mended.py - TensorBoard's plugin without the faults that we know: see agreement.py

A figure of ours that differs from the plugin's is a known difference only if the plugin says
the same once what man/trainprof-merge.1 names under "Where the figures differ from other tools"
is changed in it: nothing else passes for known.
"""
import contextlib
import os
import re
from unittest import mock

from torch_tb_profiler.profiler import data, event_parser, node, op_agg, op_tree, tensor_core, \
    tensor_cores_parser, trace

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..",
                      "merge", "facts", "time", "tensor_cores.c")
COLLECTIVES = ("gloo:", "nccl:", "mpi:", "ucc:", "c10d::", "c10d_functional::",
               "_c10d_functional::")
LOADERS = ("enumerate(DataLoader)#", "enumerate(DataPipe)#")


def our_tensor_core_names():
    with open(SOURCE, encoding="utf-8") as file:
        table = re.search(r"used\[\] = \{(.*?)\n\};", file.read(), re.S).group(1)
    return re.findall(r'"([^"]+)"', table)


def create_trace_event(event, is_pytorch_lightning):
    """Annotations are ranges: what they ask for is theirs, and not the operator's around them."""
    if (event.get("cat") or "").lower() == "user_annotation" and \
            not event["name"].startswith("ProfilerStep#"):
        return trace.OperatorEvent(trace.EventTypes.USER_ANNOTATION, event)
    return plain_create(event, is_pytorch_lightning)


plain_create = trace.create_trace_event
plain_step = event_parser.StepParser._parse_step


def parse_step(self, event, comm_nodes):
    """A kernel of NCCL's is communication, whoever called it; so is any collective of the host."""
    role = event_parser.ProfileRole
    types = trace.EventTypes
    span = (event.ts, event.ts + event.duration)
    if event.type == types.KERNEL:
        is_comm = event.name.startswith("nccl")
        self.role_ranges[role.Communication if is_comm else role.Kernel].append(span)
    elif event.type in (types.OPERATOR, types.USER_ANNOTATION) and \
            event.name.startswith(COLLECTIVES):
        self.role_ranges[role.Communication].append(span)
    elif event.type in (types.OPERATOR, types.USER_ANNOTATION) and event.name.startswith(LOADERS):
        self.role_ranges[role.DataLoader].append(span)
    elif event.type == types.USER_ANNOTATION:
        return
    else:
        plain_step(self, event, comm_nodes)
        return
    self.global_min_ts = min(self.global_min_ts, span[0])
    self.global_max_ts = max(self.global_max_ts, span[1])


def create_operator_node(event):
    found = plain_node(event)
    return node.OperatorNode.create(event) if found is None else found


plain_node = node.create_operator_node


def keep_last_steps(self, previous_end, steps_device, n_matched):
    """The last step counts, too, though fewer kernels of it are there."""
    plain_update(self, previous_end, steps_device, [1] * len(n_matched))


plain_update = event_parser.StepParser._update_steps_duration


def fill_stats(self):
    """What was launched in an operator inside of one of its own name counts once in both."""
    plain_fill(self)
    self.nested_ns = sum(inside(child, self.name) for child in self.children)


def inside(child, name):
    if child.name == name:
        return child.device_duration
    return sum(inside(one, name) for one in child.children)


plain_fill = node.OperatorNode.fill_stats


def aggregate_ops(operators, keys):
    """An operator can use tensor cores if any of its calls can, not if the first one can."""
    found = plain_aggregate(operators, keys)
    for operator in operators:
        for key, rows in zip(keys, found):
            row = rows[key(operator)]
            row.tc_eligible |= operator.tc_eligible
            row.device_duration -= operator.nested_ns
    return found


plain_aggregate = op_agg.aggregate_ops


class Share:
    """Tensor cores: of all kernels while the steps last, also if no operator asked for them."""
    kernels, begin, end = (), 0, 0


class Metrics(data.GPUMetricsParser):
    @classmethod
    def parse_events(cls, events, global_begin, global_end, begin, end):
        Share.kernels = [e for e in events if e.type == trace.EventTypes.KERNEL]
        Share.begin, Share.end = begin, end
        return data_metrics.parse_events(events, global_begin, global_end, begin, end)


data_metrics = data.GPUMetricsParser


def tensor_core_share(operators, gpu_ids):
    found = [None] * 64
    for gpu in gpu_ids:
        used = total = 0
        for kernel in Share.kernels:
            ns = min(kernel.ts + kernel.duration, Share.end) - max(kernel.ts, Share.begin)
            if kernel.device_id == gpu and ns > 0:
                total += ns
                used += ns if kernel.name in tensor_core.TC_Allowlist else 0
        found[gpu] = used / total if total else 0.0
    return found


def build_tree(self, tid2list, tid2zero_rt_list, staled_device_nodes, fwd_bwd_map):
    """Backward nodes stay on their thread: behind the last forward operator they would be lost."""
    return plain_tree(self, tid2list, tid2zero_rt_list, staled_device_nodes, {})


plain_tree = op_tree.OpTreeBuilder.build_tree


@contextlib.contextmanager
def with_all_backward():
    with mended(), mock.patch.object(op_tree.OpTreeBuilder, "build_tree", build_tree):
        yield


@contextlib.contextmanager
def mended():
    with contextlib.ExitStack() as stack:
        for where, name, what in (
                (tensor_core.TC_Allowlist, "allowlist", our_tensor_core_names()),
                (trace, "create_trace_event", create_trace_event),
                (event_parser.StepParser, "_parse_step", parse_step),
                (event_parser.StepParser, "_update_steps_duration", keep_last_steps),
                (event_parser, "create_operator_node", create_operator_node),
                (node.OperatorNode, "fill_stats", fill_stats),
                (op_agg, "aggregate_ops", aggregate_ops),
                (data, "GPUMetricsParser", Metrics),
                (tensor_cores_parser.TensorCoresParser, "_calculate_tc_ratio",
                 staticmethod(tensor_core_share))):
            stack.enter_context(mock.patch.object(where, name, what))
        yield
