#!/usr/bin/env python3
"""world_composer.py [TRACE] - a Composer Trainer: ten batches, an algorithm and a callback that counts

Prints the losses, and as its last line in JSON how often a batch Composer itself called the
callback for each event, and the algorithm. Composer's imports of torchvision, which it does not use
for this, and of the client of a service are given empty modules. TRACE: its own profiler is on, and
writes there the name of each event that it is told the duration of, as they end.
"""
import importlib.machinery
import json
import sys
import types
import warnings

warnings.filterwarnings("ignore")


class Empty:
    """Finds torchvision and mcli, with whatever is looked for in them."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torchvision", "mcli"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        def attribute(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})
        module = types.ModuleType(spec.name)
        module.__getattr__ = attribute
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Empty())

import torch
from composer import Algorithm, Callback, ComposerModel, Event, Trainer
from composer.profiler import Profiler, ProfilerAction, TraceHandler
from torch.utils.data import DataLoader, TensorDataset

BATCHES = 10
counts = {}


def count(what):
    counts[what] = counts.get(what, 0) + 1


class Regression(ComposerModel):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                                       torch.nn.Linear(32, 1))

    def forward(self, batch):
        return self.net(batch[0])

    def loss(self, outputs, batch):
        return torch.nn.functional.mse_loss(outputs, batch[1])


class Counter(Callback):
    def run_event(self, event, state, logger):
        count("event/" + event.value)
        super().run_event(event, state, logger)

    def batch_end(self, state, logger):
        count("callback/Counter/batch_end")
        print("loss %.8f" % state.loss.item(), flush=True)


class Shrink(Algorithm):
    def match(self, event, state):
        return event == Event.AFTER_LOSS

    def apply(self, event, state, logger):
        count("algorithm/Shrink")


class Durations(TraceHandler):
    """Of the events, as Composer's own profiler is told of them."""

    def __init__(self):
        self.ended = []

    def process_duration_event(self, name, categories, is_start, timestamp, wall_clock_time_ns):
        if not is_start and name.startswith("event/"):
            self.ended.append(name + "\n")


def main():
    torch.manual_seed(1)
    x = torch.randn(8 * BATCHES, 16)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    model = Regression()
    durations = Durations()
    profiler = None
    if len(sys.argv) > 1:
        profiler = Profiler(lambda state: ProfilerAction.ACTIVE, [durations],
                            sys_prof_cpu=False, torch_prof_profile_memory=False,
                            torch_prof_with_flops=False)
    trainer = Trainer(model=model, train_dataloader=DataLoader(data, 8), max_duration="1ep",
                      optimizers=torch.optim.Adam(model.parameters(), lr=1e-2), device="cpu",
                      callbacks=Counter(), algorithms=Shrink(), progress_bar=False,
                      log_to_console=False, auto_log_hparams=False, profiler=profiler)
    trainer.fit()
    trainer.close()
    if profiler:
        with open(sys.argv[1], "w") as out:
            out.writelines(durations.ended)
    print(json.dumps({what: n // BATCHES for what, n in sorted(counts.items()) if n >= BATCHES}))


if __name__ == "__main__":
    main()
