"""The published definitions of the shipped seeds, for import and comparison at development time.

Needs torch and transformers; neither is needed to load or run a shipped seed. Each factory takes
nothing and returns (module in eval mode, example inputs). The modules answer logits alone.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    ConvNextV2Config,
    ConvNextV2ForImageClassification,
    Qwen2Config,
    Qwen2ForCausalLM,
)
from transformers.modeling_utils import no_init_weights

Built = tuple[torch.nn.Module, dict[str, torch.Tensor]]


class Logits(torch.nn.Module):
    """A classifier that takes an image `x`, or a decoder that takes token `ids`."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model


class ImageLogits(Logits):
    def forward(self, x: torch.Tensor) -> Any:
        return self.model(pixel_values=x).logits


class TokenLogits(Logits):
    def forward(self, ids: torch.Tensor) -> Any:
        return self.model(input_ids=ids, use_cache=False).logits


def convnext(*, depths: list[int], widths: list[int], labels: int, shape: tuple[int, ...]) -> Built:
    config = ConvNextV2Config(depths=depths, hidden_sizes=widths, num_labels=labels)
    model = ConvNextV2ForImageClassification(config)
    return ImageLogits(model).eval(), {"x": torch.zeros(shape)}


def convnextv2_tiny() -> Built:
    """ConvNeXt V2-Tiny, 1000 labels, at 224 x 224."""
    return convnext(
        depths=[3, 3, 9, 3], widths=[96, 192, 384, 768], labels=1000, shape=(1, 3, 224, 224)
    )


def convnextv2_tiny_compact() -> Built:
    """Four stages and three downsamplings; two blocks in one stage; not square, two images."""
    return convnext(depths=[1, 1, 2, 1], widths=[16, 24, 32, 48], labels=10, shape=(2, 3, 96, 64))


def qwen(*, batch: int, length: int, **sizes: int) -> Built:
    config = Qwen2Config(
        tie_word_embeddings=True, rope_theta=1e6, rms_norm_eps=1e-6, max_position_embeddings=32768
    )
    config.update({**sizes, "layer_types": ["full_attention"] * sizes["num_hidden_layers"]})
    # Written out as matmul, softmax, matmul: every mode of both frameworks has these.
    config._attn_implementation = "eager"
    # Export looks at shapes only: untouched memory costs nothing at full size.
    with no_init_weights():
        model = Qwen2ForCausalLM(config)
    model.tie_weights()
    ids = torch.arange(batch * length).reshape(batch, length) % sizes["vocab_size"]
    return TokenLogits(model).eval(), {"ids": ids}


def qwen2_5_0_5b() -> Built:
    """Qwen2.5-0.5B: 24 layers, 14 heads over 2 key-value heads, tied embedding, 512 tokens."""
    return qwen(
        batch=1,
        length=512,
        hidden_size=896,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        intermediate_size=4864,
        vocab_size=151936,
    )


def qwen2_5_0_5b_compact() -> Built:
    """Two layers with the head grouping of the full model (7 query heads to a key-value head)."""
    return qwen(
        batch=2,
        length=24,
        hidden_size=112,
        num_hidden_layers=2,
        num_attention_heads=14,
        num_key_value_heads=2,
        intermediate_size=256,
        vocab_size=512,
    )
