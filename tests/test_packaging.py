"""The ways in agree: pyproject, constraints, environment.yml, Makefile, CITATION; notebooks keep the rules."""

import os
import re
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from helpers.runner.notebooks import notebook_paths, problems

ROOT = Path(__file__).resolve().parents[1]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[ ;=<>]", name)[0]).lower()


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {normal(line): line.split("==")[1] for line in lines if line and not line.startswith("#")}


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_pin_is_exact_and_from_a_registry():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.!]*", line), line


def test_every_dependency_has_a_pin_and_none_its_own_version(pins, project):
    extras = project["optional-dependencies"].values()
    wanted = [name for names in (project["dependencies"], *extras) for name in names]
    assert {normal(name) for name in wanted} <= pins.keys()
    assert not [name for name in wanted if re.search("[<>=]", name)]


def test_the_installed_packages_are_the_pinned_ones(pins, project):
    for name in map(normal, project["dependencies"]):
        assert version(name).split("+")[0] == pins[name], name


def test_conda_uses_the_same_versions_as_pip(pins, project):
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    names = {"pytorch-gpu": "torch"}  # conda-forge's names where they differ
    versions = dict(line.split("=") for line in conda if isinstance(line, str) and "=" in line)
    low, high = re.findall(r"3\.\d+", project["requires-python"])
    python = versions.pop("python")
    assert int(low[2:]) <= int(python[2:]) < int(high[2:])
    assert versions.keys() == {"pytorch-gpu", "numpy"}
    assert {names.get(n, n): v for n, v in versions.items()} == {
        names.get(n, n): pins[names.get(n, n)] for n in versions
    }
    assert conda[-1] == {"pip": ["-c constraints.txt", "-e .[dev,llm]"]}  # so pip takes the very same pins
    assert "quarto" in conda


def test_the_citation_names_both_replicated_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {r["identifiers"][0]["value"] for r in citation["references"]} == {
        "arXiv:2605.22544",
        "arXiv:2610.10508",
    }


def test_make_lists_its_targets():
    out = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("report", "test", "lab", "lint", "plan"):
        assert f"make {target} " in out


def test_make_refuses_an_empty_environment_folder():
    done = subprocess.run(["make", "setup", "VENV="], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0 and "VENV is empty" in done.stderr


def test_shell_scripts_parse():
    subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, check=True)


@pytest.mark.parametrize("path", notebook_paths(ROOT).values(), ids=lambda path: path.stem)
def test_notebooks_keep_the_rules(path):
    assert problems(path) == []


def test_the_readme_which_jupyterlab_opens_leads_to_every_notebook():
    readme = (ROOT / "README.md").read_text()
    assert all(f"(notebooks/{path.name})" in readme for path in (ROOT / "notebooks").glob("*.ipynb"))


def test_the_readme_shows_a_picture_of_the_report_and_says_what_is_on_it():
    words, path = re.search(r"!\[([^\]]+)\]\((\S+)\)", (ROOT / "README.md").read_text()).groups()
    assert len(words.split()) > 20 and 0 < (ROOT / path).stat().st_size < 300_000


def test_the_docs_name_every_variable_of_the_suite():
    code = " ".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    readme = (ROOT / "docs" / "troubleshooting.md").read_text()
    assert {name for name in re.findall(r"\bHELPERS_[A-Z_]+\b", code) if f"`{name}`" not in readme} == set()


def test_no_machine_path_is_in_a_tracked_file():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    pattern = "|".join(f"/{name}/" for name in ("work", "farm", "root"))
    command = ["git", "grep", "-nIE", pattern, "--", "."]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ)
    assert found.stdout == ""


def test_every_link_of_the_readme_and_the_docs_leads_to_a_file():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
