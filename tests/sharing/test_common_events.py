"""Claims, rejections and counts that clones have in common: who is believed, and in which order."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.git.notes import read_lines, refs_of
from kl_hooks.git.repository import Repository
from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.kinds.memory.review import REVIEWED, VERIFIED, sync_rejections, tallies
from kl_hooks.model.canonical import canonical
from kl_hooks.records.events import OCCURRED, Event, append_events
from kl_hooks.records.query import get_record
from kl_hooks.records.write import create_record
from kl_hooks.sharing import common_events as subject
from kl_hooks.sharing.attestation import sign
from kl_hooks.sharing.note_reading import Limits
from tests.support import Checkout

from .test_notes_and_keys import clones, keys, trust  # noqa: F401 (fixtures)

AGENT = {"KL_AGENT": "copilot"}


def repository(repo: Checkout) -> Repository:
    found = repo.workspace().repo
    assert found
    return found


def test_claims_failures_and_rejections_travel_with_their_author(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
) -> None:
    ann, bob = clones("ann"), clones("bob")
    assert ann.kl("claim", "add", "adds only integers", "--about", "file:calc.py").returncode == 0
    failed = (
        "failure",
        "record",
        "adding by string",
        "--symptom",
        "it is slow",
        "--prevention",
        "use int",
    )
    for repo, times in ((ann, 2), (bob, 1)):
        for _ in range(times):
            done = repo.kl(*failed)
            assert done.returncode == 0, done
    identifier = create_record(
        ann.workspace(), MEMORY, {"pattern": "Run make before tests.", "title": "make"}
    ).id
    made = create_record(
        bob.workspace(), MEMORY, {"pattern": "Run make before tests.", "title": "make"}
    )
    assert made.id == identifier
    assert ann.kl("memory", "reject", identifier, "--reason", "out of date").returncode == 0
    ann.git("checkout", "-q", ".")

    dry = ann.kl("sync", "--dry-run", "--sign", str(keys["ci"]))
    assert (
        "1 claimed" in dry.stdout and "2 occurred" in dry.stdout and "1 reviewed" in dry.stdout
    ), dry.stdout
    sent = ann.kl("sync", "--sign", str(keys["ci"]))
    assert sent.returncode == 0 and "written and signed" in sent.stdout, sent
    assert "event" not in ann.kl("sync", "--sign", str(keys["ci"])).stdout, "nothing twice"

    assert "new event" not in bob.kl("sync", "--pull").stdout
    assert "adds only" not in bob.kl("claim", "list").stdout, "of nobody who is trusted"
    trust(bob, keys["ci"], "person", "ann")
    done = bob.kl("sync", "--pull")
    assert "4 new events" in done.stdout, done
    assert "0 new runs of" in bob.kl("sync", "--pull").stdout
    shown = bob.kl("claim", "list", "--format", "json").stdout
    [claim] = json.loads(shown)["claims"]
    assert claim["text"] == "adds only integers" and claim["author"].endswith("(signed by ann)")
    assert "adds only" in bob.kl("claim", "search", "integers").stdout
    listed = bob.kl("failure", "list", "--format", "json").stdout
    name = json.loads(listed)["records"][0]["id"]
    assert "3 times" in bob.kl("failure", "show", name).stdout
    bob.kl("memory", "review", "--help")
    sync_rejections(bob.workspace())
    assert get_record(bob.workspace(), identifier).status == "rejected"
    assert "out of date" in bob.kl("memory", "show", identifier).stdout

    assert bob.kl("trust", "revoke", "ann").returncode == 0
    assert "adds only" not in bob.kl("claim", "list").stdout, "at once"
    assert "once" in bob.kl("failure", "show", name).stdout


def shared(
    repo: Checkout, key: Path, *events: list[Any], signed: bool = True
) -> tuple[int, list[str]]:
    """Events of somebody else in a ref of theirs, imported."""
    git = repository(repo)
    rows = [list(one) for one in events]
    signatures = (
        [b64encode(sign(subject._SIGNED + canonical(rows), key)[1]).decode()] if signed else []
    )
    return arrived(
        repo, git, canonical({"schema": subject._SCHEMA, "events": rows, "signatures": signatures})
    )


def arrived(repo: Checkout, git: Repository, line: bytes) -> tuple[int, list[str]]:
    from kl_hooks.git.notes import change_lines

    number = len(refs_of(git, subject._SORT))
    ref = f"refs/notes/kl-remote/origin/events/other{number}"
    change_lines(git, ref, lambda files: {subject._FILE: [line]})
    return subject.import_events(repo.workspace(), git, Limits())[:2]


NOW = "2026-11-23T10:00:00.000000Z"


def review(name: str, author: str, do: str, at: str) -> list[Any]:
    return [REVIEWED, name, author, at, {"do": do, "reason": f"by {author}"}]


def test_a_persons_word_counts_before_an_agents(repo: Checkout, keys: dict[str, Path]) -> None:  # noqa: F811
    trust(repo, keys["ci"], "ci", "bot")
    trust(repo, keys["eve"], "person", "eve")
    names = [f"MEM-{number:08x}" for number in range(4)]
    early, late = (f"2026-11-{day}T10:00:00.000000Z" for day in (20, 21))
    shared(
        repo,
        keys["eve"],
        review(names[0], "local:eve@x", "approve", early),
        review(names[1], "local:eve@x", "reject", early),
        review(names[2], "agent:a", "approve", early),
        review(names[3], "agent:a", "reject", late),
    )
    # a key of a CI vouches for no person, whatever the events state
    shared(
        repo,
        keys["ci"],
        review(names[0], "local:eve@x", "reject", late),
        review(names[1], "local:eve@x", "approve", late),
        review(names[2], "agent:b", "reject", late),
    )
    assert sync_rejections(repo.workspace()).keys() == {names[1], names[2], names[3]}

    # checks: a person's verification, here or elsewhere, is not undone by an agent elsewhere
    shared(repo, keys["ci"], ["disproven", names[0], "agent:b", late, {}])
    assert tallies(repo.workspace(), names)[names[0]].disproven == 1
    append_events(repo.workspace(), [Event(VERIFIED, names[0], "local:ada@host")])
    found = tallies(repo.workspace(), names)[names[0]]
    assert (found.disproven, found.verified) == (0, 1)
    shared(
        repo,
        keys["ci"],
        *(["outcome", names[0], "", late, {"result": "positive", "number": n}] for n in range(3)),
    )
    assert tallies(repo.workspace(), names)[names[0]].positive == 3


def test_a_claim_of_a_person_elsewhere_is_shown_before_that_of_an_agent_here(
    repo: Checkout,
    keys: dict[str, Path],  # noqa: F811
) -> None:
    trust(repo, keys["eve"], "person", "eve")
    assert repo.kl("claim", "add", "is small", "--about", "file:calc.py", env=AGENT).returncode == 0
    body = {"text": "is small", "expires": None, "cites": [], "rests_on": [], "head": ""}
    agents = body | {"text": "is fast"}
    made = (("local:eve@x", body), ("agent:b", agents), ("x", {"text": 7}))
    shared(
        repo, keys["eve"], *(["claimed", "file:calc.py", author, NOW, one] for author, one in made)
    )
    assert repo.kl("claim", "add", "is fast", "--about", "file:calc.py", env=AGENT).returncode == 0
    rows = json.loads(repo.kl("claim", "list", "--format", "json").stdout)["claims"]
    assert sorted((one["text"], one["author"]) for one in rows) == [
        ("is fast", "agent:copilot"),
        ("is small", "local:eve@x (signed by eve)"),
    ]
    assert {one["tier"] for one in rows} == {"assumed"}, (
        "an assertion is no observation, whoever signs it"
    )


def test_nothing_forged_counts(repo: Checkout, keys: dict[str, Path]) -> None:  # noqa: F811
    trust(repo, keys["ci"], "person", "ann")
    git = repository(repo)
    event = review("MEM-00000001", "local:ann@x", "reject", NOW)
    assert shared(repo, keys["ci"], event, signed=False) == (0, []), "not signed: nobody's"
    assert shared(repo, keys["eve"], event) == (0, []), "of a key that is not trusted"
    blob = sign(subject._SIGNED + canonical([event]), keys["ci"])[1]
    good = canonical(
        {"schema": subject._SCHEMA, "events": [event], "signatures": [b64encode(blob).decode()]}
    )
    plain = json.loads(good)
    other = review("MEM-00000002", "local:ann@x", "reject", NOW)
    # the signature of the same key over a receipt's Statement, or over the bare rows, is none over
    # events
    foreign = b64encode(sign(canonical([other]), keys["ci"])[1]).decode()
    forged: dict[str, object] = {
        "another event": plain | {"events": [other]},
        "one more": plain | {"events": [event, other]},
        "another schema": plain | {"schema": "kl.events/9"},
        "a list": [plain],
        "no events": {"schema": subject._SCHEMA},
        "another purpose": plain | {"events": [other], "signatures": [foreign]},
        "no text": plain | {"events": [[1, 2, 3, 4, {}]]},
        "no body": plain | {"events": [[*event[:4], []]]},
        "no time": plain | {"events": [[*event[:3], "soon", {}]]},
        "no row": plain | {"events": [7]},
        "a secret": plain | {"events": [[*event[:4], {"reason": "token ghp_" + "a1B2" * 9}]]},
        "long": plain | {"events": [[*event[:4], {"reason": "x" * 9000}]]},
        "many": plain | {"events": [event] * 5001},
        "a signature that is none": plain | {"signatures": ["AAAA"]},
    }
    for name, one in forged.items():
        assert arrived(repo, git, json.dumps(one).encode())[0] == 0, name
    assert sync_rejections(repo.workspace()) == {}
    assert arrived(repo, git, good)[0] == 1
    assert arrived(repo, git, good)[0] == 0, "replayed"
    assert sync_rejections(repo.workspace()).keys() == {"MEM-00000001"}


def test_a_failure_that_a_file_counts_already_is_counted_once(
    repo: Checkout,
    keys: dict[str, Path],  # noqa: F811
) -> None:
    trust(repo, keys["ci"], "person", "ann")
    assert repo.kl("failure", "record", "adding by string", "--symptom", "slow").returncode == 0
    name = json.loads(repo.kl("failure", "list", "--format", "json").stdout)["records"][0]["id"]
    [path] = repo.root.glob(f".kl/**/{name}*.md")
    text = path.read_text()
    assert "counted:" in text
    path.write_text(
        text.replace("counted:", "counted:\n  abcd1234: 2", 1).replace(
            "occurrence_count: 1", "occurrence_count: 3"
        )
    )
    shared(
        repo,
        keys["ci"],
        *(
            [OCCURRED, name, "local:ann@x", NOW, {"clone": "abcd1234", "number": n}]
            for n in range(3)
        ),
    )
    assert "4 times" in repo.kl("failure", "show", name).stdout


def test_a_store_of_an_older_kl_has_none(repo: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "steps_taken", lambda db: {})
    append_events(repo.workspace(), [Event(VERIFIED, "MEM-00000001", "local:ada@host")])
    assert tallies(repo.workspace(), ["MEM-00000001"])["MEM-00000001"].verified == 1
    assert read_lines(repository(repo), "refs/notes/kl/events/none") == {}
