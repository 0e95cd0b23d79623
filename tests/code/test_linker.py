"""What a link states: relation, method and how sure it is."""

from __future__ import annotations

import pytest

from tests.code.resolving import rows, taken

FILES = {
    "pkg/__init__.py": "",
    "pkg/core.py": (
        "from typing import Protocol\nclass Base:\n    def __init__(self): pass\n    def"
        " feed(self): pass\nclass Shape(Protocol): pass\ndef made() -> Base: pass\nlimit = 3\n"
    ),
}
CASES: dict[str, tuple[str, set[tuple[str, str, str, int]]]] = {
    "same scope": ("def f(): pass\nf()", {("calls", "function:pkg.use.f", "same scope", 100)}),
    "import": (
        "from .core import made\nmade()",
        {("calls", "function:pkg.core.made", "import", 100)},
    ),
    "only named": (
        "from .core import made\nx = [made]",
        {("references", "function:pkg.core.made", "import", 100)},
    ),
    "star import": (
        "from .core import *\nmade()",
        {("calls", "function:pkg.core.made", "star import", 90)},
    ),
    "constructor": (
        "from .core import Base\nBase()",
        {
            ("calls", "type:pkg.core.Base", "import", 100),
            ("calls", "method:pkg.core.Base.__init__", "constructor", 90),
        },
    ),
    "no constructor where a class is only named": (
        "from .core import Base\nx = [Base]",
        {("references", "type:pkg.core.Base", "import", 100)},
    ),
    "self": ("class A:\n    def f(self): self.f()", {("calls", "method:pkg.use.A.f", "self", 90)}),
    "super": (
        "from .core import Base\nclass A(Base):\n    def feed(self): super().feed()",
        {
            ("inherits", "type:pkg.core.Base", "import", 100),
            ("calls", "method:pkg.core.Base.feed", "super", 90),
        },
    ),
    "instance": (
        "from .core import Base\ndef f(b: Base): b.feed()",
        {
            ("references", "type:pkg.core.Base", "import", 100),
            ("calls", "method:pkg.core.Base.feed", "instance", 80),
        },
    ),
    "return annotation": (
        "from .core import made\nmade().feed()",
        {
            ("calls", "function:pkg.core.made", "import", 100),
            ("calls", "method:pkg.core.Base.feed", "return annotation", 70),
        },
    ),
    "name only": ("x.feed()", {("calls", "name:feed", "name only", 0)}),
    "a name that nothing bears is no link": ("x.sleep()", set()),
    "interface": (
        "from .core import Shape\nclass A(Shape): pass",
        {("implements", "interface:pkg.core.Shape", "import", 100)},
    ),
    "passed on the way": (
        "from .core import limit\nlimit.feed()",
        {
            ("references", "field:pkg.core.limit", "import", 100),
            ("calls", "name:feed", "name only", 0),
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_links(case: str) -> None:
    source, wanted = CASES[case]
    assert {
        (row[1], row[2], row[4], row[5])
        for row in rows(FILES | {"pkg/use.py": source}, "pkg/use.py")
    } == wanted


def test_each_link_once_a_line() -> None:
    found = rows({"a.py": "def f(): pass\nf(); f()\nf()\n"}, "a.py")
    assert [(row[2], row[3]) for row in found] == [("function:a.f", 2), ("function:a.f", 3)]


TAKEN = {
    "from .core import made": {("function:pkg.core.made", 1, "import")},
    "def f():\n    from pkg.core import Base as B, limit": {
        ("type:pkg.core.Base", 2, "lazy import"),
        ("field:pkg.core.limit", 2, "lazy import"),
    },
    "from pkg.again import made": {("function:pkg.core.made", 1, "import")},
    "from . import core": set(),
    "from .core import *": set(),
    "from .core import nothing_there\nfrom os import path": set(),
    "import pkg.core": set(),
}


@pytest.mark.parametrize("source", TAKEN)
def test_what_is_imported_by_name_is_imported(source: str) -> None:
    files = FILES | {"pkg/again.py": "from .core import made\n", "pkg/use.py": source}
    found = taken(files, "pkg/use.py")
    assert {row[0] for row in found} <= {"namespace:pkg.use"}
    assert {(row[2], row[3], row[4]) for row in found} == TAKEN[source]
    assert {(row[1], row[5]) for row in found} <= {("imports", 100)}
