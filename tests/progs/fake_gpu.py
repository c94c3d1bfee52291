"""fake_gpu.py - runs a training script as if it had a GPU

usage: fake_gpu.py SCRIPT [ARGUMENT..]

Every operator that the script runs also launches work on the stand-in for CUDA
(tests/fakes), asynchronously; its stream does one piece after the other, each takes 5 microseconds.
An operator has FAKE_PIECES of them (1). Reading a value (.item(), .tolist(), a condition) copies
it and waits for the stream, as torch does on a GPU.
Results are the CPU's: nothing about them changes.
"""

import ctypes
import os
import runpy
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PIECES = int(os.environ.get("FAKE_PIECES", "1"))
READS = ("_local_scalar_dense", "equal", "nonzero")
VIEWS = ("view", "t", "transpose", "detach", "expand", "permute", "slice", "select", "unsqueeze")
KERNEL, MEMCPY = 0, 1
DEVICE_TO_HOST = 2


class Work(ctypes.Structure):
    """struct fake_work of tests/fakes/fake.h, as far as it is used here; the rest is zero."""

    _fields_ = [
        ("kind", ctypes.c_int), ("start_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64),
        ("device", ctypes.c_uint32), ("context", ctypes.c_uint32), ("stream", ctypes.c_uint32),
        ("name", ctypes.c_char_p), ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3), ("registers", ctypes.c_uint32 * 4),
        ("graph", ctypes.c_uint32), ("graph_node", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
        ("copy_kind", ctypes.c_uint8), ("from_kind", ctypes.c_uint8), ("to_kind", ctypes.c_uint8),
        ("is_async", ctypes.c_uint8), ("rest", ctypes.c_uint8 * 60),
    ]


class Call(ctypes.Structure):
    """struct fake_call"""

    _fields_ = [
        ("correlation", ctypes.c_uint32), ("start_ns", ctypes.c_uint64),
        ("end_ns", ctypes.c_uint64), ("work", ctypes.POINTER(Work)), ("n_work", ctypes.c_uint32),
        ("address", ctypes.c_uint64), ("returned", ctypes.c_int32), ("event", ctypes.c_uint32),
        ("stream", ctypes.c_uint32),
    ]


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Gpu(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
        self.runtime = ctypes.CDLL("libcudart.so.13")
        self.runtime.cudaLaunchKernel.argtypes = [
            ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.runtime.cudaMemcpyAsync.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
        self.runtime.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
        self.host = ctypes.create_string_buffer(64)
        self.block = ctypes.c_void_p()
        self.runtime.cudaMalloc(ctypes.byref(self.block), ctypes.c_size_t(64))
        self.entry = ctypes.cast(self.runtime.cudaFree, ctypes.c_void_p)

    def expect(self, work):
        """What the next call does on the device, when its stream comes to it."""
        self.driver.fake_gpu_next(ctypes.byref(Call(work=work, n_work=len(work))))

    def launch(self, name):
        text = b"void " + name.encode() + b"_kernel<float>(float*)"
        self.expect((Work * PIECES)(*[Work(
            kind=KERNEL, name=text, grid=(64, 1, 1), block=(256, 1, 1), registers=(32,))] * PIECES))
        self.runtime.cudaLaunchKernel(self.entry, Dim3(64, 1, 1), Dim3(256, 1, 1), None, 0, None)

    def read(self):
        self.expect((Work * 1)(Work(kind=MEMCPY, bytes=4, copy_kind=DEVICE_TO_HOST, from_kind=3,
                                    to_kind=1, is_async=1)))
        self.runtime.cudaMemcpyAsync(self.host, self.block, 4, DEVICE_TO_HOST, None)
        self.runtime.cudaStreamSynchronize(None)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")[1]
        if name in READS:
            self.read()
        elif name not in VIEWS:
            self.launch(name)
        return func(*args, **(kwargs or {}))


def main():
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    with Gpu():
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
