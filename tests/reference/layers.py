"""The layers of examples/ as Hugging Face transformers builds them, with random weights.

Each layer is a Layer: a module, its inputs, and the names that warploom's example gives to its
arguments and values. Weights are drawn from the configuration's shapes, rounded to bf16, and the
last projection of each branch is scaled so that the branch is as large as the residual it joins:
an error inside a branch then shows in the result.
"""

import copy
import dataclasses
from typing import Callable

import torch
from transformers import BertConfig, GPT2Config, LlamaConfig, ViTConfig
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert.modeling_bert import BertLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding
from transformers.models.vit.modeling_vit import ViTLayer

Taps = dict[str, torch.Tensor]


@dataclasses.dataclass
class Layer:
    """One layer with one draw of weights and inputs, all representable in bf16."""

    module: torch.nn.Module  # float64
    arguments: Taps  # by argument name of the example, float64 or integers
    # Runs a module of this layer's class on arguments of its dtype; gives taps by value name.
    forward: Callable[[torch.nn.Module, Taps], Taps]


def rounded(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.bfloat16).to(torch.float64)


def draw_weights(module: torch.nn.Module, generator: torch.Generator) -> None:
    """Linear weights of variance 1 / inputs, gains near 1, biases near 0."""
    for name, parameter in module.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        if parameter.dim() == 2:
            is_conv1d = type(module.get_submodule(name.rpartition(".")[0])).__name__ == "Conv1D"
            inputs = parameter.shape[0] if is_conv1d else parameter.shape[1]
            noise = noise / inputs**0.5
        elif name.endswith("weight"):
            noise = 1 + 0.1 * noise
        else:
            noise = 0.1 * noise
        parameter.data = rounded(noise)


def scale_branch(projection: torch.nn.Module, branch: torch.Tensor, residual: torch.Tensor) -> None:
    """Scales the projection that gave `branch` until it is as large as `residual`."""
    factor = (residual.pow(2).mean() / branch.pow(2).mean()).sqrt()
    for parameter in projection.parameters():
        parameter.data = rounded(parameter.data * factor)


class float64_norms:
    """Keeps float64 inside LlamaRMSNorm, which casts to float32 by name."""

    def __enter__(self):
        from transformers.models.llama import modeling_llama

        self.owner = modeling_llama.LlamaRMSNorm
        self.original = self.owner.forward
        original = self.original

        def forward(norm, x):
            if x.dtype != torch.float64:
                return original(norm, x)
            variance = x.pow(2).mean(-1, keepdim=True)
            return norm.weight * (x * torch.rsqrt(variance + norm.variance_epsilon))

        self.owner.forward = forward

    def __exit__(self, *_):
        self.owner.forward = self.original


class Cache:
    """A cache of fixed length whose first `position` entries are filled."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, position: int):
        self.keys, self.values, self.position = keys.clone(), values.clone(), position

    def update(self, keys, values, *_, **__):
        end = self.position + keys.shape[2]
        self.keys[:, :, self.position : end] = keys
        self.values[:, :, self.position : end] = values
        return self.keys[:, :, :end], self.values[:, :, :end]


class Recorder:
    """Records outputs and inputs of submodules, and what attention reads."""

    def __init__(self, module: torch.nn.Module):
        self.module, self.taps, self.handles = module, {}, []

    def output(self, submodule: str, name: str) -> None:
        def hook(_, __, output):
            self.taps[name] = output

        self.handles.append(self.module.get_submodule(submodule).register_forward_hook(hook))

    def input(self, submodule: str, name: str) -> None:
        def hook(_, inputs):
            self.taps[name] = inputs[0]

        self.handles.append(self.module.get_submodule(submodule).register_forward_pre_hook(hook))

    def attention(self, query: str, key: str = "", value: str = "") -> None:
        def tapped(module, q, k, v, mask, **options):
            for name, tensor in ((query, q), (key, k), (value, v)):
                if name:
                    self.taps[name] = tensor
            return sdpa_attention_forward(module, q, k, v, mask, **options)

        ALL_ATTENTION_FUNCTIONS.register("tapped", tapped)

    def run(self, *arguments, **options) -> torch.Tensor:
        with torch.no_grad():
            result = self.module(*arguments, **options)
        for handle in self.handles:
            handle.remove()
        return result[0] if isinstance(result, tuple) else result


def copy_as(module: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    return copy.deepcopy(module).to(dtype)


def draw(generator: torch.Generator, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return rounded(torch.randn(shape, generator=generator, dtype=torch.float64) * scale)


# Hidden states of this size make a norm's eps of 1e-5 as large as the variance beside it, so that
# a missing eps shows. Every second draw uses it.
SMALL_HIDDEN = 2.0**-8


def hidden_scale(seed: int) -> float:
    return SMALL_HIDDEN if seed % 2 == 0 else 1.0


def calibrate(layer: Layer, branches: list[tuple[str, str, str]]) -> Layer:
    """Scales each branch's projection: (submodule, tap of the branch, tap or argument it joins)."""
    for projection, branch, residual in branches:
        with float64_norms():
            taps = layer.forward(layer.module, layer.arguments)
        joined = taps[residual] if residual in taps else layer.arguments[residual]
        scale_branch(layer.module.get_submodule(projection), taps[branch], joined)
    return layer


