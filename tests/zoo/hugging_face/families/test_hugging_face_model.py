"""What all families share: refusals, partial models, limits, threads and failures."""

import copy
import threading

import pytest
import torch
import transformers

from tests.zoo.hugging_face.families.checkpoints_in_memory import (
    BYTE_LEVEL,
    SIZES,
    UNIGRAM,
    WORDPIECE,
    assert_weights,
    bart_config,
    bert_config,
    gpt2_config,
    inspected,
    oracle,
    random_model,
    t5_config,
)
from transformer_core.zoo import DeviceMemoryError, InputError, InspectionOptions

TEXT = "The cat sees the dog because it is big."
WORDS = {"vocab_size": len(WORDPIECE), "pad_token_id": 0} | SIZES
BYTES = {"vocab_size": len(BYTE_LEVEL), "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0} | SIZES


@pytest.mark.parametrize(
    ("model_class", "config", "tokenizer", "family", "reason"),
    [
        (
            transformers.MambaForCausalLM,
            transformers.MambaConfig(**BYTES),
            BYTE_LEVEL,
            "causal",
            "mixes tokens without",
        ),
        (transformers.RwkvForCausalLM, transformers.RwkvConfig(**BYTES), BYTE_LEVEL, "causal", "it has no softmax"),
        (transformers.FNetForMaskedLM, transformers.FNetConfig(**WORDS), WORDPIECE, "masked", "mixes tokens without"),
        (
            transformers.LongformerForMaskedLM,
            transformers.LongformerConfig(attention_window=[4, 4], **WORDS),
            WORDPIECE,
            "masked",
            "No attention was recorded",
        ),
    ],
)
def test_models_without_attention_that_can_be_shown(model_class, config, tokenizer, family, reason):
    network = random_model(model_class, config, "eager")
    with pytest.raises(ValueError, match=rf"{model_class.__name__} \(model type '{config.model_type}'\).*{reason}"):
        inspected(network, tokenizer, family)


def test_maps_that_are_not_tokens_by_tokens_are_refused():
    config = transformers.PerceiverConfig(d_model=32, d_latents=32, num_latents=8, vocab_size=len(WORDPIECE))
    network = random_model(transformers.PerceiverForMaskedLM, config, "eager")
    with pytest.raises(
        ValueError, match=r"cannot be laid over its tokens\. Its maps, 8 × \d+, 8 × 8, .* are not tokens"
    ):
        inspected(network, WORDPIECE, "masked")


def test_the_attention_layers_of_a_hybrid():
    config = transformers.JambaConfig(
        **BYTES,
        num_key_value_heads=2,
        attn_layer_period=2,
        attn_layer_offset=1,
        num_experts=2,
        num_experts_per_tok=1,
        mamba_d_state=4,
        use_mamba_kernels=False,
    )
    network = random_model(transformers.JambaForCausalLM, config)
    model = inspected(network, BYTE_LEVEL, "causal", notes=("Opened in a hurry.",))
    assert [(stack.name, stack.heads) for stack in model.stacks] == [("self", (4,))]
    assert model.notes[:2] == (
        "Opened in a hurry.",
        "Of its 2 layers 1 can be shown. They are numbered without the others.",
    )
    assert any("without softmax attention" in note and "layers.0.mamba" in note for note in model.notes)
    inspection = model.inspect(TEXT)
    assert set(inspection.notes) == set(model.notes)
    # Its experts do not run in double precision.
    maps = oracle(network, torch.float32, input_ids=BYTE_LEVEL(TEXT)["input_ids"]).attentions
    assert_weights(
        inspection.stacks["self"],
        tuple(each for each in maps if each is not None),
    )


def test_what_does_not_fit_is_left_out_and_said():
    """LongT5's encoder attends within windows; its decoder and cross attention are as in T5."""
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4}
    config = transformers.LongT5Config(vocab_size=len(UNIGRAM), local_radius=3, **sizes, **ids)
    network = random_model(transformers.LongT5ForConditionalGeneration, config, "eager")
    model = inspected(network, UNIGRAM, "text-to-text")
    assert [stack.name for stack in model.stacks] == ["decoder", "cross"]
    assert any(note.startswith("2 of 6 attention calls are left out: their maps, ") for note in model.notes)
    inspection = model.inspect("The cat sleeps.", InspectionOptions(beam_size=1))
    assert list(inspection.stacks) == ["decoder", "cross"]
    left_out = [note for note in inspection.notes if "left out" in note]
    assert len(left_out) == 1, "of this text, not of the first pass"


