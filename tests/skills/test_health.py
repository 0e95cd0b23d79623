"""Conflicts of skills with their states and repairs, and the health of all of them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY
from kl_hooks.model.record import Record
from kl_hooks.records.write import apply_verb
from kl_hooks.skills import health as health_module
from kl_hooks.skills.health import (
    SEVERITIES,
    Conflict,
    Facts,
    Health,
    alike,
    apply_repairs,
    check,
    detect,
    health,
)
from kl_hooks.skills.library import all_skills, edges_of, find_skill, stems
from kl_hooks.skills.uses import edge_strengths, end_use, start_use
from kl_hooks.tools.call import call
from kl_hooks.upkeep.run import apply_policies, preview
from tests.support import NOW, Checkout

from .making import bare, skill, text, write
from .test_files import ask

OLD = Facts(0, 100, 100)


def sorts(*skills: Record, facts: Facts | None = None) -> dict[str, set[tuple[str, ...]]]:
    found: dict[str, set[tuple[str, ...]]] = {}
    for one in detect(skills, {one.title: facts or Facts() for one in skills}, {}):
        found.setdefault(one.sort, set()).add(one.skills)
    return found


@pytest.mark.requirement("D32", "D33")
def test_each_sort_of_conflict_is_found() -> None:
    words = "reads scanned pages of books with care"
    assert sorts(skill("a", words), skill("b", words)) == {"duplicate": {("a", "b")}}
    near = (skill("a", words + " today"), skill("b", words + " tomorrow early"))
    assert sorts(*near) == {"overlapping": {("a", "b")}}
    assert sorts(near[0], skill("b", words + " tomorrow early", category="testing")) == {}
    assert sorts(
        skill("a", requires=["b"]), skill("b", "x", composes=["c"]), skill("c", "y", requires=["a"])
    ) == {"circular_dependency": {("a", "b", "c")}}
    assert sorts(skill("a", requires=["a"])) == {"circular_dependency": {("a",)}}
    assert sorts(
        skill("a", requires=["no"]),
        skill("b", "x", composes=["c"]),
        skill("c", "y", status="archived"),
    ) == {"dependency": {("a", "no"), ("b", "c")}}
    assert sorts(skill("a", succeeds=["b"], enhances=["b"]), skill("b", "x", succeeds=["a"])) == {
        "contradiction": {("a", "b")}
    }
    assert sorts(skill("a", least_versions=["zzz"])) == {"version_mismatch": {("a", "zzz")}}
    versions = [
        skill("a", least_versions=["b>=1.10", "c>=2", "no>=1"]),
        skill("b", "x", version="1.9.9"),
    ]
    assert sorts(*versions, skill("c", "y", version="2.0")) == {"version_mismatch": {("a", "b")}}
    assert sorts(skill("PDF_tools"), skill("pdf-tools", "x"))["naming"] == {
        ("PDF_tools",),
        ("PDF_tools", "pdf-tools"),
    }
    assert sorts(skill("a", agents=["x"]), facts=OLD) == {"stale": {("a",)}}
    assert sorts(skill("a", agents=["x"]), facts=Facts(5, 100, 100)) == {}
    assert sorts(skill("a", agents=["x"]), skill("b", "y"), facts=OLD)["orphan"] == {("b",)}
    # drafts and retired skills get in nobody's way
    assert sorts(skill("a", words), skill("b", words, status="draft")) == {}


@pytest.mark.requirement("D32")
def test_the_priority_follows_the_stated_formula() -> None:
    one = Conflict("duplicate", ("a", "b"), "", 0.95, since=NOW)
    # weight × clamp(days / 30, 1, 3) × (1 + similarity)
    assert [round(one.priority(NOW + days * DAY), 3) for days in (0, 30, 60, 900)] == [
        15.6,
        15.6,
        31.2,
        46.8,
    ]
    assert one.priority(NOW - DAY) == one.priority(NOW) and list(SEVERITIES.values()) == [
        8,
        4,
        2,
        1,
    ]


@given(
    st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=6), max_size=12),
    st.sampled_from([0.5, 0.7, 0.92]),
)
def test_prefixes_miss_no_pair(bags: list[frozenset[str]], least: float) -> None:
    texts = [" ".join(f"word{one}" for one in sorted(bag)) for bag in bags]
    found = {(a, b) for a, b, _ in alike(texts, least)}
    for b, other in enumerate(texts):
        for one in texts[:b]:
            x, y = set(stems(one)), set(stems(other))
            if x != y and len(x & y) / (len(x) * len(y)) ** 0.5 >= least:
                same = [
                    {n for n, some in enumerate(texts) if set(stems(some)) == bag} for bag in (x, y)
                ]
                assert any((min(i, j), max(i, j)) in found for i in same[0] for j in same[1])


@pytest.mark.requirement("D33", "D36")
def test_ten_thousand_skills_are_checked_in_seconds() -> None:
    skills = [
        bare(
            n,
            f"topic{n % 5000} detail{n} does work{n % 97}",
            requires=(f"skill:s{(n + 1) % 10_000}",),
        )
        for n in range(10_000)
    ]
    strengths = edge_strengths(edges_of(skills), [("s77", False)])
    begin = perf_counter()
    found = list(detect(skills, {}, strengths))
    spent = perf_counter() - begin
    (cycle,) = [one for one in found if one.sort == "circular_dependency"]
    assert cycle.repairs[0].text == "s76: no longer requires s77" and "9990 more" in cycle.reason
    # a thousand copies are 999 conflicts, not half a million
    assert len(alike(["the very same words"] * 1000, 0.7)) == 999
    assert spent < 20, spent


@pytest.mark.requirement("D37")
def test_health_can_reach_100_and_shows_each_term() -> None:
    best = Health(1, 3, 1, 1, 0)
    assert best.score == pytest.approx(100) and best.grade == "A"
    half = Health(0.5, 1.5, 0.5, 0.5, 0.5)
    # golden: 100 × (.25 × .5 + .20 × .5 + .20 × .5 + .25 × .5 − .10 × .5) / .9
    assert half.score == pytest.approx(44.444, abs=1e-3) and half.grade == "F"
    assert {name: round(points, 3) for name, points in half.terms.items()} == {
        "coverage": 13.889,
        "relations": 11.111,
        "used": 11.111,
        "effectiveness": 13.889,
        "conflicts": -5.556,
    }
    assert [Health(1, 3, 1, one, 0).grade for one in (0.64, 0.63, 0.28, 0.27)] == [
        "A",
        "B",
        "B",
        "C",
    ]


@pytest.mark.requirement("D37")
@given(*(st.floats(0, 1) for _ in range(4)), st.floats(0, 10))
def test_health_is_between_0_and_100(
    a: float, b: float, c: float, d: float, conflicts: float
) -> None:
    assert 0 <= Health(a, 3 * b, c, d, conflicts).score <= 100


@pytest.mark.requirement("D32", "D33", "D36")
def test_conflicts_have_states_and_are_not_reported_again_for_30_days(repo: Checkout) -> None:
    write(repo, {"a": text("a", requires="no"), "b": text("b", "Other things.", requires="gone")})
    found = ask_check(repo)
    keys = {tuple(one["skills"]): one["key"] for one in found["conflicts"]}
    assert set(keys) == {("a", "no"), ("b", "gone")} and found["conflicts"][0]["priority"] == 4
    one = keys["a", "no"]
    assert repo.kl("skill", "check", "--acknowledge", one).returncode == 1
    assert {c["key"]: c["state"] for c in ask_check(repo)["conflicts"]}[one] == "acknowledged"
    assert repo.kl("skill", "check", "--dismiss", one).returncode == 2
    assert (
        repo.kl(
            "skill", "check", "--dismiss", one, "--reason", "planned", env={"KL_AGENT": "bot"}
        ).returncode
        == 2
    )
    assert repo.kl("skill", "check", "--dismiss", one, "--reason", "planned").returncode == 1
    found = ask_check(repo)
    assert [c["key"] for c in found["conflicts"]] == [keys["b", "gone"]] and found[
        "suppressed"
    ] == 1
    # the clock of the command is today's; that of this workspace is later than 30 days after
    later = check(repo.workspace(NOW + 31 * DAY), record=False)
    assert {c.key: c.state for c in later.open} == {one: "detected", keys["b", "gone"]: "detected"}


def ask_check(repo: Checkout) -> dict[str, list[dict[str, object]]]:
    answer: dict[str, list[dict[str, object]]] = json.loads(
        repo.kl("skill", "check", "--format", "json").stdout
    )
    return answer


@pytest.mark.requirement("D33", "D36")
def test_repairs_are_shown_first_and_made_only_when_asked_for(repo: Checkout) -> None:
    same = "Reads scanned pages of old books."
    write(
        repo,
        {
            "a": text("a", same),
            "b": text("b", same),
            "c": text("c", "Makes coffee.", requires="d"),
            "d": text("d", "Makes tea.", requires="c"),
        },
    )
    before = {one.title: one.values for one in all_skills(repo.workspace())}
    done = repo.kl("skill", "check")
    assert (
        done.returncode == 1
        and "would change  b: deprecated" in done.stdout
        and "--apply" in done.stderr
    )
    assert {one.title: one.values for one in all_skills(repo.workspace())} == before
    first = json.loads(repo.kl("skill", "check", "--top", "1", "--format", "json").stdout)
    assert (len(first["conflicts"]), first["total"]) == (1, 2)
    assert repo.kl("skill", "check", "--apply", env={"KL_AGENT": "bot"}).returncode == 2
    assert repo.kl("skill", "check", "--apply").returncode == 0
    after = {one.title: one for one in all_skills(repo.workspace())}
    assert after["b"].status == "deprecated" and after["a"].many("succeeds") == ("skill:b",)
    assert sorted((after["c"].many("requires"), after["d"].many("requires"))) == [
        (),
        ("skill:c",),
    ] or not after["d"].many("requires")
    assert (
        after["a"].text("description") == same
        and repo.kl("skill", "check").stdout == "no conflicts.\n"
    )
    assert "Reads scanned" in (repo.root / ".claude/skills/a/SKILL.md").read_text()
    repo.git("checkout", "-q", ".claude")
    assert "would change  b: deprecated" in repo.kl("skill", "check").stdout, (
        "who takes a repair back has it again"
    )
    repo.kl("skill", "check", "--apply")
    write(repo, {"e": text("e", "Makes soup.", requires="no")})
    assert repo.kl("skill", "check", "--apply").returncode == 1, (
        "what nobody can repair by itself is still wrong"
    )


def test_what_can_not_be_read_does_not_pass(repo: Checkout) -> None:
    write(repo, {"a": text("a", "Reads scanned pages.")})
    assert repo.kl("skill", "check").returncode == 0
    repo.write(".claude/skills/b/SKILL.md", "---\nname: [\n---\n")
    done = repo.kl("skill", "check", "--format", "json")
    assert (done.returncode, [one["path"] for one in json.loads(done.stdout)["unread"]]) == (
        1,
        [".claude/skills/b/SKILL.md"],
    )
    assert ".claude/skills/b/SKILL.md:" in repo.kl("skill", "check").stdout
    # the graph can't be brought up to date: what was indexed before would pass
    shutil.rmtree(repo.state / "graph")
    (repo.state / "graph").write_text("in the way", encoding="utf-8")
    assert repo.kl("skill", "check").returncode == 3
    shutil.rmtree(repo.root / ".kl")
    assert repo.kl("skill", "check").returncode != 0


@pytest.mark.requirement("D33", "D36")
def test_repairs_end_where_they_would_be_wrong_or_can_not_be_written(repo: Checkout) -> None:
    # each is like the next one, the last not like the first
    words = [f"alpha{chr(97 + number)}" for number in range(20)]
    chain = {
        f"s{start}": text(f"s{start}", " ".join(words[start : start + 14])) for start in range(5)
    }
    foreign = "---\nname: n2\ndescription: Brews coffee.\nhooks:\n  a:\n    b: c\n---\n1. Do it.\n"
    write(
        repo,
        {
            **chain,
            "n1": text("n1", "Brews coffee."),
            "n2": foreign,
            "z1": text("z1", "Makes tea."),
            "z2": text("z2", "Makes tea."),
        },
    )
    edited = repo.kl("skill", "deprecate", "n2")
    assert (
        edited.returncode == 2 and ".claude/skills/n2/SKILL.md: can't be changed" in edited.stderr
    )
    assert repo.kl("skill", "check", "--apply").returncode == 1
    status = {one.title: one.status for one in all_skills(repo.workspace())}
    assert sorted(name for name in status if status[name] == "deprecated") == ["s1", "s3", "z2"]
    assert (repo.root / ".claude/skills/n2/SKILL.md").read_text() == foreign
    assert ["n1", "n2"] in [one["skills"] for one in ask_check(repo)["conflicts"]]


@pytest.mark.requirement("D36")
def test_a_repair_that_was_cut_off_is_finished_by_the_next_one(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = "Reads scanned pages of old books."
    # `b` would stay by its uses, had `a` not begun to take its place
    write(repo, {"a": text("a", same), "b": text("b", same)})
    real, calls = health_module.change_record, []

    def killed(*args: Any, **more: Any) -> Any:
        calls.append(args)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return real(*args, **more)

    monkeypatch.setattr(health_module, "change_record", killed)
    ws = repo.workspace()
    with pytest.raises(KeyboardInterrupt):
        apply_repairs(ws, check(ws).open)
    monkeypatch.undo()
    assert repo.kl("skill", "use", "b").returncode == 0
    assert repo.kl("skill", "check", "--apply").returncode == 0
    after = {one.title: one for one in all_skills(repo.workspace())}
    assert (after["a"].many("succeeds"), after["b"].status, after["a"].status) == (
        ("skill:b",),
        "deprecated",
        "active",
    )


@pytest.mark.requirement("D36", "D38")
def test_health_suggests_what_would_improve_skills(repo: Checkout) -> None:
    write(
        repo,
        {
            "pdf": text("pdf", "Reads PDF."),
            "ocr": text("ocr", "Scans."),
            "tea": text("tea", "Brews.", "x" * 21_000),
            "old": text("old", "Old ways.", category="testing", status="deprecated"),
        },
    )
    repo.write(
        ".claude/skills/pdf/SKILL.b.md", text("pdf", "Reads PDF.", "Do it otherwise.", traffic="50")
    )
    repo.commit()
    for number in range(24):
        for name in ("pdf", "ocr"):
            # 3 sessions of both
            session = {"KL_SESSION": f"s-{number}"} if number < 3 else {}
            ws = repo.workspace(NOW + number)
            ws = replace(ws, environ={**ws.environ, **session})
            made = start_use(ws, name, str(number))
            end_use(ws, made.id, success=made.variant == "b")
    found = ask(repo, "skill", "health")["suggestions"]
    assert [(one["type"], one["skills"]) for one in found] == [
        ("revise", ["ocr"]),
        ("promote", ["pdf"]),
        ("relate", ["ocr", "pdf"]),
        ("shorten", ["tea"]),
        ("cover", ["testing"]),
    ]
    assert found[1]["command"] == "kl skill promote pdf b" and "0 of 24" in found[0]["reason"]
    shown = repo.kl("skill", "health", "--top", "2")
    assert (
        "kl skill promote pdf b" in shown.stdout
        and "relate" not in shown.stdout
        and "first 2 of 5" in shown.stderr
    )
    first = ask(repo, "skill", "health", "--top", "2")
    assert (len(first["suggestions"]), first["suggestions_total"]) == (2, 5)
    answer, code = call(repo.workspace(), "skill_health", b"{}", allow_write=False)
    assert code == 0 and [one["type"] for one in answer["result"]["suggestions"]][:2] == [
        "revise",
        "promote",
    ]
    # taken, it is no longer suggested; a relation ends the next
    assert repo.kl("skill", "promote", "pdf", "b").returncode == 0
    assert repo.kl("skill", "edit", "ocr", "--enhances", "pdf").returncode == 0
    assert {one["type"] for one in ask(repo, "skill", "health")["suggestions"]} == {
        "revise",
        "shorten",
        "cover",
    }


@pytest.mark.requirement("D36", "D37", "D46")
def test_the_scan_of_upkeep_and_the_command_health(repo: Checkout) -> None:
    assert "not assessed" in repo.kl("skill", "health").stdout
    write(
        repo,
        {
            "a": text("a", "Makes coffee.", requires="no", category="testing"),
            "b": text("b", "Makes tea."),
        },
    )
    ws = repo.workspace()
    (policy,) = [one for one in preview(ws).results if one.policy.name == "skill conflicts"]
    assert [one.reason for one in policy.changes] == [
        "dependency: a needs no, which does not exist"
    ]
    for count in (1, 0):
        assert len(apply_policies(ws, ["skill conflicts"]).changes) == count
    later = check(repo.workspace(NOW + 60 * DAY), record=False)
    assert later.open[0].priority(NOW + 60 * DAY) == 8
    assert repo.kl("skill", "use", "b").returncode == 0
    found = ask(repo, "skill", "health")
    assert found["values"] == {
        "coverage": 1,
        "edges": 0,
        "used": 0.5,
        "effectiveness": 0.5,
        "conflicts": 0.5,
    }
    assert found["score"] == pytest.approx(100 * (0.25 + 0.1 + 0.125 - 0.05) / 0.9, abs=0.05)
    apply_verb(repo.workspace(), find_skill(ws, "a").id, "deprecate")
    made = health(repo.workspace())
    assert (
        made is not None and made.coverage == 0 and "testing" in repo.kl("skill", "health").stdout
    )
