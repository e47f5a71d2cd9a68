"""Times of GPU work as CUDA-graph replays, several candidates interleaved in one run."""

import statistics
import time
from collections.abc import Callable

import torch

WARM_UP_SECONDS = 0.5
REPLAY_SECONDS = 1e-3  # at least, so that starting a replay is small against it


class Candidate:
    """`work(set)` launches once on buffer set number `set`; what it returns is kept alive."""

    def __init__(self, work: Callable[[int], object], sets: int, expected_seconds: float):
        self.launches = sets * max(1, round(REPLAY_SECONDS / (sets * expected_seconds)))
        for index in range(sets):
            work(index)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            # Results of one round live together, so that no two launches of it share memory.
            for _ in range(self.launches // sets):
                kept = [work(index) for index in range(sets)]
                del kept
        self.seconds: list[float] = []

    def time_once(self) -> None:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        self.seconds.append(start.elapsed_time(end) * 1e-3 / self.launches)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def measure(candidates: dict[str, Candidate], rounds: int) -> dict[str, float]:
    """Median seconds per launch of each, after the clocks are warm."""
    began = time.monotonic()
    while time.monotonic() - began < WARM_UP_SECONDS:
        for candidate in candidates.values():
            candidate.graph.replay()
        torch.cuda.synchronize()
    for index in range(rounds):
        order = list(candidates.values())
        for candidate in order if index % 2 == 0 else reversed(order):
            candidate.time_once()
    return {name: candidate.median for name, candidate in candidates.items()}
