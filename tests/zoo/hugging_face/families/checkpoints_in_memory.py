"""Checkpoints of small random models that never touch the disk, and what transformers itself makes of them."""

import copy

import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tests import tiny_checkpoints
from transformer_core.inspection import AttentionStack
from transformer_core.zoo.hugging_face.inspectable import inspectable
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint

WORDPIECE = tiny_checkpoints.wordpiece_tokenizer()
BYTE_LEVEL = tiny_checkpoints.byte_level_tokenizer()
UNIGRAM = tiny_checkpoints.unigram_tokenizer()

EXTRA_TOKENS = 12
"""So many more than the text an answer may have in these tests, where 50 are usual."""

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}


def bert_config(**options) -> transformers.BertConfig:
    return transformers.BertConfig(**SIZES | {"vocab_size": len(WORDPIECE), "pad_token_id": 0} | options)


def gpt2_config(**options) -> transformers.GPT2Config:
    end = BYTE_LEVEL.eos_token_id
    sizes = {"n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": end, "eos_token_id": end}
    return transformers.GPT2Config(**sizes | {"vocab_size": len(BYTE_LEVEL)} | options)


def t5_config(**options) -> transformers.T5Config:
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
    return transformers.T5Config(vocab_size=len(UNIGRAM), **sizes | ids | options)


def bart_config(**options) -> transformers.BartConfig:
    sizes = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "max_position_embeddings": 64,
    }
    ids = {
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": 2,
        "decoder_start_token_id": 1,
        "forced_eos_token_id": None,
    }
    options = {"tie_word_embeddings": False} | options
    return transformers.BartConfig(vocab_size=len(UNIGRAM), **sizes | ids | options)


def random_model(model_class: type, config: transformers.PreTrainedConfig, implementation: str = "sdpa", seed: int = 0):
    """A model whose weights are larger than a fresh one's, so that its attention is far from uniform."""
    config = copy.deepcopy(config)
    config._attn_implementation = implementation
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(config)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.mul_(4)
    return model.eval()


def checkpoint(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, family: str, **options) -> Checkpoint:
    """The model as it would come from a folder."""
    defaults = {
        "image_processor": None,
        "weights_hash": "0123456789ab",
        "notes": (),
        "pooling": None,
        "normalize": False,
        "usual_length": None,
    }
    return Checkpoint(
        name="tiny",
        family=family,
        architecture=type(model).__name__,
        model=model.eval(),
        tokenizer=tokenizer,
        **defaults | options,
    )


def inspected(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, family: str, **options):
    """The `InspectableModel` of a model in memory."""
    return inspectable(checkpoint(model, tokenizer, family, **options))


def eager_copy(model: PreTrainedModel, dtype: torch.dtype = torch.float64) -> PreTrainedModel:
    """A second model with the same weights that hands out its own attention weights."""
    config = copy.deepcopy(model.config)
    config._attn_implementation = "eager"
    second = type(model)(config)
    second.load_state_dict(model.state_dict())
    return second.to(dtype).eval()


@torch.no_grad()
def oracle(model: PreTrainedModel, dtype: torch.dtype = torch.float64, **inputs):
    """What `eager_copy` returns for lists of ids, attention included."""
    tensors = {name: torch.tensor([ids]) for name, ids in inputs.items()}
    return eager_copy(model, dtype)(**tensors, output_attentions=True, use_cache=False)


def assert_weights(stack: AttentionStack, attentions: tuple[torch.Tensor, ...]) -> None:
    """The stack's weights are those that transformers gives: (1, head, query, key) for each layer."""
    assert len(stack) == len(attentions)
    for layer, expected in enumerate(attentions):
        torch.testing.assert_close(stack.weights(layer).double(), expected[0].double(), atol=2e-5, rtol=1e-4)


def assert_candidates(tokenizer: PreTrainedTokenizerBase, prediction, logits: torch.Tensor, top: int = 10) -> None:
    """The prediction's labels and probabilities are the softmax of these logits, its largest entries."""
    probabilities = logits.double().softmax(dim=-1).topk(top)
    names, found = zip(*prediction.candidates, strict=True)
    torch.testing.assert_close(torch.tensor(found).double(), probabilities.values, atol=1e-5, rtol=1e-4)
    expected = [tokenizer.convert_ids_to_tokens(index) for index in probabilities.indices.tolist()]
    readable = [token for token in expected if token.isascii() and token.isprintable()]
    assert [name for name, token in zip(names, expected, strict=True) if token in readable] == readable
