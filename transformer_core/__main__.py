"""python -m transformer_core {train, translate, evaluate}"""

import argparse
import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m transformer_core", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_train(commands)
    _add_translate(commands)
    _add_evaluate(commands)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _add_train(commands: argparse._SubParsersAction) -> None:
    from transformer_core.training.options import TrainingOptions

    parser = commands.add_parser("train", help="train a translator on a file of sentence pairs")
    for field in dataclasses.fields(TrainingOptions):
        settings: dict = {"type": field.type, "help": f"default: {field.default}"}
        if get_origin(field.type) is Literal:
            settings |= {"type": str, "choices": get_args(field.type)}
        if field.default is dataclasses.MISSING:
            settings |= {"required": True, "help": None}
        parser.add_argument(f"--{field.name.replace('_', '-')}", default=field.default, **settings)
    parser.set_defaults(run=_train)


def _train(arguments: argparse.Namespace) -> int:
    from transformer_core.training.loop import train
    from transformer_core.training.options import TrainingOptions

    names = [field.name for field in dataclasses.fields(TrainingOptions)]
    options = TrainingOptions(**{name: getattr(arguments, name) for name in names})
    train(options, command=shlex.join(["python", "-m", "transformer_core", *sys.argv[1:]]))
    return 0


def _add_translate(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("translate", help="translate standard input, one sentence a line, to standard output")
    parser.add_argument("--model", type=Path, required=True, help="folder of a trained translator")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, default=0.6)
    parser.add_argument("--device", default="auto")
    parser.set_defaults(run=_translate)


def _translate(arguments: argparse.Namespace) -> int:
    from transformer_core.text import Translator

    translator = Translator.load(arguments.model, arguments.device)
    # Only "\n" ends a line: a form feed or a line separator inside a sentence must not make two of it.
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n") if text else []
    for index, line in enumerate(lines):
        tokens = len(translator.source_ids(line))
        if tokens > translator.max_source_tokens:
            lines[index] = translator.shorten(line)
            print(
                f"line {index + 1} is {tokens} tokens long: only its first {translator.max_source_tokens} are read",
                file=sys.stderr,
            )
    for translation in translator.translate(lines, arguments.beam_size, arguments.length_penalty):
        # A translation is one line, whatever the model says.
        sys.stdout.buffer.write(" ".join(translation.splitlines()).encode() + b"\n")
    return 0


def _add_evaluate(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("evaluate", help="BLEU of a translator on the test sentences of its training data")
    parser.add_argument("--model", type=Path, required=True, help="folder of a trained translator")
    parser.add_argument("--data", type=Path, required=True, help="the file it was trained on")
    parser.add_argument("--held-out", type=int, default=2000, help="as it was given to train")
    parser.add_argument("--seed", type=int, default=1, help="as it was given to train")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, default=0.6)
    parser.add_argument("--device", default="auto")
    parser.set_defaults(run=_evaluate)


def _evaluate(arguments: argparse.Namespace) -> int:
    from transformer_core.text import Translator
    from transformer_core.training.data import read_pairs, split_pairs
    from transformer_core.training.evaluation import bleu

    translator = Translator.load(arguments.model, arguments.device)
    pairs, _ = read_pairs(arguments.data, skip_bad_lines=True)
    test = split_pairs(pairs, arguments.held_out, arguments.seed).test
    print(bleu(translator, test, arguments.beam_size, arguments.length_penalty))
    return 0


if __name__ == "__main__":
    sys.exit(main())
