"""The pages for SLURM and Kubernetes: their YAML is whole, their commands exist, versions are the pinned ones."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers.runner.cli import parser
from helpers.study.load import load_study

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "site" / name for name in ("slurm.qmd", "kubernetes.qmd")]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def manifests() -> dict[str, Any]:
    found = [yaml.safe_load(block) for block in blocks(PAGES[1], "yaml")]
    return {f["kind"]: f for f in found if "kind" in f}


def pods(node: Any) -> Iterator[dict[str, Any]]:
    """Every pod specification inside a manifest."""
    if isinstance(node, dict):
        if "containers" in node:
            yield node
        for value in node.values():
            yield from pods(value)
    elif isinstance(node, list):
        for value in node:
            yield from pods(value)


def commands() -> list[str]:
    """Every `helpers` command of the pages: in scripts, in the text, and in the YAML."""
    lines = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        lines += re.findall(r"(?<![\w./-])helpers (?:run|report|render|sweep|scaling|plan)[^`\n#|&;]*", text)
        for listed in re.findall(r"command: \[(helpers[^\]]*)\]", text):
            lines.append(listed.replace(",", " "))
    return lines


@pytest.mark.parametrize("command", commands())
def test_every_helpers_command_is_one(command: str) -> None:
    options = parser().parse_args(shlex.split(command.replace("STUDY", "demo"))[1:])
    if hasattr(options, "study"):
        load_study(options.study)


def test_both_pages_say_that_they_were_not_run_and_how_to_sweep() -> None:
    assert len(commands()) >= 10
    for page in PAGES:
        assert re.search(r"not (run|applied)\s.*by\s+the\s+authors", page.read_text(), re.S)


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    used = {t for page in PAGES for b in blocks(page, "bash") for t in re.findall(r"^make (\S+)", b, re.M)}
    assert used and used <= targets


def test_every_pod_mounts_the_claim_and_gpu_pods_ask_for_one() -> None:
    found = manifests()
    assert found.keys() == {"PersistentVolumeClaim", "Job", "RayJob"}
    claim = found["PersistentVolumeClaim"]["metadata"]["name"]
    every = [*pods(found["Job"]), *pods(found["RayJob"])]
    assert len(every) == 3
    for pod in every:
        volumes = {v["name"]: v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"]}
        assert set(volumes.values()) == {claim}
        for container in pod["containers"]:
            assert {m["name"] for m in container["volumeMounts"]} == volumes.keys()
            gpus = container["resources"]["limits"].get("nvidia.com/gpu", 0)
            assert gpus == (0 if container["name"] == "ray-head" else 1)


def test_the_ray_version_is_the_pinned_one() -> None:
    pinned = re.search(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)
    assert pinned is not None
    assert manifests()["RayJob"]["spec"]["rayClusterSpec"]["rayVersion"] == pinned.group(1)
    assert f"rayproject/ray:{pinned.group(1)}-" in PAGES[1].read_text()


def test_the_keys_of_the_table_are_those_of_the_study() -> None:
    from helpers.study.sweep import RaySpec

    rows = re.findall(r"^\| `(\w+)` \|", PAGES[0].read_text(), re.M)
    assert set(rows) == set(RaySpec.model_fields)


def test_the_scripts_are_bash() -> None:
    for script in [block for page in PAGES for block in blocks(page, "bash")]:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
