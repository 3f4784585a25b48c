"""python -m transformer_core {train, translate, evaluate}"""

import argparse
import dataclasses
import os
import shlex
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin

STOPPED = 130
"""Exit status of a command that Ctrl-C ended, as shells have it."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    try:
        parser = argparse.ArgumentParser(prog="python -m transformer_core", description=__doc__)
        commands = parser.add_subparsers(dest="command", required=True)
        _add_train(commands)
        _add_translate(commands)
        _add_evaluate(commands)
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


def _add_train(commands: argparse._SubParsersAction) -> None:
    from transformer_core.training.options import TrainingOptions

    parser = commands.add_parser("train", help="train a translator on a file of sentence pairs")
    for field in dataclasses.fields(TrainingOptions):
        settings: dict = {"type": field.type, "help": field.metadata["help"]}
        if get_origin(field.type) is Literal:
            settings |= {"type": str, "choices": get_args(field.type)}
        if field.default is dataclasses.MISSING:
            settings["required"] = True
        else:
            settings |= {"default": field.default, "help": f"{settings['help']} (default: {field.default or 'none'})"}
        parser.add_argument(f"--{field.name.replace('_', '-')}", **settings)
    parser.set_defaults(run=_train)


def _train(arguments: argparse.Namespace) -> int:
    from transformer_core.training.loop import train
    from transformer_core.training.options import TrainingOptions

    names = [field.name for field in dataclasses.fields(TrainingOptions)]
    options = TrainingOptions(**{name: getattr(arguments, name) for name in names})
    processes = os.environ.get("LOCAL_WORLD_SIZE")
    launcher = ["torchrun", "--nproc-per-node", processes] if processes else ["python"]
    finished = train(options, command=shlex.join([*launcher, "-m", "transformer_core", *sys.argv[1:]]))
    return 0 if finished else STOPPED


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="folder of a trained translator")
    parser.add_argument("--beam-size", type=int, default=4, help="1 is greedy search (default: 4)")
    parser.add_argument("--length-penalty", type=float, default=0.6, help="the paper's alpha (default: 0.6)")
    parser.add_argument("--device", default="auto", help="auto, cuda, mps or cpu (default: auto)")


def _add_translate(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("translate", help="translate standard input, one sentence a line, to standard output")
    _add_decoding(parser)
    parser.set_defaults(run=_translate)


def _translate(arguments: argparse.Namespace) -> int:
    from transformer_core.text import Translator

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
    parser = commands.add_parser("evaluate", help="BLEU of a translator on the sentences that its training held out")
    _add_decoding(parser)
    parser.add_argument("--data", type=Path, required=True, help="the file it was trained on")
    parser.set_defaults(run=_evaluate)


def _evaluate(arguments: argparse.Namespace) -> int:
    from transformer_core.text import Translator
    from transformer_core.training.batches import encode_pairs
    from transformer_core.training.data import SplitRecord
    from transformer_core.training.evaluation import bleu

    translator = Translator.load(arguments.model, arguments.device)
    split = SplitRecord.load(arguments.model).split(arguments.data)
    test = list(encode_pairs(split.test, translator.tokenizer, translator.max_source_tokens))
    print(bleu(translator, test, arguments.beam_size, arguments.length_penalty))
    return 0


if __name__ == "__main__":
    sys.exit(main())
