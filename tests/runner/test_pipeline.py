"""The chain of notebooks: order, reuse, failure, death, and what its status file says."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from helpers.base import hashes as file_hashes
from helpers.base.errors import StudyError
from helpers.base.hashes import content_hash, file_hash
from helpers.base.progress import clock
from helpers.runner.chain import plan_lines, prepare
from helpers.runner.console import Console
from helpers.runner.pipeline import FAILED, OK, run_chain
from helpers.study.inputs import input_places, published_places
from helpers.study.parameters import ParameterError
from helpers.study.published import ReportedDefaults, ResultsSource
from helpers.study.run import Run
from helpers.study.spec import STEPS, Study

OPEN = """import os, pathlib
tables = pathlib.Path(os.environ["HELPERS_ROOT"]) / "data/runs/mini/tables"
tables.mkdir(exist_ok=True)"""  # not `Run`: importing pandas in every kernel would make these tests slow
STUDY = "name: mini\ntitle: Mini\nsteps: ['01', '03', '04']\n"


def write_notebook(root: Path, name: str, *cells: str, parameters: str = "study = 'mini'") -> None:
    first = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    sources = [OPEN, *cells]
    notebook = nbformat.v4.new_notebook(cells=[first, *map(nbformat.v4.new_code_cell, sources)])
    (root / "notebooks").mkdir(exist_ok=True)
    nbformat.write(notebook, root / "notebooks" / name)


def save(table: str, text: str) -> str:
    return f"(tables / '{table}.parquet').write_text({text});"


def read(table: str) -> str:
    return f"(tables / '{table}.parquet').read_text()"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of three small notebooks: 01 makes a table, 03 reads it, 04 reads what 03 made."""
    monkeypatch.setenv("HELPERS_ROOT", str(tmp_path))
    monkeypatch.delenv("HELPERS_RUNS", raising=False)
    (tmp_path / "data" / "studies").mkdir(parents=True)
    (tmp_path / "data" / "studies" / "mini.yml").write_text(STUDY)
    write_notebook(tmp_path, "01_a.ipynb", "print('hello from 01')", save("a", "'1'"))
    write_notebook(tmp_path, "03_b.ipynb", save("b", f"{read('a')} * top"), parameters="study = ''\ntop = 2")
    write_notebook(tmp_path, "04_c.ipynb", save("c", read("b")))
    return tmp_path


def run(*arguments, **options):
    out = io.StringIO()
    return run_chain(prepare("mini", *arguments, **options), Console(out)), out.getvalue()


def status(root: Path) -> dict:
    return json.loads((root / "data" / "runs" / "mini" / "status.json").read_text())


def states(root: Path) -> list[str]:
    return [step["state"] for step in status(root)["steps"].values()]


def test_steps_run_in_order_and_a_second_run_reuses_them_all(project):
    code, out = run()
    assert code == OK and states(project) == ["done"] * 3 and status(project)["state"] == "complete"
    assert "[1/3] 01_a: running (0:0" in out and "has not run" not in out
    assert "    hello from 01\n" in out and out.index("01_a") < out.index("03_b") < out.index("04_c")
    folder = project / "data" / "runs" / "mini"
    tables = {p.name: p.read_bytes() for p in (folder / "tables").iterdir()}
    assert "hello from 01" in (folder / "logs" / "01_a.log").read_text()
    assert str(project) not in (folder / "notebooks" / "01_a.ipynb").read_text()

    code, out = run()
    assert code == OK and out.count(": reused") == 3 and "0 ran, 3 reused" in out
    code, _ = run(force=True)
    assert code == OK and tables == {p.name: p.read_bytes() for p in (folder / "tables").iterdir()}


def test_only_what_depends_on_a_change_runs_again(project):
    run()
    write_notebook(project, "01_a.ipynb", "# another comment", save("a", "'1'"))
    assert plan_lines(prepare("mini"))[1].endswith("reused if step 01 gives the same tables as before")
    _, out = run()
    assert "01_a: the notebook changed" in out and "1 ran, 2 reused" in out  # 01's table is the same
    write_notebook(project, "01_a.ipynb", save("a", "'5'"))
    _, out = run()
    assert "03_b: the tables of an earlier step changed" in out and "3 ran, 0 reused" in out
    (project / "data" / "runs" / "mini" / "tables" / "c.parquet").unlink()
    _, out = run()
    assert "04_c: tables/c.parquet was removed" in out and "1 ran, 2 reused" in out
    (project / "data" / "studies" / "mini.yml").write_text(STUDY + "seed: 7\n")
    assert "runs: the study file changed" in plan_lines(prepare("mini"))[0]


def test_an_edited_study_parameter_runs_nothing_again_but_any_other_default_does(project):
    """JupyterLab saves the notebook of another study by itself."""
    run()
    path = project / "notebooks" / "03_b.ipynb"
    path.write_text(path.read_text().replace("study = ''", "study = 'other'"))
    assert run()[1].count(": reused") == 3
    path.write_text(path.read_text().replace("top = 2", "top = 3"))
    assert "03_b: the parameters changed" in run()[1]


