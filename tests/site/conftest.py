"""A small project with two runs, for the tests of the report: synthetic executed notebooks with hostile texts."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import nbformat
import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, records

from helpers.display import chart as charts
from helpers.display import tables as display_tables
from helpers.geometry.pools import POOLS
from helpers.leaderboard.random_ranks import random_boards, rank_table
from helpers.leaderboard.rankings import boards, scenarios
from helpers.report.site import render_site
from helpers.scores.cells import prompt_scores
from helpers.sensitivity.defaults import sensitivity_table

CHECKOUT = Path(__file__).resolve().parents[2]
HOSTILE = [
    "<script>document.title='hacked'</script>",
    "</script><img src=x onerror=\"document.title='hacked'\">",
    "**bold** [link](http://example.org) `code`\n\n# heading",
    r"$\frac{1}{2}$ \(x\) \begin{matrix}",
    "right\u202eto left \u200f mark",
    "{{< include /etc/hostname >}} {{< env HOME >}}",
    "```{=html}\n<b>raw</b>\n```",
    "",
    "  outer blanks\t",
    "x" * 10_000,
]


def scores(rows: int = 60) -> pd.DataFrame:
    """Scores of three models on two tasks under the hostile prompts."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "model": rng.choice(["all-MiniLM-L6-v2", "wordllama", "<b>model</b>"], rows),
            "task": rng.choice(["DemoRetrieval", "<i>task</i> $x$ \u202e"], rows),
            "score": rng.normal(0.6, 0.05, rows),
            "prompt": [HOSTILE[k % len(HOSTILE)] for k in range(rows)],
        }
    )


def figures(df: pd.DataFrame) -> list[alt.Chart]:
    """A layered strip plot with a shape and a colour scale, and a faceted bar chart."""
    shown = df.assign(prompt=df["prompt"].map(lambda p: display_tables.visible_whitespace(p)[:200]))
    points = alt.Chart(shown).mark_point().encode(
        x=alt.X("score:Q", title="main score", scale=alt.Scale(zero=False)), y=alt.Y("task:N", title=None),
        color="model:N", tooltip=["prompt", "model", alt.Tooltip("score", format=".3f")],
    )  # fmt: skip
    mean = alt.Chart(shown).mark_tick(color=charts.INK, size=28).encode(x="mean(score):Q", y="task:N")
    bars = alt.Chart(shown).mark_bar().encode(x="count()", y=alt.Y("model", title=None), column="task", color="model")
    return [points + mean, bars.properties(width=220)]


def headline() -> pd.DataFrame:
    """A headline table whose models have hostile names."""
    rows = [
        {"model": name, "tasks": 2, "default": 0.7 + n / 100, "prompt_mean": 0.65, "low": 0.6, "high": 0.68,
         "percentile": 1.0, "rank": n + 1.0, "rank_low": 1, "rank_high": 3, "verdict": "inflated (cells: 2 inflated)"}
        for n, name in enumerate([HOSTILE[0], HOSTILE[3], HOSTILE[4]])
    ]  # fmt: skip
    return pd.DataFrame(rows)


def tables() -> dict[str, pd.DataFrame]:
    """The tables that the landing page reads, of three models with hostile names on two tasks."""
    names = [HOSTILE[0], HOSTILE[3], HOSTILE[4]]
    values = {m: {"T": [0.5 + n / 50, 0.55, 0.6], "<i>U</i>": [0.4, 0.45, 0.5]} for n, m in enumerate(names)}
    cells = cells_of(values, {m: {"T": 0.7, "<i>U</i>": 0.42 + n / 100} for n, m in enumerate(names)})
    data = prompt_scores(cells)
    fine = {"language": "", "metric": "recall_at_1", "n": 40, "before": 0.6, "task": "T"}
    return {
        "headline": headline(),
        "sensitivity": sensitivity_table(cells, draws=50),
        "scores": records(cells.rename(columns={"score": "main_score"}).to_dict("records")),
        "scenarios": scenarios(cells),
        "leaderboard": boards(cells),
        "rank_distribution": rank_table(random_boards(data.values), data.models),
        "finetuning": pd.DataFrame(
            [{**fine, "preset": p, "seed": 1, "pool": pool, "value": 0.6 + d, "difference": d, "low": d - 0.1,
              "high": d + 0.1} for p, d in (("distractor", 0.2), ("ablation", 0.0)) for pool in POOLS]
        ),
    }  # fmt: skip


