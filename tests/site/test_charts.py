"""Charts and tables carry their data as text, look the same everywhere and need no network."""

from __future__ import annotations

import itertools
import json
import re

import altair as alt
import numpy as np
import pandas as pd
import pytest
from board_cells import random_cells

from helpers.base.visible import show_controls
from helpers.display import chart as charts
from helpers.display import tables as display_tables
from helpers.display.kit import KIT, site_file, vega_bundle
from helpers.display.tables import escaped
from helpers.sensitivity import charts as charts_sensitivity
from helpers.sweep import charts as charts_sweep


def bar(words: list[str]) -> alt.Chart:
    data = pd.DataFrame({"prompt": words, "score": range(len(words))})
    return alt.Chart(data).mark_bar().encode(x="score:Q", y="prompt:N", tooltip="prompt:N")


def html_of(shown: object) -> str:
    """The output without the style and scripts that the report takes out."""
    return KIT.sub("", shown._repr_mimebundle_()["text/html"])  # type: ignore[attr-defined]


def test_chart_output_has_anchor_alt_picture_and_specification():
    markup = html_of(charts.drawing(bar(["a", "b"]), name="fig-x", alt="two bars", title="b wins"))
    assert 'id="fig-x"' in markup and 'alt="two bars"' in markup and ">b wins<" in markup
    assert 'src="data:image/svg+xml,' in markup
    spec = json.loads(re.search(r'class="hp-spec">(.*?)</script>', markup)[1])
    assert [row["prompt"] for row in next(iter(spec["datasets"].values()))] == ["a", "b"]


def test_chart_output_names_no_other_host():
    markup = html_of(charts.drawing(bar(["a"]), name="fig-x", alt="one", title="one"))
    assert not re.search(r'(?:src|href)="(?:https?:)?//', markup) and len(markup) < 20_000


def test_hostile_texts_stay_inside_the_specification(hostile):
    markup = KIT.sub("", html_of(charts.drawing(bar(hostile), name="fig-x", alt=hostile[1], title=hostile[0])))
    assert markup.count("<script") == markup.count("</script>") == 1
    assert "<img src=x" not in markup and "{{<" not in markup and "\u202e" not in markup


def test_chart_of_no_rows_and_of_container_width_is_shown():
    empty = (
        alt.Chart(pd.DataFrame({"x": [], "y": []})).mark_point().encode(x="x:Q", y="y:Q").properties(width="container")
    )
    assert "data:image/" in html_of(charts.drawing(empty, name="fig-empty", alt="nothing", title="no data"))


def test_heavy_picture_becomes_png():
    many = alt.Chart(pd.DataFrame({"x": range(4000)})).mark_point().encode(x="x:Q", y="x:Q")
    assert charts.picture(many.to_dict()).startswith("data:image/png;base64,")


def test_six_models_on_eleven_tasks_with_54_prompts_stay_light():
    cells = random_cells(6, 11, 54)
    words = cells["prompt"].where(cells["kind"] == "prompt", "")
    cells["prompt"] = words + " Given a question, retrieve the passages that answer it." * 2
    shown = [charts_sensitivity.strips(cells), charts_sweep.score_strip(cells)]
    weights = [len(html_of(charts.drawing(c, name="fig-x", alt="", title=""))) for c in shown]
    assert max(weights) < 1_500_000, weights  # a page holds one of them; its limit is 3 MB


def test_name_that_is_no_anchor_is_refused():
    with pytest.raises(ValueError, match="usable as an anchor"):
        charts.drawing(bar(["a"]), name="fig x", alt="", title="")


def test_vega_file_hides_an_amd_loader_from_its_parts():
    assert vega_bundle().startswith("(function(define,module,exports){")


def test_vega_file_is_packed_once_per_user_and_again_when_it_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *a, **k: str(tmp_path))
    packed = []
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda names: packed.append(names) or "the script")
    pack = vega_bundle.__wrapped__  # without what this process remembers
    whole = pack()
    assert "the script" in whole and pack() == whole and len(packed) == 1
    next(tmp_path.iterdir()).write_text(whole[:-1], encoding="utf-8")
    assert pack() == whole and len(packed) == 2


