# SPDX-License-Identifier: Apache-2.0
"""entries.py plain|import|tensors|backward|spawn|spawn-late|fork|forkserver|ddp - ways to start

plain trains four steps. import and tensors use torch and train nothing, backward computes gradients without an
optimizer. spawn, fork and forkserver train in two child processes of multiprocessing (spawn-late:
the second once the first one is gone), ddp in a process group (under torchrun). Prints the last
loss of each, in order.
"""
import os
import sys

import torch


def train(steps=4, wrap=lambda model: model):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = wrap(torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(),
                                     torch.nn.Linear(5, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(4, 6)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def child(rank, path=None, may_train=None):
    if rank and may_train:
        may_train.wait()
    loss = train()
    with open("%s.%d" % (path, rank), "w") as out:
        print(loss, file=out)


def main():
    how = sys.argv[1] if len(sys.argv) > 1 else "plain"
    if how == "plain":
        print(train())
    elif how == "import":
        print(torch.__version__ != "")
    elif how == "tensors":
        with torch.no_grad():
            print(torch.nn.Linear(4, 4)(torch.ones(2, 4)).sum().shape)
    elif how == "backward":
        weight = torch.ones(3, requires_grad=True)
        for _ in range(4):
            (weight * 2).sum().backward()
        print(weight.grad.sum().item())
    elif how in ("spawn", "spawn-late", "fork", "forkserver"):
        path = os.path.join(os.environ["TMP"], "child")
        context = torch.multiprocessing.get_context(how.split("-")[0])
        may_train = context.Event() if how == "spawn-late" else None
        children = [context.Process(target=child, args=(rank, path, may_train)) for rank in range(2)]
        for process in children:
            process.start()
        for process in children:
            process.join()
            if may_train:
                may_train.set()
        print(*[process.exitcode for process in children])
        for rank in range(2):
            print(open("%s.%d" % (path, rank)).read().strip())
    elif how == "ddp":
        torch.distributed.init_process_group("gloo")
        loss = train(wrap=torch.nn.parallel.DistributedDataParallel)
        gathered = [torch.zeros(1) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(gathered, torch.tensor([loss]))
        if torch.distributed.get_rank() == 0:
            print(*[value.item() for value in gathered])
        torch.distributed.barrier()
        # gloo of torch 2.13 aborts now and then when it is taken down; that is not the subject.
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