def test_a_piece_of_a_map_is_not_shown_as_a_whole_one():
    """ProphetNet's decoder has a main stream, as large as a map of its tokens, and one that predicts (2001.04063)."""
    sizes = {f"num_{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    widths = {"hidden_size": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "ngram": 2}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2, "decoder_start_token_id": 2}
    config = transformers.ProphetNetConfig(vocab_size=len(UNIGRAM), **sizes, **widths, **ids)
    network = random_model(transformers.ProphetNetForConditionalGeneration, config, "eager")
    model = inspected(network, UNIGRAM, "text-to-text")
    assert [stack.name for stack in model.stacks] == ["encoder"]
    assert any("attend in pieces" in note and "decoder.layers.0.self_attn" in note for note in model.notes)


def test_a_model_that_changes_with_its_first_input():
    """BigBird reads short texts in full rather than in blocks, and puts other modules in for that."""
    config = transformers.BigBirdConfig(block_size=2, num_random_blocks=1, **WORDS)
    network = random_model(transformers.BigBirdForMaskedLM, config, "eager")
    model = inspected(network, WORDPIECE, "masked")
    assert model.notes == ()
    inspection = model.inspect(TEXT)
    with torch.no_grad():
        ids = torch.tensor([WORDPIECE(TEXT)["input_ids"]])
        attentions = copy.deepcopy(network).double()(ids, output_attentions=True).attentions
    assert_weights(inspection.stacks["self"], attentions)
    assert inspection.notes == ()


def test_a_layer_that_is_called_again_is_a_layer():
    """All layers of ALBERT are one module."""
    config = transformers.AlbertConfig(embedding_size=16, **WORDS | {"num_hidden_layers": 3})
    network = random_model(transformers.AlbertForMaskedLM, config)
    model = inspected(network, WORDPIECE, "masked")
    assert model.stacks[0].heads == (4, 4, 4)
    attentions = oracle(network, input_ids=WORDPIECE(TEXT)["input_ids"]).attentions
    assert_weights(model.inspect(TEXT).stacks["self"], attentions)


DEBERTA = transformers.DebertaV2Config(relative_attention=True, pos_att_type="c2p|p2c", **WORDS)


@pytest.mark.parametrize(
    ("model_class", "config"),
    [(transformers.DebertaV2ForMaskedLM, DEBERTA), (transformers.MPNetForMaskedLM, transformers.MPNetConfig(**WORDS))],
)
def test_attention_that_is_written_out(model_class, config):
    network = random_model(model_class, config, "eager")
    inspection = inspected(network, WORDPIECE, "masked").inspect(TEXT)
    assert_weights(inspection.stacks["self"], oracle(network, input_ids=WORDPIECE(TEXT)["input_ids"]).attentions)


def test_an_encoder_and_a_decoder_that_were_joined():
    """Both halves are BERTs, whose modules are all called "encoder"."""
    decoder = bert_config(is_decoder=True, add_cross_attention=True, num_hidden_layers=3)
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(bert_config(), decoder)
    network = random_model(transformers.EncoderDecoderModel, config)
    network.generation_config.update(decoder_start_token_id=2, eos_token_id=3, pad_token_id=0)
    model = inspected(network, WORDPIECE, "text-to-text")
    assert [(stack.name, len(stack.heads)) for stack in model.stacks] == [("encoder", 2), ("decoder", 3), ("cross", 3)]
    assert model.max_tokens == 62
    stacks = model.inspect("The cat sleeps.", InspectionOptions(beam_size=1)).stacks
    assert all(call.name.startswith("encoder.") for call in stacks["encoder"].calls)
    assert all("crossattention" in call.name for call in stacks["cross"].calls)
    assert (stacks["decoder"].weights(2).triu(1) == 0).all()
    assert stacks["encoder"].weights(1).triu(1).any()


OPTIONS = InspectionOptions(second_text="The dog is tired.", masked=(0,), new_tokens=5, beam_size=2)
"""Under which every family does all it can."""

FAMILIES = [
    pytest.param(transformers.BertForMaskedLM, bert_config(), WORDPIECE, "masked", id="masked"),
    pytest.param(transformers.BertForSequenceClassification, bert_config(), WORDPIECE, "classifier", id="classifier"),
    pytest.param(transformers.BertModel, bert_config(), WORDPIECE, "embedding", id="embedding"),
    pytest.param(transformers.GPT2LMHeadModel, gpt2_config(), BYTE_LEVEL, "causal", id="causal"),
    pytest.param(transformers.T5ForConditionalGeneration, t5_config(), UNIGRAM, "text-to-text", id="text-to-text"),
]
"""A model of every family that reads text."""


def of_family(network, tokenizer, family: str):
    return inspected(network, tokenizer, family, pooling="mean" if family == "embedding" else None)


def everything(inspection) -> tuple:
    """All that an inspection says, to be compared bit by bit."""
    weights = {
        name: [stack.weights(layer).numpy().tobytes() for layer in range(len(stack))]
        for name, stack in inspection.stacks.items()
    }
    tokens = {name: (stack.query_tokens, stack.key_tokens) for name, stack in inspection.stacks.items()}
    return inspection.text, inspection.answer, inspection.predictions, inspection.notes, tokens, weights


@pytest.mark.parametrize(("model_class", "config", "tokenizer", "family"), FAMILIES)
def test_threads_share_a_model(model_class, config, tokenizer, family):
    """Different texts at the same time: everyone gets what they would get alone."""
    model = of_family(random_model(model_class, config), tokenizer, family)
    texts = ["The cat sleeps.", "We are tired today.", "The dog drinks water because it is big.", "cat"]
    alone = {text: everything(model.inspect(text, OPTIONS)) for text in texts}
    results, barrier = [], threading.Barrier(len(texts))

    def visit(text: str) -> None:
        barrier.wait()
        results.extend(everything(model.inspect(text, OPTIONS)) == alone[text] for _ in range(2))

    threads = [threading.Thread(target=visit, args=[text]) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8


@pytest.mark.parametrize(("model_class", "config", "tokenizer", "family"), FAMILIES)
def test_torchs_default_dtype_does_not_matter(model_class, config, tokenizer, family):
    """transformers changes it for the whole process, for a moment, while another model is opened in half precision."""
    model = of_family(random_model(model_class, config), tokenizer, family)
    expected = everything(model.inspect(TEXT, OPTIONS))
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = everything(model.inspect(TEXT, OPTIONS))
    finally:
        torch.set_default_dtype(torch.float32)
    assert found == expected


@pytest.mark.parametrize(("model_class", "config", "tokenizer", "family"), FAMILIES)
def test_the_network_is_left_as_it_was(model_class, config, tokenizer, family):
    network = random_model(model_class, config)
    model = of_family(network, tokenizer, family)

    def state() -> dict:
        return {
            "attributes": {name: sorted(vars(module)) for name, module in network.named_modules()},
            "hooks": [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in network.modules()],
            "config": network.config.to_json_string(),
            "generation": network.generation_config.to_json_string() if network.can_generate() else None,
            "training": network.training,
            "gradients": [parameter.requires_grad for parameter in network.parameters()],
        }

    before, weights = state(), {name: tensor.clone() for name, tensor in network.state_dict().items()}
    model.inspect(TEXT, OPTIONS)
    assert state() == before
    assert all(torch.equal(tensor, weights[name]) for name, tensor in network.state_dict().items())


@pytest.mark.parametrize(("model_class", "config", "tokenizer", "family"), FAMILIES)
def test_a_network_runs_in_inference_mode(model_class, config, tokenizer, family):
    network = random_model(model_class, config)
    modes = []
    for module in network.modules():
        module.register_forward_hook(lambda *_: modes.append(torch.is_inference_mode_enabled()))
    of_family(network, tokenizer, family).inspect(TEXT, OPTIONS)
    assert modes and all(modes)
    assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize(("model_class", "config", "tokenizer", "family"), FAMILIES)
def test_a_broken_network_is_named_and_predicts_nothing(model_class, config, tokenizer, family):
    """NaN in the last layer: the attention before it is sound and stays."""
    config = copy.deepcopy(config)
    config.tie_word_embeddings = False
    network = random_model(model_class, config)
    last = {
        "masked": "cls.predictions.decoder.weight",
        "classifier": "classifier.weight",
        "embedding": "encoder.layer.1.output.dense.weight",
    }
    with torch.no_grad():
        network.get_parameter(last.get(family, "lm_head.weight")).fill_(torch.nan)
    inspection = of_family(network, tokenizer, family).inspect(TEXT, OPTIONS)
    assert any("holds NaN (not a number)" in note for note in inspection.notes)
    assert inspection.predictions == ()
    assert inspection.row_sum_error < 1e-6


def test_a_half_precision_model_says_its_dtype():
    network = random_model(transformers.GPT2LMHeadModel, gpt2_config()).bfloat16()
    model = inspected(network, BYTE_LEVEL, "causal")
    assert model.dtype == torch.bfloat16
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=3))
    assert inspection.provenance.dtype == "bfloat16"
    assert inspection.certificate < 2e-2
    assert inspection.row_sum_error < 1e-6
    assert len(inspection.predictions[0].candidates) == 10