def test_a_file_that_the_study_names_counts_wherever_it_lies(project, tmp_path_factory):
    """Edits of equal size outside `data/`; only the steps that read a file run again."""
    outside = tmp_path_factory.mktemp("outside")
    for name in ("prompts.yml", "bank.yml", "weights.bin"):
        (outside / name).write_text("old")
    model = {"name": "a/b", "weights": f"path:{outside}"}
    study = Study(
        name="mini",
        title="Mini",
        models=[model],
        tasks=[{"name": "DemoSTS"}],
        prompts={"file": str(outside / "prompts.yml"), "review_file": str(outside / "review.csv")},
        geometry={"tasks": [{"name": "DemoRetrieval"}], "instructions": str(outside / "bank.yml")},
        finetuning={"model": "b", "data": f"jsonl:{outside / 'train.jsonl'}", "paraphrases": "mine.jsonl"},
    )

    def inputs() -> dict[str, dict[str, str]]:
        return {
            step: {kind: content_hash(places) for kind, places in input_places(study, step).items()} for step in STEPS
        }

    def changed(name: str, *texts: str) -> set[tuple[str, str]]:
        before = inputs()
        for text in texts:
            (outside / name).write_text(text)
        after = inputs()
        kinds = {(step, kind) for step in STEPS for kind in after[step] if after[step][kind] != before[step][kind]}
        return {place for place in kinds if place[1] != "weights"}

    assert changed("prompts.yml", "new") == {("01", "prompt_files")}
    assert changed("review.csv", "new") == {("01", "review")}
    assert changed("bank.yml", "new") == {("05", "instructions"), ("06", "instructions")}
    assert changed("train.jsonl", "new") == {("06", "training_data")}
    before = inputs()
    (outside / "weights.bin").write_text("new")
    after = inputs()
    assert [step for step in STEPS if after[step] != before[step]] == ["01", "02", "05", "06"]


def test_an_edited_prompt_file_outside_the_project_runs_step_01_again(project, tmp_path_factory):
    file = tmp_path_factory.mktemp("outside") / "prompts.yml"
    file.write_text("DemoSTS: {task: ['one:']}")
    study = STUDY + f"prompts: {{file: {file}}}\n"
    (project / "data" / "studies" / "mini.yml").write_text(study)
    run()
    assert run()[1].count(": reused") == 3
    file.write_text("DemoSTS: {task: ['two:']}")
    assert "01_a: a prompt file changed" in run()[1]


