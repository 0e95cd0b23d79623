"""Uses of skills: attributed when they begin, judged by receipts of their session, compared by
variant.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY, iso
from kl_hooks.evidence.high_water import ledger_writer
from kl_hooks.evidence.ledger import append
from kl_hooks.evidence.provenance import producer
from kl_hooks.model.receipt import Receipt
from kl_hooks.skills.library import find_skill
from kl_hooks.skills.uses import (
    Effectiveness,
    Use,
    assign,
    edge_strengths,
    effectiveness_of,
    end_use,
    measure,
    next_version,
    outcomes,
    start_use,
    uses,
    wilson,
)
from kl_hooks.workspace import Workspace
from tests.support import NOW, Checkout

from .making import text, write
from .test_files import ask

MINUTE = 60_000_000
EDGE = ("a", "requires", "b")


def use(number: int, at: int = NOW) -> Use:
    return Use(str(number), "SKILL-a", "a", "main", "1.0.0", "s", "human", "", "p", at)


@pytest.mark.requirement("D35")
def test_effectiveness_follows_the_stated_formula() -> None:
    # golden: .3 × graph + .5 × success rate + .2 × learning, 0.05 less for each 30 days without a
    # use
    one = Effectiveness(5, 5, 4, 0.6, 0.9, 0, 0.0)
    assert one.is_known and one.score == pytest.approx(
        0.3 * 0.6 + 0.5 * 0.8 + 0.2 * 0.9
    ) == pytest.approx(0.76)
    assert one._replace(idle=2).score == pytest.approx(0.66) and one._replace(
        idle=99
    ).score == pytest.approx(0.2)
    low = one._replace(successes=0, graph=0.1, learning=0)
    assert low._replace(idle=9).score == low.score == pytest.approx(0.03)
    few = one._replace(judged=4, successes=4)
    assert not few.is_known and "4 of 5" in few.line() and few.to_dict()["needs"] == "5 judged uses"
    assert Effectiveness(0, 0, 0, 0.5, 0.5, 0, 0.0).rate == 0.5
    assert wilson(4, 5) == pytest.approx((0.3755, 0.9638), abs=1e-4) and wilson(0, 0) == (0, 1)
    assert one.interval[0] < one.score < one.interval[1]


@pytest.mark.requirement("D35")
def test_outcomes_move_relations_and_trends() -> None:
    assert edge_strengths([EDGE], [("a", True), ("b", True), ("c", True), ("a", None)])[
        EDGE
    ] == pytest.approx(0.6)
    assert edge_strengths([EDGE], [("a", False)] * 20)[EDGE] == pytest.approx(0.1)
    assert edge_strengths([EDGE], [("b", True)] * 20)[EDGE] == pytest.approx(1.0)
    found = [use(n, NOW - n * DAY) for n in range(12)]
    made = measure(found, {str(n): n < 7 for n in range(12)}, NOW)
    assert (made.uses, made.judged, made.successes, made.trend, made.idle) == (12, 12, 7, 1.0, 0)
    assert measure(found, {}, NOW + 65 * DAY).idle == 2 and measure([], {}, NOW).last == 0


@given(
    st.integers(0, 30), st.integers(0, 30), st.floats(0.1, 1), st.floats(0, 1), st.integers(0, 50)
)
def test_a_score_is_a_share_that_only_falls_with_time(
    yes: int, no: int, graph: float, learning: float, idle: int
) -> None:
    one = Effectiveness(yes + no, yes + no, yes, graph, learning, idle, 0.0)
    assert 0 <= one.score <= 1 and one._replace(idle=idle + 1).score <= one.score
    assert (
        one.interval[0] <= one._combined(one.rate) + 1e-9
        and one._combined(one.rate) <= one.interval[1] + 1e-9
    )


@pytest.mark.requirement("D34")
@given(st.text(max_size=10), st.integers(1, 99), st.integers(1, 99))
def test_a_seed_gets_the_same_variant_in_the_stated_share(seed: str, b: int, c: int) -> None:
    shares = {"b": b, "c": c}
    assert assign("SKILL-a", shares, seed) == assign(
        "SKILL-a", dict(reversed(shares.items())), seed
    )
    assert assign("SKILL-a", {}, seed) == "main"


@pytest.mark.requirement("D34")
def test_shares_hold_and_one_part_stays_with_the_main_text() -> None:
    counts = [assign("SKILL-a", {"b": 20}, str(n)) for n in range(2_000)].count("b")
    assert 340 < counts < 460
    assert [assign("SKILL-a", {"b": 99, "c": 99}, str(n)) for n in range(2_000)].count("main") > 2
    assert (
        next_version("1.2.3") == "1.3.0"
        and next_version("") == "1.1.0"
        and next_version("2") == "2.1.0"
    )


def run(
    ws: Workspace, verdict: str, at: int, session: str = "", source: str = "pytest", **more: Any
) -> None:
    """A receipt as a capture leaves it."""
    receipt = Receipt(
        run=f"{at:032x}"[-32:],
        source=source,
        observer=source,
        producer=more.get("producer", producer(ws.environ)),
        evidence=(),
        started=iso(at),
        ended=iso(at + MINUTE),
        environment={"session": session} if session else {},
        result={
            "exit": 0 if verdict == "passed" else 1,
            "verdict": verdict,
            "complete": True,
            "how": "finished",
            "reasons": [],
            "counts": {},
        },
    )
    with ledger_writer(ws) as db:
        append(db, [receipt], more.get("origin", "local"))


def at(repo: Checkout, minutes: int, session: str = "", agent: str = "") -> Workspace:
    ws = repo.workspace(NOW + minutes * MINUTE)
    names = {"KL_SESSION": session, "KL_AGENT": agent}
    return replace(
        ws, environ={**ws.environ, **{name: value for name, value in names.items() if value}}
    )


@pytest.mark.requirement("D34", "D35")
def test_receipts_count_for_the_use_that_was_open_in_their_session(repo: Checkout) -> None:
    write(repo, {"pdf": text("pdf", "Reads PDF."), "ocr": text("ocr", "Reads scans.")})
    first = start_use(at(repo, 0, "s-1", "bot"), "pdf")
    other = start_use(at(repo, 1, "s-2", "bot"), "ocr")
    run(at(repo, 2), "failed", NOW + 2 * MINUTE, "s-1")
    run(at(repo, 3), "passed", NOW + 3 * MINUTE, "s-1")
    run(at(repo, 4), "failed", NOW + 4 * MINUTE, "s-2", source="command")
    ended = end_use(at(repo, 5, "s-1", "bot"), "pdf", success=False)
    # after its end, in a session without a name, from another clone: none of these is evidence
    # about it
    run(at(repo, 6), "failed", NOW + 6 * MINUTE, "s-1")
    run(at(repo, 6), "failed", NOW + 3 * MINUTE + 1)
    run(at(repo, 6), "failed", NOW + 3 * MINUTE + 2, "s-1", origin="imported:x")
    ws = at(repo, 9)
    found = outcomes(ws, uses(ws))
    assert (
        ended.id == first.id
        and found[first.id].success is True
        and "tests passed" in found[first.id].reasons[0]
    )
    assert found[other.id].success is None and "1 command failed" in found[other.id].reasons
    # what an agent states of itself is no evidence; what a person states is, where no receipt
    # decides
    end_use(at(repo, 9, "s-2", "bot"), "ocr", success=True)
    assert outcomes(ws, uses(ws))[other.id].success is None
    with pytest.raises(Exception, match=r"no skill of this name.*Did you mean ocr\?"):
        start_use(at(repo, 9), "ocrs")
    elsewhere = start_use(at(repo, 9, "s-3", "bot"), "ocr")
    with pytest.raises(Exception, match="in another session") as refused:
        end_use(at(repo, 9, "s-4", "bot"), "ocr")
    assert elsewhere.id in str(refused.value)
    end_use(at(repo, 9, "s-4", "bot"), elsewhere.id)
    mine = start_use(at(repo, 10), "ocr")
    end_use(at(repo, 11), mine.id, success=True)
    assert outcomes(ws, uses(ws))[mine.id].success is True
    assert effectiveness_of(ws, [find_skill(ws, "ocr")])[0][other.skill].judged == 1
    for which, who in (("pdf", "bot"), (first.id, "bot"), (first.id, "")):
        with pytest.raises(Exception, match=r"over already|no use of it"):
            end_use(at(repo, 12, "s-1", who), which)


@pytest.mark.requirement("D34", "D35")
def test_commits_count_where_nobody_else_was_at_work(repo: Checkout) -> None:
    write(repo, {"pdf": text("pdf", "Reads PDF.")})
    begun = ask(repo, "skill", "use", "pdf")
    repo.write("a.py", "a = 1\n")
    sha = repo.commit("Add a")
    done = ask(repo, "skill", "done", "pdf")
    assert (
        done["success"] is True
        and done["reasons"] == ["1 commit not reverted, 0 reverted"]
        and begun["use"] == done["use"]
    )
    repo.git("revert", "--no-edit", sha)
    ws = repo.workspace()
    assert outcomes(ws, uses(ws))[done["use"]].success is False


@pytest.mark.requirement("D34", "D35")
def test_variants_are_committed_files_that_are_chosen_at_the_start(repo: Checkout) -> None:
    write(repo, {"pdf": text("pdf", "Reads PDF.", version="1.0.0")})
    variant = repo.write(
        ".claude/skills/pdf/SKILL.b.md", text("pdf", "Reads PDF.", "Do it otherwise.", traffic="50")
    )
    seeds = [str(n) for n in range(12)]
    assert {start_use(repo.workspace(), "pdf", seed).variant for seed in seeds} == {
        "main"
    }  # nobody has reviewed it
    repo.commit()
    chosen = {seed: start_use(repo.workspace(), "pdf", seed) for seed in seeds}
    assert {one.variant for one in chosen.values()} == {"main", "b"}
    assert all(one.path.endswith("SKILL.b.md") == (one.variant == "b") for one in chosen.values())
    assert ask(repo, "skill", "use", "pdf", "--seed", "3")["variant"] == chosen["3"].variant
    for one in [one for one in uses(repo.workspace()) if not one.ended and one.seed in seeds]:
        end_use(repo.workspace(), one.id, success=one.variant == "b")
    found = ask(repo, "skill", "versions", "pdf")
    assert {one["variant"]: one["known"] for one in found["variants"]} == {"main": True, "b": True}
    (main, other) = sorted(found["variants"], key=lambda one: one["variant"] == "b")
    # .3 × graph + .5 × success rate + .2 × learning, of which nothing is known but the rate
    assert (main["score"], other["score"]) == (0.25, 0.75)
    assert (
        f"effectiveness: {0.3 * 0.5 + 0.5 * 0 + 0.1:.2f}"[:15]
        in repo.kl("skill", "context", "pdf").stdout
    )
    assert (
        found["winner"] == "b"
        and "kl skill promote pdf b" in repo.kl("skill", "versions", "pdf").stdout
    )
    assert repo.kl("skill", "promote", "pdf", "b", env={"KL_AGENT": "bot"}).returncode == 2
    assert repo.kl("skill", "promote", "pdf", "c").returncode == 2
    assert ask(repo, "skill", "promote", "pdf", "b")["version"] == "1.1.0"
    record = find_skill(repo.workspace(), "pdf")
    assert (
        record.body.strip() == "Do it otherwise."
        and not record.values.get("traffic")
        and not variant.exists()
    )


@pytest.mark.parametrize("name", ["", "bot"])
def test_what_an_agents_tool_begins_and_ends_is_counted_as_an_agents(
    repo: Checkout, name: str
) -> None:
    write(repo, {"pdf": text("pdf")})
    env = {"KL_AGENT": name} if name else {}
    for tool, arguments in (("skill_use", {"skill": "pdf"}), ("skill_done", {"use": "pdf"})):
        done = repo.kl("tool", "--allow-write", tool, json.dumps(arguments), env=env)
        assert done.returncode == 0, done.stdout
    (used,) = uses(repo.workspace())
    assert used.ended and (used.actor, used.by) == (f"agent:{name or 'unnamed'}",) * 2
    assert repo.kl("skill", "use", "pdf").returncode == 0
    answer = json.loads(repo.kl("tool", "--allow-write", tool, json.dumps(arguments)).stdout)
    assert "you began no use of it" in repr(answer) or "is over already" in repr(answer)
