"""What the frameworks' documentation promises about storage and strides: data, with its source."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COPIES", "LISTED_VIEWS", "MAY_BE_OPERAND", "MAY_COPY", "ROW_MAJOR", "VIEWS"]

# Operators that change no element, for some attributes at least, and that no page promises a copy
# of: the answer may be the operand itself, so that a later write to either shows in both.
MAY_BE_OPERAND = frozenset(
    (
        *("alpha_dropout_eval", "dropout1d_eval", "dropout2d_eval", "dropout_eval", "dropout_none"),
        *("cast", "cast_like", "conj", "contiguous", "identity", "pad", "pad_circular"),
        *("pad_reflect", "pad_replicate", "real", "repeat_interleave", "tile"),
    )
)

# Views in most layouts and copies in others, as the pages of PyTorch say ("you should not depend
# on the copying vs. viewing behavior"): a sum may keep the strides of a permuted operand.
MAY_COPY = frozenset(("contiguous", "flatten", "reshape"))

# Operators whose result never shares storage with an operand, and where the framework says so.
COPIES: Mapping[str, Mapping[str, str]] = {
    "torch": {
        "clone": "torch.clone: returns a copy of input",
        "flip": "torch.flip: makes a copy of input's data",
        "index_select": "torch.index_select: the returned tensor does not use the same storage",
        "masked_select": "torch.masked_select: the returned tensor does not use the same storage",
        "slice_scatter": "torch.slice_scatter: returns a tensor with fresh storage",
        "select_scatter": "torch.select_scatter: returns a tensor with fresh storage",
        "diagonal_scatter": "torch.diagonal_scatter: returns a tensor with fresh storage",
    },
    "mindspore": {"clone": "mindspore.Tensor.copy: return a copy of the tensor"},
}

# Operators whose result always shares the storage of the operand it views, with that operand's
# strides carried over. `reshape`, `flatten` and `contiguous` may answer with a copy.
_LISTED = "Tensor Views (docs.pytorch.org/docs/stable/tensor_view.html) lists it"
VIEWS: Mapping[str, Mapping[str, str]] = {
    "torch": dict.fromkeys(
        (
            *("permute", "transpose", "movedim", "unsqueeze", "squeeze", "expand", "view"),
            *("unflatten", "slice", "select", "narrow", "split", "chunk", "unbind", "diagonal"),
            *("unfold", "detach"),
        ),
        _LISTED,
    ),
}

# Under these names PyTorch's page lists views; a form that is written with other calls, or without
# basic slicing, is promised nothing.
LISTED_VIEWS = frozenset(
    (
        *("adjoint", "chunk", "detach", "diagonal", "expand", "expand_as", "hsplit", "moveaxis"),
        *("movedim", "narrow", "permute", "select", "split", "split_with_sizes", "squeeze"),
        *("swapaxes", "swapdims", "t", "tensor_split", "transpose", "unbind", "unflatten"),
        *("unfold", "unsqueeze", "view", "view_as", "vsplit"),
    )
)

# Operators whose result is contiguous, row by row, whatever the layout of the operand.
ROW_MAJOR: Mapping[str, Mapping[str, str]] = {
    "torch": {"contiguous": "torch.Tensor.contiguous: returns a contiguous in memory tensor"},
    "mindspore": {
        "contiguous": "mindspore.Tensor.contiguous: converts to a continuous-memory tensor"
    },
}
