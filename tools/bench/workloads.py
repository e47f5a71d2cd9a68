"""The memory-bound layers of the row-kernel benchmark: each as .loom text and as a PyTorch function.

Shapes are [rows, columns] or, for rope, [batch, heads, length, head_dim]. Tensors are bf16 unless
said otherwise.
"""

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F

ROWS = [(32768, 4096), (16384, 768), (4096, 50257), (131072, 256), (1024, 131072)]
ROPE = [(8, 32, 4096, 64), (8, 32, 4096, 128)]
EPS = 1e-5


@dataclasses.dataclass
class Workload:
    name: str
    shape: tuple[int, ...]
    arguments: dict[str, tuple[int, ...]]  # name to shape, in order
    results: dict[str, str]  # name to dtype; each has the workload's shape
    body: str  # .loom, from the arguments to %name for each result
    function: Callable[..., tuple[torch.Tensor, ...]]  # on tensors of any floating dtype

    @property
    def label(self) -> str:
        return f"{self.name} {'x'.join(map(str, self.shape))}"

    def loom(self) -> str:
        def typed(dtype: str, shape: tuple[int, ...]) -> str:
            return f"{dtype}[{', '.join(map(str, shape))}]"

        arguments = ", ".join(f"%{name}: {typed('bf16', shape)}" for name, shape in self.arguments.items())
        types = ", ".join(typed(dtype, self.shape) for dtype in self.results.values())
        values = ", ".join(f"%{name}" for name in self.results)
        return f"graph @{self.name}({arguments}) -> ({types}) {{\n{self.body}\n  return {values}\n}}\n"

    def arguments_on(self, device: str) -> list[torch.Tensor]:
        return [torch.randn(shape, device=device, dtype=torch.bfloat16) for shape in self.arguments.values()]

    def results_on(self, device: str) -> list[torch.Tensor]:
        dtypes = {"bf16": torch.bfloat16, "f32": torch.float32}
        return [torch.empty(self.shape, device=device, dtype=dtypes[dtype]) for dtype in self.results.values()]


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def row_workloads(shape: tuple[int, int]) -> list[Workload]:
    columns = shape[1:]
    return [
        Workload(
            "layer_norm",
            shape,
            {"x": shape, "gain": columns, "bias": columns},
            {"y": "bf16"},
            f"  %y = layer_norm(%x, %gain, %bias) {{axis = -1, eps = {EPS}}}",
            lambda x, gain, bias: (F.layer_norm(x, columns, gain, bias, EPS),),
        ),
        Workload(
            "rms_norm",
            shape,
            {"x": shape, "gain": columns},
            {"y": "bf16"},
            f"  %y = rms_norm(%x, %gain) {{axis = -1, eps = {EPS}}}",
            lambda x, gain: (F.rms_norm(x, columns, gain, EPS),),
        ),
        Workload(
            "softmax",
            shape,
            {"x": shape},
            {"y": "bf16"},
            "  %y = softmax(%x) {axis = -1}",
            lambda x: (torch.softmax(x, -1),),
        ),
        Workload(
            "add_rms_norm",
            shape,
            {"x": shape, "residual": shape, "gain": columns},
            {"total": "bf16", "y": "bf16"},
            f"  %total = add(%x, %residual)\n  %y = rms_norm(%total, %gain) {{axis = -1, eps = {EPS}}}",
            lambda x, residual, gain: (x + residual, F.rms_norm(x + residual, columns, gain, EPS)),
        ),
        Workload(
            "bias_gelu",
            shape,
            {"x": shape, "bias": columns},
            {"y": "bf16"},
            "  %sum = add(%x, %bias)\n  %y = gelu(%sum)",
            lambda x, bias: (F.gelu(x + bias),),
        ),
        Workload(
            "swiglu",
            shape,
            {"gate": shape, "up": shape},
            {"y": "bf16"},
            "  %y = swiglu(%gate, %up)",
            lambda gate, up: (F.silu(gate) * up,),
        ),
        Workload(
            "log_softmax",
            shape,
            {"x": shape},
            {"y": "f32"},
            "  %wide = cast(%x) {to = f32}\n  %y = log_softmax(%wide) {axis = -1}",
            lambda x: (F.log_softmax(x if x.dtype == torch.float64 else x.float(), -1),),
        ),
    ]


def rope_workload(shape: tuple[int, int, int, int]) -> Workload:
    angles = shape[2:]
    return Workload(
        "rope",
        shape,
        {"x": shape, "cos": angles, "sin": angles},
        {"y": "bf16"},
        '  %y = rope(%x, %cos, %sin) {style = "half"}',
        lambda x, cos, sin: (x * cos + rotate_half(x) * sin,),
    )


def all_workloads() -> list[Workload]:
    return [work for shape in ROWS for work in row_workloads(shape)] + [rope_workload(shape) for shape in ROPE]