def test_what_is_kept_of_hashes_serves_the_next_process_and_notices_an_edit_of_equal_size(tmp_path, monkeypatch):
    file = tmp_path / "large.bin"
    file.write_text("old")
    os.utime(file, ns=(1, 1))
    monkeypatch.setattr(file_hashes, "SETTLED_NS", 0)
    monkeypatch.setattr(file_hashes, "_KNOWN", {})
    first = file_hash(file)
    file_hashes.keep(tmp_path)
    monkeypatch.setattr(file_hashes, "_KNOWN", {})
    file_hashes.remember(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("builtins.open", None)  # it is not read again
        assert file_hash(file) == first
    file.write_text("new")
    os.utime(file, ns=(1, 1))  # even the time put back does not hide it
    assert file_hash(file) not in (first, None)


def test_two_study_files_of_one_name_do_not_share_a_run_folder(project):
    run()
    (project / "other.yml").write_text(STUDY + "seed: 7\n")
    with pytest.raises(StudyError, match=r"other.yml and data/studies/mini.yml both have the name 'mini'"):
        prepare(project / "other.yml")
    with pytest.raises(StudyError, match="both have the name 'mini'"):
        Run.open(project / "other.yml")
    record = project / "data" / "runs" / "mini" / "study_file.json"
    assert json.loads(record.read_text()) == {"study_file": "data/studies/mini.yml"}


def test_a_study_file_that_moved_takes_its_folder_over_as_the_message_says(project):
    run()
    (project / "data" / "studies" / "mini.yml").rename(project / "moved.yml")
    with pytest.raises(StudyError, match=r"delete data/runs/mini/study_file.json and the folder is taken over"):
        prepare(project / "moved.yml")
    (project / "data" / "runs" / "mini" / "study_file.json").unlink()
    assert run_chain(prepare(project / "moved.yml"), Console(io.StringIO())) == OK
    with pytest.raises(StudyError, match=r"belongs to moved.yml"):
        (project / "moved.yml").rename(project / "data" / "studies" / "mini.yml")
        prepare("mini")


def test_a_failing_notebook_stops_the_chain_and_the_next_run_completes_it(project):
    write_notebook(project, "03_b.ipynb", "raise ValueError('no such thing')")
    code, out = run()
    assert code == FAILED and states(project) == ["done", "failed", "pending"]
    assert status(project)["steps"]["03"]["reason"] == "ValueError: no such thing"
    assert status(project)["steps"]["04"]["reason"] == "waits for step 03"
    assert "To complete it: make report STUDY=mini" in out and status(project)["state"] == "failed"
    assert "Traceback" in (project / "data/runs/mini/logs/03_b.log").read_text()
    write_notebook(project, "03_b.ipynb", save("b", "'1'"))
    code, out = run()
    assert code == OK and states(project) == ["done"] * 3 and "2 ran, 1 reused" in out


def test_a_kernel_that_dies_is_a_failure(project):
    write_notebook(project, "03_b.ipynb", "import os\nos.kill(os.getpid(), 9)")
    code, _ = run()
    assert code == FAILED and "kernel died" in status(project)["steps"]["03"]["reason"]


def test_a_part_of_the_chain_marks_later_steps_as_outdated(project):
    run()
    code, _ = run("03", "03", {"top": 5})
    assert code == OK and states(project) == ["done", "done", "pending"]
    assert status(project)["steps"]["04"]["reason"] == "the tables of an earlier step changed"


def test_wrong_parameters_and_steps_stop_before_anything_runs(project):
    with pytest.raises(ParameterError, match="unknown parameter 'tpo'; did you mean top"):
        prepare("mini", given={"tpo": 3})
    with pytest.raises(ParameterError, match=r"03_b.*a whole number is expected"):
        prepare("mini", given={"top": "three"})
    with pytest.raises(ParameterError, match="unknown parameter 'top'"):
        prepare("mini", first="04", given={"top": 3})  # declared, but not by a selected notebook
    with pytest.raises(StudyError, match="unknown step '7'"):
        prepare("mini", first="7")
    with pytest.raises(StudyError, match="did you mean mini"):
        prepare("mimi")
    assert not (project / "data" / "runs").exists()


def test_a_notebook_without_a_parameters_cell_is_an_error(project):
    path = project / "notebooks" / "04_c.ipynb"
    path.write_text(path.read_text().replace('"parameters"', '"other"'))
    with pytest.raises(ParameterError, match=r"04_c.ipynb has no cell tagged"):
        prepare("mini")


def test_a_killed_chain_is_seen_as_stopped_and_completes_later(project):
    write_notebook(project, "03_b.ipynb", "import time\nprint('sleeping')\ntime.sleep(60)")
    command = [sys.executable, "-m", "helpers.runner.cli", "run", "mini"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert any("sleeping" in line for line in child.stdout)
    assert plan_lines(prepare("mini"))[1].endswith("is running now")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert states(project) == ["done", "running", "pending"]
    write_notebook(project, "03_b.ipynb", save("b", "'1'"))
    code, out = run()
    assert code == OK and "03_b: was stopped before its end" in out and "2 ran, 1 reused" in out


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_chain_ends_with_130_and_says_so_without_a_traceback(project, stop):
    write_notebook(project, "03_b.ipynb", "import time\nprint('sleeping')\ntime.sleep(60)")
    command = [sys.executable, "-m", "helpers.runner.cli", "report", "mini"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert any("sleeping" in line for line in child.stdout)
    child.send_signal(stop)
    out, said = child.communicate(timeout=60)
    assert child.returncode == 130 and "stopped by a person" in out
    assert said == ""
    assert status(project)["steps"]["03"]["reason"] == "stopped by a person"


def test_a_silent_notebook_gives_a_sign_of_life_and_progress_bars_are_thinned():
    out, log = io.StringIO(), io.StringIO()
    console = Console(out, silence=0.05)
    with console.following(log, 3):
        for percent in range(100):
            console.stdout.write(f"\r{percent} %\r")
        console.stderr.write("a warning\n")
        time.sleep(0.2)
        console.stdout.write("half a line")
    assert "starting its kernel" in out.getvalue() and "half a line" in out.getvalue()
    assert "a warning" not in out.getvalue() and "a warning" in log.getvalue() and "99 %" in log.getvalue()
    assert out.getvalue().count("%") < 5


def test_clock():
    assert [clock(s) for s in (0.2, 75.2, 3671)] == ["0:00", "1:15", "1:01:11"]


def test_a_study_outside_the_studies_folder_is_named_by_its_file(project):
    (project / "mine.yml").write_text(STUDY.replace("mini", "mine"))
    chain = prepare(project / "mine.yml")
    assert chain.command == "make report STUDY=mine.yml" and chain.parameters["01"] == {"study": "mine.yml"}
    assert chain.folder == project / "data" / "runs" / "mine"


def test_every_place_of_published_results_is_watched(monkeypatch):
    monkeypatch.setenv("PUBLISHED_RESULTS_MINE", "/results")
    monkeypatch.setenv("PUBLISHED_DEFAULTS", "/defaults.parquet")
    source = ResultsSource(repository="a/b", commit="0" * 40, reported=ReportedDefaults(path="mine.parquet"))
    study = Study.model_construct(results_from=source)
    places = published_places(study)
    assert {p.name for p in places} == {"results", "defaults.parquet", "mine.parquet", "a+b"}
    assert published_places(Study.model_construct(results_from=None)) == []
