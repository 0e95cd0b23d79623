"""A repository in which every field of every kind of knowledge holds a word that is nowhere else.

Whatever prints such a word, or a part of it, has shown what `.kl/policy.yaml` hides from agents.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kl_hooks.errors import KlError
from kl_hooks.evidence.assertions import add_claim
from kl_hooks.evidence.claims import all_claims
from kl_hooks.model.kind import Field, Kind
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.write import apply_verb, create_record
from tests.pytest_kl.recorded import run_pytest
from tests.support import TEMPLATES, Checkout, checkout

AGENT = {"KL_AGENT": "bot"}
WORDS = "lantern harbor"
"""Words of every hidden text that are no canary: what a search asks for."""
TAG, FOLDER, PAGES = "veiled", "veiled/", "docs/veiled/"
DENIED_NAME = "name, where it is denied"
"""Of what is redacted the ID and the place are shown: those of a page are its path, of a symbol its
name. A record's file is named after its title, so its path is not shown.
"""
CANARY = re.compile(r"zq\d{4}q", re.IGNORECASE)
POLICY = """version: 1
rules:
  - name: hidden knowledge
    {effect}: {{tags: [{tag}], actors: [agent]}}
  - name: hidden files
    {effect}: {{paths: ["{folder}**", "{pages}**"], actors: [agent]}}
"""
_STATUS = ("status", "title", "supersedes", "superseded_by", "merged_into", "quarantine")
_FREE = ("line", "text", "lines", "words", "map", "ids")
"""Types of fields that hold what somebody wrote."""


_PLANTED: dict[Path, Canaries] = {}
"""The folder of stored repositories of this run → what was planted in it."""


@dataclass
class Canaries:
    """What is hidden, and which word is in which field of it."""

    repo: Checkout
    ids: dict[str, str] = field(default_factory=dict)
    """Kind → the ID of its hidden record; `claim`, `page` and `package` too."""
    open_ids: dict[str, str] = field(default_factory=dict)
    """Kind → the ID of a record that an agent may read, and change where it may make one; `claim`,
    `run`,
    `snapshot` and `old skill` too.
    """
    places: dict[str, str] = field(default_factory=dict)
    """Canary → kind and field."""
    effect: str = ""
    """Of the policy that is in force; empty: there is none."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def word(self, kind: str, name: str) -> str:
        """Return a new canary for a field of a kind."""
        word = f"zq{next(self._numbers):04d}q"
        self.places[word] = f"{kind}.{name}"
        return word

    def leaks(self, text: str, asked: Sequence[str] = ()) -> set[str]:
        """Return the fields of hidden records and files that a text shows, but for words that were
        asked for.

        Canaries are looked for where a text has been wrapped, escaped or written in capitals too.
        """
        echoed = set(CANARY.findall(" ".join(asked)))
        found = {self.places.get(one.lower(), one) for one in set(CANARY.findall(text)) - echoed}
        is_redacted = self.effect == "redact"
        return {one for one in found if not (is_redacted and one.endswith(DENIED_NAME))}

    def value(self, kind: str, name: str) -> str:
        """Return the value of a field of a hidden record."""
        return get_record(self.repo.workspace(), self.ids[kind]).text(name)

    def number(self) -> int:
        """Return a number that nothing else has."""
        return next(self._numbers)

    def hidden_record(self, kind: str) -> str:
        """Make one more hidden record; return its ID."""
        before = self.ids[kind]
        _create(self, self.repo.workspace().kinds[kind])
        identifier, self.ids[kind] = self.ids[kind], before
        return identifier

    def open_value(self, kind: str, name: str) -> str:
        """Return the value of a field of a record that may be seen."""
        return get_record(self.repo.workspace(), self.open_ids[kind]).text(name)

    def open_record(self, kind: str, status: str = "") -> str:
        """Make a record that an agent may read, and that names the hidden one; return its ID."""
        ws = self.repo.workspace()
        values: dict[str, Any] = plain_values(ws.kinds[kind])
        # the ID of some kinds is a digest of these
        text = f"Plain {self.number()}"
        values |= dict.fromkeys(("title", *ws.kinds[kind].identity), text)
        values |= {"instructions": "Plain text"} if kind == "proposal" else {}
        values |= {"status": status} if status else {}
        values |= {"related": [self.ids[kind]]} if kind in self.ids else {}
        return create_record(ws, ws.kinds[kind], values, by="" if status else "agent:bot").id

    def hide(self, effect: str) -> None:
        """Write the policy: `deny` or `redact`; empty: none."""
        path = self.repo.root / ".kl/policy.yaml"
        path.unlink(missing_ok=True)
        self.effect = effect
        if effect:
            text = POLICY.format(effect=effect, tag=TAG, folder=FOLDER, pages=PAGES)
            path.write_text(text, "utf-8")


