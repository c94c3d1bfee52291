# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: two ranks with the same work."""
# expect: healthy
# run: torchrun 2
from parts import Net, batches, join, learn, leave, parallel

join()
model, optimizer = parallel(Net(width=256))
for x, y in batches(1024):
    learn(model, optimizer, x, y)
leave()
