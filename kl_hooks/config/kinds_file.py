"""The kinds that a repository describes for itself, `.kl/kinds/*.yaml`: data, no code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kl_hooks.config.yaml import MapNode, Node, NodeReader, TextNode, load_yaml
from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import (
    AUTHORITIES,
    FIRST_FIELDS,
    LAST_FIELDS,
    Field,
    Kind,
    Verb,
    with_proposals,
)
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import one_line, suggest_spelling
from kl_hooks.store.files import read_small

_NATURES: Final = ("directive", "observation")

FIELD_TYPES: Final = (
    "line",
    "text",
    "lines",
    "words",
    "choice",
    "number",
    "flag",
    "date",
    "ids",
    "map",
)
"""What a field can hold: a line; several lines; a list of texts; a list of short words (tags); one
of its choices; a whole number; true or false; a date or a moment (ISO 8601); a list of IDs, each of
which becomes a Link; text by text.
"""

BUDGET_CATEGORIES: Final = (
    "feature_context",
    "similar_outcomes",
    "relevant_patterns",
    "architecture_context",
    "warnings",
    "domain_knowledge",
    "role_constraints",
    "quality_gate_configs",
    "turn_states",
    "implementation_modes",
)
"""The categories of a package's budget."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MAX_TEXT: Final = 300
_MAX_ITEMS: Final = 100
"""Fields, verbs, statuses and choices that one kind may have, each."""
RESERVED_NAMES: Final = (
    "arch",
    "claim",
    "commits",
    "config",
    "context",
    "doctor",
    "evidence",
    "graph",
    "help",
    "hooks",
    "init",
    "interview",
    "knowledge",
    "maintain",
    "mcp",
    "pool",
    "proposal",
    "report",
    "run",
    "seed",
    "serve",
    "skill",
    "stats",
    "status",
    "sync",
    "tool",
    "agents",
    "document",
    "proof",
    "verify",
    "remember",
    "recall",
    "forget",
    "keys",
    "session",
    "search",
    "store",
    "trust",
)
"""Names that commands of kl have or will have: no kind can have one."""
_VERB: Final = re.compile(r"[a-z][a-z0-9-]{1,29}")
_TAKEN: Final = frozenset(
    {
        "id",
        "kind",
        "body",
        "path",
        "agent",
        "edit",
        "format",
        "shape",
        "asked",
        "title_option",
        "clear",
        "help",
    }
    | {name for one in (*FIRST_FIELDS, *LAST_FIELDS) for name in (one.name, *one.aliases)}
)
_VERBS_TAKEN: Final = frozenset(
    {
        "new",
        "create",
        "list",
        "show",
        "search",
        "edit",
        "delete",
        "history",
        "export",
        "import",
        "renumber",
    }
)
_FIELD_KEYS: Final = (
    "name",
    "type",
    "says",
    "required",
    "section",
    "choices",
    "also",
    "aliases",
    "least",
    "most",
    "relation",
    "example",
)
_VERB_KEYS: Final = ("name", "to", "says", "of", "needs", "person")
_MOST: Final = 999_999_999
_FOLDER: Final = ".kl/kinds"
_STORAGES: Final = ("file", "state")
_NUMBERINGS: Final = ("serial", "hash", "random", "given")
_DIGITS: Final = {"hash": (8, 16), "random": (8, 16)}
"""Of ids that do not count: fewest and most (`model.symbol.RECORD_ID`). Those that count have 4 to
9.
"""
_KEYS: Final = (
    "version",
    "name",
    "plural",
    "prefix",
    "purpose",
    "home",
    "statuses",
    "live",
    "fields",
    "verbs",
    "section",
    "beside",
    "share",
    "filed",
    "nature",
    "numbering",
    "identity",
    "digits",
    "ttl",
    "retention",
    "spellings",
)
_KEY_ALIASES: Final = {
    "group": "plural",
    "category": "share",
    "budget": "share",
    "default_ttl": "ttl",
}
"""Other names of keys that are read."""
_PREFIX: Final = re.compile(r"[A-Z][A-Z0-9]{1,9}")
_PROPOSALS: Final = frozenset({"proposed", "candidate", "draft", "pending", "submitted"})
_ENDED: Final = frozenset(
    {
        "rejected",
        "declined",
        "dropped",
        "withdrawn",
        "abandoned",
        "closed",
        "archived",
        "superseded",
    }
)
_STATUS: Final = re.compile(r"[a-z][a-z0-9_-]{0,29}")
_WORD: Final = re.compile(r"[a-z][a-z0-9-]{0,29}")