def plain_values(kind: Kind) -> dict[str, Any]:
    """Return a value for each field that a record of a kind needs."""
    return {one.name: _plain_value(one) for one in kind.all_fields if one.required}


def _plain_value(one: Field) -> Any:
    if one.choices:
        return one.choices[0]
    by_type: dict[str, Any] = {"number": one.least, "flag": True, "map": {"plain": "Plain text"}}
    if one.type in by_type:
        return by_type[one.type]
    text = one.example or "plain"
    return [text] if one.type in ("lines", "words", "ids") else text


def _sentence(canaries: Canaries, kind: str, name: str) -> str:
    return f"{canaries.word(kind, name)} {WORDS} {canaries.word(kind, name)}"


def _value(canaries: Canaries, kind: str, one: Field) -> Any:
    if one.type in ("line", "text"):
        return _sentence(canaries, kind, one.name)
    if one.type == "lines":
        return [_sentence(canaries, kind, one.name) for _ in range(2)]
    if one.type == "words":
        return [canaries.word(kind, one.name)]
    if one.type == "map":
        return {canaries.word(kind, one.name): _sentence(canaries, kind, one.name)}
    return [f"file:src/{canaries.word(kind, one.name)}.py"]


def _create(canaries: Canaries, kind: Kind) -> None:
    """Create a record of a kind with a canary in each field that takes one."""
    ws = canaries.repo.workspace()
    title = _sentence(canaries, kind.name, "title")
    # the name of a skill is its title
    values: dict[str, Any] = {"title": title.replace(" ", "-") if kind.folders else title}
    for one in kind.all_fields:
        if one.type in _FREE and not one.internal and one.name not in _STATUS:
            values[one.name] = _value(canaries, kind.name, one)
    values["tags"] = [TAG, canaries.word(kind.name, "tags")]
    required = {one.name for one in kind.fields if one.required}
    while True:
        try:
            canaries.ids[kind.name] = create_record(ws, kind, values).id
            return
        except KlError as problem:
            # a field with a form of its own can hold no canary
            wrong = next((one for one in values if one not in required and one in str(problem)), "")
            assert wrong, f"{kind.name}: {problem}"
            del values[wrong]


def _write_files(canaries: Canaries) -> None:
    """Write code, a page of docs and a document from elsewhere that the policy hides."""
    repo, word = canaries.repo, canaries.word
    repo.write("src/shop.py", "def total() -> int:\n    return 1\n")
    repo.write(
        f"{FOLDER}secret.py",
        f"from src.shop import total as {word('symbol', 'import')}\n\n\n"
        f"def {word('symbol', DENIED_NAME)}() -> int:\n"
        f'    """{_sentence(canaries, "symbol", "docstring")}."""\n    return 1\n',
    )
    for name in ("plans", word("page", DENIED_NAME)):
        repo.write(
            f"{PAGES}{name}.md",
            f"# {_sentence(canaries, 'page', 'title')}\n\n"
            f"{_sentence(canaries, 'page', 'text')}\n\n## "
            f"{_sentence(canaries, 'page', 'heading')}\n\n{_sentence(canaries, 'page', 'section')}\n",
        )
    outside = repo.root.parent / "outside.md"
    outside.write_text(
        f"# {_sentence(canaries, 'document', 'title')}\n\n{_sentence(canaries, 'document', 'text')}\n",
        "utf-8",
    )
    repo.commit("files")
    done = repo.kl("document", "add", str(outside), "--collection", TAG, "--format", "json")
    assert done.returncode == 0, done.stderr
    canaries.ids["document"] = re.findall(r"DOC-[0-9a-f]+", done.stdout)[0]
    canaries.ids["page"] = f"{PAGES}plans.md"


_OPEN_FILES = {
    ".kl/architecture.yaml": """version: 1
layers:
  - {name: shop, paths: [src/], may_depend_on: []}
  - {name: tools, paths: [tools/], may_depend_on: []}
  - {name: plans, paths: [veiled/], may_depend_on: []}
""",
    ".importlinter": """[importlinter]
root_package = src
[importlinter:contract:shop]
name = shop
type = forbidden
source_modules = src.shop
forbidden_modules = src.store
""",
    "src/__init__.py": "",
    "tools/__init__.py": "",
    "tools/first.py": "from src.shop import total\n\nFIRST = total()\n",
    "tools/second.py": "from src.shop import total\n\nSECOND = total()\n",
    "tests/test_shop.py": "from src.shop import total\n\n\ndef test_total() -> None:\n"
    "    assert total() == 1\n",
    "docs/open.md": f"# Open\n\nSee [the plans](veiled/plans.md) and [[ADR-0001]].\n\n{WORDS}\n",
    "docs/adr/0001-plain.md": "# Plain\n\n## Status\n\nAccepted\n\n## Context\n\nPlain.\n\n"
    "## Decision\n\nPlain.\n\n## Consequences\n\nPlain.\n",
    **{
        f".claude/skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: Reads plain text."
        " Use it for plain files.\n---\n\n# Plain\n\nRead it.\n"
        for name in ("plain-skill", "old-skill")
    },
    "facts.json": '[{"title": "Plain", "text": "Plain text"}]\n',
    "memories.json": '[{"pattern": "Plain text is read", "category": "pattern"}]\n',
    "junit.xml": '<testsuite name="plain" tests="1"><testcase classname="plain" name="test_plain"/>'
    "</testsuite>\n",
    "transcript.jsonl": '{"role": "user", "content": "Plain text"}\n',
}
"""What may be seen, and what commands read."""


