"""Where a page's numbers come from: study file and hash, code revision, package versions, date, renderer."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
import subprocess

from helpers.html_table import escaped

PACKAGES = ("mteb", "sentence-transformers", "torch", "transformers", "numpy", "scipy", "altair")


def provenance(study: str, renderer: str, executed: str = "", notebook: str = "") -> str:
    """The foot of a page as HTML; `executed` is the end time (ISO) of the `notebook` offered for download."""
    rows = [("Study", _study_file(study)), ("Seed", _seed(study))] if study else []
    rows += [
        ("Code", revision()),
        ("Executed", executed[:16].replace("T", " ")),
        ("Packages", ", ".join(f"{p} {v}" for p in PACKAGES if (v := _version(p)))),
        ("Python", platform.python_version()),
        ("Rendered by", renderer),
    ]
    body = "".join(f"<dt>{k}</dt><dd>{escaped(v)}</dd>" for k, v in rows if v)
    if notebook:
        link = f'<a href="executed/{escaped(notebook)}" download>{escaped(notebook)}</a>'
        body += f"<dt>Notebook</dt><dd>{link} (executed, with its outputs)</dd>"
    return f'<footer class="hp-provenance" aria-label="Provenance"><dl>{body}</dl></footer>'


def _study_file(study: str) -> str:
    from helpers.study import project_root

    path = project_root() / "data" / "studies" / f"{study}.yml"
    if not path.is_file():
        return study
    return f"{study} (data/studies/{study}.yml, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:12]})"


def _seed(study: str) -> str:
    from helpers.study import StudyError, load_study

    try:
        return str(load_study(study).seed)
    except (StudyError, OSError):
        return ""


@functools.cache
def revision() -> str:
    """The checkout's commit (short), marked when tracked files differ from it; empty outside a checkout."""
    from helpers.study import project_root

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(project_root()), *words], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "--short=10", "HEAD")
        return f"{commit}{' with local changes' if commit and git('status', '--porcelain', '-uno') else ''}"
    except OSError:
        return ""


@functools.cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
