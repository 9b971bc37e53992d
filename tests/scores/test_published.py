"""Result caches: what is read, from a folder and an archive, and what is named and skipped."""

import io
import json
import tarfile
import tracemalloc
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
import pytest

from helpers.base.errors import StudyError
from helpers.prompts.prompt import prompt_id
from helpers.scores.files import content_digest, inner_path, json_files
from helpers.scores.published import read_results
from helpers.scores.rows import default_prefix, prompt_of

PLAIN = {
    "name": "org/m",
    "loader": "SentenceTransformerEncoderWrapper",
    "loader_kwargs": {"model_prompts": {"query": "Q: "}},
}


def result(task="MyTask", scores=None, **rest):
    records = scores or {"test": [{"main_score": 0.5, "hf_subset": "default", "languages": ["eng-Latn"], "f1": 0.5}]}
    return {
        "task_name": task,
        "mteb_version": "2.1",
        "dataset_revision": "d",
        "scores": records,
        "evaluation_time": 1.0,
    } | rest


def experiment(prompts, **rest):
    return PLAIN | {"experiment_kwargs": {"prompts": prompts} | rest}


def cache(tmp_path, files):
    for name, content in files.items():
        path = tmp_path / "cache" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return tmp_path / "cache"


BASE = "results/org__m/rev"
GOOD = {
    f"{BASE}/model_meta.json": PLAIN,
    f"{BASE}/MyTask.json": result(),
    f"{BASE}/experiments/e1/model_meta.json": experiment({"MyTask": "Find: "}),
    f"{BASE}/experiments/e1/MyTask.json": result(),
}


def pack(folder, target):
    with tarfile.open(target, "w:gz") as tar:
        tar.add(folder, arcname="repo-1234/data")
    return target


@pytest.mark.parametrize("form", ["folder", "archive", "deeper"])
def test_a_folder_and_an_archive_give_the_same_rows(tmp_path, form):
    folder = cache(tmp_path, GOOD)
    source = {"folder": folder, "archive": tmp_path / "a.tar.gz", "deeper": folder / "results"}[form]
    if form == "archive":
        pack(folder, source)
    found = read_results(source)
    rows = found.scores.set_index("kind")
    assert found.problems.empty and list(rows.index) == ["default", "prompt"] and found.files == 4
    assert rows.loc["prompt", "prompt"] == "Find: " and rows.loc["prompt", "prompt_id"] == prompt_id("Find: ")
    assert rows.loc["default", "model"] == "m" and rows.loc["default", "model_name"] == "org/m"
    assert rows.loc["prompt", "application"] == "raw" and rows.loc["prompt", "metric"] == "f1"
    assert content_digest(source) == content_digest(folder)


@pytest.mark.parametrize("name, content, kind, reason", [
    (f"{BASE}/Cut.json", '{"task_name": "Cut", "scor', "corrupt", "cut off"),
    (f"{BASE}/Empty.json", "", "corrupt", "empty"),
    (f"{BASE}/List.json", [], "foreign", "a list"),
    (f"{BASE}/Old.json", {"mteb_dataset_name": "x"}, "foreign", "before 1.11"),
    (f"{BASE}/Half.json", {"task_name": "Half"}, "foreign", "scores is missing"),
    (f"{BASE}/None.json", {"task_name": "None", "scores": {}}, "foreign", "without any score"),
    (f"{BASE}/Odd.json", {"task_name": "Odd", "scores": {"test": {"a": 1}}}, "foreign", "not a list of records"),
    (f"{BASE}/experiments/e2/MyTask.json", result(), "foreign", "its prompt is unknown"),
    ("elsewhere/x.json", {}, "foreign", "lies outside"),
    (f"{BASE}/a/b/c.json", {}, "foreign", "not at a place"),
    ("prompts/p.json", {"a": 1}, "foreign", "not a list of generated prompts"),
])  # fmt: skip
def test_what_cannot_be_used_is_named_and_the_rest_is_read(tmp_path, name, content, kind, reason):
    found = read_results(cache(tmp_path, GOOD | {name: content}))
    problem = found.problems.iloc[0]
    assert len(found.problems) == 1 and len(found.scores) == 2
    assert problem["kind"] == kind and reason in problem["reason"] and problem["file"].endswith(name.rsplit("/", 1)[-1])


