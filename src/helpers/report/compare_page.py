"""The report's page that puts the models of all studies side by side."""

from __future__ import annotations

from helpers.display import chart as charts
from helpers.display import tables
from helpers.display.tables import escaped
from helpers.report import charts as charts_comparison
from helpers.report import words
from helpers.report.compare import Comparison, compare, findings
from helpers.report.runs import StudyRun

HOW = {
    "models": "One row per study and model. <em>low</em> to <em>high</em>: where the mean would lie with "
    "one further prompt per task (95% prediction interval). <em>percentile</em>: share of the means of random prompts below "
    "the mean default. <em>rank_low</em> to <em>rank_high</em>: "
    "95% of the ranks under random prompts. Means of studies with different tasks are different quantities.",
    "scores": "The bar is that interval, the dark tick the mean over prompts, the diamond the default. How probable "
    "an order of two models is under random prompts is said below; bars that overlap do not say it.",
    "shared": "What several studies measured. <em>data</em> says whether they read the same records; where it says "
    "<em>differs</em> the scores are not of the same quantity.",
    "geometry": "Means over instructions; <em>normal</em>, <em>random</em> and <em>paraphrase</em> are the best recall@1 "
    "in each pool.",
    "tuning": "Recall@1 before and after training, with the interval of the paired difference.",
}


def page_title(runs: list[StudyRun]) -> str:
    """What the page is called: with one study it compares models, with several studies too."""
    return "Studies and models side by side" if len(runs) > 1 else "Models side by side"


def page_body(runs: list[StudyRun]) -> str | None:
    """The page as HTML, None where no study has a headline table yet."""
    found = compare({run.name: run.folder for run in runs})
    if found.models.empty:
        return None
    said = findings(found)
    parts = [f'<p class="hp-none">{escaped(problem)}</p>' for problem in found.problems]
    parts += [tables.findings(said, heading="").markup if said else ""]
    parts += _models(found) + _shared(found) + _geometry(found) + _tuning(found)
    return "".join(parts)


def _models(found: Comparison) -> list[str]:
    table = tables.table(
        found.models, name="tbl-compare-models", caption="What is reported, and what other prompts give"
    )
    figure = charts.drawing(
        charts_comparison.intervals(found.models),
        name="fig-compare-scores",
        title=words.intervals(found.models),
        alt="One row per model in a panel per study: a bar from the lowest to the highest likely mean score, a tick at "
        "the mean over prompts and a diamond at the default.",
    )
    return [
        *_head("Models", "models"), table.markup, f"<p>{HOW['scores']}</p>", figure.markup,
    ]  # fmt: skip


def _shared(found: Comparison) -> list[str]:
    if found.shared.empty:
        return []
    table = tables.table(found.shared, name="tbl-compare-shared", caption="Cells of several studies")
    return [*_head("The same model and task in several studies", "shared"), table.markup]


def _geometry(found: Comparison) -> list[str]:
    if found.geometry.empty:
        return []
    table = tables.table(found.geometry, name="tbl-compare-geometry", caption="Instructions and distractors")
    parts = [*_head("Instructions and distractors", "geometry"), table.markup]
    if found.geometry["normal"].notna().any():
        figure = charts.drawing(
            charts_comparison.pools(found.geometry),
            name="fig-compare-distractors",
            title=words.pools(found.geometry),
            alt="One row per model in a panel per task: three marks, the best recall at 1 among the targets alone, with "
            "foreign queries and with paraphrases.",
        )
        parts.append(figure.markup)
    return parts


def _tuning(found: Comparison) -> list[str]:
    if found.tuning.empty:
        return []
    table = tables.table(found.tuning, name="tbl-compare-tuning", caption="Before and after fine-tuning")
    return [*_head("Fine-tuning", "tuning"), table.markup]


def _head(title: str, key: str) -> list[str]:
    return [f"<h2>{title}</h2>", f"<p>{HOW[key]}</p>"]
