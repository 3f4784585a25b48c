"""Attention that a model writes out in single operations: matmul, scale, mask, softmax, dropout, matmul.

`WrittenOutAttention` is told of every PyTorch function that a model calls. It follows the product of two tensors
through the steps that attention consists of, and so reads back the queries, keys, scale, softcap, bias, mask and sinks
behind the weights that finally meet the values. Where a step is not known, only the softmax itself can be kept.
"""

import dataclasses
import string
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

LOW = -1e4
"""Scores that a model replaces with a number as low as this are masked: after the softmax they are 0."""


@dataclasses.dataclass(frozen=True)
class Merged:
    """Two dimensions of which a model has made one: texts and heads."""

    sizes: tuple[int, int]
    is_batch_first: bool
    """Whether the first one is known to be the texts: the second was split off the features."""


@dataclasses.dataclass(frozen=True)
class Scores:
    """A tensor of scores, as softcap(scale * Q K^T) + sum of factor * bias, masked.

    Leading dimensions of all tensors broadcast to those of the scores.
    """

    query: Tensor
    """(..., query, d)"""
    key: Tensor
    """(..., key, d)"""
    shape: torch.Size
    scale: float = 1.0
    softcap: float | None = None
    biases: tuple[tuple[Tensor, float], ...] = ()
    forbidden: tuple[Tensor, ...] = ()
    """Boolean, true where attention is not allowed."""
    sinks: Tensor | None = None
    """(..., query, 1): one more column of the scores."""
    merged: Merged | None = None
    """How their one leading dimension came about, if that was seen."""
    is_of_one_matrix: bool = False
    """Whether all texts met the same keys: perhaps a linear layer, whose weights are no parameter as they stand."""

    @property
    def is_plain(self) -> bool:
        """Whether these are products of queries and keys and nothing else yet."""
        return self.softcap is None and not self.biases and not self.forbidden and self.sinks is None

    def times(self, factor: float) -> "Scores":
        softcap = None if self.softcap is None else self.softcap * factor
        biases = tuple((bias, known * factor) for bias, known in self.biases)
        return dataclasses.replace(self, scale=self.scale * factor, softcap=softcap, biases=biases)


class Softmax:
    """A softmax over what came of a product of two tensors, and what has become of its weights since."""

    def __init__(self, merged: Merged | None, may_be_attention: bool) -> None:
        self.merged = merged
        """See `Scores.merged`."""
        self.may_be_attention = may_be_attention
        """Whether it is known to be over products of two tensors that both belong to the text."""
        self.has_met_values = False
        self.went_elsewhere = False
        """Whether they, or parts of them, also went into something that is not understood."""

    @property
    def is_all_seen(self) -> bool:
        """Whether the recorded attention call is all that was made of it."""
        return self.has_met_values and not self.went_elsewhere


@dataclasses.dataclass(frozen=True)
class Weights:
    """A tensor of attention weights: the output of a softmax, perhaps with dropout."""

    origin: Softmax
    softmax: Tensor | None
    """What the softmax returned, sinks included; None: this very tensor, which must not keep itself alive."""
    scores: Scores | None
    """What it read, if that is understood."""
    num_keys: int
    dropout: float = 0.0
    is_transposed: bool = False
    """(..., key, query), as of a product with the values first."""


@dataclasses.dataclass(frozen=True)
class WrittenOutCall:
    """Weights that met values. Leading dimensions are the model's own: (batch, head), (batch * head,) or others."""

    weights: Weights
    value: Tensor
    """(..., key, d_v)"""
    output: Tensor
    """(..., query, d_v)"""
    restore: Callable[[Tensor], Tensor]
    """Brings a tensor like `output` into the form that the model gets."""
    changed_heads: frozenset[int] = frozenset()
    """Heads that an intervention has changed already."""


NOT_UNDERSTOOD = object()
"""In place of `Scores`: what came of a product by a step that is not known."""

MAX_BIASES = 8
"""More terms than attention has: a sum that goes on through a network."""

