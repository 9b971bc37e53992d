"""The methods page: every definition, taken from the docstring of the function that computes it, with its code."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

from helpers.display.tables import NO_MATH, escaped, prose
from helpers.report.coverage import coverage_html, coverage_tables
from helpers.report.markup import raw_html

CHAPTERS = {
    "Prompts": (
        *(
            "prompts.prompt",
            "prompts.table",
            "prompts.context",
            "prompts.rules",
            "prompts.checks",
            "prompts.near_duplicates",
        ),
        *("prompts.statistics", "prompts.llm.quality"),
    ),
    "Scores": (
        "models.application",
        "scores.cells",
        "scores.board",
        "sweep.variants",
        "base.ties",
        "models.number_types",
        "sensitivity.audit",
        "sensitivity.scope",
    ),
    "Inflation and deflation": (
        "sensitivity.spread",
        "sensitivity.defaults",
        "sensitivity.variance",
        "sensitivity.noise",
        "sensitivity.agreement",
        "sensitivity.wording",
        "sensitivity.pooling",
        "sensitivity.sets",
        "sensitivity.enough",
        "sensitivity.choice",
        "base.stats",
        "base.proportions",
    ),
    "Leaderboards": (
        *(
            "leaderboard.rankings",
            "base.extremes",
            "leaderboard.random_ranks",
            "leaderboard.certainty",
            "leaderboard.reliability",
            "leaderboard.manipulation",
        ),
        *("leaderboard.gains", "leaderboard.draws", "leaderboard.headline", "report.compare"),
    ),
    "Instruction geometry": (
        *("geometry.instructions", "geometry.measurement", "geometry.measures", "geometry.relevance"),
        *("geometry.separability", "base.ranking", "geometry.pools", "geometry.paper", "geometry.projection"),
    ),
    "Fine-tuning": ("tuning.data", "tuning.loss", "tuning.reler", "tuning.evaluation", "tuning.instructions"),
    "Titles of the figures": tuple(
        f"{path.parent.name}.{path.stem}"
        for pattern in ("*/words.py", "*/claims.py")
        for path in sorted(Path(__file__).parents[1].glob(pattern))
    ),
}

COVERAGE = "How often intervals cover and tests reject"

NOT_A_DEFINITION = re.compile(r"(?:^|_)(?:findings|display|text|main)$|^(?:read|write|load|compare_studies)")


def anchor_of(name: str) -> str:
    """The anchor of `module.function` on the methods page."""
    return "def-" + name.replace(".", "-")


@dataclass(frozen=True)
class Definition:
    """A public function as its source says it: no module is imported, so the page costs no PyTorch."""

    module: str
    name: str
    arguments: str
    text: str
    line: int
    code: str

    @property
    def anchor(self) -> str:
        return anchor_of(f"{self.module}.{self.name}")


def file_of(module: str) -> str:
    """The file of a module, seen from the project."""
    return f"src/helpers/{module.replace('.', '/')}.py"


def part_of(module: str) -> str:
    """The anchor of a module on the methods page."""
    return "mod-" + module.replace(".", "-")


def module_source(module: str) -> str:
    """The source of a module of this package."""
    return (Path(__file__).parents[3] / file_of(module)).read_text(encoding="utf-8")


def definitions(module: str) -> list[Definition]:
    """Every public function of a module that has a docstring, in the order of its file."""
    source = module_source(module)
    return [
        Definition(
            module, node.name, ast.unparse(node.args), inspect.cleandoc(doc), node.lineno,
            ast.get_source_segment(source, node) or "",
        )
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not NOT_A_DEFINITION.search(node.name)
        and (doc := ast.get_docstring(node))
    ]  # fmt: skip


def methods_source() -> str:
    """The page's body as a Quarto source: every definition with its signature, its place in the code, the folded code.

    Chapters and modules are Markdown headings, so that the renderer lists them beside the page.
    """
    contents = (
        f"<li>{chapter}: " + ", ".join(f'<a href="#{part_of(m)}">{m}</a>' for m in modules) + "</li>"
        for chapter, modules in CHAPTERS.items()
    )
    coverage = f'<li><a href="#coverage">{COVERAGE}</a></li>'
    parts = [
        raw_html(
            "<p>Every quantity of this report, as the docstring of the function that computes it defines it. The page is "
            f'made from those docstrings each time the report is built.</p><ul class="hp-contents">{"".join(contents)}{coverage}</ul>'
        )
    ]
    for chapter, modules in CHAPTERS.items():
        parts.append(f"## {chapter} {{#{chapter.lower().replace(' ', '-')}}}\n")
        for module in modules:
            about = _paragraphs(ast.get_docstring(ast.parse(module_source(module))) or "")
            found = about + "".join(map(_definition, definitions(module)))
            parts.append(f"### {module.replace('_', ' ')} {{#{part_of(module)}}}\n")
            parts.append(raw_html(f'<div class="hp-methods {NO_MATH}">{found}</div>'))
    parts += [f"## {COVERAGE} {{#coverage}}\n", raw_html(coverage_html(coverage_tables()))]
    return "\n".join(parts)


def _definition(found: Definition) -> str:
    return (
        f'<section class="hp-definition" id="{found.anchor}">'
        f"<h4><code>{found.name}({escaped(found.arguments)})</code></h4>{_paragraphs(found.text)}"
        f"<details><summary>{file_of(found.module)}, line {found.line}</summary>"
        f'<pre tabindex="0"><code>{_code(found.code)}</code></pre></details></section>'
    )


def _paragraphs(text: str) -> str:
    return "".join(
        f'<pre tabindex="0"><code>{_code(part)}</code></pre>'
        if part.startswith(">>>")
        else f"<p>{prose(' '.join(part.split()))}</p>"
        for part in text.split("\n\n")
    )


def _code(text: str) -> str:
    # raw blocks stand on one line, so line ends are written as references
    return escaped(text).replace("\n", "&#10;").replace("`", "&#96;")
