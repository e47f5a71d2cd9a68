"""The outside judge: warploom's layers against Hugging Face transformers.

For each layer of examples/ and each draw, the reference is the layer in float64 on data that bf16
represents exactly; the yardstick is the same layer in PyTorch's own bf16 on the same device. At
every value that both sides have, warploom's relative L2 and relative maximum error may be at most
1.25 times the yardstick's; and its mean signed error may not stand out of the noise, which finds what
a formula that is a little wrong adds to every element. Two runs on the same inputs must give the same bits. With --mutants
the check itself is checked: each planted fault must fail it.

  python3 tests/reference/judge.py --warploom build/release/bin/warploom [--small] [--draws 5]
                                   [--layers llama_decode,...] [--device auto|cuda|sim] [--mutants]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

import layers
import mutants

LIMIT = 1.25  # times PyTorch's own bf16 error
# A mean of errors without a bias stays within this many times its own standard error.
DEVIATIONS = 8
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def errors(actual: torch.Tensor, reference: torch.Tensor) -> tuple[float, float]:
    """Relative L2 and relative maximum error; infinite where a NaN stands on one side alone."""
    actual, reference = actual.double().flatten(), reference.double().flatten()
    difference = (actual - reference).abs()
    if not torch.isfinite(difference).all():
        return float("inf"), float("inf")
    return (
        (difference.norm() / reference.norm()).item(),
        (difference.max() / reference.abs().max()).item(),
    )


def bias(actual: torch.Tensor, reference: torch.Tensor) -> float:
    """Mean signed error, in units of the reference's root mean square."""
    difference = actual.double().flatten() - reference.double().flatten()
    return (difference.mean().abs() / reference.double().pow(2).mean().sqrt()).item()


class Warploom:
    """Runs one example by the command line, with taps."""

    def __init__(self, binary: str, device: str, folder: pathlib.Path):
        self.binary, self.device, self.folder = binary, device, folder

    def run(self, text: str, arguments: layers.Taps) -> layers.Taps:
        loom = self.folder / "layer.loom"
        inputs, outputs = self.folder / "inputs.safetensors", self.folder / "outputs.safetensors"
        loom.write_text(text)
        outputs.unlink(missing_ok=True)
        save_file({name: tensor.cpu().contiguous() for name, tensor in arguments.items()}, inputs)
        command = [self.binary, "run", str(loom), "--device", self.device, "--taps"]
        command += ["--inputs", str(inputs), "--outputs", str(outputs)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} exited {done.returncode}:\n{done.stderr}")
        return load_file(outputs)


def stored(arguments: layers.Taps, dtype: torch.dtype) -> layers.Taps:
    """Floating arguments in the storage type; the others as they are."""
    return {
        name: tensor.to(dtype) if tensor.is_floating_point() else tensor
        for name, tensor in arguments.items()
    }


def judge_draw(layer: layers.Layer, text: str, warploom: Warploom, device: str, mutate) -> list[dict]:
    """The points of one draw: name, errors of warploom and of PyTorch, verdict."""
    on_device = {name: tensor.to(device) for name, tensor in layer.arguments.items()}
    with layers.float64_norms():
        reference = layer.forward(layer.module.to(device), on_device)
    native_module = layers.copy_as(layer.module, torch.bfloat16)
    native = layer.forward(native_module, stored(on_device, torch.bfloat16))

    arguments = stored(layer.arguments, torch.bfloat16)
    text, arguments = mutate(text, arguments)
    actual = warploom.run(text, arguments)
    if mutate is mutants.unchanged:
        again = warploom.run(text, arguments)
        for name, tensor in actual.items():
            if not torch.equal(tensor.view(torch.uint8), again[name].view(torch.uint8)):
                raise RuntimeError(f"two runs differ at {name}")

    points = []
    for name, expected in reference.items():
        if name not in actual:
            continue
        same_shape = actual[name].to(device).reshape(expected.shape)
        ours = errors(same_shape, expected)
        theirs = errors(native[name], expected)
        limits = [LIMIT * error for error in theirs]
        noise = DEVIATIONS * theirs[0] / expected.numel() ** 0.5
        is_unbiased = bias(same_shape, expected) <= noise + LIMIT * bias(native[name], expected)
        points.append(
            {
                "value": name,
                "l2": ours[0],
                "max": ours[1],
                "torch_l2": theirs[0],
                "torch_max": theirs[1],
                "passed": ours[0] <= limits[0] and ours[1] <= limits[1] and is_unbiased,
            }
        )
    return points


def excess(point: dict) -> float:
    """The larger of the two errors, in units of PyTorch's."""
    tiny = 1e-30
    return max(
        point["l2"] / max(point["torch_l2"], tiny), point["max"] / max(point["torch_max"], tiny)
    )


def judge(name: str, options, warploom: Warploom, mutate=mutants.unchanged) -> dict[str, dict]:
    """The worst of all draws, by value."""
    text = (EXAMPLES / (name + ("_small" if options.small else "") + ".loom")).read_text()
    worst: dict[str, dict] = {}
    for draw in range(options.draws):
        layer = layers.BUILDERS[name](small=options.small, seed=options.seed + draw)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        for point in judge_draw(layer, text, warploom, device, mutate):
            seen = worst.setdefault(point["value"], point)
            passed = seen["passed"] and point["passed"]
            if excess(point) > excess(seen):
                seen = point
            worst[point["value"]] = {**seen, "passed": passed}
    if not worst:
        raise RuntimeError(f"{name}: no value is common to both sides")
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warploom", default="build/release/bin/warploom")
    parser.add_argument("--layers", default=",".join(layers.BUILDERS))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False

    report: dict = {"layers": {}, "mutants": {}}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        warploom = Warploom(options.warploom, options.device, pathlib.Path(folder))
        for name in options.layers.split(","):
            points = judge(name, options, warploom)
            report["layers"][name] = points
            for value, point in points.items():
                failed |= not point["passed"]
                print(
                    f"{name:14} {value:22} L2 {point['l2']:.2e} / {point['torch_l2']:.2e}"
                    f"   max {point['max']:.2e} / {point['torch_max']:.2e}"
                    f"   {'ok' if point['passed'] else 'FAILED'}",
                    flush=True,
                )
        if options.mutants:
            for mutant in mutants.ALL:
                if mutant.layer not in options.layers.split(","):
                    continue
                points = judge(mutant.layer, options, warploom, mutant.apply)
                whole = report["layers"][mutant.layer]
                caught = [
                    value
                    for value, point in points.items()
                    if not point["passed"] and whole[value]["passed"]
                ]
                report["mutants"][mutant.name] = {"layer": mutant.layer, "caught_at": caught}
                failed |= not caught
                print(f"mutant {mutant.name:28} {mutant.layer:14} caught at {', '.join(caught) or 'NOTHING'}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1))
    print("FAILED" if failed else "passed")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
