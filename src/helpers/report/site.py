"""The report site: one `_quarto.yml`, rendered by Quarto where it is installed, else by smalldocs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers.base.yaml import read_yaml
from helpers.report.answers import evidence
from helpers.report.landing import QUESTION, landing_title
from helpers.report.markup import raw_html
from helpers.report.pages import check_site, tidy_site
from helpers.report.provenance import provenance
from helpers.report.runs import read_run, study_runs
from helpers.report.search import complete_index
from helpers.report.sources import prepare

__all__ = ["ReportError", "check_site", "render_site", "renderer"]


class ReportError(RuntimeError):
    """The report could not be made; an older one, if any, is still in place."""


def render_site(root: Path | str | None = None, strict: bool = False, folder: Path | str | None = None) -> Path:
    """Render every run below `data/runs` into `_site/`, or one run folder into its `site/`; returns `index.html`.

    The pages are built and checked in a folder of their own and take the place of the old site only when they are
    whole. Raises `ReportError` when there is no executed notebook or the renderer fails. Problems that the check finds
    are printed; with `strict` they are errors.
    """
    from helpers.base.files import project_root
    from helpers.study.run import runs_folder

    root = Path(root) if root is not None else project_root()
    runs = runs_folder() if root == project_root() else root / "data" / "runs"
    studies = study_runs(runs) if folder is None else [read_run(Path(folder).resolve())]
    target = root if folder is None else Path(folder).resolve()
    final = root / "_site" if folder is None else target / "site"
    if not studies:
        raise ReportError(
            f"no executed notebook below {_short(runs, root)}; run `make report` or `make report STUDY=<name>` first"
        )
    program, name = renderer()
    report = prepare(target, studies, name)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=report) as temporary:
        build = Path(temporary)
        for part in ("_quarto.yml", "index.qmd"):
            shutil.copy(root / part, build / part)
        front = (build / "index.qmd").read_text(encoding="utf-8")
        title = json.dumps(landing_title(evidence(studies)), ensure_ascii=False)
        (build / "index.qmd").write_text(front.replace(json.dumps(QUESTION), title, 1), encoding="utf-8")
        for folder in ("site", "docs"):
            shutil.copytree(root / folder, build / folder)
        for page in [*(build / "site").glob("*.qmd"), *(build / "docs").glob("*.md")]:  # without numbers of a study
            foot = raw_html(provenance([], name))
            page.write_text(f"{page.read_text(encoding='utf-8')}\n\n{foot}", encoding="utf-8")
        shutil.copytree(report, build / "report", ignore=shutil.ignore_patterns(".build-*", "executed"))
        _render(program, build, name)
        site = build / "_site"
        tidy_site(site)
        title = read_yaml(root / "_quarto.yml")["website"]["title"]
        complete_index(site, escape=name.startswith("Quarto"), site_title=title)
        for study in studies:  # after the render: as inputs they would become pages
            shutil.copytree(
                report / study.name / "executed", site / "report" / study.name / "executed", dirs_exist_ok=True
            )
        problems = check_site(site)
        if problems:
            more = f"\n  and {len(problems) - 20} more" if len(problems) > 20 else ""
            listed = "the rendered site has problems:\n  " + "\n  ".join(problems[:20]) + more
            if strict:
                raise ReportError(listed)
            print(listed, file=sys.stderr)
        swap(site, final, report / ".old")
    return final / "index.html"


def renderer() -> tuple[list[str], str]:
    """The command that renders a project folder given as its last argument, and its name with version.

    `HELPERS_RENDERER=smalldocs` (or `quarto`) overrides the choice.
    """
    wanted = os.environ.get("HELPERS_RENDERER", "")
    if wanted not in ("", "quarto", "smalldocs"):
        raise ReportError(f"HELPERS_RENDERER is '{wanted}'; it can be quarto or smalldocs")
    quarto = shutil.which("quarto") if wanted != "smalldocs" else None
    if quarto:
        done = subprocess.run(
            [quarto, "--version"], capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
        )
        if done.returncode == 0:
            return [quarto, "render"], f"Quarto {done.stdout.strip()}"
    if wanted == "quarto":
        raise ReportError("HELPERS_RENDERER is quarto, but the program does not run; install it or unset the variable")
    try:
        version = importlib.metadata.version("smalldocs")
    except importlib.metadata.PackageNotFoundError:
        raise ReportError(
            "neither Quarto nor the package smalldocs is installed; `make setup` installs the latter"
        ) from None
    return [
        sys.executable,
        "-m",
        "smalldocs.cli",
        "render",
        "--quiet",
    ], f"smalldocs {version} (Quarto is not installed)"


def _render(program: list[str], build: Path, name: str) -> None:
    done = subprocess.run(
        [*program, str(build)], capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode != 0 or not (build / "_site" / "index.html").is_file():
        said = (done.stderr or done.stdout).strip().splitlines()[-15:]
        raise ReportError(
            f"{name} failed (status {done.returncode}); the old site is unchanged:\n  " + "\n  ".join(said)
        )


def swap(new: Path, old: Path, aside: Path) -> None:
    """Put a finished folder in the place of another one by two renames; on failure the old one stays."""
    shutil.rmtree(aside, ignore_errors=True)
    if old.exists():
        old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        if aside.exists():
            aside.rename(old)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _short(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
