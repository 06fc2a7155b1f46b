"""Models that no permissively licensed package defines here, written from their papers.

Needs torch alone. Each class is the architecture at any size; `seed_models` has the sizes. At the
published sizes the parameters are as many as published, which `engine.making` checks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that its users know


def convolution(
    c_in: int,
    c_out: int,
    kernel: int = 1,
    stride: int = 1,
    *,
    groups: int = 1,
    act: bool = True,
    eps: float = 1e-3,
) -> nn.Sequential:
    """Convolution without bias, batch normalisation and, unless `act` is false, SiLU."""
    parts: list[nn.Module] = [
        nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(c_out, eps=eps),
    ]
    return nn.Sequential(*parts, nn.SiLU()) if act else nn.Sequential(*parts)


# ---------------------------------------------------------------------------- EfficientNetV2
class SqueezeExcitation(nn.Module):
    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.expand = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        scale = F.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.expand(F.silu(self.reduce(scale))))


class InvertedBottleneck(nn.Module):
    """MBConv, or Fused-MBConv where `fused`."""

    def __init__(self, c_in: int, c_out: int, *, expand: int, stride: int, fused: bool) -> None:
        super().__init__()
        wide = c_in * expand
        self.shortcut = stride == 1 and c_in == c_out
        if fused and expand == 1:
            parts: list[nn.Module] = [convolution(c_in, c_out, 3, stride)]
        elif fused:
            parts = [convolution(c_in, wide, 3, stride), convolution(wide, c_out, act=False)]
        else:
            parts = [
                convolution(c_in, wide),
                convolution(wide, wide, 3, stride, groups=wide),
                SqueezeExcitation(wide, c_in // 4),
                convolution(wide, c_out, act=False),
            ]
        self.body = nn.Sequential(*parts)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.body(x)
        return x + found if self.shortcut else found


class EfficientNetV2(nn.Module):
    """Tan and Le, EfficientNetV2, ICML 2021, table 4.

    Stages: (fused, expand, stride, width, depth).
    """

    def __init__(
        self,
        stages: Sequence[tuple[bool, int, int, int, int]],
        *,
        stem: int,
        head: int,
        labels: int,
    ) -> None:
        super().__init__()
        self.stem = convolution(3, stem, 3, 2)
        blocks: list[nn.Module] = []
        width = stem
        for fused, expand, stride, wide, depth in stages:
            for at in range(depth):
                blocks.append(
                    InvertedBottleneck(
                        width, wide, expand=expand, stride=stride if at == 0 else 1, fused=fused
                    )
                )
                width = wide
        self.blocks = nn.Sequential(*blocks)
        self.head = convolution(width, head)
        self.classifier = nn.Linear(head, labels)

    def forward(self, x: Tensor) -> Tensor:
        x = self.head(self.blocks(self.stem(x)))
        found: Tensor = self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))
        return found


# ------------------------------------------------------------------------------------ YOLOv10
class Bottleneck(nn.Module):
    """Two 3 x 3 convolutions, with a shortcut where `add`."""

    def __init__(self, width: int, *, add: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(convolution(width, width, 3), convolution(width, width, 3))
        self.add = add

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.body(x)
        return x + found if self.add else found


class LargeKernel(nn.Module):
    """A 7 x 7 depthwise convolution and a 3 x 3 one beside it, which inference would fold in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.large = convolution(width, width, 7, groups=width, act=False)
        self.small = convolution(width, width, 3, groups=width, act=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.large(x) + self.small(x))


