"""`helpers init` writes a study that is in order; `helpers try` scores one prompt on it."""

import shutil

import pandas as pd
import pytest

import helpers as h
from helpers.base.errors import StudyError
from helpers.runner.cli import main
from helpers.runner.init import guessed_type, init
from helpers.study.load import load_study
from helpers.tasks.load import load_task


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with the demo's texts and the starter prompts, and no study."""
    from helpers.base.files import project_root

    for name in ("demo", "prompts"):
        shutil.copytree(project_root() / "data" / name, tmp_path / "data" / name)
    (tmp_path / "data" / "studies").mkdir()
    monkeypatch.setenv("HELPERS_ROOT", str(tmp_path))
    return tmp_path


def csv(project, *columns: str):
    """A file of twelve different rows; scores and labels vary."""
    numbers = {"score": lambda n: n % 4, "label": lambda n: n % 2}
    rows = [[numbers.get(c, lambda n, c=c: f"{c} {n}")(n) for c in columns] for n in range(12)]
    path = project / "my.csv"
    pd.DataFrame(rows, columns=list(columns)).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (["question", "answer"], "Retrieval"),
        (["query", "document", "score"], "Reranking"),
        (["sentence1", "sentence2", "score"], "STS"),
        (["sentence1", "sentence2", "label"], "PairClassification"),
        (["sentence1", "sentence2"], "BitextMining"),
        (["text", "label"], "Classification"),
    ],
)
def test_the_columns_say_the_type_and_the_study_is_in_order(project, columns, kind):
    path = csv(project, *columns)
    assert guessed_type(path) == kind
    if kind == "Reranking":  # a query with nothing relevant is refused; here each has one document
        path.write_text("query,document,score\na,x,1\na,y,0\n")
    init("mine", str(path))
    study = load_study("mine")
    assert study.tasks[0].type == kind and len(h.prompt_table(study).query("kind == 'prompt'")) == 12
    load_task(study.tasks[0], study)


def test_nothing_is_overwritten_and_wrong_data_write_nothing(project, capsys):
    path = csv(project, "question", "answer")
    assert main(["init", "mine", "--data", str(path)]) == 0
    assert main(["init", "mine", "--data", str(path)]) == 2
    assert "data/studies/mine.yml is there already" in capsys.readouterr().err
    path.write_text("question,answer\nwho?,\n")
    with pytest.raises(StudyError, match="column 'answer', row 0: the text is missing"):
        init("other", str(path))
    assert not (project / "data" / "studies" / "other.yml").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["My Study", "my.csv"], "is no name of a study"),
        (["mine", "absent.csv"], "there is no 'absent.csv'"),
        (["mine", "my.csv", "Retreival"], "did you mean Retrieval"),
    ],
)
def test_a_wrong_call_is_told_what_to_write(project, arguments, said):
    csv(project, "question", "answer")
    with pytest.raises(StudyError, match=said):
        init(*arguments)


def test_a_prompt_is_tried_on_a_folder_and_shown_as_the_model_received_it(tmp_path, capsys):
    task = h.retrieval_task("faq", [("who feeds the cat?", "the neighbour"), ("what is warm?", "the stove")])
    h.run_sweep(["package:wordllama"], [task], ["a: ", "b: "], folder=tmp_path / "mine", progress=None)
    assert main(["try", "package:wordllama", "faq", "c: ", "--study", str(tmp_path / "mine")]) == 0
    said = capsys.readouterr().out
    assert "package:wordllama on faq:" in said and "of 2 prompts of study mine" in said
    assert "query: 'c: who feeds the cat?'" in said and "document: 'the neighbour'" in said
