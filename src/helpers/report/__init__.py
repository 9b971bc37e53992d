"""Report: executed notebooks become a site that needs no network.

`site` builds it, `pages` tidies and checks it, `methods` makes the definitions from docstrings.
"""

from helpers.report.compare import compare_studies
from helpers.report.pages import check_site
from helpers.report.runs import study_runs
from helpers.report.site import render_site

__all__ = ["check_site", "compare_studies", "render_site", "study_runs"]
