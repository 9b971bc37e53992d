"""The methods page shows the simulated coverage of every room and names what is not as stated."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from helpers.report import methods
from helpers.report.coverage import against_nominal, coverage_html, coverage_tables

ROOT = Path(__file__).resolve().parents[2]


def simulated(rate: float, kind: str = "interval", nominal: float = 0.95, declined: float = 0.0) -> pd.DataFrame:
    return pd.DataFrame(
        [{"method": "sd, bootstrap", "kind": kind, "case": "15 prompts, skewed", "nominal": nominal, "rate": rate,
          "error": 0.007, "repeats": 2000, "declined": declined}]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "nominal", "rate", "said"),
    [("interval", 0.95, 0.81, "covers less than stated"), ("interval", 0.95, 0.93, "as stated"),
     ("interval", 0.95, 0.99, "covers more than stated"), ("test", 0.05, 0.22, "rejects too often"),
     ("test", 0.05, 0.002, "rejects too rarely"), ("power", 0.8, 0.1, "")],
)  # fmt: skip
def test_rates_that_are_not_as_stated_are_named(kind, nominal, rate, said):
    assert against_nominal(kind, nominal, rate) == said


def test_few_data_sets_tell_a_wrong_rate_only_perhaps():
    assert "perhaps" in coverage_html({"scores": simulated(0.9).assign(error=0.03, repeats=100)})
    assert "perhaps" not in coverage_html({"scores": simulated(0.9)})


def test_each_room_has_its_table_with_the_command_that_writes_it(tmp_path):
    for room, rows in {"scores": simulated(0.95), "tuning": simulated(0.7, declined=0.1)}.items():
        (tmp_path / room).mkdir()
        rows.to_csv(tmp_path / room / "coverage.csv", index=False)
    page = coverage_html(coverage_tables(tmp_path))
    assert page.count("<table") == 2 and "python -m benchmarks.coverage 2000 tuning" in page
    assert "tuning: 0 of 1 rate " in page and "covers less than stated" in page
    assert page.count("declined 10%") == 1


def test_the_tables_of_the_package_can_be_shown():
    for room, rows in coverage_tables().items():
        assert {"method", "kind", "case", "nominal", "rate", "error", "repeats", "declined"} <= set(rows), room
        assert rows["kind"].isin(["interval", "test", "power"]).all(), room
    assert "{#coverage}" in methods.methods_source()


def test_the_wheel_carries_them():
    """Hatchling packs the whole folder but for what git ignores."""
    target = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert target == {"packages": ["src/helpers"]}
    files = ["src/helpers/sensitivity/coverage.csv", "src/helpers/report/claims.yml"]
    done = subprocess.run(["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == ""
