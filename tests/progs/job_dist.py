#!/usr/bin/env python3
"""job_dist.py - distributed trainings of a few steps on gloo, which keep books of their collectives

usage: job_dist.py MODE [--steps N] [--slow]        under torchrun, mpirun, Slurm's variables ...

MODE: ddp (DDP, a group of two, messages), mesh (DDP over dp, all-reduces over tp), fsdp
(fully_shard), pipe (a pipeline with a stage per rank), spawn (ddp by mp.spawn, two ranks), ring
(messages to the next rank). Each rank prints one line with its loss.
"""

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import job_book as book  # noqa: E402


def make_model():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))


def data():
    return torch.full((4, 32), (book.step % 5) / 5 + dist.get_rank() / 10)


def ddp(args):
    rank = dist.get_rank()
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    size = book.n_bytes(list(model.parameters()))
    pair = dist.new_group([0, 1])
    for book.step in range(args.steps):
        optimizer.zero_grad()
        loss = model(data()).square().mean()
        loss.backward()
        book.add("all_reduce", dist.group.WORLD, size)
        shared = loss.detach().reshape(1)
        if rank < 2:
            dist.all_reduce(shared, group=pair)
            dist.all_gather([torch.zeros(3), torch.zeros(3)], torch.ones(3), group=pair)
        # Crosswise: who sends first with one tag receives first with the other.
        if rank == 0:
            work = dist.isend(torch.ones(6), 1, tag=1)
            dist.recv(torch.ones(5), 1, tag=2)
            work.wait()
        if rank == 1:
            work = dist.isend(torch.ones(5), 0, tag=2)
            dist.recv(torch.ones(6), 0, tag=1)
            work.wait()
        dist.broadcast(shared, 0)
        optimizer.step()
    return loss.item()


def mesh(args):
    from torch.distributed.device_mesh import init_device_mesh

    both = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("dp", "tp"))
    model = DistributedDataParallel(make_model(), device_mesh=both["dp"])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    size = book.n_bytes(list(model.parameters()))
    for book.step in range(args.steps):
        optimizer.zero_grad()
        out = model(data())
        for _ in range(4):
            dist.all_reduce(torch.ones(2048), group=both["tp"].get_group())
        loss = out.square().mean()
        loss.backward()
        book.add("all_reduce", both["dp"].get_group(), size)
        dist.barrier()
        optimizer.step()
    return loss.item()


def fsdp(args):
    from torch.distributed.fsdp import fully_shard

    model = make_model()
    for layer in (model[0], model[2]):
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for book.step in range(args.steps):
        optimizer.zero_grad()
        loss = model(data()).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


def pipe(args):
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    rank, n = dist.get_rank(), dist.get_world_size()
    part = nn.Linear(32, 32)
    stage = PipelineStage(part, rank, n, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.SGD(part.parameters(), 0.1)
    x, losses = torch.ones(8, 32), []
    for book.step in range(args.steps):
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        elif rank == n - 1:
            schedule.step(target=x, losses=losses)
        else:
            schedule.step()
        optimizer.step()
    return losses[-1].item() if losses else float(part.weight.detach().sum())


def ring(args):
    rank, n = dist.get_rank(), dist.get_world_size()
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    for book.step in range(args.steps):
        optimizer.zero_grad()
        weight.sum().backward()
        for _ in range(4):
            work = dist.isend(torch.ones(1000), (rank + 1) % n)
            dist.recv(torch.ones(1000), (rank - 1) % n)
            work.wait()
        optimizer.step()
    return weight.sum().item()


MODES = {"ddp": ddp, "mesh": mesh, "fsdp": fsdp, "pipe": pipe, "ring": ring}


def train(args):
    torch.manual_seed(0)
    book.start()
    loss = MODES[args.mode](args)
    # One call: other ranks write to the same place.
    os.write(1, b"rank %d loss %.8f\n" % (dist.get_rank(), loss))
    book.end()
    # gloo's teardown aborts now and then, with nobody looking on: the ranks leave without it.
    os._exit(0)


def spawned(rank, args, store):
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    args.mode = "ddp"
    train(args)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=[*MODES, "spawn"])
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.mode == "spawn":
        torch.multiprocessing.spawn(spawned, (args, os.environ["STORE"]), nprocs=2)
        return
    # Launchers that are not torch's.
    for ours, theirs in (("RANK", ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID")),
                         ("WORLD_SIZE", ("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"))):
        for name in theirs:
            if ours not in os.environ and name in os.environ:
                os.environ[ours] = os.environ[name]
    dist.init_process_group("gloo")
    train(args)


if __name__ == "__main__":
    main()
