"""Base: files, errors and the words of errors, small statistics.

Every room may use it, and it uses none. Nothing here knows what a prompt or a model is.
"""

from helpers.base.errors import StudyError
from helpers.base.files import project_path, project_root, read_json, replacing, write_json
from helpers.base.hashes import digest
from helpers.base.names import unknown
from helpers.base.paths import below, safe_name
from helpers.base.phrases import count, listed
from helpers.base.stats import adjusted
from helpers.base.ties import compare, levelled

__all__ = [
    "StudyError",
    "adjusted",
    "below",
    "compare",
    "count",
    "digest",
    "levelled",
    "listed",
    "project_path",
    "project_root",
    "read_json",
    "replacing",
    "safe_name",
    "unknown",
    "write_json",
]