def _add_open_records(canaries: Canaries) -> None:
    """Make what an agent may read: of each kind a record, which names the hidden one."""
    repo = canaries.repo
    for name, kind in repo.workspace().kinds.items():
        if name != "document" and not kind.folders:
            canaries.open_ids[name] = canaries.open_record(name)
    ws = repo.workspace()
    done = repo.kl("document", "add", "docs/open.md", "--format", "json", env=AGENT)
    assert done.returncode == 0, done.stderr
    canaries.open_ids["document"] = re.findall(r"DOC-[0-9a-f]+", done.stdout)[0]
    skills = list_records(ws, RecordFilter(("skill",)))
    skill_ids = {one.title: one.id for one in skills}
    canaries.open_ids["skill"] = skill_ids["plain-skill"]
    assert repo.kl("skill", "deprecate", skill_ids["old-skill"]).returncode == 0
    canaries.open_ids["old skill"] = skill_ids["old-skill"]
    canaries.open_ids["claim"] = add_claim(ws, "It is plain", "file:src/shop.py", None).id
    for words in (
        ("pool", "create", "plain", "--public"),
        ("memory", "context", "create", "plain"),
        ("memory", "context", "write", "plain", "plain", "Plain text"),
        ("remember", "plain", "Plain text"),
    ):
        done = repo.kl(*words, env=AGENT)
        assert done.returncode == 0, (words, done.stderr)
    done = repo.kl("memory", "context", "snapshot", "plain", "--format", "json", env=AGENT)
    canaries.open_ids["snapshot"] = json.loads(done.stdout)["id"]
    run_pytest(repo.root)
    runs = json.loads(repo.kl("evidence", "list", "--format", "json").stdout)
    canaries.open_ids["run"] = runs["receipts"][0]["id"]


def plant(repo: Checkout) -> Canaries:
    """Fill a repository with hidden knowledge, and with some of each kind that may be seen."""
    canaries = Canaries(repo)
    assert repo.kl("init", "--yes").returncode == 0
    for path, text in _OPEN_FILES.items():
        repo.write(path, text)
    _write_files(canaries)
    ws = repo.workspace()
    for kind in ws.kinds.values():
        if kind.name != "document":
            _create(canaries, kind)
    apply_verb(ws, canaries.ids["memory"], "approve")
    create_record(ws, ws.kinds["memory"], {"title": "Round totals half up", "pattern": "Half up"})
    about = (f"file:{FOLDER}secret.py", f"file:{get_record(ws, canaries.ids['decision']).path}")
    for place in about:
        add_claim(ws, _sentence(canaries, "claim", "text"), place, None)
    canaries.ids["claim"] = next(one.id for one in all_claims(ws) if one.about == about[0])
    proposal = ("--rationale", _sentence(canaries, "proposed change", "text"))
    done = repo.kl("decision", "edit", canaries.ids["decision"], *proposal, env=AGENT)
    assert done.returncode == 0, done.stderr
    _add_open_records(canaries)
    repo.commit(f"add the {WORDS}")
    origin = repo.root.parent / "origin.git"
    repo.git("clone", "-q", "--bare", str(repo.root), str(origin))
    repo.git("remote", "add", "origin", str(origin))
    built = repo.kl("context", WORDS, "--format", "json")
    canaries.ids["package"] = json.loads(built.stdout)["package_id"]
    return canaries


def planted(folder: Path) -> Canaries:
    """Return a repository below a folder that is filled as `plant` does: once in a run of the
    tests, and copied from then on. Its store is a file of it.
    """
    template = TEMPLATES[0] / "planted"
    if template not in _PLANTED:
        _PLANTED[template] = plant(checkout(template / "repo"))
    shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)
    repo = Checkout(folder / "repo")
    repo.git("update-index", "-q", "--refresh")
    original = _PLANTED[template]
    return replace(
        original,
        repo=repo,
        ids=dict(original.ids),
        open_ids=dict(original.open_ids),
        places=dict(original.places),
    )
