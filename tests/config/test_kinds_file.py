"""Kinds that a repository describes in YAML: what is read, what is refused, with every mistake
reported at once.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.kinds_file import BUDGET_CATEGORIES, FIELD_TYPES, read_kind, read_kinds
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import RECORD_ID

RUNBOOK = """\
version: 1
name: runbook
prefix: RUN
group: runbooks
category: warnings
purpose: What to do when something is down.
statuses: [draft, current, retired]
live: [current]
spellings: {active: current}
ttl: {agent: 30}
beside: [severity]
fields:
  - {name: steps, type: lines, required: true, section: Steps, says: "What to do, in order."}
  - name: severity
    type: choice
    choices: [low, high]
    also: {LOW: low}
  - {name: page_within, type: number, least: 1, most: 60, aliases: [minutes]}
  - {name: services, type: ids}
verbs:
  - {name: approve, to: current, of: [draft], person: true}
  - {name: retire, to: retired, needs: [steps], says: It no longer holds.}
"""


def printed(text: str) -> list[str]:
    problems: list[Problem] = []
    assert (read_kind("k.yaml", text.encode(), problems) is None) == bool(problems)
    return [str(one) for one in problems]


@pytest.mark.requirement("B9")
def test_a_kind_in_yaml_is_the_same_kind_of_data_as_a_built_in_one(tmp_path: Path) -> None:
    (tmp_path / ".kl/kinds").mkdir(parents=True)
    (tmp_path / ".kl/kinds/runbook.yaml").write_text(RUNBOOK)
    (kind,), problems = read_kinds(tmp_path)
    assert problems == []
    assert (kind.name, kind.plural, kind.prefix, kind.storage, kind.by) == (
        "runbook",
        "runbooks",
        "RUN",
        "file",
        ".kl/kinds/runbook.yaml",
    )
    assert (kind.budget_category, kind.section, kind.live, dict(kind.ttl)) == (
        "warnings",
        "Runbook",
        ("current",),
        {"agent": 30},
    )
    assert kind.list_fields == ("severity",)
    assert kind.by_name["minutes"].most == 60
    assert kind.by_name["severity"].also == {"LOW": "low"}
    assert kind.by_name["services"].relation == "related"
    assert [(v.name, v.to, v.of, v.person) for v in kind.verbs] == [
        ("approve", "current", ("draft",), True),
        ("retire", "retired", (), False),
    ]


def test_every_mistake_is_reported_with_its_place() -> None:
    text = """\
name: Run Book
prefix: run
statuses: [draft, Draft]
live: [shown]
share: warning
numbering: hash
fields:
  - {name: id}
  - {name: severity, type: choice}
  - {name: level, type: numbr}
  - {name: a, section: Same}
  - {name: b, section: same}
  - {name: c, least: 5, most: 2}
  - {nam: d}
verbs:
  - {name: delete, to: gone}
