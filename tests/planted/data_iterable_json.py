# SPDX-License-Identifier: Apache-2.0
"""An IterableDataset that parses lines of JSON, as many read their text."""
# expect: cause=data-loading where=parse|data_iterable_json
import json

import torch
from parts import PLANTED, STEPS, learn, parts

LINES = [json.dumps({"x": [i * j % 17 / 17 for j in range(256)], "y": i % 10,
                     "more": ["text of a page"] * 40}) for i in range(64)]


def parse(line):
    record = json.loads(line)
    return torch.tensor(record["x"]), record["y"]


class Lines(torch.utils.data.IterableDataset):
    def __iter__(self):
        ready = [parse(line) for line in LINES]
        for at in range(STEPS * 64):
            yield parse(LINES[at % 64]) if PLANTED else ready[at % 64]


model, optimizer = parts()
for x, y in torch.utils.data.DataLoader(Lines(), batch_size=64):
    learn(model, optimizer, x, y)