def named_weights(module: torch.nn.Module, names: dict[str, str]) -> Taps:
    return {argument: module.get_parameter(path).data for path, argument in names.items()}


def tap(taps: Taps, arguments: Taps, **more: torch.Tensor) -> Taps:
    """Recorded values, without those that are arguments."""
    return {name: t for name, t in {**taps, **more}.items() if name not in arguments}


def llama(small: bool, seed: int, prefill: bool) -> Layer:
    length, capacity = ((13 if prefill else 1), 48) if small else ((512 if prefill else 1), 1024)
    config = LlamaConfig(
        hidden_size=64 if small else 2048,
        num_attention_heads=4 if small else 32,
        num_key_value_heads=2 if small else 8,
        head_dim=16 if small else 64,
        intermediate_size=96 if small else 8192,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        attn_implementation="tapped",
    )
    config._attn_implementation = "tapped"
    generator = torch.Generator().manual_seed(seed)
    module = LlamaDecoderLayer(config, 0).double().eval()
    draw_weights(module, generator)
    position = 0 if prefill else capacity - 1
    hidden = draw(generator, 1, length, config.hidden_size, scale=hidden_scale(seed))
    positions = torch.arange(position, position + length)[None]
    cos, sin = LlamaRotaryEmbedding(config)(torch.zeros(1, dtype=torch.float32), positions)
    cache = (1, config.num_key_value_heads, capacity, config.head_dim)
    arguments = {
        "hidden": hidden,
        "cos": rounded(cos)[:, None],
        "sin": rounded(sin)[:, None],
        "position": torch.tensor(position, dtype=torch.int32),
        "k_cache": draw(generator, *cache),
        "v_cache": draw(generator, *cache),
    }
    weights = {
        "input_layernorm.weight": "input_gain",
        "self_attn.q_proj.weight": "wq",
        "self_attn.k_proj.weight": "wk",
        "self_attn.v_proj.weight": "wv",
        "self_attn.o_proj.weight": "wo",
        "post_attention_layernorm.weight": "post_gain",
        "mlp.gate_proj.weight": "w_gate",
        "mlp.up_proj.weight": "w_up",
        "mlp.down_proj.weight": "w_down",
    }

    def forward(module: torch.nn.Module, values: Taps) -> Taps:
        recorder = Recorder(module)
        recorder.output("input_layernorm", "normed")
        recorder.output("post_attention_layernorm", "post_normed")
        recorder.input("post_attention_layernorm", "residual")
        recorder.output("self_attn.q_proj", "q_projected")
        recorder.input("self_attn.o_proj", "attended_flat")
        recorder.output("self_attn.o_proj", "attended_out")
        recorder.output("mlp.gate_proj", "gate")
        recorder.output("mlp.up_proj", "up")
        recorder.input("mlp.down_proj", "activated")
        recorder.output("mlp.down_proj", "mlp_out")
        recorder.attention("q")
        cached = Cache(values["k_cache"], values["v_cache"], int(values["position"]))
        output = recorder.run(
            values["hidden"],
            past_key_values=cached,
            position_embeddings=(values["cos"][:, 0], values["sin"][:, 0]),
        )
        taps = tap(recorder.taps, values, output=output, attended=recorder.taps["attended_flat"])
        return {**taps, "k_cache": cached.keys, "v_cache": cached.values}

    layer = Layer(module, arguments, forward)
    calibrate(layer, [("self_attn.o_proj", "attended_out", "hidden"),
                      ("mlp.down_proj", "mlp_out", "residual")])
    arguments.update(named_weights(module, weights))
    return layer


