"""The command `helpers`: run a study's notebooks, see what would run, build the site, compare studies."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from pathlib import Path
from typing import Any

from helpers import __version__
from helpers.runner import options as op

EXAMPLES = """examples:
  helpers report demo                      run all notebooks of the demo, then build the site
  helpers run small --from 03 --to 05      only the notebooks 03 to 05 of another study
  helpers run demo --from 03 --to 04 -p draws 5000   a parameter of a notebook, as papermill's -p
  helpers plan paper-sensitivity           what would run and what is done; runs nothing
  helpers compare demo small               two studies side by side

exit status: 0 done; 1 a notebook or the site failed; 2 wrong study, step or parameter; 130 stopped by a person"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status. Messages for the user go to standard error."""
    try:
        return _main(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("helpers: stopped; finished results are kept", file=sys.stderr)
        return 130


def _main(given: list[str]) -> int:
    from helpers.base import terminal
    from helpers.base.errors import StudyError

    terminal.prepare()
    for variable in ("HELPERS_RUNS", "HELPERS_ROOT"):  # notebooks run in another folder than this command
        if os.environ.get(variable):
            os.environ[variable] = os.path.abspath(os.path.expanduser(os.environ[variable]))
    try:
        if given[:1] == ["fetch-published"]:
            return fetch_published(given[1:])
        options = parser().parse_args(given)
        return options.action(options)
    except StudyError as error:
        print(f"helpers: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT):
            raise
        where = f" '{error.filename}'" if error.filename else ""
        print(f"helpers: cannot write or read{where}: {error.strerror}; finished results are kept", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="helpers", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"helpers {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, action: Any, text: str, example: str, options: Any = None) -> None:
        added = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=f"example: {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(action=action)
        if options is not None:
            options(added)

    example = "demo --from 03 --to 05"
    text = "run the notebooks of a study, then build the site"
    command("report", report, text, f"helpers report {example}", op.run_options)
    command("run", run, "run the notebooks of a study", f"helpers run {example}", op.run_options)
    text = "print what would run and what is done; runs nothing"
    command("plan", plan, text, "helpers plan small", op.chain_options)
    text = "compute a study's missing cells and nothing else; may run many times at once on one run folder"
    command("sweep", sweep, text, "helpers sweep paper-sensitivity --no-wait", op.sweep_options)
    text = "simulate a study's sweep on several GPUs, from the costs of its run or from an estimate"
    command("scaling", scaling, text, "helpers scaling paper-sensitivity --gpus 1 8 64", op.scaling_options)
    command("render", render, "build the site from the runs there are", "helpers render", op.render_options)
    command("studies", studies, "list the studies in data/studies", "helpers studies")
    text = "write a commented study of one's own data that runs as it is"
    command("init", init, text, "helpers init my-study --data my/faq.csv", op.init_options)
    text = "score one prompt and say where it stands among the study's prompts"
    command("try", try_prompt, text, 'helpers try minilm DemoSTS "In short:" --study demo', op.try_options)
    text = "compare two or more studies that were run"
    command("compare", compare, text, "helpers compare demo small", op.compare_options)
    command("fetch-published", fetch_published, "get the published scores of a study", op.FETCH)
    return top


def _chain(options: argparse.Namespace) -> Any:
    from helpers.runner.chain import prepare
    from helpers.study.parameters import parse

    given = {name: parse(value) for name, value in options.parameter}
    return prepare(options.study, options.first, options.last, given, getattr(options, "force", False))


def run(options: argparse.Namespace) -> int:
    """`helpers run`."""
    from helpers.runner.pipeline import run_chain

    return run_chain(_chain(options))


def report(options: argparse.Namespace) -> int:
    """`helpers report`: the site is built after a failure too, where it says that the run is incomplete."""
    from helpers.runner.pipeline import run_chain

    chain = _chain(options)
    result = run_chain(chain)
    if result == 130:
        return result
    return max(result, _render(chain.folder if chain.study.folder else None))


def render(options: argparse.Namespace) -> int:
    """`helpers render`."""
    return _render(options.folder)


def _render(folder: Path | None) -> int:
    """Build the site of all runs, or of one run folder; ends by naming the page to open."""
    import time

    from helpers.base.files import project_root
    from helpers.base.progress import clock
    from helpers.report.site import ReportError, render_site
    from helpers.runner.pipeline import shown

    began = time.monotonic()
    print("site: rendering …", flush=True)
    try:
        index = render_site(project_root(), folder=folder)
    except ReportError as error:
        print(f"helpers: the site was not built: {error}", file=sys.stderr)
        return 1
    print(f"site: rendered in {clock(time.monotonic() - began)}\nOpen {shown(index)}", flush=True)
    return 0


def plan(options: argparse.Namespace) -> int:
    """`helpers plan`: the steps with the reason why each would run, then the sweep's cells and cost."""
    from helpers.runner.chain import plan_lines
    from helpers.runner.plan import plan_text

    chain = _chain(options)
    print(f"{chain.study.title} ({chain.study.name})\n")
    print("\n".join(f"  {line}" for line in plan_lines(chain)))
    print(f"\n{plan_text(chain.study, chain.folder)}")
    return 0


def init(options: argparse.Namespace) -> int:
    """`helpers init`."""
    from helpers.runner.init import init as write
    from helpers.runner.pipeline import shown

    study, prompts = write(options.name, options.data, options.type)
    print(
        f"written: {shown(study)} and {shown(prompts)}\nnext: helpers plan {options.name}, then "
        f"make report STUDY={options.name}"
    )
    return 0


def try_prompt(options: argparse.Namespace) -> int:
    """`helpers try`: the score, its place, and the strings that the model received."""
    from helpers.base.visible import show_controls
    from helpers.study.run import Run
    from helpers.sweep.trial import literal_inputs
    from helpers.sweep.trial import try_prompt as score

    run = Run.open(options.study, step="02")
    row = score(run, options.model, options.task, options.prompt).iloc[0]
    above = (
        f"better than {row['percentile']:.0%} of {row['n_prompts']} prompts" if row["n_prompts"] else "no prompt beside"
    )
    print(f"{row['model']} on {row['task']}: {row['score']:.4f}, {above} of study {run.study.name}")
    for side, string in literal_inputs(run, row["model"], row["task"], row["prompt"]):
        print(f"  {side}: {show_controls(string)!r}")
    return 0


def sweep(options: argparse.Namespace) -> int:
    """`helpers sweep`: 1 where a cell failed. Without a table of prompts the study's own prompts are read."""
    from helpers.base.phrases import count
    from helpers.prompts.origin import known_prompts
    from helpers.study.run import Run
    from helpers.sweep.run import sweep_study

    given = {"executor": options.executor, "workers": options.workers, "device": options.device}
    overrides = {f"sweep.{key}": value for key, value in given.items()}
    run = Run.open(options.study, step="02", **overrides, **{"sweep.ray.address": options.ray_address})
    prompts = known_prompts(run)
    reports = sweep_study(
        run.study, run.folder, prompts, lambda line: print(line, flush=True), wait=not options.no_wait
    )
    computed, reused, failed = (sum(getattr(r, key) for r in reports) for key in ("done", "reused", "failed"))
    print(
        f"{count(len(reports), 'group')}: {count(computed, 'cell')} computed, {reused} reused, {failed} failed",
        flush=True,
    )
    return int(failed > 0)


def scaling(options: argparse.Namespace) -> int:
    """`helpers scaling`."""
    from helpers.base.errors import StudyError
    from helpers.study.load import load_study
    from helpers.sweep.scaling import scaling_text

    names = ("gpus", "start", "load", "fresh", "tflops", "cell_seconds")
    given = {key: getattr(options, key) for key in names if getattr(options, key) is not None}
    for key, least in (("tflops", 1e-9), ("start", 0), ("load", 0), ("cell_seconds", 0)):
        if given.get(key, least) < least:
            option = f"--{key.replace('_', '-')}"
            raise StudyError(
                f"{option} {given[key]:g}: give a number {'above' if key == 'tflops' else 'of at least'} 0"
            )
    print(scaling_text(load_study(options.study), **given))
    return 0


def studies(options: argparse.Namespace) -> int:
    """`helpers studies`."""
    from helpers.base.errors import StudyError
    from helpers.study.load import load_study, study_names

    for name in study_names():
        try:
            print(f"{name:<20} {load_study(name).title}")
        except StudyError as error:
            print(f"{name:<20} not usable: {str(error).splitlines()[0]}")
    return 0


def compare(options: argparse.Namespace) -> int:
    """`helpers compare`."""
    from helpers.report.compare import compare_studies

    print(compare_studies(options.studies))
    return 0


def fetch_published(rest: list[str]) -> int:
    """`helpers fetch-published`, which reads its own options."""
    from helpers.scores.download import main as fetch

    return fetch(rest)


if __name__ == "__main__":
    raise SystemExit(main())
