"""python -m transformer_core {train, translate, evaluate, inspect}"""

import argparse
import dataclasses
import os
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args, get_origin

if TYPE_CHECKING:
    from PIL import Image

    from transformer_core.inspection import Inspection
    from transformer_core.zoo import InspectableModel, InspectionOptions, StackShape

STOPPED = 130
"""Exit status of a command that Ctrl-C ended, as shells have it."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    try:
        parser = argparse.ArgumentParser(prog="python -m transformer_core", description=__doc__)
        commands = parser.add_subparsers(dest="command", required=True)
        _add_train(commands, sys.argv[1:] if arguments is None else arguments)
        _add_translate(commands)
        _add_evaluate(commands)
        _add_inspect(commands)
        options = parser.parse_args(arguments)
        return options.run(options)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:  # as which PyTorch reports too little memory, a GPU's or the machine's
        if "memory" not in str(error):
            raise
        print("error: too little memory: use smaller sizes, or --device cpu if a GPU ran out of it", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return STOPPED


def _add_train(commands: argparse._SubParsersAction, arguments: Sequence[str]) -> None:
    # A shortened --preset would be one for this parser, and none for the one below that looks for it.
    parser = commands.add_parser(
        "train",
        help="train a model",
        description="Train a model. Its options depend on --preset.",
        allow_abbrev=False,
    )
    if "train" not in arguments[:1]:
        return  # its options come from modules that take seconds to import
    from transformer_core.training.presets import DEFAULT, PRESETS

    choice = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    choice.add_argument("--preset", default=DEFAULT)
    chosen = choice.parse_known_args(arguments)[0].preset
    parser.add_argument("--preset", choices=PRESETS, default=DEFAULT, help=f"what to train (default: {DEFAULT})")
    preset = PRESETS.get(chosen, PRESETS[DEFAULT])
    defaults = preset.defaults()
    for field in dataclasses.fields(preset.options):
        settings: dict = {"type": field.metadata["read"] or field.type, "help": field.metadata["help"]}
        if get_origin(field.type) is Literal:
            settings |= {"type": str, "choices": get_args(field.type)}
        if field.name in defaults:
            default = defaults[field.name]
            settings |= {"default": default, "help": f"{settings['help']} (default: {_shown(default)})"}
        else:
            settings["required"] = True
        parser.add_argument(f"--{field.name.replace('_', '-')}", **settings)
    parser.set_defaults(run=_train, options=preset.options)


def _shown(default: object) -> str:
    """A default as one would type it."""
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    return "none" if default == "" else str(default).replace("%", "%%")


def _train(arguments: argparse.Namespace) -> int:
    from transformer_core.training.loop import train

    names = [field.name for field in dataclasses.fields(arguments.options)]
    options = arguments.options(**{name: getattr(arguments, name) for name in names})
    processes = os.environ.get("LOCAL_WORLD_SIZE")
    launcher = ["torchrun", "--nproc-per-node", processes] if processes else ["python"]
    finished = train(options, command=shlex.join([*launcher, "-m", "transformer_core", *sys.argv[1:]]))
    return 0 if finished else STOPPED


def _model_folder(name: str) -> Path:
    """The folder that is meant, or that of the bundled model of this name."""
    from transformer_core.zoo import bundled

    is_bundled = not Path(name).exists() and name in bundled.available()
    return bundled.PRETRAINED / name if is_bundled else Path(name)


def _add_translate(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("translate", help="translate standard input, one sentence a line, to standard output")
    parser.add_argument(
        "--model", type=_model_folder, required=True, help="folder of a trained translator, or a bundled model"
    )
    parser.add_argument("--beam-size", type=int, default=4, help="1 is greedy search (default: 4)")
    parser.add_argument("--length-penalty", type=float, default=0.6, help="the paper's alpha (default: 0.6)")
    parser.add_argument("--device", default="auto", help="auto, cuda, mps or cpu (default: auto)")
    parser.set_defaults(run=_translate)


def _translate(arguments: argparse.Namespace) -> int:
    from transformer_core.trained import Translator

    translator = Translator.load(arguments.model, arguments.device)
    # Only "\n" ends a line: a form feed or a line separator inside a sentence must not make two of it.
    content = sys.stdin.buffer.read()
    lines = []
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else [], start=1):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            lines.append(line.decode("utf-8", "replace"))
            print(f"line {number} is not UTF-8: what cannot be read of it is left out", file=sys.stderr)
    most = translator.max_source_tokens - 1  # and the end token
    for index, line in enumerate(lines):
        tokens = len(translator.source_ids(line)) - 1
        if tokens > most:
            lines[index] = translator.shorten(line)
            print(f"line {index + 1} is {tokens} tokens long: only its first {most} are read", file=sys.stderr)
    for translation in translator.translate(lines, arguments.beam_size, arguments.length_penalty):
        # A translation is one line, whatever the model says.
        sys.stdout.buffer.write(" ".join(translation.splitlines()).encode() + b"\n")
    return 0


def _add_evaluate(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("evaluate", help="measure the figures of a trained model's card again")
    parser.add_argument(
        "--model", type=_model_folder, required=True, help="folder of a trained model, or a bundled model"
    )
    parser.add_argument("--data", type=Path, help="the file it was trained on, for models trained on one")
    parser.add_argument("--beam-size", type=int, help="of a translator; 1 is greedy search (default: 4)")
    parser.add_argument("--length-penalty", type=float, help="of a translator, the paper's alpha (default: 0.6)")
    parser.add_argument("--device", default="auto", help="auto, cuda, mps or cpu (default: auto)")
    parser.set_defaults(run=_evaluate)


def _evaluate(arguments: argparse.Namespace) -> int:
    from transformer_core import trained
    from transformer_core.training.measuring import measured

    model = trained.load(arguments.model, arguments.device)
    print(measured(model, arguments.model, arguments.data, arguments.beam_size, arguments.length_penalty))
    return 0


def _add_inspect(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("inspect", help="the attention of all heads of any model for a text, as a file")
    parser.add_argument("--model", required=True, help="a bundled model (@STEP: a snapshot), a folder, or a hub name")
    content = parser.add_mutually_exclusive_group(required=True)
    content.add_argument("--text", help="the text; - reads standard input")
    content.add_argument("--image", type=Path, help="an image file, for models that read images")
    parser.add_argument("--out", type=Path, help="file to write: .npz, .json, .csv or .html (default: only print)")
    parser.add_argument("--device", default="auto", help="auto, cuda, mps or cpu (default: auto)")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16 (default: auto)")
    parser.add_argument(
        "--implementation",
        default="transformers",
        help="who runs a Hugging Face BERT, GPT-2, T5 or ViT: transformers or headlight (default: transformers)",
    )
    parser.add_argument("--second-text", help="the other sentence of a pair")
    parser.add_argument("--beam-size", type=int, help="1 is greedy search (default: 4)")
    parser.add_argument("--length-penalty", type=float, help="the paper's alpha (default: 0.6)")
    parser.add_argument("--new-tokens", type=int, help="tokens that a causal model writes on (default: 0)")
    parser.add_argument("--temperature", type=float, help="above 0 tokens are drawn; 0: the likeliest (default: 0)")
    parser.add_argument("--top-k", type=int, help="draw only from so many of the likeliest (default: 0, all)")
    parser.add_argument(
        "--top-p", type=float, help="draw only from the likeliest that reach this sum (default: 1, all)"
    )
    parser.add_argument("--seed", type=int, help="of the drawing: the same seed, the same text (default: 0)")
    parser.add_argument("--chat", action="store_true", default=None, help="put the text into the chat template")
    parser.add_argument("--masked", type=int, nargs="+", help="tokens of the text to mask, counted from 0")
    parser.add_argument(
        "--read-special-tokens",
        action="store_true",
        default=None,
        help='read a typed "[MASK]" or "</s>" as that special token, not as text',
    )
    parser.set_defaults(run=_inspect)


def _inspect(arguments: argparse.Namespace) -> int:
    from transformer_core import zoo
    from transformer_core.inspection import export
    from transformer_core.inspection.summary import one_line, summary

    if arguments.out is not None:
        export.check_path(arguments.out)
    given = {name: getattr(arguments, name) for name in zoo.NEEDED_ABILITIES if getattr(arguments, name) is not None}
    options = zoo.InspectionOptions(**given | ({"masked": tuple(given["masked"])} if "masked" in given else {}))
    content = _image(arguments.image) if arguments.image else _text(arguments.text)
    model = zoo.load(arguments.model, arguments.device, arguments.dtype, implementation=arguments.implementation)
    _refuse_what_counts_for_nothing(model, given, content, options)
    inspection = model.inspect(content, options)
    lines = [
        ("architecture", f"{model.architecture} ({model.family}), {model.num_parameters:,} parameters"),
        *((f"{stack.name} stack", _layers_and_heads(stack)) for stack in model.stacks),
        *summary(inspection),
        *_how_to_mask(model, inspection, options),
        *(("note", note) for note in model.notes if note not in inspection.notes),
    ]
    if arguments.out is not None:
        export.save(inspection, arguments.out)
        lines.append(("written to", f"{arguments.out} ({arguments.out.stat().st_size:,} bytes)"))
    for name, value in lines:
        _print(one_line(f"{name + ':':<15}{value}"))
    return 0


def _text(text: str) -> str:
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input is not UTF-8: byte {error.start + 1:,} cannot be read") from error


def _image(path: Path) -> "Image.Image":
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(path)
        image.load()
    except UnidentifiedImageError as error:
        raise ValueError(f"{path} is no image, or of a kind that cannot be read: use PNG or JPEG") from error
    except Image.DecompressionBombError as error:
        raise ValueError(f"{path} is too large an image: make it smaller") from error
    except OSError as error:
        raise OSError(f"the image {path} cannot be read: {error.strerror or error}") from error
    return image


def _refuse_what_counts_for_nothing(
    model: "InspectableModel", given: Collection[str], content: "str | Image.Image", options: "InspectionOptions"
) -> None:
    """Options and inputs that this model would ignore, or that are not there.

    Args:
        given: the options that were typed.

    Raises:
        InputError: there is one.
    """
    from transformer_core.zoo import NEEDED_ABILITIES, InputError

    wants, has = ("--image", "--text") if "image" in model.abilities else ("--text", "--image")
    if isinstance(content, str) == ("image" in model.abilities):
        raise InputError(f"{model.name} ({model.architecture}) reads {wants[2:]}s: use {wants} instead of {has}")
    for name in given:
        if NEEDED_ABILITIES[name] not in model.abilities:
            abilities = ", ".join(sorted(model.abilities)) or "none"
            raise InputError(
                f"{model.name} ({model.architecture}) has no use for --{name.replace('_', '-')}, because it lacks the "
                f"ability {NEEDED_ABILITIES[name]!r}. Its abilities: {abilities}."
            )
    tokens = model.tokens(content, options.read_special_tokens) if options.masked else ()
    for number in options.masked:
        if not 0 <= number < len(tokens):
            raise InputError(f"there is no token {number} to mask; counted from 0, there are: {_numbered(tokens)}")


def _how_to_mask(
    model: "InspectableModel", inspection: "Inspection", options: "InspectionOptions"
) -> list[tuple[str, str]]:
    """What is said in place of an answer where a model that guesses masked tokens was shown none."""
    # A mask may also have been typed.
    if "mask" not in model.abilities or options.masked or inspection.predictions:
        return []
    tokens = _numbered(model.tokens(inspection.text, options.read_special_tokens))
    return [("answer", f"none, because no token is masked: give the numbers of some with --masked ({tokens})")]


def _numbered(tokens: Sequence[str]) -> str:
    return ", ".join(f"{number} {token}" for number, token in enumerate(tokens))


def _layers_and_heads(stack: "StackShape") -> str:
    fewest, most = min(stack.heads), max(stack.heads)
    heads = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{len(stack.heads)} layers x {heads} heads"


def _print(line: str) -> None:
    """Print a line on any terminal: letters that its encoding lacks are written as their code."""
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding))


if __name__ == "__main__":
    sys.exit(main())
