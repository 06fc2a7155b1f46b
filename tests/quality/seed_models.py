"""The published definitions of the shipped seeds, for import and comparison at development time.

Needs torch and transformers; neither is needed to load or run a shipped seed. Each factory takes
the batch and returns (module in eval mode, example inputs). The modules answer logits alone.
"""

from __future__ import annotations

from typing import Any

import torch
from seed_architectures import (
    Dit,
    EfficientAd,
    EfficientNetV2,
    Parseq,
    RtmPose,
    SwinIr,
    Yolov10,
)
from transformers import (
    ConvNextV2Config,
    ConvNextV2ForImageClassification,
    Mask2FormerConfig,
    Mask2FormerForUniversalSegmentation,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    Qwen2Config,
    Qwen2ForCausalLM,
    RTDetrResNetConfig,
    RTDetrV2Config,
    RTDetrV2ForObjectDetection,
    SegformerConfig,
    SegformerForSemanticSegmentation,
    SwinConfig,
    Swinv2Config,
    Swinv2ForImageClassification,
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


def convnextv2_tiny(batch: int) -> Built:
    """ConvNeXt V2-Tiny, 1000 labels, at 224 x 224."""
    return convnext(
        depths=[3, 3, 9, 3], widths=[96, 192, 384, 768], labels=1000, shape=(batch, 3, 224, 224)
    )


def convnextv2_tiny_compact(batch: int) -> Built:
    """Four stages and three downsamplings; two blocks in one stage; not square, two images."""
    return convnext(
        depths=[1, 1, 2, 1], widths=[16, 24, 32, 48], labels=10, shape=(batch, 3, 96, 64)
    )


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


def qwen2_5_0_5b(batch: int) -> Built:
    """Qwen2.5-0.5B: 24 layers, 14 heads over 2 key-value heads, tied embedding, 512 tokens."""
    return qwen(
        batch=batch,
        length=512,
        hidden_size=896,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        intermediate_size=4864,
        vocab_size=151936,
    )


def qwen2_5_0_5b_compact(batch: int) -> Built:
    """Two layers with the head grouping of the full model (7 query heads to a key-value head)."""
    return qwen(
        batch=batch,
        length=24,
        hidden_size=112,
        num_hidden_layers=2,
        num_attention_heads=14,
        num_key_value_heads=2,
        intermediate_size=256,
        vocab_size=512,
    )


class SegmentationLogits(Logits):
    def forward(self, x: torch.Tensor) -> Any:
        return self.model(pixel_values=x).logits


def swinv2(
    *,
    widths: int,
    depths: list[int],
    heads: list[int],
    window: int,
    labels: int,
    shape: tuple[int, ...],
) -> Built:
    config = Swinv2Config(
        image_size=shape[-2:],
        embed_dim=widths,
        depths=depths,
        num_heads=heads,
        window_size=window,
        num_labels=labels,
    )
    return ImageLogits(Swinv2ForImageClassification(config)).eval(), {"x": torch.zeros(shape)}


def swinv2_tiny(batch: int) -> Built:
    """Swin Transformer V2-Tiny, window 8, 1000 labels, at 256 x 256."""
    return swinv2(
        widths=96,
        depths=[2, 2, 6, 2],
        heads=[3, 6, 12, 24],
        window=8,
        labels=1000,
        shape=(batch, 3, 256, 256),
    )


def swinv2_tiny_compact(batch: int) -> Built:
    return swinv2(
        widths=24, depths=[2, 2], heads=[3, 6], window=4, labels=10, shape=(batch, 3, 64, 32)
    )


def segformer(
    *,
    widths: list[int],
    depths: list[int],
    heads: list[int],
    decoder: int,
    labels: int,
    shape: tuple[int, ...],
) -> Built:
    config = SegformerConfig(
        hidden_sizes=widths,
        depths=depths,
        num_attention_heads=heads,
        decoder_hidden_size=decoder,
        num_labels=labels,
    )
    return SegmentationLogits(SegformerForSemanticSegmentation(config)).eval(), {
        "x": torch.zeros(shape)
    }


def segformer_b1(batch: int) -> Built:
    return segformer(
        widths=[64, 128, 320, 512],
        depths=[2, 2, 2, 2],
        heads=[1, 2, 5, 8],
        decoder=256,
        labels=150,
        shape=(batch, 3, 512, 512),
    )


def segformer_b1_compact(batch: int) -> Built:
    return segformer(
        widths=[16, 32, 48, 64],
        depths=[1, 1, 1, 1],
        heads=[1, 2, 3, 4],
        decoder=32,
        labels=10,
        shape=(batch, 3, 96, 64),
    )


def modernbert(*, batch: int, length: int, **sizes: Any) -> Built:
    config = ModernBertConfig(
        attn_implementation="eager", reference_compile=False, num_labels=2, **sizes
    )
    config._attn_implementation = "eager"
    with no_init_weights():
        model = ModernBertForSequenceClassification(config)
    ids = torch.arange(batch * length).reshape(batch, length) % sizes.get("vocab_size", 50368)
    return TokenClassLogits(model).eval(), {"ids": ids}


class TokenClassLogits(Logits):
    def forward(self, ids: torch.Tensor) -> Any:
        return self.model(input_ids=ids).logits


def modernbert_base(batch: int) -> Built:
    return modernbert(batch=batch, length=512)


def modernbert_base_compact(batch: int) -> Built:
    return modernbert(
        batch=batch,
        length=24,
        vocab_size=56,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        local_attention=8,
        pad_token_id=1,
        bos_token_id=2,
        eos_token_id=3,
        cls_token_id=2,
        sep_token_id=3,
    )


class Detections(Logits):
    def forward(self, x: torch.Tensor) -> Any:
        found = self.model(pixel_values=x)
        return found.logits, found.pred_boxes


def rtdetrv2(shape: tuple[int, ...], **sizes: Any) -> Built:
    backbone = RTDetrResNetConfig(
        embedding_size=sizes.pop("embedding_size", 64),
        hidden_sizes=sizes.pop("hidden_sizes", [64, 128, 256, 512]),
        depths=sizes.pop("depths", [2, 2, 2, 2]),
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    config = RTDetrV2Config(
        backbone_config=backbone,
        freeze_backbone_batch_norms=False,
        decoder_layers=3,
        hidden_expansion=0.5,
        anchor_image_size=shape[-2:],
        **sizes,
    )
    model = RTDetrV2ForObjectDetection(config)
    for layer in model.model.decoder.layers:
        # The published count holds the scales of the sampling points, which are not trained.
        attention = layer.encoder_attn
        scales = attention._buffers.pop("n_points_scale")
        attention.n_points_scale = torch.nn.Parameter(scales, requires_grad=False)
    return Detections(model).eval(), {"x": torch.zeros(shape)}


def rtdetrv2_s(batch: int) -> Built:
    return rtdetrv2((batch, 3, 640, 640), encoder_in_channels=[128, 256, 512], num_labels=80)


def rtdetrv2_s_compact(batch: int) -> Built:
    return rtdetrv2(
        (batch, 3, 96, 64),
        embedding_size=8,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1, 1, 1, 1],
        encoder_in_channels=[16, 24, 32],
        num_labels=8,
        d_model=32,
        encoder_hidden_dim=32,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        decoder_in_channels=[32, 32, 32],
        num_queries=12,
    )


class MaskLogits(Logits):
    """The published count holds the last norm of the backbone as well, which nothing reads."""

    def __init__(self, model: torch.nn.Module, width: int) -> None:
        super().__init__(model)
        self.layernorm = torch.nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> Any:
        found = self.model(pixel_values=x)
        return found.class_queries_logits, found.masks_queries_logits


def mask2former(
    shape: tuple[int, ...], *, labels: int, backbone: dict[str, Any], **sizes: Any
) -> Built:
    swin = SwinConfig(out_features=["stage1", "stage2", "stage3", "stage4"], **backbone)
    config = Mask2FormerConfig(backbone_config=swin, num_labels=labels, **sizes)
    model = Mask2FormerForUniversalSegmentation(config)
    return MaskLogits(model, swin.hidden_size).eval(), {"x": torch.zeros(shape)}


def mask2former_swin_t(batch: int) -> Built:
    return mask2former(
        (batch, 3, 512, 512), labels=150, backbone={"depths": [2, 2, 6, 2], "image_size": 224}
    )


def mask2former_swin_t_compact(batch: int) -> Built:
    return mask2former(
        (batch, 3, 96, 64),
        labels=6,
        backbone={
            "embed_dim": 12,
            "depths": [1, 2, 1, 1],
            "num_heads": [1, 2, 3, 4],
            "window_size": 3,
            "image_size": 96,
        },
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=32,
        dim_feedforward=32,
        encoder_layers=1,
        decoder_layers=3,
        num_attention_heads=4,
        num_queries=5,
    )


def plain(model: torch.nn.Module, **inputs: torch.Tensor) -> Built:
    return model.eval(), inputs


def efficientnetv2_s(batch: int) -> Built:
    """EfficientNetV2-S, 1000 labels, at 384 x 384."""
    stages = [
        (True, 1, 1, 24, 2),
        (True, 4, 2, 48, 4),
        (True, 4, 2, 64, 4),
        (False, 4, 2, 128, 6),
        (False, 6, 1, 160, 9),
        (False, 6, 2, 256, 15),
    ]
    model = EfficientNetV2(stages, stem=24, head=1280, labels=1000)
    return plain(model, x=torch.zeros(batch, 3, 384, 384))


def efficientnetv2_s_compact(batch: int) -> Built:
    stages = [(True, 1, 1, 8, 2), (True, 4, 2, 12, 2), (False, 4, 2, 16, 2), (False, 6, 2, 24, 1)]
    model = EfficientNetV2(stages, stem=8, head=64, labels=10)
    return plain(model, x=torch.zeros(batch, 3, 96, 64))


def yolov10_s(batch: int) -> Built:
    """YOLOv10-S, 80 classes, at 640 x 640."""
    model = Yolov10([32, 64, 128, 256, 512], [1, 2, 2, 1], classes=80, shape=(640, 640))
    return plain(model, x=torch.zeros(batch, 3, 640, 640))


def yolov10_s_compact(batch: int) -> Built:
    model = Yolov10([8, 8, 16, 24, 32], [1, 1, 1, 1], classes=5, shape=(96, 64), bins=4, heads=2)
    return plain(model, x=torch.zeros(batch, 3, 96, 64))


def efficientad_s(batch: int) -> Built:
    """EfficientAD-S at 256 x 256."""
    model = EfficientAd(
        widths=(128, 256), out=384, coder=(32, 64), last=8, sizes=(3, 8, 15, 32, 63, 127, 56)
    )
    return plain(model, x=torch.zeros(batch, 3, 256, 256))


def efficientad_s_compact(batch: int) -> Built:
    model = EfficientAd(widths=(8, 12), out=16, coder=(8, 12), last=2, sizes=(3, 5, 8, 8))
    return plain(model, x=torch.zeros(batch, 3, 64, 64))


def rtmpose_m(batch: int) -> Built:
    """RTMPose-m, 17 keypoints, at 256 x 192."""
    model = RtmPose(
        widths=[48, 96, 192, 384, 768],
        depths=[2, 4, 4, 2],
        keypoints=17,
        hidden=256,
        key=128,
        kernel=7,
        shape=(256, 192),
    )
    return plain(model, x=torch.zeros(batch, 3, 256, 192))


def rtmpose_m_compact(batch: int) -> Built:
    model = RtmPose(
        widths=[8, 12, 16, 24, 32],
        depths=[1, 2, 1, 1],
        keypoints=5,
        hidden=16,
        key=8,
        kernel=3,
        shape=(96, 64),
    )
    return plain(model, x=torch.zeros(batch, 3, 96, 64))


def parseq(batch: int) -> Built:
    """PARSeq, 94 characters, texts of up to 25, at 32 x 128."""
    model = Parseq(
        width=384, heads=6, decoder_heads=12, depth=12, shape=(32, 128), length=25, charset=94
    )
    return plain(model, x=torch.zeros(batch, 3, 32, 128))


def parseq_compact(batch: int) -> Built:
    model = Parseq(
        width=48, heads=3, decoder_heads=4, depth=2, shape=(16, 64), length=6, charset=12
    )
    return plain(model, x=torch.zeros(batch, 3, 16, 64))


def dit(*, batch: int, **sizes: int) -> Built:
    size, classes = sizes["size"], sizes["classes"]
    return plain(
        Dit(**sizes),
        x=torch.zeros(batch, 4, size, size),
        timestep=torch.full((batch,), 17.0),
        label=torch.arange(batch) % classes,
    )


def dit_s_2(batch: int) -> Built:
    """DiT-S/2 on a latent of 32 x 32, 1000 classes."""
    return dit(batch=batch, width=384, heads=6, depth=12, size=32, classes=1000)


def dit_s_2_compact(batch: int) -> Built:
    return dit(batch=batch, width=48, heads=4, depth=2, size=8, classes=10, frequencies=32)


def swinir_m_x4(batch: int) -> Built:
    """SwinIR-M for four times the size, at 64 x 64."""
    model = SwinIr(
        width=180, depths=[6] * 6, heads=6, window=8, shape=(64, 64), ratio=2, features=64
    )
    return plain(model, x=torch.zeros(batch, 3, 64, 64))


def swinir_m_x4_compact(batch: int) -> Built:
    model = SwinIr(width=24, depths=[2, 2], heads=3, window=4, shape=(12, 8), ratio=2, features=8)
    return plain(model, x=torch.zeros(batch, 3, 12, 8))