class _Map:
    """The values of a map by key: a default where a key is missing; what is wrong is reported, and
    omitted.
    """

    def __init__(self, reader: NodeReader, node: Node, keys: Sequence[str], what: str = "") -> None:
        self._reader, self._node, self._what = reader, node, what
        self._where = f" of a {what}" if what else ""
        self._found = reader.keys(node, keys, f" in a {what}" if what else "")

    def __contains__(self, key: str) -> bool:
        return key in self._found

    def report(self, key: str, message: str, hint: str = "", *, at_key: bool = False) -> None:
        """Add a problem at the value of a key, or at the key itself; at the map where it has no
        such key.
        """
        place = self._found[key][0] if at_key else self.node(key)
        self._reader.report(place, f'"{key}"{self._where} {message}', hint)

    def node(self, key: str) -> Node:
        """The value of a key; the map itself where it has no such key."""
        return self._found[key][1] if key in self else self._node

    def items(self, key: str) -> tuple[Node, ...]:
        """The items of a list, at most `_MAX_ITEMS`."""
        found = self._reader.items(self._found[key][1], f'"{key}"') if key in self else ()
        if len(found) > _MAX_ITEMS:
            self.report(key, f"has more than {_MAX_ITEMS} items; a kind that large is a document.")
        return found[:_MAX_ITEMS]

    def line(self, key: str, default: str = "") -> str:
        """A text on one line."""
        if key not in self:
            return default
        text = self._reader.text(self._found[key][1], f'"{key}"{self._where}').strip()
        if len(text) > _MAX_TEXT or "\n" in text:
            self.report(key, f"must be one line of at most {_MAX_TEXT} characters.")
            return default
        return text or default

    def shaped(self, key: str, shape: re.Pattern[str], means: str) -> str:
        """A text of a certain shape."""
        text = self.line(key)
        if text and not shape.fullmatch(text):
            self.report(key, f'is "{text[:80]}"; it must be {means}, a letter first.')
            return ""
        return text

    def name(self, shape: re.Pattern[str], taken: frozenset[str]) -> str:
        """The name of the field or verb that the map describes; messages from now on have it."""
        if "name" not in self:
            if self._found or not isinstance(self._node, MapNode):
                self._reader.report(self._node, f'a {self._what} without "name".')
            return ""
        name, node = self.line("name"), self._found["name"][1]
        if name in taken:
            self._reader.report(
                node, f'"{name}" is there for every kind; a {self._what} needs a name of its own.'
            )
        elif name and not shape.fullmatch(name):
            rule = "small letters and digits, a letter first"
            self._reader.report(node, f'"{name[:80]}" is no name for a {self._what}: {rule}.')
            return ""
        self._where = f' of the {self._what} "{name}"' if name else self._where
        return name

    def words(
        self, key: str, known: Sequence[str] | None = None, shape: re.Pattern[str] | None = None
    ) -> list[str]:
        """The texts of a list, each once: those that are `known`, those of this shape."""
        made: list[str] = []
        for one in (
            self._reader.texts(self._found[key][1], f'"{key}"{self._where}') if key in self else ()
        ):
            what = f'"{key}"{self._where}: "{one.value[:80]}"'
            if known and one.value not in known:
                self._reader.report(one, f"{what} is not known.", _hint(one.value, known))
            elif (
                (shape and not shape.fullmatch(one.value))
                or one.value in made
                or len(made) >= _MAX_ITEMS
            ):
                self._reader.report(one, f"{what} does not fit, or is there twice.")
            else:
                made.append(one.value)
        return made

    def pairs(self, key: str, values: Sequence[str], what: str) -> dict[str, str]:
        """Text by text; each value must be one of `values`."""
        node, made = self._found[key][1] if key in self else None, {}
        if node is not None and not isinstance(node, MapNode):
            self.report(key, "must be a map: other word: word that is stored.")
        for name, value in node.entries if isinstance(node, MapNode) else ():
            word = value.value if isinstance(value, TextNode) else ""
            if word in values:
                made[name.value] = word
            else:
                reason = f'"{key}"{self._where}: the value of "{name.value[:80]}" must be {what}.'
                self._reader.report(value, reason, _hint(word, values))
        return made

    def choice(self, key: str, choices: Sequence[str], default: str = "") -> str:
        """One of these words; where the key is missing the default, else the first."""
        if key not in self:
            return default or choices[0]
        return self._reader.choice(self._found[key][1], f'"{key}"{self._where}', choices)

    def number(self, key: str, least: int, most: int, default: int, what: str = "") -> int:
        """A whole number within these bounds."""
        if key not in self:
            return default
        return self._reader.number(
            self._found[key][1], f'"{key}"{what or self._where}', least, most, default
        )

    def flag(self, key: str) -> bool:
        """True or false; false where the key is missing."""
        return key in self and self._reader.boolean(
            self._found[key][1], f'"{key}"{self._where}', False
        )