def test_prompts_of_another_task_are_not_taken_for_this_one(tmp_path):
    files = {
        f"{BASE}/experiments/e1/model_meta.json": experiment({"Other": "x"}),
        f"{BASE}/experiments/e1/MyTask.json": result(),
    }
    assert "name other tasks" in read_results(cache(tmp_path, files)).problems["reason"].item()


def test_a_link_is_not_followed(tmp_path):
    folder = cache(tmp_path, GOOD)
    (folder / BASE / "Link.json").symlink_to(folder / BASE / "MyTask.json")
    assert "link" in read_results(folder).problems["reason"].item()


@pytest.mark.parametrize("value", [None, "x", True, float("nan")])
def test_a_score_that_is_no_number_is_a_failed_row_and_not_a_zero(tmp_path, value):
    bad = result(scores={"test": [{"main_score": value, "hf_subset": "default"}]})
    row = read_results(cache(tmp_path, {f"{BASE}/MyTask.json": bad})).scores.iloc[0]
    assert row["status"] == "failed" and np.isnan(row["main_score"])


def test_records_keep_their_place_in_the_file(tmp_path):
    scores = {
        "validation": [{"main_score": 0.1, "hf_subset": "b"}, {"main_score": 0.2, "hf_subset": "a"}],
        "test": [{"main_score": 0.3}],
    }
    rows = read_results(cache(tmp_path, {f"{BASE}/MyTask.json": result(scores=scores)})).scores
    assert rows[["split", "subset", "record"]].values.tolist() == [
        ["validation", "b", 0],
        ["validation", "a", 1],
        ["test", "default", 2],
    ]


def test_an_empty_prompt_is_the_run_without_one_and_other_settings_make_a_variant(tmp_path):
    files = {
        f"{BASE}/experiments/e1/model_meta.json": experiment({"MyTask": ""}),
        f"{BASE}/experiments/e1/MyTask.json": result(),
        f"{BASE}/experiments/e2/model_meta.json": experiment({"MyTask": "P:"}, dtype="bfloat16", prompt_id="x"),
        f"{BASE}/experiments/e2/MyTask.json": result(),
    }
    rows = read_results(cache(tmp_path, files)).scores.set_index("kind")
    assert pd.isna(rows.loc["none", "prompt"]) and rows.loc["none", "prompt_id"] == "none"
    assert rows.loc["prompt", "model"] == "m (dtype=bfloat16)"


def test_levels_and_generators_come_from_the_prompt_files(tmp_path):
    def entry(text, dataset="", language=""):
        return {
            "task": "MyTask",
            "generated_prompt": text,
            "dataset_description": dataset,
            "language": language,
        }

    files = GOOD | {
        "prompts/gen-a-gen-prompts.json": [entry("Find: "), entry("Find: ", "about")],
        "prompts/gen-b-gen-prompts.json": [entry("Find: "), entry("Other", "about", "eng")],
        "prompts/deduplicated_prompts.json": [entry("Find: ")],
    }
    found = read_results(cache(tmp_path, files))
    row = found.scores.set_index("kind").loc["prompt"]
    assert row["level"] == "task|task+dataset" and row["generator"] == "gen-a|gen-b" and row["source"] == "llm"
    assert found.prompts["generator"].tolist() == ["gen-a", "gen-a", "gen-b", "gen-b"]
    files[f"{BASE}/experiments/e1/model_meta.json"] = experiment({"MyTask": "By hand"})
    assert read_results(cache(tmp_path, files)).scores.set_index("kind").loc["prompt", "source"] == "unlisted"


@pytest.mark.parametrize("prompts, prompt", [
    ({"T-query": "a", "query": "b"}, "a"), ({"T": "c"}, "c"), ({"query": "b"}, "b"), ("flat", "flat"), ({"U": "x"}, None), (None, None),
])  # fmt: skip
def test_prompt_keys_are_resolved_as_mteb_does(prompts, prompt):
    assert prompt_of({"prompts": prompts}, "T") == prompt


