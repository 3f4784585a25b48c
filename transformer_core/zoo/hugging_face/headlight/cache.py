"""A cache of transformers, which `generate` makes and reorders, as Headlight's layers use theirs."""

from jaxtyping import Float
from torch import Tensor
from transformers import Cache, EncoderDecoderCache

from transformer_core.model.layers import LayerCache
from transformer_core.model.stacks import Decoder


class TransformersLayerCache(LayerCache):
    """One decoder layer's part of a cache of transformers; nothing is kept here."""

    def __init__(self, cache: Cache, layer: int) -> None:
        self._cache = cache
        self._layer = layer

    @property
    def length(self) -> int:
        return self._cache.get_seq_length(self._layer)

    def extend(
        self, keys: Float[Tensor, "batch head new d_k"], values: Float[Tensor, "batch head new d_k"]
    ) -> tuple[Float[Tensor, "batch head target d_k"], Float[Tensor, "batch head target d_k"]]:
        both = isinstance(self._cache, EncoderDecoderCache)
        return (self._cache.self_attention_cache if both else self._cache).update(keys, values, self._layer)

    @property
    def memory(self) -> tuple[Tensor, Tensor] | None:
        if not self._cache.is_updated.get(self._layer):
            return None
        layer = self._cache.cross_attention_cache.layers[self._layer]
        return layer.keys, layer.values

    @memory.setter
    def memory(self, keys_values: tuple[Tensor, Tensor]) -> None:
        self._cache.cross_attention_cache.update(*keys_values, self._layer)
        self._cache.is_updated[self._layer] = True


def layer_caches(cache: Cache | None, decoder: Decoder) -> list[LayerCache] | None:
    """The parts of a cache, one for each layer of the decoder; None where nothing is to be kept."""
    return None if cache is None else [TransformersLayerCache(cache, layer) for layer in range(len(decoder.layers))]
