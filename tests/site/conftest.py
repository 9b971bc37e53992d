"""A small project with two runs, for the tests of the report: synthetic executed notebooks with hostile texts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import altair as alt
import nbformat
import numpy as np
import pandas as pd
import pytest

from helpers import charts
from helpers.report import render_site

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
            "task": rng.choice(["DemoRetrieval", "DemoSTS"], rows),
            "score": rng.normal(0.6, 0.05, rows),
            "prompt": [HOSTILE[k % len(HOSTILE)] for k in range(rows)],
        }
    )


def figures(df: pd.DataFrame) -> list[alt.Chart]:
    """A layered strip plot with a shape and a colour scale, and a faceted bar chart."""
    shown = df.assign(prompt=df["prompt"].map(lambda p: charts.visible_whitespace(p)[:200]))
    points = alt.Chart(shown).mark_point().encode(
        x=alt.X("score:Q", title="main score", scale=alt.Scale(zero=False)), y=alt.Y("task:N", title=None),
        color="model:N", tooltip=["prompt", "model", alt.Tooltip("score", format=".3f")],
    )  # fmt: skip
    mean = alt.Chart(shown).mark_tick(color=charts.INK, size=28).encode(x="mean(score):Q", y="task:N")
    bars = (
        alt.Chart(shown)
        .mark_bar()
        .encode(x="count()", y=alt.Y("model", title=None), column="task", color="model")
    )
    return [points + mean, bars.properties(width=220)]


def executed_notebook(step: str, name: str) -> Any:
    """A notebook as papermill leaves it: parameters twice, settings, two charts, findings, a word of its own."""
    v4 = nbformat.v4
    df = scores()

    def code(source: str, *bundles: dict[str, Any], tags: tuple[str, ...] = ()) -> Any:
        outputs = [v4.new_output("display_data", data=b) for b in bundles]
        return v4.new_code_cell(source, outputs=outputs, execution_count=1, metadata={"tags": list(tags)})

    shown = [
        charts.show(
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
            charts.table(
                df.head(3).T.reset_index(), name="tbl-settings", caption="Settings"
            )._repr_mimebundle_(),
        ),
        v4.new_markdown_cell("## Scores\n\nInline $x^2$ and\n\n$$\\frac{a}{b}$$"),
        code(
            "table",
            charts.table(df, name="tbl-scores", caption="Scores", whitespace=["prompt"])._repr_mimebundle_(),
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
        code("charts.findings", charts.findings(HOSTILE, heading="Findings")._repr_mimebundle_()),
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
    shutil.copytree(CHECKOUT / "site", root / "site")
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
            found = [
                {"step": step, "text": f"{study} {step}: {t}", "figure": f"fig-{names[step]}-0"}
                for t in HOSTILE
            ]
            (folder / "findings" / f"{step}.json").write_text(json.dumps(found), encoding="utf-8")
        (folder / "status.json").write_text(json.dumps({"study": study, "steps": steps}), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def hostile() -> list[str]:
    return HOSTILE


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that is not rendered yet."""
    return make_project(tmp_path)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered site; Quarto where it is installed, else smalldocs. Tests only read it."""
    return render_site(make_project(tmp_path_factory.mktemp("project")), strict=True).parent
