"""Report of one folder: the notebooks and the site of a run that `run_sweep` wrote."""

from __future__ import annotations

from pathlib import Path

from helpers.base.errors import StudyError
from helpers.report.site import render_site
from helpers.runner.chain import prepare
from helpers.runner.pipeline import run_chain


def render_report(folder: str | Path, **parameters: object) -> Path:
    """Run the notebooks on a folder of `run_sweep` (or on a study by its name) and build the site; its `index.html`.

    parameters: of the notebooks, e.g. draws=1000. Finished notebooks are reused. The pages of a folder lie in
    `<folder>/site`, those of a study of the project in `_site`. Raises `StudyError` where a notebook fails.
    """
    chain = prepare(folder, given=parameters)
    if run_chain(chain):
        failed = next(step for step in chain.selected if chain.status.steps[step].state != "done")
        raise StudyError(f"notebook {failed} did not finish: {chain.status.steps[failed].reason}")
    return render_site(folder=chain.folder if chain.study.folder else None)
