"""What servers will be asked for: about what is sent then, and refused before the first request beyond a limit."""

from __future__ import annotations

import numpy as np
import pytest
from embedding_server import serving

import helpers as h
from helpers.base.errors import StudyError
from helpers.runner.plan import plan_text
from helpers.sweep.requests import requests_table

PAIRS = [(f"the {n}th cat sleeps", f"{n} dogs bark in the yard", n % 4) for n in range(150)]
PROMPTS = ["Sentence: ", "Find what is meant: "]


def vectors(texts: list[str]) -> np.ndarray:
    return np.array([[len(t), sum(map(ord, t)) % 97, hash(t) % 89, 1] for t in texts], dtype=np.float32)


def test_the_estimate_is_near_what_is_sent_and_beyond_a_limit_nothing_is_sent(tmp_path):
    run = {
        "tasks": [h.sts_task("pairs", PAIRS)],
        "prompts": PROMPTS,
        "folder": tmp_path / "run",
        "progress": None,
    }
    with serving(vectors) as (state, url):
        with pytest.raises(StudyError, match=r"model toy: about 31 requests are needed, and server.max_requests is 20"):
            h.run_sweep([h.served(url + "/v1", "toy", max_requests=20)], **run)
        with pytest.raises(StudyError, match=r"about [\d,]+ tokens are needed, and server.max_tokens is 5,000; raise"):
            h.run_sweep([h.served(url + "/v1", "toy", max_tokens=5_000)], **run)
        assert not state.bodies
        given = h.load_run(tmp_path / "run")
        assert "cannot run here: model toy: about" in plan_text(given.study, given.folder)
        h.run_sweep([h.served(url + "/v1", "toy")], **run)
        sent = sum(len(t) // 4 for t in state.texts)
    row = requests_table(given.study, given.folder).iloc[0]
    assert row["requests_sent"] == len(state.bodies) and 0.6 < len(state.bodies) / row["requests"] <= 1
    assert row["tokens_sent"] == sent and 0.8 < sent / row["tokens"] < 1.25
    assert row["requests_left"] == row["tokens_left"] == 0 and row["problem"] is None
    assert f"to send to {url}/v1; {len(state.bodies)} and {sent:,} were sent" in plan_text(given.study, given.folder)


def test_a_limit_that_was_enough_is_enough_after_a_break(tmp_path):
    """All that is left of a broken run is what was not sent: the limit of the whole is not passed by going on."""
    with serving(vectors) as (_, url):
        run = {
            "tasks": [h.sts_task("pairs", PAIRS)],
            "prompts": PROMPTS,
            "folder": tmp_path / "run",
            "progress": None,
        }
        h.run_sweep([h.served(url + "/v1", "toy", max_requests=40)], **run)
        for cell in (tmp_path / "run" / "cells").rglob("*-*.json"):
            cell.unlink()
        scores = h.run_sweep([h.served(url + "/v1", "toy", max_requests=40)], **run)
    assert set(scores["status"]) == {"ok"}
