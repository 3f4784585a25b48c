"""python -m benchmarks {training, translation, recording, app, views} [--json]"""

import argparse
import sys
from pathlib import Path

from transformer_core.zoo.bundled import PRETRAINED


def main(arguments: list[str] | None = None) -> int:
    """Run a benchmark and print its report; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    benchmarks = parser.add_subparsers(dest="benchmark", required=True)

    training = _add(benchmarks, "training", "tokens a second beside torch.nn.Transformer", repeats=15)
    training.add_argument(
        "--data", type=Path, help="sentence pairs for the batches; default: built-in sentence lengths"
    )
    training.add_argument("--device", default="auto")

    translation = _add(benchmarks, "translation", "100 sentences, with and without the cache", repeats=5)
    translation.add_argument("--device", default="auto")

    recording = _add(benchmarks, "recording", "what recording attention costs", repeats=10, needs_model=False)
    recording.add_argument(
        "--lengths", type=int, nargs="+", help="numbers of tokens; 4096 takes 10 GB of memory; default: 64 to 2048"
    )
    recording.add_argument("--device", default="auto")

    _add(benchmarks, "app", "seconds until a real Chromium shows attention", repeats=5, needs_model=False)

    views = _add(
        benchmarks, "views", "the linked view beside BertViz, in a real Chromium", repeats=3, needs_model=False
    )
    views.add_argument("--lengths", type=int, nargs="+", help="numbers of tokens; default: 32 64 128")

    options = parser.parse_args(arguments)
    try:
        if options.repeats < 1:
            raise ValueError(f"--repeats {options.repeats} must be at least 1")
        report = options.run(options)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    print(report.as_json() if options.json else report.as_text())
    return 0


def _add(benchmarks, name: str, summary: str, repeats: int, needs_model: bool = True) -> argparse.ArgumentParser:
    parser = benchmarks.add_parser(name, help=summary)
    parser.add_argument("--repeats", type=int, default=repeats, help=f"measurements of each row; default: {repeats}")
    parser.add_argument("--json", action="store_true", help="print every measurement as JSON instead of a table")
    if needs_model:
        default = PRETRAINED / "tatoeba-en-de"
        parser.add_argument("--model", type=Path, default=default, help="folder of a translator; default: the bundled")
    # Each is imported only when it runs: "app" and "views" need Playwright, and the others do not.
    runs = {"training": _training, "translation": _translation, "recording": _recording, "app": _app, "views": _views}
    parser.set_defaults(run=runs[name])
    return parser


def _training(options: argparse.Namespace):
    from benchmarks.training import benchmark

    return benchmark(options.model, options.data, options.device, options.repeats)


def _translation(options: argparse.Namespace):
    from benchmarks.translation import benchmark

    return benchmark(options.model, options.device, options.repeats)


def _recording(options: argparse.Namespace):
    from benchmarks.recording import LENGTHS, benchmark

    return benchmark(options.lengths or LENGTHS, options.device, options.repeats)


def _app(options: argparse.Namespace):
    from benchmarks.app import benchmark

    return benchmark(options.repeats)


def _views(options: argparse.Namespace):
    from benchmarks.views import LENGTHS, benchmark

    return benchmark(options.lengths or LENGTHS, options.repeats)


if __name__ == "__main__":
    sys.exit(main())