"""
    assert printed(text) == [
        (
            'k.yaml:1:1: "numbering: hash" needs "identity": the fields that make two records the'
            " same."
        ),
        'k.yaml:1:1: the key "purpose" is missing.',
        (
            'k.yaml:1:7: "name" is "Run Book"; it must be small letters, digits and `-`, a letter'
            " first."
        ),
        'k.yaml:2:9: "prefix" is "run"; it must be 2 to 10 capitals and digits, a letter first.',
        'k.yaml:3:19: "statuses": "Draft" does not fit, or is there twice.',
        'k.yaml:4:8: "live": "shown" is not known. Known: draft.',
        (
            f'k.yaml:5:8: "share" must be one of: {", ".join(BUDGET_CATEGORIES)}. Did you mean'
            ' "warnings"?'
        ),
        'k.yaml:8:12: "id" is there for every kind; a field needs a name of its own.',
        'k.yaml:9:5: "choices" of the field "severity" are missing: a choice needs them.',
        (
            f'k.yaml:10:25: "type" of the field "level" must be one of: {", ".join(FIELD_TYPES)}.'
            ' Did you mean "number"?'
        ),
        'k.yaml:12:5: the fields "a" and "b" share a section.',
        'k.yaml:13:5: "least" of the field "c" is larger than "most".',
        'k.yaml:14:6: unknown key "nam" in a field. Did you mean "name"?',
        'k.yaml:16:12: "delete" is there for every kind; a verb needs a name of its own.',
        'k.yaml:16:24: "to" of the verb "delete" must be one of the statuses. Known: draft.',
    ]


def test_no_kind_is_called_like_a_command() -> None:
    from kl_hooks.cli.main import COMMANDS
    from kl_hooks.config.kinds_file import RESERVED_NAMES

    assert set(COMMANDS) <= set(RESERVED_NAMES)
    assert printed(RUNBOOK.replace("name: runbook", "name: status"))[0].endswith(
        '"status" is a command of kl. Call the kind something else.'
    )


def test_one_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    folder = tmp_path / ".kl/kinds"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text(RUNBOOK)
    (folder / "b.yaml").write_text(RUNBOOK.replace("name: runbook", "name: playbook"))
    (folder / "c.yml").write_text("&x [")
    (folder / "d.yaml").write_text("")
    (folder / "e.yaml").mkdir()
    (folder / "f.yaml").symlink_to("/etc/hostname")
    (folder / "notes.txt").write_text("not a kind")
    os.mkfifo(folder / "g.yaml")
    kinds, problems = read_kinds(tmp_path)
    assert [one.name for one in kinds] == ["runbook", "playbook"]
    assert sorted({one.path.rpartition("/")[2] for one in problems}) == ["c.yml"] + [
        f"{x}.yaml" for x in "defg"
    ]


def test_no_folder_no_kinds(tmp_path: Path) -> None:
    assert read_kinds(tmp_path) == ([], [])


VALUES = st.recursive(
    st.sampled_from(
        [
            "name",
            "x",
            "RUN",
            "1",
            "true",
            "",
            "draft",
            "[]",
            "{}",
            "&a",
            "*a",
            "<<",
            "\\ud800",
            "é",
            "a: b",
        ]
    )
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [
        "name",
        "plural",
        "prefix",
        "purpose",
        "home",
        "statuses",
        "live",
        "fields",
        "verbs",
        "share",
        "ttl",
        "identity",
        "numbering",
        "spellings",
        "retention",
        "digits",
        "filed",
        "group",
        "Name",
    ]
)


@given(st.dictionaries(KEYS, VALUES, max_size=8) | VALUES)
def test_any_document_is_a_kind_or_problems_with_a_place(document: object) -> None:
    import json

    problems: list[Problem] = []
    kind = read_kind("k.yaml", json.dumps(document).encode(), problems)
    assert (kind is None) == bool(problems)
    assert all(one.path == "k.yaml" and one.message for one in problems)


@given(st.integers(0, len(RUNBOOK)), st.integers(0, 40), st.binary(max_size=6))
def test_a_damaged_file_is_never_an_error_of_ours(start: int, length: int, put: bytes) -> None:
    text = RUNBOOK.encode()
    problems: list[Problem] = []
    kind = read_kind("k.yaml", text[:start] + put + text[start + length :], problems)
    assert (kind is None) == bool(problems)


SOUP = "name: recipe\nprefix: REC\npurpose: p\nstatuses: [current]\nidentity: [title]\n"


@pytest.mark.parametrize(
    ("numbering", "least", "most"),
    [("serial", 4, 9), ("given", 4, 9), ("random", 8, 16), ("hash", 8, 16)],
)
def test_digits_that_give_no_id_are_refused_with_their_place_and_range(
    numbering: str, least: int, most: int
) -> None:
    for digits in (0, 1, least - 1, most + 1):
        assert printed(f"{SOUP}numbering: {numbering}\ndigits: {digits}\n") == [
            f'k.yaml:7:9: "digits" for "numbering: {numbering}" must be a whole number from {least}'
            f" to {most}."
        ]
    for digits in (least, most):
        kind = read_kind("k.yaml", f"{SOUP}numbering: {numbering}\ndigits: {digits}\n".encode(), [])
        assert kind is not None
        assert RECORD_ID.fullmatch(f"REC-{'1':0>{kind.digits}}")
        assert RECORD_ID.fullmatch(f"REC-{'a' * kind.digits}") or numbering in ("serial", "given")
    assert printed(f"{SOUP}digits: 3\n") == [
        'k.yaml:6:9: "digits" must be a whole number from 4 to 9.'
    ]


@pytest.mark.parametrize(
    ("statuses", "verbs", "live"),
    [
        ("[open, closed]", "[{name: close, to: closed, person: true}]", ("open",)),
        ("[current, old]", "[{name: age, to: old}]", ("current",)),
        (
            "[draft, accepted, rejected]",
            (
                "[{name: reject, to: rejected, person: true}, {name: accept, to: accepted, person:"
                " true}]"
            ),
            ("accepted",),
        ),
        ("[draft, final]", "[{name: finish, to: final}]", ("draft",)),
    ],
)
def test_without_live_the_first_status_is_shown_or_what_a_proposal_is_accepted_as(
    tmp_path: Path, statuses: str, verbs: str, live: tuple[str, ...]
) -> None:
    folder = tmp_path / ".kl" / "kinds"
    folder.mkdir(parents=True)
    text = "name: memo\nprefix: MEMO\npurpose: A memo.\nhome: state\nnature: observation\n"
    text += f"statuses: {statuses}\nverbs: {verbs}\n"
    (folder / "memo.yaml").write_text(text)
    (kind,), problems = read_kinds(tmp_path)
    assert (kind.live, problems) == (live, [])
