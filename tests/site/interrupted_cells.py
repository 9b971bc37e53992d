# %%
from helpers.prompts.table import prompt_table
from helpers.study.run import Run
from helpers.sweep.run import sweep_study

run = Run.open("tiny.yml", step="02")
prompts = prompt_table(run.study)
# %%
reports = sweep_study(run.study, run.folder, prompts)
print("reused", sum(r.reused for r in reports), "computed", sum(r.done for r in reports))