def _hint(word: str, known: Sequence[str]) -> str:
    """The nearest known word, or all of them."""
    return suggest_spelling(word, known) or f"Known: {', '.join(known)}."


def _read_fields(reader: NodeReader, kind: _Map) -> tuple[Field, ...]:
    made: dict[str, Field] = {}
    names: set[str] = set()
    sections: dict[str, str] = {}
    for item in kind.items("fields"):
        one = _read_field(reader, item)
        if one is None:
            continue
        clash = next((name for name in (one.name, *one.aliases) if name in names), "")
        if clash:
            reader.report(item, f'two fields are called "{clash}".')
        elif one.section and one.section.lower() in sections:
            reader.report(
                item,
                f'the fields "{sections[one.section.lower()]}" and "{one.name}" share a section.',
            )
        else:
            made[one.name] = one
            names |= {one.name, *one.aliases}
            sections[one.section.lower()] = one.name
    return tuple(made.values())


def _read_field(reader: NodeReader, node: Node) -> Field | None:
    """A field; None where anything about it was wrong (and reported)."""
    before = len(reader.problems)
    found = _Map(reader, node, _FIELD_KEYS, "field")
    name = found.name(_NAME, _TAKEN)
    kind = found.choice("type", FIELD_TYPES)
    choices = tuple(found.words("choices"))
    if kind == "choice" and "choices" not in found:
        found.report("choices", "are missing: a choice needs them.")
    elif kind != "choice" and choices:
        found.report("choices", "fit only the type choice.", at_key=True)
    least, most = found.number("least", 0, _MOST, 0), found.number("most", 0, _MOST, 1_000_000)
    if least > most:
        reader.report(node, f'"least" of the field "{name}" is larger than "most".')
    relation = found.line("relation", "related" if kind == "ids" else "")
    if kind != "ids" and relation:
        found.report("relation", "fits only the type ids.", at_key=True)
    elif relation and not _NAME.fullmatch(relation):
        found.report("relation", 'must be small letters, digits and "_".')
    aliases = found.words("aliases", shape=_NAME)
    for alias in _TAKEN.intersection(aliases):
        found.report("aliases", f'can\'t have "{alias}": it is there for every kind.')
    made = Field(
        name=name,
        type=kind,
        choices=choices,
        least=least,
        most=most,
        relation=relation,
        aliases=tuple(aliases),
        description=found.line("says", name.replace("_", " ").capitalize() + "."),
        required=found.flag("required"),
        section=found.line("section"),
        also=found.pairs("also", choices, "one of its choices"),
        example=found.line("example"),
    )
    return made if len(reader.problems) == before else None


def _read_verbs(
    reader: NodeReader, kind: _Map, statuses: Sequence[str], fields: Sequence[str]
) -> tuple[Verb, ...]:
    """The verbs of a kind; each leads to one of `statuses` and may need some of `fields`."""
    made: dict[str, Verb] = {}
    for item in kind.items("verbs"):
        found = _Map(reader, item, _VERB_KEYS, "verb")
        name, to = found.name(_VERB, _VERBS_TAKEN), found.line("to")
        if to not in statuses:
            found.report("to", "must be one of the statuses.", _hint(to, statuses))
        if name in made:
            reader.report(item, f'two verbs are called "{name}".')
        of, needs = tuple(found.words("of", statuses)), tuple(found.words("needs", fields))
        made[name] = Verb(
            name, to, found.line("says", f"Make it {to}."), of, needs, found.flag("person")
        )
    return tuple(made.values())


def read_kinds(root: Path) -> tuple[list[Kind], list[Problem]]:
    """The kinds of the repository at `root`, by file name, and everything wrong with their files.

    A file with a problem gives no kind. Whether two kinds share a name or a prefix is for the
    caller to check.
    """
    folder = root / _FOLDER
    problems: list[Problem] = []
    try:
        names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        return [], [Problem(_FOLDER, 0, 0, f"can't be read: {error}.")]
    files = [
        name for name in names if name.endswith((".yaml", ".yml")) and not name.startswith(".")
    ]
    if len(files) > _MAX_ITEMS:
        problems.append(
            Problem(
                _FOLDER,
                0,
                0,
                f"{len(files)} files; at most {_MAX_ITEMS} are read.",
                "Join some kinds.",
            )
        )
    kinds: list[Kind] = []
    for name in files[:_MAX_ITEMS]:
        before, place = len(problems), f"{_FOLDER}/{one_line(name, 80)}"
        try:
            text = read_small(folder / name, within=root)
        except UsageProblem as error:
            problems.append(Problem(place, 0, 0, error.reason, error.hint))
            continue
        kind = read_kind(place, text, problems) if text is not None else None
        if kind is not None and len(problems) == before:
            kinds.append(kind)
    return kinds, problems


