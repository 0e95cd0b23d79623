"""The kinds that a repository describes for itself, `.kl/kinds/*.yaml`: data, no code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kl_hooks.config.yaml import MapNode, Node, NodeReader, TextNode, load_yaml
from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import lazy_pattern
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

_NAME: Final = lazy_pattern(r"[a-z][a-z0-9_]{0,39}")
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
    "uninstall",
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
_VERB: Final = lazy_pattern(r"[a-z][a-z0-9-]{1,29}")
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
_PREFIX: Final = lazy_pattern(r"[A-Z][A-Z0-9]{1,9}")
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
_STATUS: Final = lazy_pattern(r"[a-z][a-z0-9_-]{0,29}")
_WORD: Final = lazy_pattern(r"[a-z][a-z0-9-]{0,29}")


class _Map:
    """The values of a map by key: a default where a key is missing; what is wrong is reported, and
    omitted.
    """

    def __init__(self, reader: NodeReader, node: Node, keys: Sequence[str], what: str = "") -> None:
        self._reader = reader
        self._node = node
        self._what = what
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
        if key in self:
            return self._found[key][1]
        return self._node

    def items(self, key: str) -> tuple[Node, ...]:
        """The items of a list, at most `_MAX_ITEMS`."""
        if key in self:
            nodes = self._reader.items(self._found[key][1], f'"{key}"')
        else:
            nodes = ()
        if len(nodes) > _MAX_ITEMS:
            self.report(key, f"has more than {_MAX_ITEMS} items; a kind that large is a document.")
        return nodes[:_MAX_ITEMS]

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
        name = self.line("name")
        node = self._found["name"][1]
        if name in taken:
            self._reader.report(
                node, f'"{name}" is there for every kind; a {self._what} needs a name of its own.'
            )
        elif name and not shape.fullmatch(name):
            rule = "small letters and digits, a letter first"
            self._reader.report(node, f'"{name[:80]}" is no name for a {self._what}: {rule}.')
            return ""
        if name:
            self._where = f' of the {self._what} "{name}"'
        return name

    def words(
        self, key: str, allowed: Sequence[str] | None = None, shape: re.Pattern[str] | None = None
    ) -> list[str]:
        """The texts of a list, each once: those that are `allowed`, those of this shape."""
        words: list[str] = []
        for node in (
            self._reader.texts(self._found[key][1], f'"{key}"{self._where}') if key in self else ()
        ):
            what = f'"{key}"{self._where}: "{node.value[:80]}"'
            if allowed and node.value not in allowed:
                self._reader.report(node, f"{what} is not known.", _hint(node.value, allowed))
            elif (
                (shape and not shape.fullmatch(node.value))
                or node.value in words
                or len(words) >= _MAX_ITEMS
            ):
                self._reader.report(node, f"{what} does not fit, or is there twice.")
            else:
                words.append(node.value)
        return words

    def pairs(self, key: str, values: Sequence[str], what: str) -> dict[str, str]:
        """Text by text; each value must be one of `values`."""
        node = self._found[key][1] if key in self else None
        pairs = {}
        if node is not None and not isinstance(node, MapNode):
            self.report(key, "must be a map: other word: word that is stored.")
        for name, value in node.entries if isinstance(node, MapNode) else ():
            if isinstance(value, TextNode):
                word = value.value
            else:
                word = ""
            if word in values:
                pairs[name.value] = word
            else:
                reason = f'"{key}"{self._where}: the value of "{name.value[:80]}" must be {what}.'
                self._reader.report(value, reason, _hint(word, values))
        return pairs

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


def _hint(word: str, allowed: Sequence[str]) -> str:
    """The nearest known word, or all of them."""
    return suggest_spelling(word, allowed) or f"Known: {', '.join(allowed)}."


def _read_fields(reader: NodeReader, kind: _Map) -> tuple[Field, ...]:
    field_by_name: dict[str, Field] = {}
    names: set[str] = set()
    sections: dict[str, str] = {}
    for item in kind.items("fields"):
        field = _read_field(reader, item)
        if field is None:
            continue
        clash = next((name for name in (field.name, *field.aliases) if name in names), "")
        if clash:
            reader.report(item, f'two fields are called "{clash}".')
        elif field.section and field.section.lower() in sections:
            reader.report(
                item,
                f'the fields "{sections[field.section.lower()]}" and "{field.name}" share a '
                "section.",
            )
        else:
            field_by_name[field.name] = field
            names |= {field.name, *field.aliases}
            sections[field.section.lower()] = field.name
    return tuple(field_by_name.values())


def _read_field(reader: NodeReader, node: Node) -> Field | None:
    """A field; None where anything about it was wrong (and reported)."""
    before = len(reader.problems)
    field_map = _Map(reader, node, _FIELD_KEYS, "field")
    name = field_map.name(_NAME, _TAKEN)
    kind = field_map.choice("type", FIELD_TYPES)
    choices = tuple(field_map.words("choices"))
    if kind == "choice" and "choices" not in field_map:
        field_map.report("choices", "are missing: a choice needs them.")
    elif kind != "choice" and choices:
        field_map.report("choices", "fit only the type choice.", at_key=True)
    least = field_map.number("least", 0, _MOST, 0)
    most = field_map.number("most", 0, _MOST, 1_000_000)
    if least > most:
        reader.report(node, f'"least" of the field "{name}" is larger than "most".')
    relation = field_map.line("relation", "related" if kind == "ids" else "")
    if kind != "ids" and relation:
        field_map.report("relation", "fits only the type ids.", at_key=True)
    elif relation and not _NAME.fullmatch(relation):
        field_map.report("relation", 'must be small letters, digits and "_".')
    aliases = field_map.words("aliases", shape=_NAME)
    for alias in _TAKEN.intersection(aliases):
        field_map.report("aliases", f'can\'t have "{alias}": it is there for every kind.')
    field = Field(
        name=name,
        type=kind,
        choices=choices,
        least=least,
        most=most,
        relation=relation,
        aliases=tuple(aliases),
        description=field_map.line("says", name.replace("_", " ").capitalize() + "."),
        required=field_map.flag("required"),
        section=field_map.line("section"),
        also=field_map.pairs("also", choices, "one of its choices"),
        example=field_map.line("example"),
    )
    if len(reader.problems) == before:
        return field
    return None


def _read_verbs(
    reader: NodeReader, kind: _Map, statuses: Sequence[str], fields: Sequence[str]
) -> tuple[Verb, ...]:
    """The verbs of a kind; each leads to one of `statuses` and may need some of `fields`."""
    verb_by_name: dict[str, Verb] = {}
    for item in kind.items("verbs"):
        verb_map = _Map(reader, item, _VERB_KEYS, "verb")
        name = verb_map.name(_VERB, _VERBS_TAKEN)
        to = verb_map.line("to")
        if to not in statuses:
            verb_map.report("to", "must be one of the statuses.", _hint(to, statuses))
        if name in verb_by_name:
            reader.report(item, f'two verbs are called "{name}".')
        from_statuses = tuple(verb_map.words("of", statuses))
        needs = tuple(verb_map.words("needs", fields))
        verb_by_name[name] = Verb(
            name,
            to,
            verb_map.line("says", f"Make it {to}."),
            from_statuses,
            needs,
            verb_map.flag("person"),
        )
    return tuple(verb_by_name.values())


def read_kinds(root: Path) -> tuple[list[Kind], list[Problem]]:
    """The kinds of the repository at `root`, by file name, and everything wrong with their files.

    A file with a problem gives no kind. Whether two kinds share a name or a prefix is for the
    caller to check.
    """
    folder = root / _FOLDER
    problems: list[Problem] = []
    try:
        if folder.is_dir():
            names = sorted(one.name for one in folder.iterdir())
        else:
            names = []
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
        before = len(problems)
        place = f"{_FOLDER}/{one_line(name, 80)}"
        try:
            text = read_small(folder / name, within=root)
        except UsageProblem as error:
            problems.append(Problem(place, 0, 0, error.reason, error.hint))
            continue
        if text is not None:
            kind = read_kind(place, text, problems)
        else:
            kind = None
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
            (key._replace(value=_KEY_ALIASES.get(key.value, key.value)), value)
            for key, value in root.entries
        )
        root = root._replace(entries=tuple(named))
    kind_map = _Map(reader, root, _KEYS)
    if isinstance(root, MapNode):
        kind = _build_kind(reader, root, kind_map)
    else:
        kind = None
    # a value that the parser has reported already is often of a wrong shape too: one mistake is one
    # problem
    echoes = {(one.line, one.column) for one in syntax}
    problems += sorted({one for one in reader.problems if (one.line, one.column) not in echoes})
    if not syntax and not reader.problems:
        return kind
    return None


def _build_kind(reader: NodeReader, root: Node, kind_map: _Map) -> Kind:
    for key in ("name", "prefix", "purpose", "statuses"):
        if key not in kind_map:
            reader.report(root, f'the key "{key}" is missing.')
    kind_map.choice("version", ("1",))
    name = kind_map.shaped("name", _WORD, "small letters, digits and `-`")
    if name in RESERVED_NAMES:
        reader.report(
            kind_map.node("name"), f'"{name}" is a command of kl.', "Call the kind something else."
        )
    fields = _read_fields(reader, kind_map)
    names = [one.name for one in fields]
    statuses = _read_statuses(kind_map)
    verbs = _read_verbs(reader, kind_map, statuses, [*names, "source", "superseded_by"])
    storage = kind_map.choice("home", _STORAGES)
    # a file in git instructs whoever clones it, and a verb for persons shows that one decides: both
    # wait for a person
    if storage == "file" or any(verb.person for verb in verbs):
        usual = _NATURES[0]
    else:
        usual = _NATURES[1]
    kind = Kind(
        name=name,
        plural=kind_map.shaped("plural", _WORD, "small letters, digits and `-`") or f"{name}s",
        prefix=kind_map.shaped("prefix", _PREFIX, "2 to 10 capitals and digits"),
        storage=storage,
        purpose=kind_map.line("purpose"),
        statuses=statuses,
        fields=fields,
        verbs=verbs,
        live=tuple(kind_map.words("live", statuses))
        if "live" in kind_map
        else _live(statuses, verbs),
        nature=kind_map.choice("nature", _NATURES, usual),
        section=kind_map.line("section", name.replace("-", " ").capitalize()),
        list_fields=tuple(kind_map.words("beside", names)),
        filed=tuple(kind_map.words("filed", statuses)),
        budget_category=kind_map.choice("share", BUDGET_CATEGORIES, "domain_knowledge"),
        ttl=_read_ttl(reader, kind_map),
        spellings=kind_map.pairs("spellings", statuses, "one of the statuses"),
        retention=kind_map.number("retention", 0, 36_500, 0),
        by=reader.path,
        **_read_numbering(reader, root, kind_map, names),
    )
    if not name:
        return kind
    return with_proposals(kind)


def _read_statuses(kind_map: _Map) -> tuple[str, ...]:
    statuses = tuple(kind_map.words("statuses", shape=_STATUS))
    if "statuses" in kind_map and not statuses:
        kind_map.report(
            "statuses", "names none.", "The first is what a new record has.", at_key=True
        )
    return statuses or ("current",)


def _read_numbering(
    reader: NodeReader, root: Node, kind_map: _Map, names: Sequence[str]
) -> dict[str, Any]:
    """The attributes `numbering`, `identity` and `digits` of a kind."""
    numbering = kind_map.choice("numbering", _NUMBERINGS)
    if numbering == "hash" and "identity" not in kind_map:
        reader.report(
            root, '"numbering: hash" needs "identity": the fields that make two records the same.'
        )
    least, most = _DIGITS.get(numbering, (4, 9))
    if "numbering" in kind_map:
        shown = f' for "numbering: {numbering}"'
    else:
        shown = ""
    if "digits" in kind_map:
        digits = kind_map.number("digits", least, most, least, shown)
    else:
        digits = 0
    identity = tuple(kind_map.words("identity", ["title", *names]))
    return {"numbering": numbering, "identity": identity, "digits": digits}


def _read_ttl(reader: NodeReader, kind_map: _Map) -> dict[str, int]:
    """Authority → days until its records expire."""
    if "ttl" not in kind_map:
        return {}
    days = reader.keys(kind_map.node("ttl"), AUTHORITIES, ' in "ttl"')
    return {
        authority: reader.number(node, f'"{authority}" in "ttl"', 1, 36_500, 90)
        for authority, (_, node) in days.items()
    }


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
