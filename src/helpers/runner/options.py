"""Options that several commands share."""

from __future__ import annotations

import argparse

FETCH = "helpers fetch-published published"


def chain_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("study", metavar="STUDY", help="name of a file in data/studies, or the path of a study file")
    added.add_argument("--from", dest="first", metavar="STEP", help="first step, such as 03")
    added.add_argument("--to", dest="last", metavar="STEP", help="last step, such as 05")
    added.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a parameter for every selected notebook that declares it; an unknown one is an error",
    )


def run_options(added: argparse.ArgumentParser) -> None:
    chain_options(added)
    added.add_argument("--force", action="store_true", help="run finished steps again (the sweep's cells are reused)")


def init_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("name", metavar="NAME", help="of the new study: lower case letters, digits, hyphens")
    added.add_argument("--data", required=True, metavar="PATH", help="a CSV, TSV, JSONL or Parquet file, or a folder")
    added.add_argument("--type", metavar="TYPE", help="task type; without it the columns say it")


def try_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("model", metavar="MODEL", help="label of a model of the study")
    added.add_argument("task", metavar="TASK", help="name of a task of the study")
    added.add_argument(
        "prompt", metavar="PROMPT", help="exactly as the model is to read it; the study's separator follows"
    )
    added.add_argument("--study", default="demo", help="a study that was swept, or its folder (default: demo)")


def render_options(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="one run folder that `run_sweep` wrote, instead of data/runs"
    )


def compare_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("studies", nargs="+", metavar="STUDY")


def sweep_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("study", metavar="STUDY", help="as for `helpers run`")
    added.add_argument("--executor", choices=["auto", "process", "ray"], help="the study key sweep.executor")
    added.add_argument("--workers", type=int, metavar="N", help="the study key sweep.workers")
    added.add_argument("--device", help="the study key sweep.device, such as cuda:1")
    added.add_argument(
        "--ray-address", metavar="ADDRESS", help="the study key sweep.ray.address; auto: on this machine"
    )
    added.add_argument(
        "--no-wait",
        action="store_true",
        help="end, instead of waiting, when all that is left is being computed by other processes",
    )


def scaling_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("study", metavar="STUDY", help="as for `helpers run`")
    added.add_argument("--gpus", type=int, nargs="+", metavar="N", help="default: 1 2 4 8 16 32 64")
    for option, text in (
        ("--start", "seconds to start a worker; default: 15"),
        ("--load", "seconds to load a model; default: as measured, else 30"),
        ("--tflops", "for an estimate: what a GPU reaches; default: 100"),
        ("--cell-seconds", "for an estimate: scoring of one cell; default: 2"),
    ):
        added.add_argument(option, type=float, metavar="X", help=text)
    added.add_argument("--fresh", action="store_true", help="start and load for every group, as Ray tasks on GPUs do")
