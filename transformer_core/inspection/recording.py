"""Recording what goes into every attention call of a model.

The model runs as it always does; the weights are computed from the recorded inputs when somebody looks
(`AttentionCall.weights`).

How: while `record` is active, PyTorch hands every function call of this thread to a `TorchFunctionMode`
(`transformer_core.inspection.seeing`), which keeps what attention reads. Nothing is patched and no hook is set, so the
model carries no state, other threads are not touched, and leaving the block, by whatever way, ends the recording.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from transformer_core.inspection.layout import Layout, stated_heads
from transformer_core.inspection.seeing import AttentionMode
from transformer_core.inspection.trace import AttentionCall, Trace, listing
from transformer_core.inspection.uncompiled import is_compiled, uncompiled
from transformer_core.interrupting import short_steps, stage

MIXERS_WITHOUT_SOFTMAX = (
    "mixer",
    "mambalayer",
    "deltanet",
    "fouriertransform",
    "shortconv",
    "recurrentblock",
    "hyena",
    "retention",
)
"""How the classes of modules end that mix tokens without softmax attention (Mamba, DeltaNet, FNet, ...)."""


RECORDING = "Recording the attention"
"""What a watched run does meanwhile."""


class NoAttentionError(RuntimeError):
    """The recorded block made no attention call that can be seen."""


@contextmanager
def record(model: nn.Module) -> Iterator[Trace]:
    """Record the attention calls that `model` makes inside the block, in this thread.

        with record(model) as trace:
            model(**inputs)
        trace[3].weights(head=5)  # (batch, query, key)

    Seen is

    - every call of `torch.nn.functional.scaled_dot_product_attention`: hand-written models, `nn.Transformer` and its
      parts (which leave their C++ fast path for it, equal up to rounding), Hugging Face models, timm and others;
    - attention written out as a product of queries and keys, a softmax over the keys and a product with values, with
      scales, biases, masks, softcaps and sinks in between: own implementations, Hugging Face's "eager",
      `nn.MultiheadAttention` that is asked for its weights.

    The output is the same, bit for bit, as without recording (`nn.Transformer` aside, see above). Whatever is compiled
    (torch.compile) runs uncompiled while the block lasts, in all threads. The block belongs to one thread: it must not
    wait for other tasks (`await`, `yield`) that record too. For a generated text, record one forward pass over all of
    it rather than the generation.

    `Trace.gaps` says what was not seen or not understood. Not seen is attention other than a softmax over keys
    (sigmoid, linear), and attention to keys that are parameters of the model, which looks like a linear layer.

    Raises:
        TypeError: `model` is not a module.
        NoAttentionError: at the end of the block, when no attention call was seen.
        NotImplementedError: during the block, for an attention call whose inputs cannot be read.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"record() takes a torch.nn.Module, not {type(model).__name__}")
    trace = Trace(was_compiled=is_compiled(model))
    recorder = _Recorder(model, trace)
    stage(RECORDING)
    with uncompiled(), short_steps(), recorder:
        yield trace
    trace.pieces = tuple(recorder.pieces())
    _survey(recorder.modules, trace)
    if not trace.calls:
        raise NoAttentionError(_why_nothing_was_seen(model, trace))


