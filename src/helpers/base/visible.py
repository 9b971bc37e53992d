"""Visible text: what reorders, hides or steers other text is shown by its number, wherever text reaches a reader.

The terminal and the log (`helpers.base.terminal`, `helpers.runner.console`), tables and charts (`helpers.display.tables`) and the
report's pages all go through `show_controls`.
"""

from __future__ import annotations

import re

# Marks that reorder or hide text (Unicode bidi controls, zero-width and other format characters) and C0/C1 controls.
INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def show_controls(text: str) -> str:
    """Replace every invisible control by its name: a right-to-left override becomes `⟨U+202E⟩`."""
    return INVISIBLE.sub(lambda m: f"⟨U+{ord(m.group()):04X}⟩", text)


def for_terminal(text: str) -> str:
    """Text that cannot move the cursor, set the window's title or reorder a line; colours of libraries are dropped."""
    return text if text.isascii() and text.isprintable() else show_controls(_COLOUR.sub("", text))