def test_a_tokenizer_of_another_model():
    network = random_model(transformers.BertForMaskedLM, bert_config(vocab_size=100))
    model = inspected(network, WORDPIECE, "masked")
    with pytest.raises(
        InputError, match=r"number \d+, but BertForMaskedLM knows only 100 tokens.*do not belong together"
    ):
        model.inspect("The animal did not cross the street.")


def test_a_vocabulary_with_room_to_spare():
    """Many checkpoints have more rows than their tokenizer has tokens: such a guess still has a name."""
    network = random_model(transformers.BertForMaskedLM, bert_config(vocab_size=len(WORDPIECE) + 7))
    with torch.no_grad():
        network.cls.predictions.decoder.bias[-1] = 1e4
    inspection = inspected(network, WORDPIECE, "masked").inspect(TEXT, InspectionOptions(masked=(0,)))
    assert inspection.predictions[0].candidates[0] == (f"[#{len(WORDPIECE) + 6}]", 1.0)


def test_too_little_memory_on_a_gpu(monkeypatch):
    network = random_model(transformers.BertModel, bert_config())
    model = inspected(network, WORDPIECE, "encoder")

    def out_of_memory(**inputs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(network, "forward", out_of_memory)
    with pytest.raises(DeviceMemoryError, match="too little free memory"):
        model.inspect(TEXT)


def test_a_network_that_fails_says_how(monkeypatch):
    network = random_model(transformers.BertModel, bert_config())
    model = inspected(network, WORDPIECE, "encoder")

    def failing(**inputs):
        raise IndexError("position 70 is not there\nand more")

    monkeypatch.setattr(network, "forward", failing)
    with pytest.raises(
        InputError, match=r"BertModel failed on what it was given\. IndexError: position 70 is not there\.$"
    ):
        model.inspect(TEXT)
    with pytest.raises(ValueError, match=r"failed on what it was given"):
        inspected(network, WORDPIECE, "encoder")


OPT = transformers.OPTConfig(ffn_dim=48, word_embed_proj_dim=32, **BYTES)
XLM_ROBERTA = transformers.XLMRobertaConfig(**WORDS | {"pad_token_id": 1})


@pytest.mark.parametrize(
    ("model_class", "config", "tokenizer", "family", "most"),
    [
        (transformers.OPTForCausalLM, OPT, BYTE_LEVEL, "causal", 64),
        (transformers.LlamaForCausalLM, transformers.LlamaConfig(**BYTES), BYTE_LEVEL, "causal", 64),
        (transformers.BartForConditionalGeneration, bart_config(), UNIGRAM, "text-to-text", 63),
        # These count positions from behind the padding token's number.
        (transformers.XLMRobertaModel, XLM_ROBERTA, WORDPIECE, "encoder", 60),
        (transformers.MPNetModel, transformers.MPNetConfig(**WORDS), WORDPIECE, "encoder", 60),
    ],
)
def test_the_longest_text(model_class, config, tokenizer, family, most):
    """As long as the model says is read; one token more is refused, with words."""
    network = random_model(model_class, config, "eager")
    model = inspected(network, tokenizer, family)
    assert model.max_tokens == most
    texts = [" cat" * words + "." * dots for words in range(most + 1) for dots in range(3)]
    lengths = {len(tokenizer(text, add_special_tokens=False)["input_ids"]): text for text in texts}
    longest = model.inspect(lengths[most], InspectionOptions(beam_size=1))
    assert len(next(iter(longest.stacks.values())).query_tokens) == most + tokenizer.num_special_tokens_to_add()
    with pytest.raises(InputError, match=rf"tokens long; this model reads at most {most}\. Shorten it by "):
        model.inspect(lengths[most] + " cat")


def test_no_longest_text():
    config = transformers.BloomConfig(vocab_size=len(BYTE_LEVEL), hidden_size=32, n_layer=1, n_head=4)
    model = inspected(random_model(transformers.BloomForCausalLM, config, "eager"), BYTE_LEVEL, "causal")
    assert model.max_tokens is None
    assert len(model.inspect(" cat" * 300).stacks["self"].query_tokens) == 300


def test_a_model_of_characters_that_has_no_vocabulary():
    """CANINE hashes characters, and its deep layers read a fourth as many places: its first and last are shown."""
    config = transformers.CanineConfig(num_hash_buckets=64, **SIZES)
    model = inspected(
        random_model(transformers.CanineModel, config, "eager"), transformers.CanineTokenizer(), "encoder"
    )
    inspection = model.inspect("Grüße ☃")
    assert inspection.stacks["self"].query_tokens[1:-1] == ("G", "r", "ü", "ß", "e", "▁", "☃")
    assert len(inspection.stacks["self"]) == 2
    assert any(note.startswith("2 of 4 attention calls are left out: their maps, 2 × 2") for note in inspection.notes)