class _Recorder(AttentionMode):
    """Adds every attention call to a trace."""

    def __init__(self, model: nn.Module, trace: Trace) -> None:
        super().__init__(model)
        self._trace = trace
        self._pieces: dict[str, None] = {}
        self._shapes: dict[tuple, dict[Any, tuple[int, int]]] = {}
        """For each module and size of its input, the queries and keys of its calls, by the places that make them."""

    def unreadable(self, name: str, error: Exception) -> None:
        self._trace.unreadable[name] = f"{type(error).__name__}: {error}"

    def attended(self, name: str, call: Callable[[], AttentionCall], output: Tensor, layout: Layout) -> None:
        stage(RECORDING)
        try:
            made = call()
        except Exception as error:  # whatever it is, the model itself has run and goes on
            self.unreadable(name, error)
            return
        self._trace.calls.append(made)
        if layout.is_guess:
            self._trace.guessed[name] = None
        if not _is_called_attention(self.module):
            return
        shapes = self._shapes.setdefault((name, layout.sizes_of_input), {})
        shapes[self.place] = made.num_queries, made.num_keys
        too_many_heads = made.num_heads > (stated_heads(self.module) or made.num_heads)
        if layout.has_blocks or too_many_heads or len(set(shapes.values())) > 1:
            self._pieces[name] = None

    def pieces(self) -> dict[str, None]:
        """Modules whose calls are not, each by itself, all of their attention.

        They attend at several places with maps of different sizes, with more heads than they have, or in blocks; or
        more was made of their weights than meeting values.
        """
        is_meant = {name for name, module in self.modules.items() if _is_attention(module)}
        partly = [name for name, softmax in self.not_all_seen() if softmax.may_be_attention or name in is_meant]
        return self._pieces | dict.fromkeys(partly)


def _is_called_attention(module: nn.Module) -> bool:
    name = getattr(module, "original_name", type(module).__name__).lower()  # of TorchScript, what it was made from
    return "attention" in name or "attn" in name


def _is_attention(module: nn.Module) -> bool:
    """Whether a module is meant to attend: by its class's name, or because it has heads."""
    return _is_called_attention(module) or stated_heads(module) is not None


def _mixes_without_softmax(module: nn.Module) -> bool:
    return type(module).__name__.lower().endswith(MIXERS_WITHOUT_SOFTMAX)


def _survey(modules: dict[str, nn.Module], trace: Trace) -> None:
    """Note which modules of the model the trace does not show."""
    callers = {call.name for call in trace}
    attending = {name for name in callers if _is_attention(modules[name])}

    def has_call(name: str) -> bool:
        """It attends itself, or something in it does, or it is a part of a module that attends."""
        return (
            name in callers
            or any(_inside(each, name) for each in callers)
            or any(_inside(name, each) for each in attending)
        )

    mixers = _innermost([name for name, module in modules.items() if _mixes_without_softmax(module)])
    attention = _innermost(
        [
            name
            for name, module in modules.items()
            if _is_attention(module) and not any(name == mixer or _inside(name, mixer) for mixer in mixers)
        ]
    )
    trace.num_attention_modules = len(attention)
    trace.unseen = tuple(name for name in attention if not has_call(name))
    trace.other_mixers = tuple(name for name in mixers if not any(_inside(caller, name) for caller in callers))


def _innermost(names: list[str]) -> list[str]:
    return [name for name in names if not any(_inside(other, name) for other in names)]


def _inside(inner: str, outer: str) -> bool:
    return inner != outer and (outer == "" or inner.startswith(f"{outer}."))


def _why_nothing_was_seen(model: nn.Module, trace: Trace) -> str:
    model_name = type(model).__name__
    if trace.other_mixers and not trace.unseen:
        return (
            f"No attention was recorded: {model_name} mixes tokens without softmax attention, so it has no attention "
            f"weights ({listing(trace.other_mixers)})."
        )
    if trace.unreadable:
        reasons = "; ".join(dict.fromkeys(trace.unreadable.values()))
        return f"No attention was recorded: that of {listing(tuple(trace.unreadable))} could not be read ({reasons})."
    modules = f" Its attention modules: {listing(trace.unseen)}." if trace.unseen else ""
    return (
        f"No attention was recorded: {model_name} did not call torch.nn.functional.scaled_dot_product_attention inside "
        "the block, nor write out a softmax of products of queries and keys. Either it was not run there, or it "
        "attends in another way (a kernel of its own, such as FlashAttention or FlexAttention: load the model with "
        f'attn_implementation="sdpa" or "eager"; TorchScript), or it has no softmax attention.{modules}'
    )
