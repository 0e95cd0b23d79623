"""Symbols, links and the IDs they are addressed by: `namespace:` and the name there, never a line
number.
"""

from __future__ import annotations

from typing import Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern

ID_PREFIXES: Final = (
    "file",
    "namespace",
    "type",
    "interface",
    "method",
    "function",
    "property",
    "field",
    "test",
    "commit",
    "tree",
    "layer",
    "adr",
    "command",
    "check",
    "violation",
)
"""What can precede the colon. `command:` is a command line, `check:` a validator of ours."""

# The lookaheads: the beginning of a longer number or word is no ID.
RECORD_ID: Final = lazy_pattern(
    r"[A-Z][A-Z0-9]{1,9}-(?:[0-9]{4,9}(?![0-9])|[0-9a-f]{8,16}(?![0-9a-z])"
    r"|[A-Za-z][A-Za-z0-9]{0,39}(?:-[A-Za-z0-9]{1,40}){0,3}?-[0-9]{1,9})"
)
"""`ADR-0007`, `MEM-3f9a1c2b`, `FEAT-AUTH-12`, `TURN-FEAT-AUTH-12-3`."""
_HEX: Final = lazy_pattern(r"[0-9a-f]{4,64}")
_SHORT_ID: Final = lazy_pattern(r"([A-Za-z]{2,10})-([0-9]{1,4})")


class NodeId(str):
    """The ID of a node that is no part of a symbol or a link: its type states that it names what a
    policy may hide.
    """

    __slots__ = ()


class NodeText(str):
    """A sentence that names a node: where a policy hides the node, the sentence is withheld."""

    node: str
    is_quotation: bool
    """Whether it quotes what the node holds: then it is withheld where that is redacted, too."""

    def __new__(cls, text: str, node: str, *, is_quotation: bool = False) -> NodeText:
        """Return the sentence about a node, given by its ID."""
        made = super().__new__(cls, text)
        made.node, made.is_quotation = node, is_quotation
        return made


class TestName(str):
    """The name of a test as pytest reports it (`tests/test_a.py::test_b[1]`): its type states that
    it names what a policy may hide.
    """

    __slots__ = ()
    __test__ = False  # no test class, whatever its name

    @property
    def path(self) -> str:
        """Its file, from the root."""
        return self.partition("::")[0]


class FilePath(str):
    """The path, from the root, of the file that the value with this field is about: its type states
    that it names what a policy may hide.
    """

    __slots__ = ()


def make_id(prefix: str, name: str) -> str:
    """`make_id("test", "tests/test_a.py::test_b")` → `test:tests/test_a.py::test_b`. ValueError:
    unknown prefix.
    """
    if prefix not in ID_PREFIXES:
        raise ValueError(f"no such sort of id: {prefix!r}")
    return f"{prefix}:{name}"


def path_of(node: str) -> str:
    """Return the path of the file that a node of the graph is, or is in, by its ID; empty where
    that does not show it.
    """
    prefix, name = split_id(node)
    if prefix == "test":
        return TestName(name).path
    if prefix != "file":
        return ""
    return name.partition("#")[0]


def split_id(identifier: str) -> tuple[str, str]:
    """The prefix and the name; the prefix of a record id (`ADR-0007`) or of plain text is empty."""
    prefix, colon, name = identifier.partition(":")
    if colon and prefix in ID_PREFIXES:
        return (prefix, name)
    return ("", identifier)


def full_record_id(name: str) -> str:
    """`adr-7` → `ADR-0007`; any other text as it is."""
    match = _SHORT_ID.fullmatch(name)
    if not match:
        return name
    return f"{match[1].upper()}-{int(match[2]):04}"


def record_node(record_id: str) -> str:
    """Return the ID of a record in the graph: `ADR-0007` → `adr:ADR-0007`; others are their own."""
    if not record_id.startswith("ADR-"):
        return record_id
    return f"adr:{record_id}"


def is_hex(text: str) -> bool:
    """True for 4 to 64 lower-case hexadecimal ASCII digits: a hash or the beginning of one."""
    return _HEX.fullmatch(text) is not None


def language_of(path: str) -> str:
    """Return the language whose syntax decides what of a file is code: `python`, or empty."""
    if path.endswith((".py", ".pyi")):
        return "python"
    return ""


SCRIPT_TEST: Final = lazy_pattern(
    r"(?:.*/)?(?:__tests__/.*|[^/]*\.(?:test|spec)(?:-d)?)\.[cm]?[jt]sx?"
)
"""The path of a file with tests as users of TypeScript and JavaScript name it."""


def is_test_path(path: str) -> bool:
    """Return whether a path is one that users of pytest, vitest or jest keep tests in."""
    *folders, name = path.split("/")
    if not {"test", "tests"}.isdisjoint(folders) or SCRIPT_TEST.fullmatch(path) is not None:
        return True
    # `src/helper/testing/` of a package of npm is what it offers to tests of others
    is_python = name.endswith((".py", ".pyi"))
    return name.startswith(("test_", "conftest.")) or (is_python and "testing" in folders)


class Symbol(NamedTuple):
    """A named element of the source."""

    id: str
    """`namespace: type: interface: function: method: property: field:` and its dotted name, with
    `<locals>`; `test:` and its path and name as pytest would call it."""
    path: str
    """The file, from the repository's root, with `/`."""
    line: int
    end_line: int
    signature: str
    """One line: `def feed(self, data: bytes) -> int`, `class Parser(Base)`."""
    doc: str
    """First line of its docstring, or empty."""
    content_hash: str
    """16 hexadecimal digits over its code without comments, docstrings and layout; equal on every
    supported Python.
    """
    decorators: tuple[str, ...] = ()
    """As written, one line each: `@property`."""


class Link(NamedTuple):
    """`source` is in `relation` to `target`, found at a place by a method."""

    source: str
    relation: str
    """defines, imports, inherits, calls, verified_by, …"""
    target: str
    path: str = ""
    line: int = 0
    method: str = ""
    """How it was found: `import`, `lazy import`, `type-checking import`, `dynamic import`, `star
    import` …
    """
    confidence: int = 100
    """Percent."""


FILE_SIGN: Final = "#"
"""Between a module and the name of a symbol, where the language names a module by its path:
`type:web/cart.ts#Cart`.
"""


def dotted_name(identifier: str) -> str:
    """Return the name of an Id with a dot after its module, whatever sign its language has
    there.
    """
    return split_id(identifier)[1].replace(FILE_SIGN, ".")


def last_name(identifier: str) -> str:
    """The last part of an Id, by which people look for it."""
    if FILE_SIGN in identifier and not identifier.startswith(("file:", "test:")):
        return identifier.rpartition(FILE_SIGN)[2].rpartition(".")[2]
    if identifier.startswith("namespace:"):
        identifier = identifier.partition("@")[0]
        # a dotted name has no slash: this module is named by its path
        if "/" in identifier:
            return identifier.rpartition("/")[2]
    if identifier.startswith("test:"):
        return identifier.rpartition("::")[2]
    return identifier.rpartition(".")[2].rpartition(":")[2]
