"""Models from outside the repository, small: `flowmut import outside_models:bert` makes a seed.

They need transformers in the interpreter that `--python` names; docs/seeds.md has the commands.
"""

from __future__ import annotations

import torch
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    ResNetConfig,
    ResNetForImageClassification,
)

Built = tuple[torch.nn.Module, dict[str, torch.Tensor]]


def bert() -> Built:
    """An encoder of text, with the mask of its padding."""
    config = BertConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        return_dict=False,
    )
    ids = torch.randint(0, config.vocab_size, (2, 10))
    return BertModel(config).eval(), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def gpt2() -> Built:
    """A decoder of text with a tied head."""
    config = GPT2Config(
        vocab_size=200, n_embd=32, n_layer=2, n_head=4, use_cache=False, return_dict=False
    )
    ids = torch.randint(0, config.vocab_size, (2, 10))
    return GPT2LMHeadModel(config).eval(), {"input_ids": ids}


def resnet() -> Built:
    """A classifier of images."""
    config = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16],
        depths=[1, 1],
        layer_type="basic",
        num_labels=5,
        return_dict=False,
    )
    return ResNetForImageClassification(config).eval(), {"pixel_values": torch.randn(2, 3, 32, 32)}
