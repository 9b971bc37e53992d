"""The style and scripts behind charts and tables: shared files of the report, a packed copy inside a notebook."""

from __future__ import annotations

import base64
import contextlib
import functools
import gzip
import importlib.metadata
import os
import re
from pathlib import Path

import platformdirs
import vl_convert

from helpers.base.files import replacing

KIT = re.compile(r'<(style|script) class="hp-kit">.*?</\1>', re.DOTALL)  # what the report takes out again


def site_file(name: str) -> str:
    """A text file of the suite's `site/` folder."""
    roots = [Path(os.environ["HELPERS_ROOT"])] if os.environ.get("HELPERS_ROOT") else []
    for root in [*roots, Path(__file__).resolve().parents[3]]:
        if (root / "site" / name).is_file():
            return (root / "site" / name).read_text(encoding="utf-8")
    raise FileNotFoundError(f"site/{name} is missing; install the package from its checkout: pip install -e .")


@functools.cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script that works beside an AMD loader (require.js).

    Packing it takes three seconds, so the script is kept in the user's cache folder, by the packer's version.
    """
    version = importlib.metadata.version("vl-convert-python")
    kept = Path(platformdirs.user_cache_dir("embedding-prompts", appauthor=False)) / f"vega-{version}.js"
    begin, end = "(function(define,module,exports){\n", "\n})();"
    try:
        text = kept.read_text(encoding="utf-8")
        if text.startswith(begin) and text.endswith(end):
            return text
    except (OSError, UnicodeDecodeError):
        pass
    # Local names hide `window.define` and friends, so that no part registers as an anonymous module.
    names = "window.vega=vega;window.vegaLite=vegaLite;window.vegaEmbed=vegaEmbed;"
    text = begin + vl_convert.javascript_bundle(names) + end
    # Without a cache folder it is packed again.
    with contextlib.suppress(OSError), replacing(kept) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return text


@functools.cache
def table_kit() -> str:
    """The style and script of tables in a notebook, where the report's files are not around (about 20 kB)."""
    script = f"if(window.helpersKit){{window.helpersKit.scan()}}else{{{site_file('helpers.js')}}}"
    return f'<style class="hp-kit">{site_file("charts.css")}</style><script class="hp-kit">{script}</script>'


@functools.cache
def chart_kit() -> str:
    """The same with Vega, for a chart (about 0.4 MB): every output draws alone, whatever ran before it."""
    packed = base64.b64encode(gzip.compress(vega_bundle().encode(), 9, mtime=0)).decode()
    script = f'window.helpersVegaPacked=window.helpersVegaPacked||"{packed}";'
    return f'<script class="hp-kit">{script}</script>{table_kit()}'