def read_kind(path_name: str, text: bytes, problems: list[Problem]) -> Kind | None:
    """The kind in one file; None where something is wrong with it, which is added to `problems`,
    all at once.
    """
    root, syntax = load_yaml(path_name, text)
    problems += syntax
    if root is None:
        if not syntax:
            problems.append(
                Problem(
                    path_name, 0, 0, "is empty.", "A kind needs name, prefix, purpose and statuses."
                )
            )
        return None
    reader = NodeReader(path_name, [])
    if isinstance(root, MapNode):
        named = (
            (replace(key, value=_KEY_ALIASES.get(key.value, key.value)), value)
            for key, value in root.entries
        )
        root = replace(root, entries=tuple(named))
    found = _Map(reader, root, _KEYS)
    kind = _build_kind(reader, root, found) if isinstance(root, MapNode) else None
    # a value that the parser has reported already is often of a wrong shape too: one mistake is one
    # problem
    echoes = {(one.line, one.column) for one in syntax}
    problems += sorted({one for one in reader.problems if (one.line, one.column) not in echoes})
    return kind if not syntax and not reader.problems else None


def _build_kind(reader: NodeReader, root: Node, found: _Map) -> Kind:
    for key in ("name", "prefix", "purpose", "statuses"):
        if key not in found:
            reader.report(root, f'the key "{key}" is missing.')
    found.choice("version", ("1",))
    name = found.shaped("name", _WORD, "small letters, digits and `-`")
    if name in RESERVED_NAMES:
        reader.report(
            found.node("name"), f'"{name}" is a command of kl.', "Call the kind something else."
        )
    fields = _read_fields(reader, found)
    names = [one.name for one in fields]
    statuses = tuple(found.words("statuses", shape=_STATUS))
    if "statuses" in found and not statuses:
        found.report("statuses", "names none.", "The first is what a new record has.", at_key=True)
    statuses = statuses or ("current",)
    storage, numbering = found.choice("home", _STORAGES), found.choice("numbering", _NUMBERINGS)
    if numbering == "hash" and "identity" not in found:
        reader.report(
            root, '"numbering: hash" needs "identity": the fields that make two records the same.'
        )
    least, most = _DIGITS.get(numbering, (4, 9))
    numbers = f' for "numbering: {numbering}"' if "numbering" in found else ""
    days = reader.keys(found.node("ttl"), AUTHORITIES, ' in "ttl"') if "ttl" in found else {}
    verbs = _read_verbs(reader, found, statuses, [*names, "source", "superseded_by"])
    # a file in git instructs whoever clones it, and a verb for persons shows that one decides: both
    # wait for a person
    usual = _NATURES[0] if storage == "file" or any(verb.person for verb in verbs) else _NATURES[1]
    made = Kind(
        name=name,
        plural=found.shaped("plural", _WORD, "small letters, digits and `-`") or f"{name}s",
        prefix=found.shaped("prefix", _PREFIX, "2 to 10 capitals and digits"),
        storage=storage,
        purpose=found.line("purpose"),
        statuses=statuses,
        fields=fields,
        numbering=numbering,
        verbs=verbs,
        live=tuple(found.words("live", statuses)) if "live" in found else _live(statuses, verbs),
        nature=found.choice("nature", _NATURES, usual),
        section=found.line("section", name.replace("-", " ").capitalize()),
        list_fields=tuple(found.words("beside", names)),
        filed=tuple(found.words("filed", statuses)),
        budget_category=found.choice("share", BUDGET_CATEGORIES, "domain_knowledge"),
        identity=tuple(found.words("identity", ["title", *names])),
        digits=found.number("digits", least, most, least, numbers) if "digits" in found else 0,
        ttl={
            one: reader.number(node, f'"{one}" in "ttl"', 1, 36_500, 90)
            for one, (_, node) in days.items()
        },
        spellings=found.pairs("spellings", statuses, "one of the statuses"),
        retention=found.number("retention", 0, 36_500, 0),
        by=reader.path,
    )
    return with_proposals(made) if name else made


def _live(statuses: tuple[str, ...], verbs: Sequence[Verb]) -> tuple[str, ...]:
    """The default: the first status; where that is a proposal, what accepting it leads to.

    Known by their words: a verb that closes or rejects must not bring what it ends into context
    packages.
    """
    if statuses[0] not in _PROPOSALS:
        return statuses[:1]
    accepted = [
        one.to
        for one in verbs
        if one.person and statuses[0] in (one.of or statuses) and one.to not in _ENDED
    ]
    return tuple(accepted[:1]) or statuses[:1]
