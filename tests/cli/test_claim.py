"""`kl claim`: what is asserted is assumed, what is observed states how well, and every reason is
shown.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.assertions import add_claim
from kl_hooks.evidence.claims import all_claims
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.proof.claims import parse_expiry
from tests.evidence.making import leave_run
from tests.evidence.test_audit import problems
from tests.support import NOW, Checkout

DAY = 86_400_000_000
ONE = ("tests/test_a.py::test_one", "passed", 5)


def claims(repo: Checkout, *args: str) -> list[dict[str, Any]]:
    done = repo.kl("claim", "list", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["claims"]
    return found


@pytest.mark.requirement("A36")
def test_an_assertion_alone_is_assumed_whoever_makes_it(repo: Checkout) -> None:
    for agent in ("", "bot"):
        done = repo.kl(
            "claim",
            "add",
            "is quick",
            "--about",
            f"file:a{agent}.py",
            env={"KL_AGENT": agent} if agent else {},
        )
        assert (done.returncode, "assumed" in done.stdout) == (0, True)
    found = claims(repo)
    assert {(c["tier"], c["freshness"], c["text"]) for c in found} == {
        ("assumed", "not assessed", "is quick")
    }
    assert {c["author"].partition(":")[0] for c in found} == {"local", "agent"}
    shown = repo.kl("claim", "show", found[0]["id"]).stdout
    for words in (
        "text       is quick",
        "tier       assumed",
        "nobody has observed it",
        "an assertion is not an observation",
    ):
        assert words in shown
    assert problems(repo) == ()


def test_stating_it_again_is_one_claim(repo: Checkout) -> None:
    for expires in ("1d", "2d"):
        assert (
            repo.kl(
                "claim", "add", "is quick", "--about", "file:a.py", "--expires", expires
            ).returncode
            == 0
        )
    (claim,) = claims(repo)
    assert claim["expires"] > claim["made_at"]
    assert [e.receipt.source for e in repo.entries()].count("claim") == 2
    assert problems(repo) == ()


@pytest.mark.requirement("A38")
def test_an_expired_claim_is_shown_only_when_asked_for_and_reports_it(repo: Checkout) -> None:
    add_claim(repo.workspace(), "is quick", "file:a.py", NOW + DAY)
    (before,) = all_claims(repo.workspace(NOW + DAY - 1))
    (after,) = all_claims(repo.workspace(NOW + DAY))
    assert (before.freshness, after.freshness) == ("not assessed", "expired")
    assert after.reasons == (f"expired on {iso(NOW + DAY)}",)
    add_claim(repo.workspace(NOW - 3 * DAY), "was quick", "file:b.py", NOW - 2 * DAY)
    shown = {c["text"] for c in claims(repo)}
    everything = {c["text"]: c["freshness"] for c in claims(repo, "--all")}
    assert shown <= everything.keys()
    assert set(everything) == {"is quick", "was quick"}


SPANS = {
    "30d": NOW + 30 * DAY,
    "12h": NOW + DAY // 2,
    "90m": NOW + 5_400_000_000,
    "2027-01-31": 1_801_353_600_000_000,
}


@pytest.mark.parametrize("text", SPANS)
def test_a_time_is_a_span_or_a_date(text: str) -> None:
    assert parse_expiry(text, NOW) == SPANS[text]


@pytest.mark.parametrize("text", ["soon", "-3d", "0d", "2020-01-01", "99999999d", "", "30 d"])
def test_a_time_that_is_none_or_is_over_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageProblem, match="--expires"):
        parse_expiry(text, NOW)


@pytest.mark.parametrize("args", [("", "--about", "file:a"), ("x", "--about", " "), ("x",)])
def test_a_claim_needs_a_sentence_and_a_subject(repo: Checkout, args: tuple[str, ...]) -> None:
    done = repo.kl("claim", "add", *args)
    assert (done.returncode, done.stdout, repo.entries()) == (2, "", [])


@pytest.mark.requirement("A34")
def test_every_reason_of_an_observed_claim_is_shown(repo: Checkout) -> None:
    done = repo.kl("run", "--", "true")
    sync_evidence(repo.workspace())
    parent = repo.entries()[1].receipt.run if done.returncode == 0 else ""
    ws = repo.workspace()
    leave_run(ws, [ONE])
    repo.write("other.py", "")
    repo.git("add", "-A")
    leave_run(ws, [ONE], place=worktree_state(ws.repo))
    assert parent
    (claim,) = [c for c in claims(repo) if c["about"] == "test:tests/test_a.py::test_one"]
    assert (claim["tier"], claim["freshness"]) == ("inferred", "current")
    assert repo.kl("claim", "add", claim["text"], "--about", claim["about"]).returncode == 0
    (joined,) = [c for c in claims(repo) if c["about"] == claim["about"]]
    assert (joined["id"], joined["tier"]) == (claim["id"], "inferred")
    shown = repo.kl("claim", "show", claim["id"][:8]).stdout
    for words in (
        "TestResult passed, seen by pytest",
        "   hard",
        "           run ",
        "AgentAssertion asserted",
        "not hard: an assertion is not an observation",
        "verified needs two executions",
    ):
        assert words in shown


def test_a_test_that_also_failed_on_the_same_content_is_not_hard(repo: Checkout) -> None:
    ws = repo.workspace()
    leave_run(ws, [(ONE[0], "failed", 5)])
    leave_run(ws, [ONE])
    (claim,) = claims(repo)
    assert claim["tier"] == "guessed"
    assert {s["outcome"]: (s["hard"], s["why_not"][:5]) for s in claim["support"]} == dict.fromkeys(
        ("passed", "failed"), (False, "flaky")
    )
    assert "it also failed on this very content" in claim["reasons"][0]
    repo.write("a.py", "A = 2\n")
    repo.git("add", "-A")
    leave_run(repo.workspace(), [ONE])
    (claim,) = claims(repo)
    assert claim["tier"] == "inferred", "other content, another matter"


@pytest.mark.slow
@pytest.mark.requirement("A36")
def test_the_parent_process_is_no_second_observation_and_another_way_of_running_is(
    repo: Checkout,
) -> None:
    repo.write("tests/test_a.py", "def test_one(): pass\n")
    repo.commit("a test")
    import sys

    command = (
        "run",
        "--",
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "pytest_kl.plugin",
        "-p",
        "no:cacheprovider",
    )
    for words, tier in (((), "inferred"), (("-p", "xdist", "-n", "2"), "verified")):
        done = repo.kl(*command, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        by_subject = {c["about"]: c for c in claims(repo)}
        claim = by_subject["test:tests/test_a.py::test_one"]
        assert claim["tier"] == tier
        assert {s["observer"] for s in claim["support"]} == {"pytest", "kl run"}
        verified = repo.kl("verify", "--require", "verified")
        assert verified.returncode == (0 if words else 1)
        assert "exit status seen by the parent" in verified.stdout


def test_an_id_that_is_none_or_means_several(repo: Checkout) -> None:
    assert claims(repo) == []
    for words in ("x", "y"):
        repo.kl("claim", "add", words, "--about", "file:a.py")
    for wanted in ("ffff", "", "zzzz"):
        done = repo.kl("claim", "show", wanted)
        assert (done.returncode, done.stdout, "kl claim list" in done.stderr) == (2, "", True)
    assert [c["text"] for c in claims(repo, "--about", "file:a.py")] == ["x", "y"]
    assert claims(repo, "--about", "file:b.py") == claims(repo, "--tier", "verified") == []


@pytest.mark.parametrize(
    ("about", "printed"),
    [
        ("banana", "'banana' is not an ID. It begins with one of: file:, "),
        ("tests/test_a.py::test_b", "Did you mean 'test:tests/test_a.py::test_b'?"),
        ("file:", "'file:' is not an ID."),
    ],
)
@pytest.mark.parametrize("argv", [("add", "is quick"), ("list",)])
def test_what_is_no_id_is_refused_with_the_one_that_was_meant(
    repo: Checkout, argv: tuple[str, ...], about: str, printed: str
) -> None:
    done = repo.kl("claim", *argv, "--about", about)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kl: --about: ")
    assert printed in done.stderr


@pytest.mark.parametrize(
    ("about", "identifier"),
    [
        (".kl/README.md", "file:.kl/README.md"),
        (".kl/README.md::test_b", "test:.kl/README.md::test_b"),
    ],
)
def test_a_claim_is_about_a_path_that_exists(repo: Checkout, about: str, identifier: str) -> None:
    repo.write(".kl/README.md", "x")
    assert repo.kl("claim", "add", "is quick", "--about", about).returncode == 0
    assert [one["about"] for one in claims(repo, "--about", identifier)] == [identifier]
    assert (
        "is quick"
        in repo.kl(
            "claim", "list", "--about", about.removeprefix(".kl/"), cwd=repo.root / ".kl"
        ).stdout
    )


def test_a_claim_about_nothing_is_refused(repo: Checkout) -> None:
    done = repo.kl("claim", "add", "is quick", "--about", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a claim needs a sentence, and an Id that it is about" in done.stderr


@pytest.mark.parametrize(
    "about", ["file:src/not-yet.py", "ADR-0007", "test:tests/test_a.py::test_b"]
)
def test_any_id_may_be_claimed_about(repo: Checkout, about: str) -> None:
    assert repo.kl("claim", "add", "is quick", "--about", about).returncode == 0
    assert "is quick" in repo.kl("claim", "list", "--about", about).stdout


def test_nothing_found_is_not_nothing_there(repo: Checkout) -> None:
    assert "no claims yet" in repo.kl("claim", "list").stdout
    repo.kl("claim", "add", "is quick", "--about", "file:a.py")
    for limit in (("--tier", "verified"), ("--about", "file:b.py")):
        assert repo.kl("claim", "list", *limit).stdout == "no such claim. See: kl claim list\n"


def test_an_id_that_is_short_unknown_or_shared_is_reported_in_one_line(repo: Checkout) -> None:
    made = repo.kl("claim", "add", "is quick", "--about", "file:a.py").stdout.split()[1]
    assert repo.kl("claim", "show", made[:4]).returncode == 0
    for given, printed in (
        (made[:3], "at least 4"),
        ("", "at least 4"),
        ("0" * 16, "no claim has this id."),
    ):
        done = repo.kl("claim", "show", given)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert printed in done.stderr


@pytest.mark.requirement("A1", "A34", "A35", "A37")
def test_what_a_claim_cites_counts_while_it_holds(repo: Checkout) -> None:
    repo.kl("decision", "new", "Cents", "--context", "c", "--decision", "d")
    repo.kl("decision", "accept", "ADR-0001")
    repo.kl("memory", "add", "Round once at the end.")
    memory = next((repo.root / ".kl/knowledge/memories").glob("MEM-*.md")).name[:12]
    repo.commit()
    for cited, tier in (("ADR-1", "inferred"), (memory.lower(), "inferred"), ("HEAD", "assumed")):
        made = repo.kl(
            "claim", "add", f"prices fit {cited}", "--about", "file:a.py", "--support", cited
        )
        assert made.stdout.split()[2] == tier, (made.stdout, made.stderr)
    assert (
        repo.kl("claim", "add", "prices fit", "--about", "file:a.py").stdout.split()[2] == "assumed"
    )
    done = repo.kl("claim", "add", "x", "--about", "file:a.py", "--support", "ADR-0099")
    assert (done.returncode, "ADR-0099" in done.stderr) == (2, True)
    found = {one["text"]: one for one in claims(repo)}
    assert found["prices fit ADR-1"]["cites"] == ["ADR-0001"]
    repo.kl("decision", "deprecate", "ADR-0001")
    repo.kl("memory", "disprove", memory, "--reason", "no")
    found = {one["text"]: one for one in claims(repo)}
    assert [found[f"prices fit {cited}"]["tier"] for cited in ("ADR-1", memory.lower())] == [
        "assumed",
        "assumed",
    ]
    assert "ADR-0001 supports nothing: it is deprecated" in found["prices fit ADR-1"]["reasons"]
    assert repo.kl("evidence", "verify").returncode == 0


def test_cited_commits_lift_no_tier(repo: Checkout) -> None:
    repo.commit("second")
    cited = ("--support", "HEAD", "--support", "HEAD~1")
    assert "assumed" in repo.kl("claim", "add", "is quick", "--about", "file:a.py", *cited).stdout


@pytest.mark.requirement("A1", "A34")
def test_claims_are_found_by_search_context_and_tools(repo: Checkout) -> None:
    repo.kl("claim", "add", "zebras are stable", "--about", "file:src/a.py")
    repo.kl("claim", "add", "zebras were stable", "--about", "file:src/a.py", "--expires", "1m")
    made = repo.kl(
        "tool",
        "--allow-write",
        "record_claim",
        '{"claim": "zebras agree", "artifact_id": "file:src/b.py"}',
        env={"KL_AGENT": "bot"},
    )
    assert json.loads(made.stdout)["result"]["author"] == "agent:bot"
    assert "zebras are stable" in repo.kl("knowledge", "search", "zebras").stdout
    assert "zebras are stable" in repo.kl("claim", "search", "zebras").stdout
    package = repo.kl("context", "keep the zebras stable", "--budget", "6000").stdout
    assert "## claim" in package and "zebras are stable" in package
    assert "[assumed · not assessed · agent] claim:" in package
    found = json.loads(repo.kl("tool", "claim_search", '{"query": "zebras"}').stdout)["result"][
        "claims"
    ]
    assert {one["text"] for one in found} >= {"zebras are stable", "zebras agree"}
    assert (
        json.loads(repo.kl("tool", "claim_search", '{"query": "zebras", "limit": 1}').stdout)[
            "result"
        ]["total"]
        == 3
    )
    one = json.loads(repo.kl("tool", "claim_read", json.dumps({"id": found[0]["id"]})).stdout)[
        "result"
    ]
    assert one["text"] == found[0]["text"]


def test_expired_claims_take_no_place_in_a_search_and_the_total_is_of_all_matches(
    repo: Checkout,
) -> None:
    for number in range(5):
        add_claim(repo.workspace(NOW - 999 * DAY), "zebra", f"file:old{number}.py", NOW - 998 * DAY)
    for number in range(3):
        repo.kl("claim", "add", f"a zebra was seen near the river {number}", "--about", "file:a.py")
    done = repo.kl("claim", "search", "zebra", "--limit", "2")
    assert (
        done.stdout.count("seen near the river") == 2
        and "the first 2 of 3; more with --top" in done.stderr
    )
    found = json.loads(
        repo.kl("claim", "search", "zebra", "--limit", "2", "--format", "json").stdout
    )
    assert (len(found["claims"]), found["total"]) == (2, 3)
    done = repo.kl("knowledge", "search", "zebra", "--limit", "2")
    assert "these are the first 2 of 3;" in done.stderr
    found = json.loads(
        repo.kl("knowledge", "search", "zebra", "--limit", "2", "--format", "json").stdout
    )
    assert (len(found["claims"]), found["total"], found["claims_total"]) == (2, 0, 3)


def test_every_command_shows_one_tier_of_a_claim_that_cites_something(repo: Checkout) -> None:
    repo.kl("decision", "new", "Cents", "--context", "c", "--decision", "d")
    repo.kl("decision", "accept", "ADR-0001")
    repo.commit("one")
    cited = ("--support", "ADR-0001")
    assert repo.kl("claim", "add", "it fits", "--about", "file:a.py", *cited).returncode == 0
    (listed,) = claims(repo)
    shown = json.loads(repo.kl("evidence", "show", "a.py", "--format", "json").stdout)["claims"]
    assert [(one["id"], one["tier"]) for one in shown] == [(listed["id"], "inferred")]
    assert {one.about: one.tier.word for one in all_claims(repo.workspace())} == {
        "file:a.py": "inferred"
    }
