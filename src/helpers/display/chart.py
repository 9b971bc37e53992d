"""Charts as they appear in JupyterLab and in the report: one theme, one way to show them, no network.

The report's pages load one shared Vega file (`site/helpers.js` finds it); a notebook carries the same file, packed,
behind each chart, because JupyterLab 4.6 draws only Vega-Lite 5 by itself. The report removes that copy again.
"""

from __future__ import annotations

import base64
import io
import json
import re
from typing import Any
from urllib.parse import quote

import altair as _alt
import vl_convert
from PIL import Image

from helpers.base.visible import show_controls
from helpers.display.kit import chart_kit
from helpers.display.tables import NO_MATH, Html, escaped

# Ink, secondary ink and lines of the light page; `site/helpers.js` exchanges each for its partner on a dark page.
INK, MUTED, GRID, PAPER = "#20262e", "#57606c", "#dfe3e8", "#ffffff"

# Seven hues that stay apart for the three dichromacies (smallest CIELAB distance 20) with at least 3:1 on paper.
PALETTE = ["#386ae1", "#c8841f", "#0e9d7a", "#7a2f9f", "#8d2f0c", "#565c66", "#570f2e"]

DARK = {
    INK: "#e4e8ee", MUTED: "#a3adba", GRID: "#343b45", PAPER: "#16191d",
    "#386ae1": "#5f88eb", "#c8841f": "#e08428", "#0e9d7a": "#53e8c0", "#7a2f9f": "#d7a5df",
    "#8d2f0c": "#cb5062", "#565c66": "#9298a2", "#570f2e": "#f1e79a",
}  # fmt: skip

# Tiles and the numbers on them keep their colours on a dark page, so none of these stands in DARK.
SEQUENTIAL = ["#e3ebfb", "#a9c1f5", "#6d94ec", "#396be1", "#1f459f", "#102659"]

DIVERGING = ["#8e300d", "#c98520", "#ecd9b4", "#f1f2f4", "#b9cbf5", "#6d94ec", "#1f459f"]

ON_DARK_TILE, ON_LIGHT_TILE = "#fefefe", "#1f252d"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif"

SVG_LIMIT = 150_000  # bytes of a static picture from which a PNG is lighter than the SVG

MAX_ROWS = 20_000


@_alt.theme.register("helpers", enable=True)
def theme() -> _alt.theme.ThemeConfig:
    """The suite's look: quiet axes, no frame, colours that colour-blind readers can tell apart."""
    axis = {
        "labelColor": MUTED, "titleColor": INK, "tickColor": GRID, "domainColor": GRID, "gridColor": GRID,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "titlePadding": 10, "labelLimit": 260,
    }  # fmt: skip
    config: dict[str, Any] = {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None, "continuousWidth": 620, "continuousHeight": 320, "discreteWidth": {"step": 26}},
        "axis": axis,
        "axisX": {"grid": False},
        "axisBand": {"domain": False, "ticks": False, "grid": False},
        "legend": {"labelColor": MUTED, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12,
                   "titleFontWeight": 500, "symbolSize": 90, "labelLimit": 300},
        "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12,
                   "labelFontWeight": 600, "titleFontWeight": 500, "labelLimit": 300},
        "title": {"color": INK, "subtitleColor": MUTED, "fontSize": 14, "fontWeight": 600, "anchor": "start"},
        "text": {"color": INK, "fontSize": 12},
        "mark": {"color": PALETTE[0]},
        "point": {"size": 48, "filled": True, "opacity": 0.85},
        "circle": {"size": 48, "opacity": 0.85},
        "tick": {"thickness": 2},
        "rule": {"color": MUTED},
        "line": {"strokeWidth": 2},
        "bar": {"cornerRadiusEnd": 2},
        "boxplot": {"median": {"color": PAPER}, "rule": {"color": MUTED}},
        "range": {"category": PALETTE, "ordinal": SEQUENTIAL, "ramp": SEQUENTIAL, "heatmap": SEQUENTIAL,
                  "diverging": DIVERGING},
    }  # fmt: skip
    return {"config": config}  # type: ignore[typeddict-item]


_alt.data_transformers.enable("default", max_rows=MAX_ROWS)


def drawing(chart: Any, name: str, alt: str, title: str) -> Html:
    """Display an Altair chart.

    name: the anchor, `fig-inflation`. alt: what the picture shows, for readers who do not see it. title: the finding.
    The output holds the specification and a static picture; a script draws the first, which hides the second. Where
    scripts do not run the picture stays.
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise ValueError(f"chart name '{name}' must be usable as an anchor: a letter, then letters, digits, '-', '_'")
    spec = _cleaned(chart.to_dict())
    figure = (
        f'<figure class="hp-chart {NO_MATH}" id="{name}" data-title="{escaped(title)}">'
        f'<figcaption class="hp-title">{escaped(title)}</figcaption>'
        f'<div class="hp-plot"></div>'
        f'<img class="hp-picture" alt="{escaped(alt)}" src="{picture(spec)}">'
        f'<script type="application/json" class="hp-spec">{_script_json(spec)}</script>'
        f"</figure>"
    )
    return Html(figure, f"{title}\n[{alt}]", extras=chart_kit())


def picture(spec: dict[str, Any]) -> str:
    """The static picture of a specification as a data URI: SVG, or PNG where the SVG would be heavy."""
    fixed = spec if spec.get("width") != "container" else {**spec, "width": 620}
    svg = vl_convert.vegalite_to_svg(fixed)
    if len(svg) <= SVG_LIMIT:
        return "data:image/svg+xml," + quote(svg, safe=" /:;=,.()-_!*'+?@[]|~")  # every other sign is escaped
    png = vl_convert.vegalite_to_png({**fixed, "background": PAPER}, scale=1.5)
    return "data:image/png;base64," + base64.b64encode(_few_colours(png)).decode()


def _few_colours(png: bytes) -> bytes:
    """The same picture with a palette of 128 colours: about an eighth of the bytes, and charts have flat colours."""
    small = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def _cleaned(value: Any) -> Any:
    """The specification with controls in its strings made visible: they cannot stand in SVG and reorder its text."""
    if isinstance(value, str):
        return show_controls(value)
    if isinstance(value, dict):
        return {k: _cleaned(v) for k, v in value.items()}
    return [_cleaned(v) for v in value] if isinstance(value, list) else value


def _script_json(spec: dict[str, Any]) -> str:
    """JSON that can stand inside `<script>`: nothing in it closes the element, opens a comment or a shortcode."""
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