MACHADO = {  # full dichromacy, linear RGB; Machado, Oliveira and Fernandes (2009), table 1
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = matrix @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    light, dark = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [charts.PALETTE, [charts.DARK[c] for c in charts.PALETTE]], ids=["light", "dark"])
@pytest.mark.parametrize("vision", MACHADO)
def test_colours_stay_apart_without_one_kind_of_cone(palette, vision):
    seen = [lab(np.array(MACHADO[vision]) @ linear(c)) for c in palette]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


def test_marks_and_text_have_contrast_on_their_page():
    dark = charts.DARK
    assert all(contrast(c, charts.PAPER) >= 3 and contrast(dark[c], dark[charts.PAPER]) >= 3 for c in charts.PALETTE)
    assert all(contrast(c, charts.PAPER) >= 4.5 for c in (charts.INK, charts.MUTED))
    assert all(contrast(dark[c], dark[charts.PAPER]) >= 4.5 for c in (charts.INK, charts.MUTED))


def test_script_exchanges_the_same_colours_as_the_theme():
    table = json.loads(re.search(r"/\*DARK\*/(\{.*?\})/\*END\*/", site_file("helpers.js"))[1])
    assert {k: v for k, v in table.items() if k.startswith("#")} == charts.DARK


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "(empty)"),
        (None, "(none)"),
        (float("nan"), "(none)"),
        ("a b", "a b"),
        (" a  b ", "␣a␣␣b␣"),
        ("a\nb\tc\r\n", "a⏎b⇥c⏎"),
        ("\u00a0x", "⍽x"),
        ("\u202eabc\u200b", "⟨U+202E⟩abc⟨U+200B⟩"),
    ],
)
def test_visible_whitespace(text, shown):
    assert display_tables.visible_whitespace(text) == shown


def test_table_escapes_every_cell_header_and_caption(hostile):
    df = pd.DataFrame({"<b>h</b>": hostile, "n": range(len(hostile))})
    markup = html_of(display_tables.table(df, name="tbl-x", caption="<i>c</i>", whitespace=["<b>h</b>"]))
    assert "<script" not in markup and "<b>" not in markup and "<i>" not in markup and "{{" not in markup
    assert "(empty)" in markup and "⟨U+202E⟩" in markup and 'id="tbl-x"' in markup


def test_table_rounds_to_what_a_column_needs_and_keeps_exact_values():
    df = pd.DataFrame({"score": [0.123456, 0.9], "count": [1.0, 2000.0], "big": [1234.56, 7.0], "gap": [np.nan, 0.5]})
    markup = html_of(display_tables.table(df))
    for shown in (">0.123<", ">0.900<", ">2,000<", ">1,234.6<", ">–<", 'data-v="0.123456"'):
        assert shown in markup


def test_table_says_how_many_rows_it_leaves_out():
    assert "(the first 2 of 1,000 rows)" in html_of(display_tables.table(pd.DataFrame({"x": range(1000)}), max_rows=2))


def test_table_without_rows_or_with_named_index_is_shown():
    assert "(no rows)" in html_of(display_tables.table(pd.DataFrame({"x": []})))
    grouped = pd.DataFrame({"task": ["a", "b"], "v": [1, 2]}).groupby("task").sum()
    assert ">task<" in html_of(display_tables.table(grouped))


def test_findings_are_text_and_link_to_their_figure(hostile):
    markup = html_of(display_tables.findings([*hostile, {"text": "x rises", "figure": "fig-x"}]))
    assert "<script" not in markup and '<a href="#fig-x">' in markup
    assert "allow no finding" in html_of(display_tables.findings([]))


def test_escaped_text_cannot_start_shortcode_or_formula():
    assert escaped("{{< env HOME >}} $x$ <a>") == "&#123;&#123;&lt; env HOME &gt;}} &#36;x&#36; &lt;a&gt;"
    assert show_controls("a\x00b") == "a⟨U+0000⟩b"