class CompactInvertedBlock(nn.Module):
    """CIB: depthwise, pointwise, large-kernel depthwise, pointwise, depthwise; with a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        wide = 2 * width
        self.body = nn.Sequential(
            convolution(width, width, 3, groups=width),
            convolution(width, wide),
            LargeKernel(wide),
            convolution(wide, width),
            convolution(width, width, 3, groups=width),
        )

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.body(x)
        return x + found


class CrossStage(nn.Module):
    """C2f: one half goes through blocks one after another, and all halves are joined."""

    def __init__(self, c_in: int, c_out: int, blocks: Sequence[nn.Module]) -> None:
        super().__init__()
        half = c_out // 2
        self.split = convolution(c_in, 2 * half)
        self.blocks = nn.ModuleList(blocks)
        self.join = convolution((2 + len(self.blocks)) * half, c_out)

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.split(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        found: Tensor = self.join(torch.cat(parts, 1))
        return found


class DecoupledDownsampling(nn.Module):
    """SCDown: a pointwise convolution sets the width, a strided depthwise one the size."""

    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__()
        self.width = convolution(c_in, c_out)
        self.size = convolution(c_out, c_out, 3, 2, groups=c_out, act=False)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.size(self.width(x))
        return found


class PyramidPooling(nn.Module):
    """SPPF: the same maximum pooling three times, all joined."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reduce = convolution(width, width // 2)
        self.join = convolution(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.reduce(x)]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        found: Tensor = self.join(torch.cat(parts, 1))
        return found


class PlaneAttention(nn.Module):
    """Self-attention over the positions of a plane, keys half as wide as values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head = heads, width // heads
        self.key = self.head // 2
        self.qkv = convolution(width, width + 2 * self.key * heads, act=False)
        self.project = convolution(width, width, act=False)
        self.position = convolution(width, width, 3, groups=width, act=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, width, height, across = x.shape
        qkv = self.qkv(x).view(batch, self.heads, 2 * self.key + self.head, height * across)
        query, key, value = qkv.split([self.key, self.key, self.head], dim=2)
        weights = ((query.transpose(-2, -1) @ key) * self.key**-0.5).softmax(-1)
        mixed = (value @ weights.transpose(-2, -1)).view(batch, width, height, across)
        place = self.position(value.reshape(batch, width, height, across))
        found: Tensor = self.project(mixed + place)
        return found


class PartialAttention(nn.Module):
    """PSA: attention and a feed-forward part on one half of the channels."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        half = width // 2
        self.split = convolution(width, width)
        self.attention = PlaneAttention(half, heads)
        self.feed = nn.Sequential(convolution(half, width), convolution(width, half, act=False))
        self.join = convolution(width, width)

    def forward(self, x: Tensor) -> Tensor:
        kept, seen = self.split(x).chunk(2, 1)
        seen = seen + self.attention(seen)
        seen = seen + self.feed(seen)
        found: Tensor = self.join(torch.cat([kept, seen], 1))
        return found


