"""Where a page's numbers come from: study file and hash, seeds, device, code revision, package versions, renderer."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from helpers.display.tables import escaped

PACKAGES = ("mteb", "sentence-transformers", "torch", "transformers", "numpy", "scipy", "altair")

RECORD = "helpers"  # the key of an executed notebook's metadata that holds its `record`


def record() -> dict[str, str]:
    """What is true of this machine and checkout now; the pipeline keeps it in every notebook that it executes."""
    return {"code": revision(), "packages": package_versions(), "python": platform.python_version(), "device": device()}


@functools.cache
def device() -> str:
    """The accelerators that PyTorch sees, else the processor: "2 x NVIDIA H200" or "CPU (x86_64, 16 cores)"."""
    accelerated = shutil.which("nvidia-smi") or Path("/dev/kfd").exists() or sys.platform == "darwin"
    processor = f"CPU ({platform.machine()}, {os.cpu_count()} cores)"
    if not accelerated:
        return processor  # without the seconds that importing PyTorch takes
    import torch

    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
        return ", ".join(f"{names.count(n)} x {n}" for n in dict.fromkeys(names))
    if torch.backends.mps.is_available():
        return f"Apple GPU ({platform.machine()})"
    return processor


def provenance(
    studies: Iterable[str],
    renderer: str,
    executed: str = "",
    notebook: str = "",
    recorded: Mapping[str, Any] | None = None,
) -> str:
    """The foot of a page as HTML.

    studies: those whose numbers the page shows. executed: end time (ISO) of the `notebook` offered for download, or of
    the last one. recorded: the `record` made at that time; without one the versions are those of the rendering.
    """
    names = list(studies)
    now = {"code": revision(), "packages": package_versions(), "python": platform.python_version()}
    known = recorded or now
    rows = [("Study" if len(names) == 1 else "Studies", "; ".join(map(_study_file, names)))]
    rows += [
        ("Seeds", "; ".join(f"{n}: {s}" if len(names) > 1 else s for n in names if (s := _seeds(n)))),
        ("Device", str(known.get("device", ""))),
        ("Executed", executed[:16].replace("T", " ")),
        ("Code", str(known.get("code", ""))),
        ("Packages", str(known.get("packages", "")) + ("" if recorded else " (at the rendering)")),
        ("Python", str(known.get("python", ""))),
        ("Rendered by", renderer),
    ]
    body = "".join(f"<dt>{k}</dt><dd>{escaped(v)}</dd>" for k, v in rows if v)
    if notebook:
        link = f'<a href="executed/{escaped(notebook)}" download>{escaped(notebook)}</a>'
        body += f"<dt>Notebook</dt><dd>{link} (executed, with its outputs)</dd>"
    return f'<footer class="hp-provenance" aria-label="Provenance"><dl>{body}</dl></footer>'


def package_versions() -> str:
    """The versions of the packages that numbers depend on."""
    return ", ".join(f"{p} {v}" for p in PACKAGES if (v := _version(p)))


def _study_file(study: str) -> str:
    from helpers.base.files import project_root

    path = project_root() / "data" / "studies" / f"{study}.yml"
    if not path.is_file():
        return study
    return f"{study} (data/studies/{study}.yml, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:12]})"


def _seeds(study: str) -> str:
    """The study's seed, and those of its trainings where it has some."""
    from helpers.base.errors import StudyError
    from helpers.study.load import load_study

    try:
        loaded = load_study(study)
    except (StudyError, OSError):
        return ""
    trainings = loaded.finetuning.seeds if loaded.finetuning else []
    return str(loaded.seed) + (f" (trainings: {', '.join(map(str, trainings))})" if trainings else "")


@functools.cache
def revision() -> str:
    """The checkout's commit (short), marked when tracked files differ from it; empty outside a checkout."""
    from helpers.base.files import project_root

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(project_root()), *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
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
