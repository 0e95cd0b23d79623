"""Who reads and writes an attribute, a module variable, a constant."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kl_hooks.code.query.lookup import Unknown
from kl_hooks.code.query.sites import Site
from kl_hooks.code.query.state import state_uses
from kl_hooks.errors import UsageProblem
from tests.code.query.conftest import Ask

SLOT = {
    "slot.py": (
        "LIMIT = 3\n\n\n"
        "class Slot:\n"
        "    def __init__(self, closing=None):\n"
        "        self.closing = closing\n"
        "        self.jobs: list[int] = []\n\n"
        "    def add(self, job):\n"
        "        self.jobs.append(job)\n"
        "        self.jobs[0] = job\n"
        "        return len(self.jobs) < LIMIT\n\n\n"
        "class Child(Slot):\n"
        "    def close(self):\n"
        "        self.closing = True\n"
        "        del self.closing\n"
    ),
    "engine.py": (
        "import slot\n"
        "from slot import LIMIT, Child, Slot\n\n\n"
        "def run(child: Child, anything, slots: list[Slot]):\n"
        "    if child.closing:\n"
        "        anything.closing = 1\n"
        "    for one in slots:\n"
        "        one.closing += 1\n"
        "    setattr(child, 'closing', LIMIT)\n"
        "    slot.LIMIT = 4\n\n\n"
        "class Other:\n"
        "    closing = False\n\n"
        "    def close(self):\n"
        "        return Slot(closing=self.closing)\n"
    ),
}


def shown(sites: Iterable[Site]) -> list[tuple[str, int, str, str]]:
    return [(site.path, site.line, site.kind, site.scope) for site in sites]


def test_an_attribute_that_is_declared_nowhere_is_one_of_its_class(graph_of: Ask) -> None:
    uses = state_uses(graph_of(SLOT), "Slot.closing")
    assert (uses.symbol.id, uses.name) == ("type:slot.Slot", "Slot.closing")
    assert shown(uses.writes) == [
        ("engine.py", 10, "write", "run"),
        ("slot.py", 6, "write", "Slot.__init__"),
        ("slot.py", 17, "write", "Child.close"),
        ("slot.py", 18, "delete", "Child.close"),
    ]
    assert shown(uses.reads) == [("engine.py", 6, "read", "run")]
    assert [(site.line, site.kind, site.types) for site in uses.possible] == [
        (9, "update", ("Slot (annotation)",)),
        (18, "keyword", ("Slot (constructor)",)),
        (7, "write", ()),
    ]
    assert shown(uses.elsewhere) == [
        ("engine.py", 15, "write", "Other.closing"),
        ("engine.py", 18, "read", "Other.close"),
        ("slot.py", 6, "read", "Slot.__init__"),
    ]


def test_what_an_attribute_holds_is_changed_in_place(graph_of: Ask) -> None:
    uses = state_uses(graph_of(SLOT), "Slot.jobs")
    assert uses.symbol.id == "field:slot.Slot.jobs"
    assert shown(uses.writes) == [("slot.py", 7, "write", "Slot.__init__")]
    assert shown(uses.changes) == [
        ("slot.py", 10, "content", "Slot.add"),
        ("slot.py", 11, "content", "Slot.add"),
    ]
    assert shown(uses.reads) == [("slot.py", 12, "read", "Slot.add")]


def test_a_module_variable_is_written_through_its_module_too(graph_of: Ask) -> None:
    uses = state_uses(graph_of(SLOT), "LIMIT")
    assert shown(uses.writes) == [
        ("engine.py", 11, "write", "run"),
        ("slot.py", 1, "write", "LIMIT"),
    ]
    assert shown(uses.reads) == [
        ("engine.py", 10, "read", "run"),
        ("slot.py", 12, "read", "Slot.add"),
    ]


def test_a_global_statement_writes_the_module_variable_and_a_local_name_does_not(
    graph_of: Ask,
) -> None:
    source = (
        "COUNT = 0\n\n\ndef more():\n    global COUNT\n    COUNT += 1\n\n\n"
        "def local():\n    COUNT = 2\n    return COUNT\n"
    )
    uses = state_uses(graph_of({"m.py": source}), "COUNT")
    assert shown(uses.writes) == [("m.py", 1, "write", "COUNT"), ("m.py", 6, "update", "more")]
    assert (uses.reads, uses.possible) == ((), ())


def test_an_attribute_that_no_class_has_is_unknown(graph_of: Ask) -> None:
    graph = graph_of(SLOT)
    for name in ("Slot.nothing", "Nothing.closing", "run.closing"):
        with pytest.raises(Unknown):
            state_uses(graph, name)


@pytest.mark.parametrize("name", ["slot.py", "test_slot.py::test_len", "Sized.__len__"])
def test_what_code_does_not_name_to_read_or_write_is_a_wrong_question(
    graph_of: Ask, name: str
) -> None:
    files = {
        **SLOT,
        "sized.py": "class Sized:\n    def __len__(self): return 1\n",
        "test_slot.py": "def test_len(): pass\n",
    }
    with pytest.raises(UsageProblem, match="is no attribute, variable"):
        state_uses(graph_of(files), name)


@pytest.mark.parametrize(
    ("bases", "expected"), [("", "read"), ("(Base)", "read"), ("(dict)", "content")]
)
def test_a_method_of_the_repositorys_own_class_changes_no_container(
    graph_of: Ask, bases: str, expected: str
) -> None:
    source = (
        "class Base: ...\n\n\n"
        f"class Registry{bases}:\n    def update(self, x): ...\n\n\n"
        "class Slot:\n    def __init__(self):\n        self.registry = Registry()\n\n"
        "    def close(self):\n        self.registry.update(1)\n        GLOBAL.update(2)\n\n\n"
        "GLOBAL = Registry()\n"
    )
    graph = graph_of({"m.py": source})
    for name, line in (("Slot.registry", 13), ("GLOBAL", 14)):
        uses = state_uses(graph, name)
        assert [(site.line, site.kind) for site in (*uses.changes, *uses.reads)] == [
            (line, expected)
        ]