def executed_notebook(step: str, name: str) -> Any:
    """A notebook as papermill leaves it: parameters twice, settings, two charts, findings, a word of its own."""
    v4 = nbformat.v4
    df = scores()

    def code(source: str, *bundles: dict[str, Any], tags: tuple[str, ...] = ()) -> Any:
        outputs = [v4.new_output("display_data", data=b) for b in bundles]
        return v4.new_code_cell(source, outputs=outputs, execution_count=1, metadata={"tags": list(tags)})

    shown = [
        charts.drawing(
            c,
            name=f"fig-{name}-{n}",
            alt=f"Figure {n} & its <alt>",
            title=f"Finding {n} of {step} costs $5 {{{{< x >}}}}",
        )
        for n, c in enumerate(figures(df))
    ]
    cells = [
        v4.new_markdown_cell(
            f"# {int(step)} · {name.title()}\n\nDoes the prompt matter? The word zanzibar{step} is only here."
        ),
        code('study = "demo"', tags=("parameters",)),
        code('study = "demo-injected"', tags=("injected-parameters",)),
        code(
            "settings",
            display_tables.table(
                df.head(3).T.reset_index(), name="tbl-settings", caption="Settings"
            )._repr_mimebundle_(),
        ),
        v4.new_markdown_cell("## Scores\n\nInline $x^2$ and\n\n$$\\frac{a}{b}$$"),
        code(
            "table",
            display_tables.table(df, name="tbl-scores", caption="Scores", whitespace=["prompt"])._repr_mimebundle_(),
        ),
        v4.new_markdown_cell("## Figures"),
        *(code(f"charts.show({n})", s._repr_mimebundle_()) for n, s in enumerate(shown)),
        code(
            "findings",
            {
                "text/markdown": "- 3 < 4 <script>document.title='hacked'</script> {{< env HOME >}}",
                "text/plain": "x",
            },
        ),
        code(
            "display_tables.findings",
            display_tables.findings(HOSTILE, heading="Findings")._repr_mimebundle_(),
        ),
    ]
    notebook = v4.new_notebook(cells=cells)
    notebook.metadata["papermill"] = {
        "end_time": "2026-11-01T10:00:00",
        "input_path": f"{CHECKOUT}/notebooks/{step}.ipynb",
    }
    return notebook


def make_project(root: Path, studies: dict[str, dict[str, Any]] | None = None) -> Path:
    """Write a project: the report's own files and the runs `demo` (complete) and `mine` (incomplete)."""
    for part in ("_quarto.yml", "index.qmd"):
        shutil.copy(CHECKOUT / part, root / part)
    for folder in ("site", "docs"):
        shutil.copytree(CHECKOUT / folder, root / folder)
    done = {"state": "done"}
    studies = studies or {
        "demo": {"03": done, "04": done},
        "mine": {
            "03": done,
            "04": {"state": "failed", "reason": "<b>KeyError</b>: 'x'"},
            "05": {"state": "missing"},
        },
    }
    names = {"03": "inflation", "04": "leaderboard", "05": "geometry"}
    for study, steps in studies.items():
        folder = root / "data" / "runs" / study
        (folder / "notebooks").mkdir(parents=True)
        (folder / "findings").mkdir()
        for step, entry in steps.items():
            if entry["state"] == "missing":
                continue
            nbformat.write(
                executed_notebook(step, names[step]),
                folder / "notebooks" / f"{step}_{names[step]}.ipynb",
            )
            found = [{"step": step, "text": f"{study} {step}: {t}", "figure": f"fig-{names[step]}-0"} for t in HOSTILE]
            (folder / "findings" / f"{step}.json").write_text(json.dumps(found), encoding="utf-8")
        (folder / "tables").mkdir()
        for name, table in tables().items():
            table.to_parquet(folder / "tables" / f"{name}.parquet")
        (folder / "status.json").write_text(json.dumps({"study": study, "steps": steps}), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def hostile() -> list[str]:
    return HOSTILE


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, made once."""
    return make_project(tmp_path_factory.mktemp("sources"))


@pytest.fixture
def project(sources: Path, tmp_path: Path) -> Path:
    """A project of one's own that is not rendered yet."""
    return shutil.copytree(sources, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def site(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered site; Quarto where it is installed, else smalldocs. Tests only read it."""
    root = shutil.copytree(sources, tmp_path_factory.mktemp("project"), dirs_exist_ok=True)
    return render_site(root, strict=True).parent


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium; a test that needs it is skipped where it or playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium on PATH: pages are not opened in a browser")
    with playwright.sync_playwright() as p:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        chromium = p.chromium.launch(executable_path=path, args=options)
        yield chromium
        chromium.close()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture
def jupyterlab(browser: Any, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A JupyterLab of its own: its address, without token, and its root folder. It attaches cells out of view too."""
    root, runs = tmp_path / "lab", tmp_path / "runs"
    settings = tmp_path / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    for folder in (root, runs, settings.parent):
        folder.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}', encoding="utf-8")
    own = {"JUPYTER_CONFIG_DIR": "c", "JUPYTER_RUNTIME_DIR": "r", "IPYTHONDIR": "i",
           "JUPYTERLAB_SETTINGS_DIR": "settings", "HELPERS_RUNS": "runs"}  # fmt: skip
    address = f"http://127.0.0.1:{free_port()}"
    options = [f"--port={address.rsplit(':')[-1]}", f"--ServerApp.root_dir={root}", "--no-browser", "--allow-root",
               "--IdentityProvider.token="]  # fmt: skip
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env={**os.environ, **{k: str(tmp_path / v) for k, v in own.items()}},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api", timeout=1).close()
                break
            except OSError:
                time.sleep(0.5)
        yield address, root
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:  # its kernels are slow to end on a busy machine
            server.kill()