class DetectionHead(nn.Module):
    """Box distances as distributions over `bins`, and classes, at each scale."""

    def __init__(self, widths: Sequence[int], *, classes: int, bins: int) -> None:
        super().__init__()
        boxes, kinds = max(16, widths[0] // 4, 4 * bins), max(widths[0], min(classes, 100))
        self.boxes = nn.ModuleList(
            nn.Sequential(
                convolution(width, boxes, 3),
                convolution(boxes, boxes, 3),
                nn.Conv2d(boxes, 4 * bins, 1),
            )
            for width in widths
        )
        self.classes = nn.ModuleList(
            nn.Sequential(
                convolution(width, width, 3, groups=width),
                convolution(width, kinds),
                convolution(kinds, kinds, 3, groups=kinds),
                convolution(kinds, kinds),
                nn.Conv2d(kinds, classes, 1),
            )
            for width in widths
        )

    def forward(self, planes: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Distributions (N, 4 bins, anchors) and class logits (N, classes, anchors)."""
        boxes = [head(plane).flatten(2) for head, plane in zip(self.boxes, planes, strict=True)]
        kinds = [head(plane).flatten(2) for head, plane in zip(self.classes, planes, strict=True)]
        return torch.cat(boxes, 2), torch.cat(kinds, 2)


class Yolov10(nn.Module):
    """Wang et al., YOLOv10: Real-Time End-to-End Object Detection, NeurIPS 2024, size S.

    Answers, for the one-to-one and for the one-to-many head, boxes (N, 4, anchors) as distances
    turned into corners on the input's grid, and class probabilities (N, classes, anchors).
    """

    def __init__(
        self,
        widths: Sequence[int],
        depths: Sequence[int],
        *,
        classes: int,
        shape: tuple[int, int],
        bins: int = 16,
        heads: int = 4,
    ) -> None:
        super().__init__()
        w0, w1, w2, w3, w4 = widths
        self.bins = bins

        def stage(c_in: int, c_out: int, depth: int, *, add: bool) -> CrossStage:
            return CrossStage(c_in, c_out, [Bottleneck(c_out // 2, add=add) for _ in range(depth)])

        def compact(c_in: int, c_out: int, depth: int) -> CrossStage:
            return CrossStage(c_in, c_out, [CompactInvertedBlock(c_out // 2) for _ in range(depth)])

        self.shallow = nn.Sequential(
            convolution(3, w0, 3, 2),
            convolution(w0, w1, 3, 2),
            stage(w1, w1, depths[0], add=True),
            convolution(w1, w2, 3, 2),
            stage(w2, w2, depths[1], add=True),
        )
        self.middle = nn.Sequential(
            DecoupledDownsampling(w2, w3), stage(w3, w3, depths[2], add=True)
        )
        self.deep = nn.Sequential(
            DecoupledDownsampling(w3, w4),
            compact(w4, w4, depths[3]),
            PyramidPooling(w4),
            PartialAttention(w4, heads),
        )
        self.up_middle = stage(w4 + w3, w3, depths[3], add=False)
        self.up_shallow = stage(w3 + w2, w2, depths[3], add=False)
        self.down_shallow = convolution(w2, w2, 3, 2)
        self.out_middle = stage(w2 + w3, w3, depths[3], add=False)
        self.down_middle = DecoupledDownsampling(w3, w3)
        self.out_deep = compact(w3 + w4, w4, depths[3])
        self.one_to_one = DetectionHead((w2, w3, w4), classes=classes, bins=bins)
        self.one_to_many = DetectionHead((w2, w3, w4), classes=classes, bins=bins)
        self.expectation = nn.Conv2d(bins, 1, 1, bias=False).requires_grad_(False)
        self.expectation.weight.data[:] = torch.arange(bins, dtype=torch.float32).view(
            1, bins, 1, 1
        )
        centres, strides = anchor_grid(shape, (8, 16, 32))
        self.register_buffer("centres", centres)
        self.register_buffer("strides", strides)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        shallow = self.shallow(x)
        middle = self.middle(shallow)
        deep = self.deep(middle)
        up = F.interpolate(deep, scale_factor=2.0, mode="nearest")
        middle = self.up_middle(torch.cat([up, middle], 1))
        up = F.interpolate(middle, scale_factor=2.0, mode="nearest")
        shallow = self.up_shallow(torch.cat([up, shallow], 1))
        middle = self.out_middle(torch.cat([self.down_shallow(shallow), middle], 1))
        deep = self.out_deep(torch.cat([self.down_middle(middle), deep], 1))
        planes = (shallow, middle, deep)
        return (*self.decoded(*self.one_to_one(planes)), *self.decoded(*self.one_to_many(planes)))

    def decoded(self, boxes: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        batch, _, anchors = boxes.shape
        spread = boxes.view(batch, 4, self.bins, anchors).transpose(2, 1).softmax(1)
        distances = self.expectation(spread).view(batch, 4, anchors)
        before, after = distances.chunk(2, 1)
        corners = torch.cat([self.centres - before, self.centres + after], 1)
        return corners * self.strides, kinds.sigmoid()


def anchor_grid(shape: tuple[int, int], strides: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Centres (1, 2, anchors), x before y, in cells of their scale, and strides (1, 1, anchors)."""
    centres, sizes = [], []
    for stride in strides:
        height, width = shape[0] // stride, shape[1] // stride
        y, x = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
        centres.append(torch.stack([x.flatten(), y.flatten()]))
        sizes.append(torch.full((1, height * width), float(stride)))
    return torch.cat(centres, 1)[None], torch.cat(sizes, 1)[None]


# -------------------------------------------------------------------------------- EfficientAD
def patch_network(widths: Sequence[int], out: int) -> nn.Sequential:
    """PDN-S: the patch description network without padding."""
    narrow, wide = widths
    return nn.Sequential(
        nn.Conv2d(3, narrow, 4),
        nn.ReLU(),
        nn.AvgPool2d(2, 2),
        nn.Conv2d(narrow, wide, 4),
        nn.ReLU(),
        nn.AvgPool2d(2, 2),
        nn.Conv2d(wide, wide, 3),
        nn.ReLU(),
        nn.Conv2d(wide, out, 4),
    )


class AutoEncoder(nn.Module):
    """The autoencoder of EfficientAD; its decoder resizes to stated sizes."""

    def __init__(
        self, narrow: int, wide: int, out: int, *, last: int, sizes: Sequence[int]
    ) -> None:
        super().__init__()
        strided = [(3, narrow), (narrow, narrow), (narrow, wide), (wide, wide), (wide, wide)]
        encoder: list[nn.Module] = []
        for c_in, c_out in strided:
            encoder += [nn.Conv2d(c_in, c_out, 4, 2, 1), nn.ReLU()]
        self.encoder = nn.Sequential(*encoder, nn.Conv2d(wide, wide, last))
        self.decoder = nn.ModuleList(nn.Conv2d(wide, wide, 4, 1, 2) for _ in sizes[:-1])
        self.sizes = tuple(sizes)
        self.smooth = nn.Conv2d(wide, wide, 3, 1, 1)
        self.out = nn.Conv2d(wide, out, 3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.encoder(x)
        for size, layer in zip(self.sizes, self.decoder, strict=False):
            x = F.relu(layer(F.interpolate(x, (size, size), mode="bilinear")))
        x = F.interpolate(x, (self.sizes[-1], self.sizes[-1]), mode="bilinear")
        found: Tensor = self.out(F.relu(self.smooth(x)))
        return found


class EfficientAd(nn.Module):
    """Batzner et al., EfficientAD, WACV 2024, size S: teacher, student and autoencoder.

    Answers the anomaly map (N, 1, H, W): the mean of the local map (student against teacher) and
    the global one (student against autoencoder), each set to scale by its quantiles.
    """

    def __init__(
        self,
        *,
        widths: Sequence[int],
        out: int,
        coder: tuple[int, int],
        last: int,
        sizes: Sequence[int],
    ) -> None:
        super().__init__()
        self.teacher = patch_network(widths, out)
        self.student = patch_network(widths, 2 * out)
        self.coder = AutoEncoder(*coder, out, last=last, sizes=sizes)
        self.out = out
        self.register_buffer("mean", torch.full((1, out, 1, 1), 0.1))
        self.register_buffer("spread", torch.full((1, out, 1, 1), 0.9))

    def forward(self, x: Tensor) -> Tensor:
        teacher = (self.teacher(x) - self.mean) / self.spread
        student = self.student(x)
        local = ((teacher - student[:, : self.out]) ** 2).mean(1, keepdim=True)
        whole = ((self.coder(x) - student[:, self.out :]) ** 2).mean(1, keepdim=True)
        found = 0.5 * self.scaled(local, 0.2, 3.0) + 0.5 * self.scaled(whole, 0.1, 2.0)
        return F.interpolate(F.pad(found, (4, 4, 4, 4)), x.shape[-2:], mode="bilinear")

    @staticmethod
    def scaled(plane: Tensor, low: float, high: float) -> Tensor:
        return 0.1 * (plane - low) / (high - low)


# ----------------------------------------------------------------------------------- RTMPose
class LargeBlock(nn.Module):
    """CSPNeXt's block: a 3 x 3 convolution and a separable 5 x 5 one."""

    def __init__(self, width: int, *, add: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(
            convolution(width, width, 3, eps=1e-5),
            convolution(width, width, 5, groups=width, eps=1e-5),
            convolution(width, width, eps=1e-5),
        )
        self.add = add

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.body(x)
        return x + found if self.add else found


class ChannelAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * F.hardsigmoid(self.mix(F.adaptive_avg_pool2d(x, 1)))


class CspLayer(nn.Module):
    def __init__(self, width: int, depth: int, *, add: bool) -> None:
        super().__init__()
        half = width // 2
        self.main = convolution(width, half, eps=1e-5)
        self.short = convolution(width, half, eps=1e-5)
        self.blocks = nn.Sequential(*(LargeBlock(half, add=add) for _ in range(depth)))
        self.attention = ChannelAttention(width)
        self.join = convolution(width, width, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:
        joined = torch.cat([self.blocks(self.main(x)), self.short(x)], 1)
        found: Tensor = self.join(self.attention(joined))
        return found


class SpatialPyramid(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.reduce = convolution(width, width // 2, eps=1e-5)
        self.join = convolution(2 * width, width, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.reduce(x)
        pooled = [F.max_pool2d(x, size, 1, size // 2) for size in (5, 9, 13)]
        found: Tensor = self.join(torch.cat([x, *pooled], 1))
        return found


class ScaleNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.scale, self.eps = width**-0.5, eps
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=2, keepdim=True) * self.scale
        return x / norm.clamp(min=self.eps) * self.gain


class GatedAttention(nn.Module):
    """The gated attention unit: squared ReLU attention, a gate, a scaled shortcut."""

    def __init__(self, width: int, key: int) -> None:
        super().__init__()
        wide = 2 * width
        self.sizes = [wide, wide, key]
        self.norm = ScaleNorm(width)
        self.uv = nn.Linear(width, sum(self.sizes), bias=False)
        self.out = nn.Linear(wide, width, bias=False)
        self.gamma = nn.Parameter(torch.rand(2, key))
        self.beta = nn.Parameter(torch.rand(2, key))
        self.shortcut = nn.Parameter(torch.ones(width))
        self.root = math.sqrt(key)

    def forward(self, x: Tensor) -> Tensor:
        gate, value, base = F.silu(self.uv(self.norm(x))).split(self.sizes, dim=2)
        query, key = (base.unsqueeze(2) * self.gamma[None, None] + self.beta).unbind(2)
        kernel = F.relu(torch.bmm(query, key.transpose(1, 2)) / self.root).square()
        found: Tensor = self.out(gate * torch.bmm(kernel, value))
        return x * self.shortcut + found


class RtmPose(nn.Module):
    """Jiang et al., RTMPose, arXiv:2303.07399: CSPNeXt, a 7 x 7 convolution to keypoints, SimCC.

    `kernel`: that of this convolution; it is about as large as the map that it reads.
    Answers logits over positions across (N, keypoints, 2 W) and down (N, keypoints, 2 H).
    """

    def __init__(
        self,
        *,
        widths: Sequence[int],
        depths: Sequence[int],
        keypoints: int,
        hidden: int,
        key: int,
        kernel: int,
        shape: tuple[int, int],
    ) -> None:
        super().__init__()
        first = widths[0] // 2
        self.stem = nn.Sequential(
            convolution(3, first, 3, 2, eps=1e-5),
            convolution(first, first, 3, eps=1e-5),
            convolution(first, widths[0], 3, eps=1e-5),
        )
        stages: list[nn.Module] = []
        for at, (c_in, c_out, depth) in enumerate(
            zip(widths[:-1], widths[1:], depths, strict=True)
        ):
            is_last = at == len(depths) - 1
            stages.append(convolution(c_in, c_out, 3, 2, eps=1e-5))
            if is_last:
                stages.append(SpatialPyramid(c_out))
            stages.append(CspLayer(c_out, depth, add=not is_last))
        self.stages = nn.Sequential(*stages)
        self.keypoints = nn.Conv2d(widths[-1], keypoints, kernel, padding=kernel // 2)
        cells = (shape[0] // 32) * (shape[1] // 32)
        self.embed = nn.Sequential(ScaleNorm(cells), nn.Linear(cells, hidden, bias=False))
        self.attention = GatedAttention(hidden, key)
        self.across = nn.Linear(hidden, 2 * shape[1], bias=False)
        self.down = nn.Linear(hidden, 2 * shape[0], bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.keypoints(self.stages(self.stem(x)))
        x = self.attention(self.embed(torch.flatten(x, 2)))
        return self.across(x), self.down(x)


# ------------------------------------------------------------------------------------ PARSeq
class Attention(nn.Module):
    """Multi-head attention of queries over a context, written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head = heads, width // heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        query, key, value = (
            self.split(layer(of))
            for layer, of in ((self.query, x), (self.key, context), (self.value, context))
        )
        scores = query @ key.transpose(-2, -1) * self.head**-0.5
        if mask is not None:
            scores = scores + mask
        mixed = (scores.softmax(-1) @ value).transpose(1, 2)
        found: Tensor = self.out(mixed.reshape(x.shape))
        return found

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, self.head).transpose(1, 2)


def feed_forward(width: int, ratio: int = 4, approximate: str = "none") -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, ratio * width),
        nn.GELU(approximate=approximate),
        nn.Linear(ratio * width, width),
    )


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attention, self.feed = Attention(width, heads), feed_forward(width)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.norm1(x)
        x = x + self.attention(seen, seen)
        found: Tensor = x + self.feed(self.norm2(x))
        return found


class DecoderLayer(nn.Module):
    """Two-stream: position queries attend to the characters so far, then to the image."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_query, self.norm_context = nn.LayerNorm(width), nn.LayerNorm(width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.characters, self.image = Attention(width, heads), Attention(width, heads)
        self.feed = feed_forward(width)

    def forward(self, query: Tensor, context: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        query = query + self.characters(self.norm_query(query), self.norm_context(context), mask)
        query = query + self.image(self.norm1(query), memory)
        found: Tensor = query + self.feed(self.norm2(query))
        return found


class Parseq(nn.Module):
    """Bautista and Atienza, PARSeq, ECCV 2022: all positions at once, then one refinement.

    Answers character logits (N, length + 1, charset + 1). The first pass knows only the start mark;
    the second reads what the first found, each position hidden from itself.
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        decoder_heads: int,
        depth: int,
        shape: tuple[int, int],
        length: int,
        charset: int,
    ) -> None:
        super().__init__()
        patch = (4, 8)
        self.patches = nn.Conv2d(3, width, patch, patch)
        cells = (shape[0] // patch[0]) * (shape[1] // patch[1])
        self.places = nn.Parameter(torch.randn(1, cells, width) * 0.02)
        self.encoder = nn.Sequential(*(EncoderLayer(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.characters = nn.Embedding(charset + 3, width)
        self.queries = nn.Parameter(torch.randn(1, length + 1, width) * 0.02)
        self.decoder = DecoderLayer(width, decoder_heads)
        self.norm_out = nn.LayerNorm(width)
        self.head = nn.Linear(width, charset + 1)
        self.scale, self.start = math.sqrt(width), charset + 1
        first = torch.full((length + 1, length + 1), -1e9)
        first[:, 0] = 0.0
        # Every position may see the start mark and all characters but its own.
        cloze = torch.zeros(length + 1, length + 1)
        cloze[torch.arange(length), torch.arange(1, length + 1)] = -1e9
        self.register_buffer("first", first)
        self.register_buffer("cloze", cloze)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2) + self.places
        memory = self.norm(self.encoder(patches))
        queries = self.queries + torch.zeros_like(patches[:, : self.queries.shape[1]])
        places = patches[:, : self.queries.shape[1], 0]
        blank = torch.zeros_like(places, dtype=torch.int64) + self.start
        found = self.decode(blank, queries, memory, self.first)
        guessed = found[:, :-1].argmax(-1)
        context = torch.cat([blank[:, :1], guessed], 1)
        return self.decode(context, queries, memory, self.cloze)

    def decode(self, ids: Tensor, queries: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        embedded = self.characters(ids) * self.scale
        start, rest = embedded[:, :1], embedded[:, 1:]
        context = torch.cat([start, queries[:, :-1] + rest], 1)
        found: Tensor = self.head(self.norm_out(self.decoder(queries, context, memory, mask)))
        return found


# --------------------------------------------------------------------------------------- DiT
def modulated(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DitBlock(nn.Module):
    """A transformer block whose norms and branches the condition shifts, scales and gates."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.attention = Attention(width, heads)
        self.feed = feed_forward(width, approximate="tanh")
        self.condition = nn.Linear(width, 6 * width)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(F.silu(condition)).chunk(6, 1)
        seen = modulated(self.norm1(x), shift1, scale1)
        x = x + gate1.unsqueeze(1) * self.attention(seen, seen)
        fed = self.feed(modulated(self.norm2(x), shift2, scale2))
        return x + gate2.unsqueeze(1) * fed


class Dit(nn.Module):
    """Peebles and Xie, DiT, ICCV 2023.

    Answers the noise of a latent (N, 4, H, W) and its variance: (N, 8, H, W).
    """

    def __init__(
        self, *, width: int, heads: int, depth: int, size: int, classes: int, frequencies: int = 256
    ) -> None:
        super().__init__()
        self.cells, self.channels = size // 2, 8
        self.patches = nn.Conv2d(4, width, 2, 2)
        self.places = nn.Parameter(plane_embedding(self.cells, width), requires_grad=False)
        self.time1, self.time2 = nn.Linear(frequencies, width), nn.Linear(width, width)
        self.classes = nn.Embedding(classes + 1, width)
        self.blocks = nn.ModuleList(DitBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.condition = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, 4 * self.channels)
        half = frequencies // 2
        self.register_buffer(
            "frequencies", torch.exp(-math.log(10000.0) * torch.arange(half) / half)[None]
        )

    def forward(self, x: Tensor, timestep: Tensor, label: Tensor) -> Tensor:
        cells, channels = self.cells, self.channels
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        angles = timestep.unsqueeze(1) * self.frequencies
        waves = torch.cat([angles.cos(), angles.sin()], -1)
        condition = self.time2(F.silu(self.time1(waves))) + self.classes(label)
        for block in self.blocks:
            x = block(x, condition)
        shift, scale = self.condition(F.silu(condition)).chunk(2, 1)
        x = self.out(modulated(self.norm(x), shift, scale))
        x = x.view(x.shape[0], cells, cells, 2, 2, channels)
        x = x.permute(0, 5, 1, 3, 2, 4)
        return x.reshape(x.shape[0], channels, 2 * cells, 2 * cells)


def plane_embedding(cells: int, width: int) -> Tensor:
    """Sines and cosines of the column, then of the row: (1, cells * cells, width)."""
    quarter = width // 4
    omega = 1.0 / 10000 ** (torch.arange(quarter, dtype=torch.float64) / quarter)
    down, across = torch.meshgrid(torch.arange(cells), torch.arange(cells), indexing="ij")
    parts = []
    for place in (across.flatten().double(), down.flatten().double()):
        angles = place[:, None] * omega
        parts += [angles.sin(), angles.cos()]
    return torch.cat(parts, 1)[None].float()


# ------------------------------------------------------------------------------------- SwinIR
class WindowAttention(nn.Module):
    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads, self.head, self.window = heads, width // heads, window
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.02)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("index", window_index(window))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        windows, cells, width = x.shape
        qkv = self.qkv(x).reshape(windows, cells, 3, self.heads, self.head).permute(2, 0, 3, 1, 4)
        query, key, value = qkv.unbind(0)
        scores = (query * self.head**-0.5) @ key.transpose(-2, -1)
        bias = self.bias[self.index].view(cells, cells, self.heads).permute(2, 0, 1)
        scores = scores + bias.unsqueeze(0)
        if mask is not None:
            count = mask.shape[0]
            scores = scores.view(windows // count, count, self.heads, cells, cells)
            scores = scores + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(windows, self.heads, cells, cells)
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(windows, cells, width)
        found: Tensor = self.out(mixed)
        return found


def window_index(window: int) -> Tensor:
    """Which bias belongs to each pair of cells of a window, flat."""
    place = torch.stack(
        torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")
    ).flatten(1)
    apart = place[:, :, None] - place[:, None, :] + window - 1
    return (apart[0] * (2 * window - 1) + apart[1]).flatten()


def shift_mask(shape: tuple[int, int], window: int, shift: int) -> Tensor:
    """-100 between cells that a shift brought together: (windows, cells, cells)."""
    region = torch.zeros(shape)
    bands = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
    for number, (down, across) in enumerate((a, b) for a in bands for b in bands):
        region[down, across] = number
    rows, columns = shape[0] // window, shape[1] // window
    cells = region.view(rows, window, columns, window).transpose(1, 2).reshape(-1, window**2)
    return torch.where(cells[:, None] == cells[:, :, None], 0.0, -100.0)


class SwinBlock(nn.Module):
    def __init__(
        self, width: int, heads: int, window: int, shift: int, shape: tuple[int, int], ratio: int
    ) -> None:
        super().__init__()
        self.window, self.shift, self.shape = window, shift, shape
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = WindowAttention(width, heads, window)
        self.feed = feed_forward(width, ratio)
        self.register_buffer("mask", shift_mask(shape, window, shift) if shift else None)

    def forward(self, x: Tensor) -> Tensor:
        (height, across), window = self.shape, self.window
        batch, _, width = x.shape
        plane = self.norm1(x).view(batch, height, across, width)
        if self.shift:
            plane = torch.roll(plane, (-self.shift, -self.shift), (1, 2))
        rows, columns = height // window, across // window
        cut = plane.view(batch, rows, window, columns, window, width).permute(0, 1, 3, 2, 4, 5)
        seen = self.attention(cut.reshape(-1, window * window, width), self.mask)
        back = seen.view(batch, rows, columns, window, window, width).permute(0, 1, 3, 2, 4, 5)
        plane = back.reshape(batch, height, across, width)
        if self.shift:
            plane = torch.roll(plane, (self.shift, self.shift), (1, 2))
        x = x + plane.view(batch, height * across, width)
        found: Tensor = x + self.feed(self.norm2(x))
        return found


class ResidualSwin(nn.Module):
    """RSTB: Swin blocks, every second one shifted, a convolution, a shortcut."""

    def __init__(
        self, width: int, depth: int, heads: int, window: int, shape: tuple[int, int], ratio: int
    ) -> None:
        super().__init__()
        self.shape = shape
        self.blocks = nn.Sequential(
            *(
                SwinBlock(width, heads, window, window // 2 if at % 2 else 0, shape, ratio)
                for at in range(depth)
            )
        )
        self.conv = nn.Conv2d(width, width, 3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        plane = self.blocks(x).transpose(1, 2).view(x.shape[0], x.shape[2], *self.shape)
        found: Tensor = self.conv(plane).flatten(2).transpose(1, 2) + x
        return found


class SwinIr(nn.Module):
    """Liang et al., SwinIR, ICCVW 2021: classical super-resolution by 4 with pixel shuffles."""

    def __init__(
        self,
        *,
        width: int,
        depths: Sequence[int],
        heads: int,
        window: int,
        shape: tuple[int, int],
        ratio: int,
        features: int,
    ) -> None:
        super().__init__()
        self.shape = shape
        self.first = nn.Conv2d(3, width, 3, 1, 1)
        self.norm_in = nn.LayerNorm(width)
        self.groups = nn.Sequential(
            *(ResidualSwin(width, depth, heads, window, shape, ratio) for depth in depths)
        )
        self.norm = nn.LayerNorm(width)
        self.after = nn.Conv2d(width, width, 3, 1, 1)
        self.before = nn.Sequential(nn.Conv2d(width, features, 3, 1, 1), nn.LeakyReLU())
        self.up = nn.Sequential(
            nn.Conv2d(features, 4 * features, 3, 1, 1),
            nn.PixelShuffle(2),
            nn.Conv2d(features, 4 * features, 3, 1, 1),
            nn.PixelShuffle(2),
        )
        self.last = nn.Conv2d(features, 3, 3, 1, 1)
        self.register_buffer("mean", torch.tensor([0.4488, 0.4371, 0.4040]).view(1, 3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        first = self.first(x - self.mean)
        tokens = self.norm(self.groups(self.norm_in(first.flatten(2).transpose(1, 2))))
        plane = tokens.transpose(1, 2).view(x.shape[0], tokens.shape[2], *self.shape)
        found: Tensor = self.last(self.up(self.before(self.after(plane) + first)))
        return found + self.mean
