#!/usr/bin/env python3
"""operator_stacks.py - operators called from all sorts of functions, and where each was called

usage: operator_stacks.py LOG

Calls aten::neg from 400 places, from two threads, each with the stack that sys._getframe shows as a
line of JSON in LOG: [thread, [[function, file, line], ..]], innermost first. Then a forward pass
whose backward pass is started elsewhere.
"""
import contextlib
import functools
import json
import random
import sys
import threading

import torch

TENSOR = torch.ones(3)


class Log:
    def __init__(self):
        self.of_thread = threading.local()
        self.all = []

    def note(self):
        """True. The stack of who calls this."""
        frame, stack = sys._getframe(1), []
        while frame:
            code = frame.f_code
            stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename,
                          frame.f_lineno])
            frame = frame.f_back
        self.of_thread.list.append(stack)
        return True


LOG = Log()
DEEPER = []


def one_of(function):
    DEEPER.append(function)
    return function


def call(depth, dice):
    if depth == 0:
        return LOG.note() and torch.neg(TENSOR)
    return dice.choice(DEEPER)(depth - 1, dice)


@one_of
def plain(depth, dice):
    return call(depth, dice)


@one_of
def generator(depth, dice):
    def make():
        yield call(depth, dice)
    return next(make())


@one_of
def comprehension(depth, dice):
    return [call(depth, dice) for _ in range(1)]


@one_of
def from_c(depth, dice):
    return list(map(functools.partial(call, dice=dice), [depth]))


class Method:
    def __init__(self, depth, dice):
        self.result = call(depth, dice)

    def __call__(self, depth, dice):
        return call(depth, dice)

    @property
    def value(self):
        return call(*self.arguments)


@one_of
def constructor(depth, dice):
    return Method(depth, dice).result


@one_of
def attribute(depth, dice):
    method = Method.__new__(Method)
    method.arguments = depth, dice
    return method.value


@one_of
def managed(depth, dice):
    with contextlib.suppress(ZeroDivisionError), torch.no_grad():
        return call(depth, dice)


DEEPER.append(lambda depth, dice: call(depth, dice))


@one_of
def operator_again(depth, dice):
    """Python called from inside of an operator."""
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            call(depth, dice)
            return x * 2
    return Function.apply(TENSOR.clone().requires_grad_())


def work(seed, stacks):
    LOG.of_thread.list = stacks
    dice = random.Random(seed)
    for _ in range(200):
        call(dice.randrange(12), dice)


def forward(weight):
    return (weight * weight).sum()  # the only MulBackward0


def backward():
    weight = torch.ones(4, requires_grad=True)
    forward(weight).backward()


def main():
    stacks = [[], []]
    thread = threading.Thread(target=work, args=(2, stacks[1]))
    thread.start()
    work(1, stacks[0])
    thread.join()
    backward()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for i, some in enumerate(stacks):
            for stack in some:
                print(json.dumps([i, stack]), file=file)


main()
