"""Row and elementwise kernels against the memory's copy rate and against torch.compile.

Every candidate is a CUDA graph of launches over rotating buffers (more than three times the L2), on
random bf16 data; medians of interleaved replays. Each kernel's results are first compared with
PyTorch in float64. Rates count each input read once and each output written once.

  python3 tools/bench/row_kernels.py [--warploom build/release/bin/warploom] [--only softmax,...]
                                     [--no-torch] [--json FILE] [--plot FILE.svg]

Exits 1 if a result is wrong. The bars that the table marks with '*' where they are missed: 0.98 of
torch.compile's speed, and of the copy rate 0.90 where 256 MB or more move, 0.80 at 16384x768.
"""

import argparse
import json
import math
import pathlib
import sys

import torch

from kernel import Kernel, compile_workload
from plot import write_plot
from timing import Candidate, measure
from workloads import Workload, all_workloads

# A stored bf16 result may be off by half a unit in the last place (2^-9), an f32 one by rounding of
# its f32 inputs and of the exponentials behind it.
TOLERANCE = {"bf16": 2.0**-8, "f32": 2.0**-18}
CHECKED_ROWS = 512


def bytes_of(tensors: list[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class BufferSets:
    """Arguments and results, enough of them to pass the L2 three times."""

    def __init__(self, work: Workload):
        self.work = work
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        first = (work.arguments_on("cuda"), work.results_on("cuda"))
        self.bytes = bytes_of(first[0]) + bytes_of(first[1])
        count = max(2, 3 * l2 // self.bytes + 1)
        more = [(work.arguments_on("cuda"), work.results_on("cuda")) for _ in range(count - 1)]
        self.sets = [first, *more]

    def named(self, index: int) -> dict[str, torch.Tensor]:
        arguments, results = self.sets[index]
        return dict(zip([*self.work.arguments, *self.work.results], [*arguments, *results]))


def worst_error(work: Workload, sets: BufferSets, kernel: Kernel) -> float:
    """Relative L2 error over sampled rows, as a share of what is allowed; infinite for a NaN."""
    arguments, results = sets.sets[0]
    for result in results:
        result.fill_(float("nan"))
    kernel.launch(sets.named(0))
    leading = work.shape[0] if len(work.shape) == 2 else 1
    rows = torch.randperm(leading)[:CHECKED_ROWS].cuda() if leading > 1 else torch.arange(1).cuda()
    sampled = [
        (argument[rows] if argument.shape[0] == work.shape[0] and argument.dim() == len(work.shape) else argument)
        for argument in arguments
    ]
    expected = work.function(*[argument.double() for argument in sampled])
    worst = 0.0
    for result, reference, dtype in zip(results, expected, work.results.values()):
        if not torch.isfinite(result).all():
            return math.inf
        error = (result[rows].double() - reference).norm() / reference.norm()
        worst = max(worst, error.item() / TOLERANCE[dtype])
    return worst


def copy_candidate(size: int = 1 << 30) -> tuple[Candidate, int]:
    """A copy of `size` bytes, and the bytes it moves."""
    source = torch.randint(0, 256, (size,), device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    return Candidate(lambda _: target.copy_(source), 1, 2 * size / 4e12), 2 * size


def benchmark(work: Workload, warploom: str, arch: str, with_torch: bool, rounds: int, copy) -> dict:
    kernel = Kernel(*compile_workload(warploom, work.loom(), arch))
    sets = BufferSets(work)
    share_of_error = worst_error(work, sets, kernel)
    expected = sets.bytes / 3e12
    candidates = {
        "copy": copy[0],
        "warploom": Candidate(lambda index: kernel.launch(sets.named(index)), len(sets.sets), expected),
    }
    if with_torch:
        torch._dynamo.reset()
        compiled = torch.compile(work.function, dynamic=False, mode="max-autotune-no-cudagraphs")
        candidates["torch.compile"] = Candidate(lambda index: compiled(*sets.sets[index][0]), len(sets.sets), expected)
    copy[0].seconds.clear()
    seconds = measure(candidates, rounds)
    copy_rate = copy[1] / seconds["copy"]
    return {
        "workload": work.name,
        "shape": list(work.shape),
        "bytes": sets.bytes,
        "error_share": share_of_error,
        "microseconds": {name: value * 1e6 for name, value in seconds.items() if name != "copy"},
        "copy_terabytes_per_second": copy_rate / 1e12,
        "share_of_copy": {
            name: sets.bytes / value / copy_rate for name, value in seconds.items() if name != "copy"
        },
    }


def missed_bars(row: dict) -> list[str]:
    missed, share = [], row["share_of_copy"]["warploom"]
    least = 0.9 if row["bytes"] >= 256e6 else 0.8 if row["shape"] == [16384, 768] else 0
    if share < least:
        missed.append(f"copy {share:.2f} < {least}")
    times = row["microseconds"]
    if "torch.compile" in times and times["torch.compile"] / times["warploom"] < 0.98:
        missed.append("torch.compile")
    return missed


def print_row(label: str, row: dict) -> None:
    times, shares = row["microseconds"], row["share_of_copy"]
    other = times.get("torch.compile")
    speed = f"{other:9.1f} {shares['torch.compile']:6.2f} {other / times['warploom']:7.2f}" if other else " " * 24
    missed = missed_bars(row)
    note = f"  * {', '.join(missed)}" if missed else ""
    wrong = "" if row["error_share"] <= 1 else f"  WRONG ({row['error_share']:.3g})"
    print(f"{label:28} {times['warploom']:9.1f} {shares['warploom']:6.2f} {speed}{note}{wrong}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warploom", default="build/release/bin/warploom")
    parser.add_argument("--only", default="", help="parts of labels, separated by commas")
    parser.add_argument("--no-torch", action="store_true", help="leave torch.compile out")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("row_kernels.py needs a GPU", file=sys.stderr)
        return 4
    parts = [part for part in options.only.split(",") if part]
    works = [work for work in all_workloads() if not parts or any(part in work.label for part in parts)]
    if not works:
        print(f"no workload matches '{options.only}'", file=sys.stderr)
        return 2
    torch.manual_seed(1)
    major, minor = torch.cuda.get_device_capability()
    arch = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
    copy = copy_candidate()
    print(f"{'':28} {'warploom':>9} {'share':>6} {'torch':>9} {'share':>6} {'speed':>7}")
    rows = []
    for work in works:
        row = benchmark(work, options.warploom, arch, not options.no_torch, options.rounds, copy)
        print_row(work.label, row)
        rows.append({"label": work.label, **row})
        torch.cuda.empty_cache()
    speeds = [
        math.log(row["microseconds"]["torch.compile"] / row["microseconds"]["warploom"])
        for row in rows
        if "torch.compile" in row["microseconds"]
    ]
    if speeds:
        print(f"geometric mean of the speed over torch.compile: {math.exp(sum(speeds) / len(speeds)):.3f}")
    print(f"copy: {min(row['copy_terabytes_per_second'] for row in rows):.2f} to "
          f"{max(row['copy_terabytes_per_second'] for row in rows):.2f} TB/s")
    if options.json:
        options.json.write_text(json.dumps({"gpu": torch.cuda.get_device_name(), "rows": rows}, indent=1) + "\n")
    if options.plot:
        shares = [(row["label"], row["share_of_copy"]) for row in rows]
        write_plot(options.plot, f"Share of the copy rate, {torch.cuda.get_device_name()}", shares)
    return 1 if any(row["error_share"] > 1 for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
