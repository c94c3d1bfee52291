# SPDX-License-Identifier: Apache-2.0
"""blocks.py - tensor memory of every kind, inside one window; prints what it made

A step, then: an ordinary block, one in shared memory, a file mapped, an allocation that
must fail, two threads that allocate at once; then the next step's end.
"""
import os
import sys
import threading

import torch

SIZE = 12344 // 4


def main():
    folder = sys.argv[1]
    torch.set_num_threads(1)
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step():
        optimizer.zero_grad()
        (weight * 2).sum().backward()
        optimizer.step()

    path = os.path.join(folder, "tensor.pt")
    torch.save(torch.ones(SIZE), path)
    for _ in range(2):
        step()

    plain = torch.empty(SIZE)
    print("plain", plain.data_ptr(), plain.nbytes)
    del plain
    shared = torch.ones(SIZE).share_memory_()
    print("shared", shared.data_ptr(), shared.nbytes)
    del shared
    mapped = torch.load(path, mmap=True)
    print("mapped", mapped.untyped_storage().nbytes())
    del mapped
    try:
        torch.empty(1 << 60)
    except RuntimeError as error:
        print("failed", "memory" in str(error))

    def work():
        for _ in range(500):
            torch.empty(1000)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    step()
    step()


main()