def gpt2(small: bool, seed: int, prefill: bool) -> Layer:
    length, capacity = ((17 if prefill else 1), 48) if small else ((512 if prefill else 1), 1024)
    config = GPT2Config(
        n_embd=64 if small else 768,
        n_head=4 if small else 12,
        attn_implementation="tapped",
    )
    config._attn_implementation = "tapped"
    generator = torch.Generator().manual_seed(seed)
    module = GPT2Block(config, 0).double().eval()
    draw_weights(module, generator)
    position = 0 if prefill else capacity - 1
    cache = (1, config.n_head, capacity, config.n_embd // config.n_head)
    arguments = {
        "hidden": draw(generator, 1, length, config.n_embd, scale=hidden_scale(seed)),
        "position": torch.tensor(position, dtype=torch.int32),
        "k_cache": draw(generator, *cache),
        "v_cache": draw(generator, *cache),
    }
    weights = {
        "ln_1.weight": "ln1_gain", "ln_1.bias": "ln1_bias",
        "attn.c_attn.weight": "w_qkv", "attn.c_attn.bias": "b_qkv",
        "attn.c_proj.weight": "w_proj", "attn.c_proj.bias": "b_proj",
        "ln_2.weight": "ln2_gain", "ln_2.bias": "ln2_bias",
        "mlp.c_fc.weight": "w_fc", "mlp.c_fc.bias": "b_fc",
        "mlp.c_proj.weight": "w_out", "mlp.c_proj.bias": "b_out",
    }

    def forward(module: torch.nn.Module, values: Taps) -> Taps:
        recorder = Recorder(module)
        recorder.output("ln_1", "normed")
        recorder.output("attn.c_attn", "qkv")
        recorder.input("attn.c_proj", "attended_flat")
        recorder.output("attn.c_proj", "attended_out")
        recorder.input("ln_2", "residual")
        recorder.output("ln_2", "post_normed")
        recorder.output("mlp.c_fc", "fc")
        recorder.input("mlp.c_proj", "activated")
        recorder.output("mlp.c_proj", "mlp_out")
        recorder.attention("q")
        cached = Cache(values["k_cache"], values["v_cache"], int(values["position"]))
        output = recorder.run(values["hidden"], past_key_values=cached)
        taps = tap(recorder.taps, values, output=output, attended=recorder.taps["attended_flat"])
        return {**taps, "k_cache": cached.keys, "v_cache": cached.values}

    layer = Layer(module, arguments, forward)
    calibrate(layer, [("attn.c_proj", "attended_out", "hidden"),
                      ("mlp.c_proj", "mlp_out", "residual")])
    arguments.update(named_weights(module, weights))
    return layer


def encoder_taps(recorder: Recorder, q: str, k: str, v: str, o: str) -> None:
    for name, path in (("q_flat", q), ("k_flat", k), ("v_flat", v)):
        recorder.output(path, name)
    recorder.input(o, "attended_flat")
    recorder.output(o, "attended_out")
    recorder.attention("q", "k", "v")


def bert(small: bool, seed: int) -> Layer:
    batch, length = (2, 24) if small else (8, 128)
    config = BertConfig(
        hidden_size=64 if small else 768,
        num_attention_heads=4 if small else 12,
        intermediate_size=128 if small else 3072,
        attn_implementation="tapped",
    )
    config._attn_implementation = "tapped"
    generator = torch.Generator().manual_seed(seed)
    module = BertLayer(config).double().eval()
    draw_weights(module, generator)
    valid = torch.randint(1, length + 1, (batch,), generator=generator)
    arguments = {
        "hidden": draw(generator, batch, length, config.hidden_size, scale=hidden_scale(seed)),
        "mask": (torch.arange(length)[None] < valid[:, None])[:, None, None],
    }
    attention, output = "attention.self.", "attention.output."
    weights = {}
    for name, short in (("query", "q"), ("key", "k"), ("value", "v")):
        weights[f"{attention}{name}.weight"] = f"w{short}"
        weights[f"{attention}{name}.bias"] = f"b{short}"
    weights |= {
        output + "dense.weight": "wo", output + "dense.bias": "bo",
        output + "LayerNorm.weight": "ln1_gain", output + "LayerNorm.bias": "ln1_bias",
        "intermediate.dense.weight": "w_fc", "intermediate.dense.bias": "b_fc",
        "output.dense.weight": "w_out", "output.dense.bias": "b_out",
        "output.LayerNorm.weight": "ln2_gain", "output.LayerNorm.bias": "ln2_bias",
    }

    def forward(module: torch.nn.Module, values: Taps) -> Taps:
        recorder = Recorder(module)
        encoder_taps(recorder, attention + "query", attention + "key", attention + "value",
                     output + "dense")
        recorder.input(output + "LayerNorm", "attended_sum")
        recorder.output(output + "LayerNorm", "normed")
        recorder.output("intermediate.dense", "fc")
        recorder.input("output.dense", "activated")
        recorder.output("output.dense", "mlp_out")
        recorder.input("output.LayerNorm", "mlp_sum")
        mask = values["mask"].expand(batch, 1, length, length)
        result = recorder.run(values["hidden"], mask)
        return tap(recorder.taps, values, output=result)

    layer = Layer(module, arguments, forward)
    calibrate(layer, [(output + "dense", "attended_out", "hidden"),
                      ("output.dense", "mlp_out", "normed")])
    arguments.update(named_weights(module, weights))
    return layer


def vit(small: bool, seed: int) -> Layer:
    length = 13 if small else 197
    config = ViTConfig(
        hidden_size=64 if small else 768,
        num_attention_heads=4 if small else 12,
        intermediate_size=128 if small else 3072,
        attn_implementation="tapped",
    )
    config._attn_implementation = "tapped"
    generator = torch.Generator().manual_seed(seed)
    module = ViTLayer(config).double().eval()
    draw_weights(module, generator)
    arguments = {"hidden": draw(generator, 1, length, config.hidden_size, scale=hidden_scale(seed))}
    weights = {}
    for short in "qkvo":
        weights[f"attention.{short}_proj.weight"] = f"w{short}"
        weights[f"attention.{short}_proj.bias"] = f"b{short}"
    weights |= {
        "layernorm_before.weight": "ln1_gain", "layernorm_before.bias": "ln1_bias",
        "layernorm_after.weight": "ln2_gain", "layernorm_after.bias": "ln2_bias",
        "mlp.fc1.weight": "w_fc", "mlp.fc1.bias": "b_fc",
        "mlp.fc2.weight": "w_out", "mlp.fc2.bias": "b_out",
    }

    def forward(module: torch.nn.Module, values: Taps) -> Taps:
        recorder = Recorder(module)
        encoder_taps(recorder, "attention.q_proj", "attention.k_proj", "attention.v_proj",
                     "attention.o_proj")
        recorder.output("layernorm_before", "normed")
        recorder.input("layernorm_after", "residual")
        recorder.output("layernorm_after", "post_normed")
        recorder.output("mlp.fc1", "fc")
        recorder.input("mlp.fc2", "activated")
        recorder.output("mlp.fc2", "mlp_out")
        result = recorder.run(values["hidden"])
        return tap(recorder.taps, values, output=result)

    layer = Layer(module, arguments, forward)
    calibrate(layer, [("attention.o_proj", "attended_out", "hidden"),
                      ("mlp.fc2", "mlp_out", "residual")])
    arguments.update(named_weights(module, weights))
    return layer


BUILDERS = {
    "gpt2_decode": lambda small, seed: gpt2(small, seed, prefill=False),
    "gpt2_prefill": lambda small, seed: gpt2(small, seed, prefill=True),
    "bert_encoder": bert,
    "llama_decode": lambda small, seed: llama(small, seed, prefill=False),
    "llama_prefill": lambda small, seed: llama(small, seed, prefill=True),
    "vit_block": vit,
}
