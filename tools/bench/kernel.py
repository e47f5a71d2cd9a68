"""One compiled kernel, loaded from its cubin and launched on PyTorch's current stream."""

import ctypes
import json
import pathlib
import subprocess
import tempfile

import torch

DRIVER = None  # libcuda, once it is needed
# CUfunction_attribute: dynamic shared memory above 48 KB, clusters above 8 blocks.
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14


def check(result: int, what: str) -> None:
    if result != 0:
        raise RuntimeError(f"{what}: driver error {result}")


def compile_workload(warploom: str, loom: str, arch: str) -> tuple[dict, bytes]:
    """The program's one kernel as the tool's JSON describes it, and its cubin."""

    def emit(form: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "workload.loom"
            source.write_text(loom)
            command = [warploom, "compile", str(source), "--arch", arch, "--emit", form, "-o", "-"]
            done = subprocess.run(command, capture_output=True)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.decode())
            return done.stdout

    program = json.loads(emit("json"))
    if len(program["kernels"]) != 1:
        raise RuntimeError(f"{len(program['kernels'])} kernels where one is expected:\n{loom}")
    return program["kernels"][0], emit("cubin")


class Kernel:
    def __init__(self, described: dict, cubin: bytes):
        global DRIVER
        torch.cuda.init()
        torch.zeros(1, device="cuda")  # makes PyTorch's context current
        DRIVER = DRIVER or ctypes.CDLL("libcuda.so.1")
        self.described, self.cubin = described, cubin
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(DRIVER.cuModuleLoadData(ctypes.byref(module), cubin), "cannot load the kernel")
        name = described["name"].encode()
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, name), "no such kernel")
        shared = described["shared_bytes"]
        check(DRIVER.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, shared), "shared memory")
        if described.get("cluster", 1) > 8:
            check(DRIVER.cuFuncSetAttribute(self.function, NON_PORTABLE_CLUSTER, 1), "cluster")

    def launch(self, tensors: dict[str, torch.Tensor]) -> None:
        """`tensors` by the names of the program's buffers."""
        slots = []
        for argument in self.described["arguments"]:
            if "buffer" in argument:
                slots.append(ctypes.c_uint64(tensors[argument["buffer"]].data_ptr()))
            else:
                slots.append(ctypes.c_int64(argument["value"]))
        pointers = (ctypes.c_void_p * len(slots))(*[ctypes.addressof(slot) for slot in slots])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        grid, threads = self.described["grid"], self.described["block"]
        result = DRIVER.cuLaunchKernel(
            self.function, *grid, threads, 1, 1, self.described["shared_bytes"], stream, pointers, None
        )
        check(result, f"cannot launch {self.described['name']}")
