# %%
from helpers.prompts.table import prompt_table
from helpers.study.run import Run
from helpers.sweep.run import run_sweep

run = Run.open("tiny.yml", step="02")
prompts = prompt_table(run.study)
# %%
reports = run_sweep(run.study, run.folder, prompts)
print("reused", sum(r.reused for r in reports), "computed", sum(r.done for r in reports))