ENDS = frozenset(
    {"linear", "bilinear", "embedding", "layer_norm", "rms_norm", "group_norm", "batch_norm", "instance_norm"}
    | {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
)
"""Functions whose output is no longer scores."""


class WrittenOutAttention:
    """Follows scores and weights through the functions that one thread calls."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        """`parameters` of the model: a product with one of them is a linear layer."""
        self._parameters = {_memory(parameter) for parameter in parameters}
        self._scores: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
        self._weights: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
        self._merged: WeakTensorKeyDictionary = WeakTensorKeyDictionary()

    def follow(self, func: Any, args: tuple, kwargs: dict, output: Any) -> WrittenOutCall | Softmax | None:
        """Take note of `output = func(*args, **kwargs)`.

        Returns:
            an attention call if that was its last step, and a softmax over what came of a product of two tensors.
        """
        name = getattr(func, "__name__", "")
        if not args and "input" in kwargs:
            args, kwargs = (kwargs["input"],), {key: value for key, value in kwargs.items() if key != "input"}
        if name in _PRODUCTS and not (len(args) > 1 and isinstance(args[1], nn.Parameter)):
            return self._product(name, args, kwargs, output)
        if name in _SOFTMAX:
            return self._softmax(args, kwargs, output)
        if not args:
            return None
        if (name in _RESHAPES or name in _TRANSPOSES) and isinstance(args[0], Tensor):
            self._note_merging(args[0], output)
        if self._scores or self._weights:
            self._step(name, func, args, kwargs, output)
        return None

    def merged(self, tensor: Tensor) -> Merged | None:
        """How a leading dimension of the tensor came about, if that was seen."""
        return self._merged.get(tensor)

    def _note_merging(self, source: Tensor, output: Any) -> None:
        """Texts and heads become one dimension: later, only this tells in which order.

        From (batch, head, token, d) or (head, batch, token, d); or from (token, batch, features), by splitting the
        features, and then with the tokens in second place.
        """
        if not isinstance(output, Tensor) or output.dim() != 3:
            return
        if source.dim() == 4 and source.shape[2:] == output.shape[1:]:
            self._merged[output] = Merged((source.size(0), source.size(1)), is_batch_first=False)
        elif source.dim() == 3 and source in self._merged and output.shape[:2] == source.shape[1::-1]:
            self._merged[output] = self._merged[source]
        elif source.dim() == 3 and source.size(0) == output.size(0) and source.size(1) < output.size(1):
            heads = output.size(1) // max(source.size(1), 1)
            if output.shape[1:] == (source.size(1) * heads, source.size(2) // heads):
                self._merged[output] = Merged((source.size(1), heads), is_batch_first=True)

    def _product(self, name: str, args: tuple, kwargs: dict, output: Any) -> WrittenOutCall | None:
        try:
            product = _PRODUCTS[name](args, kwargs, output)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError):
            product = None  # some other use of the function
        if product is None:
            self._spoil(args, output)
            return None
        if (weights := self._weights.get(product.original_right)) is not None and weights.is_transposed:
            product = product.transposed()
        else:
            weights = self._weights.get(product.original_left)
        if weights is not None:
            return self._met_values(weights, product)
        if _memory(product.original_right) in self._parameters:
            return None  # a linear layer
        if not product.is_canonical:
            self._spoil((), output)
            return None
        lead = product.output.shape[:-2]
        query, key = product.left.detach(), product.right.detach().transpose(-2, -1)
        scores = Scores(query.expand(*lead, *query.shape[-2:]), key.expand(*lead, *key.shape[-2:]), output.shape)
        scores = dataclasses.replace(
            scores.times(product.factor),
            merged=self._merged.get(product.original_left),
            is_of_one_matrix=product.original_right.dim() == 2 < product.original_left.dim(),
        )
        if product.added is not None:
            scores = dataclasses.replace(scores, biases=((product.added.detach(), product.added_factor),))
        self._scores[output] = scores
        return None

    def _met_values(self, weights: Weights, product: "_Product") -> WrittenOutCall | None:
        if not product.left_is_canonical or weights.is_transposed != product.is_transposed:
            weights.origin.went_elsewhere = True
            return None
        weights.origin.has_met_values = True
        given = product.original_left
        softmax = given if weights.softmax is None else weights.softmax
        if product.left.size(-1) != weights.num_keys:
            # What looked like a sink meets a value of its own.
            weights = dataclasses.replace(weights, scores=None, num_keys=product.left.size(-1))
        weights = dataclasses.replace(weights, softmax=softmax)
        return WrittenOutCall(weights, product.right, product.output, product.restore)

    def _softmax(self, args: tuple, kwargs: dict, output: Any) -> Softmax | None:
        values = {**dict(zip(("input", "dim"), args, strict=False)), **kwargs}
        scores, dim = values.get("input"), values.get("dim")
        known = self._scores.get(scores) if isinstance(scores, Tensor) else None
        if known is None or dim is None:
            return None
        is_understood = isinstance(known, Scores)
        softmax = Softmax(known.merged if is_understood else None, is_understood and not known.is_of_one_matrix)
        if dim % scores.dim() == scores.dim() - 1:
            understood = known if is_understood else None
            num_keys = scores.size(-1) - (understood is not None and understood.sinks is not None)
            self._weights[output] = Weights(softmax, None, understood, num_keys)
        return softmax

    def _step(self, name: str, func: Any, args: tuple, kwargs: dict, output: Any) -> None:
        """Any other function: it may take scores or weights one step further, or spoil them."""
        source = args[0]
        if name == "where" and func is torch.where and len(args) == 3:
            source = next((each for each in args[1:] if self._is_known(each)), None)
        elif name in ("cat", "concat", "stack"):
            parts = source if isinstance(source, list | tuple) else ()
            source = next((each for each in parts if self._is_known(each)), None)
        elif not self._is_known(source):
            source = next((each for each in args[1:2] if self._is_known(each)), None)
        if not self._is_known(source):
            return
        output = source if name == "__setitem__" else output
        if not isinstance(output, Tensor):
            return  # such as a shape, or the maximum of each row
        known = self._scores.get(source)
        is_scores = known is not None
        rules, known = (_SCORE_STEPS, known) if is_scores else (_WEIGHT_STEPS, self._weights.get(source))
        after = None
        if known is not NOT_UNDERSTOOD:
            base_name = name if name.startswith("__") else name.removesuffix("_")
            try:
                after = rules[base_name](known, source, args, kwargs, output) if base_name in rules else None
            except (TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError):
                after = None  # an unusual way to call it
        in_place = (
            name.endswith("_") or "out" in kwargs or kwargs.get("inplace") or (name == "dropout" and any(args[3:4]))
        )
        is_written_over = output is source and bool(in_place)
        if is_scores:
            is_reduced = output.numel() < source.numel() and name not in ("__getitem__", "narrow")
            if is_written_over or (name not in ENDS and not is_reduced):
                self._scores[output] = after or NOT_UNDERSTOOD
        elif is_written_over and (after is None or after.dropout):
            self._weights.pop(source, None)  # what the softmax returned is gone
        elif after is not None and output is not source:
            self._weights[output] = after if after.softmax is not None else dataclasses.replace(after, softmax=source)

    def _spoil(self, args: tuple, output: Any) -> None:
        """Note that a product was made that is not understood."""
        for each in args:
            if isinstance(each, Tensor) and (weights := self._weights.get(each)) is not None:
                weights.origin.went_elsewhere = True
        if isinstance(output, Tensor) and output.dim() >= 3:
            self._scores[output] = NOT_UNDERSTOOD

    def _is_known(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor) and (tensor in self._scores or tensor in self._weights)


def _memory(tensor: Tensor) -> int:
    """Which memory a tensor lies in: the same for all of its views."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # it has none
        return id(tensor)


# Products of two tensors -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Product:
    """factor * left @ right + added_factor * added."""

    left: Tensor
    """(..., row, inner)"""
    right: Tensor
    """(..., inner, column)"""
    output: Tensor
    """(..., row, column)"""
    original_left: Tensor
    """The very tensor that the model multiplied, by which it is known."""
    original_right: Tensor
    is_canonical: bool = True
    """Whether the model gets `output` in the form it has here."""
    left_is_canonical: bool = True
    """Whether the model gave `left` in the form it has here."""
    restore: Callable[[Tensor], Tensor] = lambda output: output
    factor: float = 1.0
    added: Tensor | None = None
    added_factor: float = 1.0
    is_transposed: bool = False

    def transposed(self) -> "_Product":
        """The same product, read as right^T @ left^T."""
        return dataclasses.replace(
            self,
            left=self.right.transpose(-2, -1),
            right=self.left.transpose(-2, -1),
            output=self.output.transpose(-2, -1),
            original_left=self.original_right.transpose(-2, -1),
            original_right=self.original_left,
            restore=lambda changed: self.restore(changed.transpose(-2, -1)),
            is_transposed=True,
        )


def _matmul(args: tuple, kwargs: dict, output: Tensor) -> _Product | None:
    left, right = _arguments(args, kwargs, ("input", "other"), ("self", "mat2"), ("input", "mat2"))
    return _Product(left, right, output, left, right) if min(left.dim(), right.dim()) >= 2 else None


def _linear(args: tuple, kwargs: dict, output: Tensor) -> _Product | None:
    """A linear layer whose weight is no parameter, but keys."""
    if len(args) != 2 or kwargs or args[0].dim() < 2:
        return None
    return _Product(args[0], args[1].transpose(-2, -1), output, *args)


def _baddbmm(args: tuple, kwargs: dict, output: Tensor) -> _Product:
    values = {**dict(zip(("input", "batch1", "batch2"), args, strict=False)), **kwargs}
    left, right = values["batch1"], values["batch2"]
    beta = float(values.get("beta", 1.0))
    return _Product(
        left=left,
        right=right,
        output=output,
        original_left=left,
        original_right=right,
        factor=float(values.get("alpha", 1.0)),
        added=values["input"] if beta else None,
        added_factor=beta,
    )


def _einsum(args: tuple, kwargs: dict, output: Tensor) -> _Product | None:
    """Einsum over one index of two tensors, brought into the form (..., row, inner) @ (..., inner, column)."""
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = operands[0]
    if not isinstance(equation, str) or len(operands) != 2 or "->" not in equation:
        return None
    first, second = operands
    inputs, out = equation.replace(" ", "").split("->")
    left_labels, right_labels = inputs.split(",")
    if "..." in equation:
        free = [letter for letter in string.ascii_letters if letter not in equation]
        batch = "".join(free[: first.dim() - len(left_labels.replace("...", ""))])
        left_labels, right_labels, out = (part.replace("...", batch) for part in (left_labels, right_labels, out))
    if any(len(set(labels)) != len(labels) for labels in (left_labels, right_labels, out)):
        return None
    shared = set(left_labels) & set(right_labels)
    inner = shared - set(out)
    # Labels that the other operand lacks: of several, as with query heads that share keys, the last one is the row.
    left_only = [label for label in left_labels if label not in shared]
    right_only = [label for label in right_labels if label not in shared]
    if (
        min(len(inner), len(left_only), len(right_only)) != 1
        or len(inner) > 1
        or len(out) != len({*left_labels, *right_labels} - inner)
    ):
        return None
    if len(right_only) > 1 or out.index(right_only[-1]) < out.index(left_only[-1]):  # the second operand has the rows
        if len(left_only) > 1:
            return None
        return _einsum((f"{right_labels},{left_labels}->{out}", second, first), {}, output)
    (i,), r, c = inner, left_only[-1], right_only[0]
    lead = "".join(label for label in left_labels if label not in (i, r))
    right = torch.einsum(f"{right_labels}->{''.join(label for label in lead if label in shared)}{i}{c}", second)
    for position, label in enumerate(lead):
        right = right if label in shared else right.unsqueeze(position)
    order = [out.index(label) for label in (*lead, r, c)]
    back = [order.index(dimension) for dimension in range(len(order))]
    return _Product(
        left=torch.einsum(f"{left_labels}->{lead}{r}{i}", first),
        right=right,
        output=output.permute(order),
        original_left=first,
        original_right=second,
        is_canonical=order == sorted(order),
        left_is_canonical=left_labels == f"{lead}{r}{i}",
        restore=lambda changed: changed.permute(back),
    )


def _arguments(args: tuple, kwargs: dict, *names: tuple[str, str]) -> tuple[Tensor, Tensor]:
    """The first two arguments, by place or by one of the names that they have."""
    values = list(args[:2])
    for place in range(len(values), 2):
        values.append(next(kwargs[pair[place]] for pair in names if pair[place] in kwargs))
    return values[0], values[1]


_PRODUCTS: dict[str, Callable] = {
    "matmul": _matmul,
    "__matmul__": _matmul,
    "linalg_matmul": _matmul,
    "bmm": _matmul,
    "mm": _matmul,
    "baddbmm": _baddbmm,
    "einsum": _einsum,
    "linear": _linear,
}

_RESHAPES = frozenset({"view", "reshape", "unsqueeze", "squeeze", "flatten", "unflatten", "view_as"})

_TRANSPOSES = frozenset({"transpose", "permute", "swapaxes", "t", "__get__"})

_SOFTMAX = frozenset({"softmax", "special_softmax"})


# Steps that scores take --------------------------------------------------------------------------------------
# Each gets what is known of `source`, one of the arguments, and returns what is known of `output`, or None.


def _same(known: Any, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Any:
    return known


def _times(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    factor = _other(source, args, kwargs)
    if (number := _number(factor)) is not None:
        return scores.times(number)
    return _row_factor(scores, factor, output)


def _divided(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    if source is not args[0] or kwargs.get("rounding_mode"):
        return None
    divisor = _other(source, args, kwargs)
    if (number := _number(divisor)) is not None:
        return scores.times(1.0 / number)
    return _row_factor(scores, 1.0 / divisor.detach(), output)


def _row_factor(scores: Scores, factor: Tensor, output: Tensor) -> Scores | None:
    """A factor for each head or each row, as of a learned temperature, goes into the queries."""
    if not scores.is_plain or factor.size(-1) != 1 or output.shape != scores.shape:
        return None
    return dataclasses.replace(scores, query=scores.query * factor.detach())


def _plus(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor, sign: float = 1.0) -> Scores:
    added = _other(source, args, kwargs)
    if _number(added) is not None or added.size(-1) == 1 < output.size(-1):
        return scores  # the softmax does not see what is added to all keys of a query
    if len(scores.biases) == MAX_BIASES:
        return None
    scores = _expanded(scores, output.shape)
    return dataclasses.replace(scores, biases=(*scores.biases, (added.detach(), sign * kwargs.get("alpha", 1))))


def _minus(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    return _plus(scores, source, args, kwargs, output, sign=-1.0) if source is args[0] else None


def _tanh(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    return dataclasses.replace(scores, softcap=1.0) if scores.is_plain else None


def _masked_fill(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    mask = args[1] if len(args) > 1 else kwargs["mask"]
    return _forbidding(scores, mask, args[2] if len(args) > 2 else kwargs["value"], output)


def _where(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    if args[0] is source:  # the method: scores.where(condition, other)
        return _forbidding(scores, ~args[1], args[2], output)
    condition, if_true, if_false = args
    if source is if_true:
        return _forbidding(scores, ~condition, if_false, output)
    return _forbidding(scores, condition, if_true, output)


def _forbidding(scores: Scores, where: Tensor, fill: Any, output: Tensor) -> Scores | None:
    number = float(fill.max()) if isinstance(fill, Tensor) and fill.numel() else fill
    if not isinstance(number, int | float) or number > LOW:
        return None
    scores = _expanded(scores, output.shape)
    return dataclasses.replace(scores, forbidden=(*scores.forbidden, where))


def _maximum(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    """The larger of the scores and a very low number: no step at all."""
    floor = kwargs.get("min", args[1] if len(args) > 1 else kwargs.get("other"))
    number = _number(floor)
    unbounded = kwargs.get("max") is None and len(args) < 3
    return scores if number is not None and number <= LOW and unbounded else None


def _reshaped(known: Any, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Any:
    """Another shape of the leading dimensions."""
    if output.shape[-2:] != source.shape[-2:]:
        return None
    if isinstance(known, Weights):
        return known
    lead = output.shape[:-2]

    def reshape(tensor: Tensor) -> Tensor:
        tensor = tensor[(None,) * (len(source.shape) - tensor.dim())]
        if all(size == 1 for size in tensor.shape[:-2]):
            return tensor.reshape(*(1,) * len(lead), *tensor.shape[-2:])
        return tensor.expand(*source.shape[:-2], *tensor.shape[-2:]).reshape(*lead, *tensor.shape[-2:])

    return dataclasses.replace(
        known,
        query=reshape(known.query),
        key=reshape(known.key),
        shape=output.shape,
        biases=tuple((reshape(bias), factor) for bias, factor in known.biases),
        forbidden=tuple(reshape(mask) for mask in known.forbidden),
        sinks=None if known.sinks is None else reshape(known.sinks),
    )


def _with_sinks(scores: Scores, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Scores | None:
    parts = args[0]
    dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    if (
        len(parts) != 2
        or parts[0] is not source
        or dim % output.dim() != output.dim() - 1
        or parts[1].size(-1) != 1
        or scores.sinks is not None
    ):
        return None
    return dataclasses.replace(scores, sinks=parts[1].detach(), shape=output.shape)


def _expanded(scores: Scores, shape: torch.Size) -> Scores:
    """Scores that broadcasting gave more leading dimensions."""
    if shape == scores.shape:
        return scores
    lead = shape[:-2]
    query, key = scores.query, scores.key
    return dataclasses.replace(
        scores, query=query.expand(*lead, *query.shape[-2:]), key=key.expand(*lead, *key.shape[-2:]), shape=shape
    )


def _other(source: Tensor, args: tuple, kwargs: dict) -> Any:
    """The operand of a two-sided operation that is not `source`."""
    operands = [*args[:2], *([kwargs["other"]] if "other" in kwargs else [])]
    return operands[1] if operands[0] is source else operands[0]


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 else None
    return float(value) if isinstance(value, int | float) else None


_SCORE_STEPS: dict[str, Callable] = {
    **dict.fromkeys(("mul", "multiply"), _times),
    **dict.fromkeys(("div", "divide", "true_divide"), _divided),
    "add": _plus,
    **dict.fromkeys(("sub", "subtract"), _minus),
    "tanh": _tanh,
    "masked_fill": _masked_fill,
    "where": _where,
    **dict.fromkeys(("max", "maximum", "clamp", "clamp_min"), _maximum),
    **dict.fromkeys(_RESHAPES, _reshaped),
    "cat": _with_sinks,
    **dict.fromkeys(("to", "float", "half", "bfloat16", "double", "type", "type_as"), _same),
    **dict.fromkeys(("contiguous", "clone", "detach"), _same),
}


# Steps that weights take -------------------------------------------------------------------------------------


def _dropped(weights: Weights, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Weights:
    values = {**dict(zip(("input", "p", "training"), args, strict=False)), **kwargs}
    probability = float(values.get("p", 0.5)) if values.get("training", True) else 0.0
    # Applied twice, as some models do, what is left is left by both.
    return dataclasses.replace(weights, dropout=1.0 - (1.0 - weights.dropout) * (1.0 - probability))


def _without_sinks(weights: Weights, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Weights | None:
    """A slice that leaves out the last column, if that is a sink."""
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    is_start = all(each is Ellipsis or (isinstance(each, slice) and each.start in (None, 0)) for each in index)
    is_whole = output.shape == source.shape
    is_cut = output.shape[:-1] == source.shape[:-1] and output.size(-1) == weights.num_keys
    return weights if is_start and (is_whole or is_cut) else None


def _swapped(weights: Weights, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Weights | None:
    """Rows and columns change places: for a product with the values first."""
    strides = source.stride()
    swapped = (*strides[:-2], strides[-1], strides[-2])
    is_swap = output.stride() == swapped and output.shape == source.transpose(-2, -1).shape
    return dataclasses.replace(weights, is_transposed=not weights.is_transposed) if is_swap else None


def _zeroed(weights: Weights, source: Tensor, args: tuple, kwargs: dict, output: Tensor) -> Weights | None:
    """Masked weights set to 0, which they are."""
    value = args[2] if len(args) > 2 else kwargs.get("value")
    return weights if _number(value) == 0 else None


_WEIGHT_STEPS: dict[str, Callable] = {
    "dropout": _dropped,
    "__getitem__": _without_sinks,
    **dict.fromkeys(_TRANSPOSES, _swapped),
    "masked_fill": _zeroed,
    **dict.fromkeys(_RESHAPES, _reshaped),
    **dict.fromkeys(("to", "float", "half", "bfloat16", "double", "type", "type_as"), _same),
    **dict.fromkeys(("contiguous", "clone", "detach", "cpu", "cuda", "nan_to_num"), _same),
}
