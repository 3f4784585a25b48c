"""Small Hugging Face checkpoints with random weights and tokenizers trained on a few sentences, saved to folders."""

import json
import string
from collections.abc import Callable
from pathlib import Path

import sentencepiece
import torch
import transformers
from tokenizers import ByteLevelBPETokenizer, SentencePieceUnigramTokenizer, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer

TEXTS = [
    "The cat sleeps. The dog sleeps. The cat drinks milk.",
    "The cat sees the dog because it is big. We are tired today.",
    "Die Katze sieht den Hund, weil er groß ist. Wir sind heute müde.",
    "The animal did not cross the street because it was too tired.",
]

BERT_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}


def save_all(folder: Path) -> dict[str, Path]:
    """Save one checkpoint for each family, and a Marian translator, whose tokenizer is a slow SentencePiece one."""
    savers: dict[str, Callable[[Path], None]] = {
        "masked": save_masked,
        "causal": save_causal,
        "text-to-text": save_text_to_text,
        "marian": save_marian,
        "classifier": save_classifier,
        "encoder": save_encoder,
        "image": save_image,
    }
    folders = {}
    with torch.random.fork_rng():
        for name, save in savers.items():
            torch.manual_seed(0)
            folders[name] = folder / name
            save(folders[name])
    return folders


def save_masked(folder: Path) -> None:
    tokenizer = wordpiece_tokenizer()
    _save(transformers.BertForMaskedLM(_bert_config(tokenizer)), tokenizer, folder)


def save_classifier(folder: Path) -> None:
    tokenizer = wordpiece_tokenizer()
    config = _bert_config(tokenizer, id2label={0: "negative", 1: "neutral", 2: "positive"})
    _save(transformers.BertForSequenceClassification(config), tokenizer, folder)


def save_encoder(folder: Path) -> None:
    tokenizer = wordpiece_tokenizer()
    _save(transformers.BertModel(_bert_config(tokenizer)), tokenizer, folder)


def save_causal(folder: Path) -> None:
    tokenizer = byte_level_tokenizer()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=4,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    _save(transformers.GPT2LMHeadModel(config), tokenizer, folder)


def save_text_to_text(folder: Path) -> None:
    tokenizer = unigram_tokenizer()
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_decoder_layers=3,
        num_heads=4,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    _save(transformers.T5ForConditionalGeneration(config), tokenizer, folder)


def save_marian(folder: Path) -> None:
    folder.mkdir()
    save_marian_tokenizer(folder)
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    config = transformers.MarianConfig(
        vocab_size=len(vocab),
        d_model=32,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=64,
        pad_token_id=vocab["<pad>"],
        eos_token_id=vocab["</s>"],
        decoder_start_token_id=vocab["<pad>"],
        forced_eos_token_id=vocab["</s>"],
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
    )
    transformers.MarianMTModel(config).save_pretrained(folder)


def save_image(folder: Path) -> None:
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
        id2label={0: "cat", 1: "dog", 2: "street"},
    )
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    # Written out: what this file says is what image checkpoints on the hub say.
    processor = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": 32, "width": 32},
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor), encoding="utf-8")


def wordpiece_tokenizer() -> transformers.BertTokenizer:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = Tokenizer(WordPiece(unk_token="[UNK]"))
    trained.pre_tokenizer = BertPreTokenizer()
    trainer = WordPieceTrainer(
        vocab_size=250, special_tokens=specials, initial_alphabet=list(string.punctuation), show_progress=False
    )
    trained.train_from_iterator([text.lower() for text in TEXTS], trainer)
    return transformers.BertTokenizer(vocab=trained.get_vocab(), model_max_length=64)


def byte_level_tokenizer() -> transformers.GPT2Tokenizer:
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS, vocab_size=320, special_tokens=["<|endoftext|>"], show_progress=False)
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    return transformers.GPT2Tokenizer(vocab=model["vocab"], merges=merges, model_max_length=64)


def unigram_tokenizer() -> transformers.T5Tokenizer:
    specials = ["<pad>", "</s>", "<unk>"]
    trained = SentencePieceUnigramTokenizer()
    trained.train_from_iterator(TEXTS, vocab_size=120, special_tokens=specials, unk_token="<unk>", show_progress=False)
    pieces = [tuple(piece) for piece in json.loads(trained.to_str())["model"]["vocab"]]
    return transformers.T5Tokenizer(vocab=pieces, extra_ids=0, model_max_length=64)


def save_marian_tokenizer(folder: Path) -> None:
    """source.spm, target.spm and vocab.json, as translators on the hub have them."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_prefix=str(folder / "source"),
        vocab_size=100,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (folder / "source.vocab").unlink()
    (folder / "source.model").rename(folder / "source.spm")
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    pieces = [processor.id_to_piece(index) for index in range(processor.get_piece_size())]
    names = ["</s>", "<unk>", *(piece for piece in pieces if not piece.startswith("<")), "<pad>"]
    vocab = {piece: index for index, piece in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    config = {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de", "model_max_length": 64}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def change_json(path: Path, **values: object) -> None:
    """Set values in a JSON file; None takes a key out."""
    settings = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    settings = {key: value for key, value in (settings | values).items() if value is not None}
    path.write_text(json.dumps(settings), encoding="utf-8")


def _bert_config(tokenizer: transformers.BertTokenizer, **options: object) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **BERT_SIZES, **options
    )


def _save(model: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase, folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
