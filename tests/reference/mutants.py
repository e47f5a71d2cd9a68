"""Faults planted in a layer's text or inputs; each must fail the judge, or the judge is worth nothing."""

import dataclasses
import re
from typing import Callable

import torch

from layers import Taps

Change = Callable[[str, Taps], tuple[str, Taps]]


def unchanged(text: str, arguments: Taps) -> tuple[str, Taps]:
    return text, arguments


def edit(pattern: str, replacement) -> Change:
    """Replaces every match in the text; a pattern that matches nothing is a fault of the mutant."""

    def change(text: str, arguments: Taps) -> tuple[str, Taps]:
        edited, count = re.subn(pattern, replacement, text)
        if count == 0:
            raise RuntimeError(f"the mutant's pattern {pattern!r} matches nothing")
        return edited, arguments

    return change


def move(name: str, function: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    def change(text: str, arguments: Taps) -> tuple[str, Taps]:
        return text, {**arguments, name: function(arguments[name])}

    return change


def swap_heads(weight: torch.Tensor) -> torch.Tensor:
    head = 64 if weight.shape[0] >= 768 else 16
    swapped = weight.clone()
    swapped[:head], swapped[head : 2 * head] = weight[head : 2 * head], weight[:head]
    return swapped


def skip_last_tile(text: str, arguments: Taps) -> tuple[str, Taps]:
    """The keys behind the last whole tile of 64 (or of 8, at reduced size) are not seen."""
    length = int(re.search(r"hidden: bf16\[\d+, (\d+),", text).group(1))
    seen = length // 64 * 64 or length // 8 * 8
    mask = (torch.arange(length) < seen)[None, None, None]
    text = text.replace("%hidden: bf16[1,", f"%seen: i1[1, 1, 1, {length}],\n %hidden: bf16[1,", 1)
    text = text.replace("attention(%q, %k, %v)", "attention(%q, %k, %v, mask = %seen)")
    return text, {**arguments, "seen": mask}


@dataclasses.dataclass
class Mutant:
    name: str
    layer: str
    apply: Change


ALL = [
    Mutant("newest key dropped", "llama_decode", edit(r"value = 1}", "value = 0}")),
    Mutant("causal mask off by one", "llama_prefill", edit(r"value = (512|13)}", lambda found: f"value = {int(found[1]) - 1}}}")),
    Mutant("causal mask missing", "gpt2_prefill", edit(r" \{causal = true\}", "")),
    Mutant("scores ignored", "bert_encoder",
           edit(r"mask = %mask\)", "mask = %mask) {scale = 0.0}")),
    Mutant("two heads swapped", "llama_decode", move("wq", swap_heads)),
    Mutant("K written one position late", "gpt2_decode",
           edit(r"( *)(%keys = kv_update\(%k_cache, %k, )%position",
                r"\1%one = constant {value = 1} : i32[]\n\1%late = add(%position, %one)\n"
                r"\1\2%late")),
    Mutant("eps missing", "llama_decode", edit(r"eps = 1.0e-5", "eps = 0.0")),
    Mutant("rope sign flipped", "llama_decode", move("sin", lambda sin: -sin)),
    Mutant("GELU variant swapped", "gpt2_prefill", edit(r"gelu_tanh\(", "gelu(")),
    Mutant("last partial tile skipped", "vit_block", skip_last_tile),
]