@pytest.mark.parametrize("loader, task_type, prefix", [
    ("SentenceTransformerEncoderWrapper", "Retrieval", "raw"), ("SentenceTransformerEncoderWrapper", "STS", "nothing"),
    ("InstructSentenceTransformerModel", "STS", "template"), ("q3e_instruct_loader", "STS", "template"), ("own", "STS", None),
    (None, "STS", None),
])  # fmt: skip
def test_what_a_default_puts_before_a_text_follows_from_the_metadata(loader, task_type, prefix):
    assert default_prefix(PLAIN | {"loader": loader}, "T", task_type) == prefix


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar", "a.tar.xz"])
def test_a_cut_archive_says_so(tmp_path, name, share):
    folder = cache(tmp_path, GOOD | {f"{BASE}/T{k}.json": result(f"T{k}") for k in range(20)})
    with tarfile.open(tmp_path / name, "w:" + name.partition(".tar")[2].lstrip(".")) as tar:
        tar.add(folder, arcname="x")
    assert len(read_results(tmp_path / name).scores) == 22
    half = tmp_path / f"half-{name}"
    data = (tmp_path / name).read_bytes().rstrip(b"\0") if name == "a.tar" else (tmp_path / name).read_bytes()
    half.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(StudyError, match=r"is not a whole tar archive"):
        read_results(half)


def test_absent_and_foreign_sources_say_so(tmp_path):
    with pytest.raises(StudyError, match="no folder or archive 'nowhere'"):
        read_results(tmp_path / "nowhere")
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(StudyError, match="not a whole tar archive"):
        read_results(tmp_path / "x.txt")


def test_members_that_climb_out_are_only_read(tmp_path):
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tar:
        member = tarfile.TarInfo("../../results/org__m/rev/MyTask.json")
        data = json.dumps(result()).encode()
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    read_results(archive)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar"]


@pytest.mark.parametrize("path, inner", [
    ("a/b/results/o__m/r/T.json", "results/o__m/r/T.json"), ("o__m/r/T.json", "results/o__m/r/T.json"),
    ("x/data/prompts/p.json", "prompts/p.json"), ("a/T.json", None), ("o__m/T.json", None),
])  # fmt: skip
def test_the_place_of_a_file_is_found_at_any_depth(path, inner):
    assert inner_path(PurePosixPath(path)) == (PurePosixPath(inner) if inner else None)


def test_models_and_revisions_of_one_name_keep_apart(tmp_path):
    files = {
        f"results/{org}__m/{r}/MyTask.json": result()
        for org, r in (("a", "rev-one"), ("a", "rev-two"), ("b", "rev-one"))
    }
    labels = read_results(cache(tmp_path, files)).scores["model"].tolist()
    assert sorted(labels) == ["a/m @rev-one", "a/m @rev-two", "b/m"]


def sparse(tar: tarfile.TarFile, n: int) -> None:
    member = tarfile.TarInfo(f"results/o__m/1/{n}.json")
    member.size, member.type = 0, tarfile.GNUTYPE_SPARSE
    head = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    head[386:482] = b"".join(b"%011o\0" % number for number in (60 * 2**20, 0, 0, 0, 0, 0, 0, 0))
    head[483:495] = b"%011o\0" % (60 * 2**20)
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 8 * 32 + sum(head[156:]))
    tar.fileobj.write(head)
    tar.offset += len(head)


def zeros(tar: tarfile.TarFile, n: int) -> None:
    member = tarfile.TarInfo(f"results/o__m/1/{n}.json")
    member.size = 30 * 2**20
    tar.addfile(member, io.BytesIO(bytes(member.size)))


@pytest.mark.parametrize(("content", "ending"), [(zeros, "gz"), (zeros, "bz2"), (sparse, "gz")])
def test_an_archive_that_unpacks_to_gigabytes_is_refused(tmp_path, content, ending):
    path = tmp_path / f"bomb.tar.{ending}"
    with tarfile.open(path, f"w:{ending}") as tar:
        for n in range(3):
            content(tar, n)
    assert path.stat().st_size < 10**6
    tracemalloc.start()
    with pytest.raises(StudyError, match=r"bomb\.tar\..* is not read: it"):
        list(json_files(path))
    assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    tracemalloc.stop()
