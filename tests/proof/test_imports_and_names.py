"""Edits around function bodies: what an import executes, what frameworks call, what lists names.

Each program is executed before and after the edit: where a test ends otherwise, its result must not
be valid.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.proof.facts import VALID
from tests.proof.recorded import run_program, verdicts
from tests.support import checkout

APP = "def f(): return 1\ndef unused(x): return x\n"
TEST = "import app\ndef test_f(): return app.f()\n"
PLAIN = {"app.py": APP, "test_app.py": TEST}
ENCODER = "import json\nclass Encoder(json.JSONEncoder):\n    'Of dates.'\n"
ENCODES = "import json, app\ndef test_e(): return json.dumps([print], cls=app.Encoder)\n"
VISITOR = "class Base:\n    'One.'\nclass Walk(Base):\n    def walk(self, name):\n"
VISITOR += (
    "        return getattr(self, 'visit_' + name, self.other)()\n    def other(self): return 0\n"
)
META = """
class Meta(type):
    def __new__(meta, name, bases, names):
        made = super().__new__(meta, name, bases, names)
        made.seen = sorted(name for name in names if "cell" in name)
        return made
class Base(metaclass=Meta):
    def unused(self): return 1
class Child(Base):
    def unused(self): return 2
"""
ABSTRACT = "import abc\nclass Base(abc.ABC):\n    def q(self): return 1\nclass Impl(Base):\n"
ABSTRACT += "    def m(self): return 2\n"
REGISTRY = (
    "NAMES = []\ndef define(name):\n    def wrap(f):\n        NAMES.append(name)\n    "
    "    return f\n"
)
REGISTRY += "    return wrap\n"
PLUGIN = "from reg import define\n@define('a')\ndef a(): pass\n"
SUBCLASSES = (
    "SUBS = []\nclass Protocol:\n    def __init_subclass__(cls): SUBS.append(cls.__name__)\n"
)
METACLASS = (
    "class Meta(type):\n    made = []\n    def __init__(cls, *args): Meta.made.append(cls)\n"
)
GLOBALS = (
    "def check_a(): return 1\ndef names(): return [n for n in globals() if n[:6] == 'check_']\n"
)
SETTINGS = "from app import TestSettings\ndef test_e(): return TestSettings.mode\n"
TESTING = "def test_sum(x=1): return 3\ndef test_e(): return test_sum.__defaults__\n"
COMMAND = "class Base:\n    def help(self): return self.__doc__\n"

FORM = "class Form:\n    def area(self): return 1\n"
WIDER = "    def width(self): return 1\n"
MEMBERS = "def members(c): return [n for n in dir(c) if n[0] != '_']\n"

LINE = "def f(): return sys._getframe().f_lineno\n"

EDITS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "annotation of an unexecuted function": (
        PLAIN,
        {"app.py": APP.replace("unused(x)", "unused(x: Missing)")},
    ),
    "default": (PLAIN, {"app.py": APP.replace("unused(x)", "unused(x=MISSING)")}),
    "decorator": (PLAIN, {"app.py": APP.replace("def unused", "@cache\ndef unused")}),
    "new function": (PLAIN, {"app.py": APP + "def later(x: Optional[int]): pass\n"}),
    "new class": (PLAIN, {"app.py": APP + "class New(Enum):\n    A = 1\n"}),
    "field of a new class": (PLAIN, {"app.py": APP + "class New:\n    x: Decimal = 1\n"}),
    "refused by the compiler": (PLAIN, {"app.py": APP.replace("return x", "break")}),
    "a warning of the compiler, where warnings are errors": (
        {"app.py": APP, "test_app.py": f"import warnings\nwarnings.simplefilter('error')\n{TEST}"},
        {"app.py": APP.replace("return x", r"return '\d'")},
    ),
    "a name that hasattr is asked for": (
        {
            "app.py": APP,
            "test_app.py": "import app\ndef test_h(): return hasattr(app, 'g' + 'g')\n",
        },
        {"app.py": f"{APP}def gg(): pass\n"},
    ),
    "the number of a line": (
        {"app.py": f"import sys\n{LINE}", "test_app.py": TEST},
        {"app.py": f"import sys\n\n{LINE}"},
    ),
    "order": (
        {"app.py": "def one(): return 1\nX = one()\ndef f(): return X\n", "test_app.py": TEST},
        {"app.py": "X = one()\ndef one(): return 1\ndef f(): return X\n"},
    ),
    "a decorator of the program": (
        {
            "reg.py": REGISTRY,
            "plug.py": PLUGIN,
            "test_r.py": "import reg, plug\ndef test_n(): return [*reg.NAMES]\n",
        },
        {"plug.py": PLUGIN + "@define('b')\ndef b(): pass\n"},
    ),
    "a base of the program": (
        {
            "base.py": SUBCLASSES,
            "plug.py": "from base import Protocol\n",
            "test_r.py": "import base, plug\ndef test_n(): return [*base.SUBS]\n",
        },
        {"plug.py": "from base import Protocol\nclass New(Protocol): pass\n"},
    ),
    "a method that a library calls": (
        {"app.py": ENCODER, "test_e.py": ENCODES},
        {"app.py": ENCODER + "    def default(self, o): return 'x'\n"},
    ),
    "a method in a base of the class": (
        {"app.py": VISITOR, "test_e.py": "import app\ndef test_e(): return app.Walk().walk('x')\n"},
        {"app.py": VISITOR.replace("'One.'", "def visit_x(self): return 5")},
    ),
    "an abstract method": (
        {"app.py": ABSTRACT, "test_e.py": "import app\ndef test_e(): return app.Impl().q()\n"},
        {
            "app.py": ABSTRACT.replace(
                "class Impl", "    @abc.abstractmethod\n    def n(self): ...\nclass Impl"
            )
        },
    ),
    "an implementation renamed": (
        {
            "app.py": ABSTRACT,
            "test_e.py": "import app\ndef test_e(): return hasattr(app.Impl(), 'm')\n",
        },
        {"app.py": ABSTRACT.replace("def m", "def mm")},
    ),
    "signature": (
        {
            "app.py": APP,
            "test_e.py": "import inspect, app\ndef test_e(): return "
            "str(inspect.signature(app.unused))\n",
        },
        {"app.py": APP.replace("unused(x)", "unused(x, y=1)")},
    ),
    "annotation that is read": (
        {
            "app.py": "from __future__ import annotations\ndef f(x: int): pass\n",
            "test_e.py": "import typing, app\ndef test_e(): return typing.get_type_hints(app.f)\n",
        },
        {"app.py": "from __future__ import annotations\ndef f(x: str): pass\n"},
    ),
    "a function that the import of another file calls": (
        {
            "cases.py": "def cases(): return [1]\n",
            "test_e.py": "import cases\nCASES = cases.cases()\ndef test_e(): return CASES\n",
        },
        {"cases.py": "def cases(): return [2]\n"},
    ),
    "a hook for subclasses that another file calls": (
        {
            "meta.py": "class B:\n    def __init_subclass__(cls): cls.kind = 'a'\n",
            "app.py": "from meta import B\nclass C(B): pass\n",
            "test_e.py": "import app\ndef test_e(): return app.C.kind\n",
        },
        {"meta.py": "class B:\n    def __init_subclass__(cls): cls.kind = 'b'\n"},
    ),
    "globals": (
        {"app.py": GLOBALS, "test_e.py": "import app\ndef test_e(): return app.names()\n"},
        {"app.py": GLOBALS + "def check_b(): return 1\n"},
    ),
    "members of a module that is passed": (
        {
            "app.py": APP,
            "util.py": "import inspect\ndef members(m): return [n for n, _ in "
            "inspect.getmembers(m)]\n",
            "test_e.py": "import util, app\ndef test_e(): return util.members(app)\n",
        },
        {"app.py": APP + "def g(): return 2\n"},
    ),
    "doctests of a module": (
        {
            "app.py": APP,
            "test_e.py": "import doctest, app\ndef test_e(): return doctest.testmod(app)\n",
        },
        {"app.py": APP + "def g():\n    '>>> 1 + 1\\\\n3'\n"},
    ),
    "doctests that a finder finds": (
        {
            "app.py": APP,
            "test_e.py": "import doctest, app\nFINDER = doctest.DocTestFinder()\n"
            "def test_e(): return len(FINDER.find(app))\n",
        },
        {"app.py": APP + "def g():\n    '>>> 1'\n"},
    ),
    "a name made at run time": (
        {
            "app.py": APP,
            "test_e.py": "import app\ndef test_e():\n    n = 'g'\n    return getattr(app, n, "
            "0) == 0\n",
        },
        {"app.py": APP + "def g(): return 2\n"},
    ),
    "subclasses": (
        {"app.py": "class B: pass\ndef f(): return len(B.__subclasses__())\n", "test_app.py": TEST},
        {"app.py": "class B: pass\nclass C(B): pass\ndef f(): return len(B.__subclasses__())\n"},
    ),
    "members of the classes that a module lists": (
        {
            "app.py": FORM,
            "test_e.py": f"import app\n{MEMBERS}def test_e():\n"
            "    return [members(v) for v in vars(app).values() if isinstance(v, type)]\n",
        },
        {"app.py": FORM + WIDER},
    ),
    "members of subclasses": (
        {
            "app.py": "class Base: pass\n" + FORM.replace("Form", "Form(Base)"),
            "test_e.py": f"import app\n{MEMBERS}def test_e():\n"
            "    return [members(c) for c in app.Base.__subclasses__()]\n",
        },
        {"app.py": "class Base: pass\n" + FORM.replace("Form", "Form(Base)") + WIDER},
    ),
    "members of classes that a base notes": (
        {
            "app.py": SUBCLASSES.replace(".__name__", "") + FORM.replace("Form", "Form(Protocol)"),
            "test_e.py": f"import app\n{MEMBERS}def test_e(): return members(app.SUBS[0])\n",
        },
        {
            "app.py": SUBCLASSES.replace(".__name__", "")
            + FORM.replace("Form", "Form(Protocol)")
            + WIDER
        },
    ),
    "members of classes that a metaclass notes": (
        {
            "app.py": METACLASS + FORM.replace("Form", "Form(metaclass=Meta)"),
            "test_e.py": f"import app\n{MEMBERS}def test_e(): return members(app.Meta.made[0])\n",
        },
        {"app.py": METACLASS + FORM.replace("Form", "Form(metaclass=Meta)") + WIDER},
    ),
    "members of a class inside of another one": (
        {
            "app.py": "class Outer:\n    " + FORM.replace("\n    ", "\n        "),
            "test_e.py": f"import app\n{MEMBERS}def test_e():\n"
            "    return [members(v) for v in vars(app.Outer).values() if isinstance(v, type)]\n",
        },
        {
            "app.py": "class Outer:\n    "
            + FORM.replace("\n    ", "\n        ")
            + WIDER.replace("    ", "        ", 1)
        },
    ),
    "members of an object that a function makes on import": (
        {
            "app.py": FORM + "def made(): return Form()\nFORM = made()\n",
            "test_e.py": f"import app\n{MEMBERS}def test_e(): return members(app.FORM)\n",
        },
        {"app.py": FORM + WIDER + "def made(): return Form()\nFORM = made()\n"},
    ),
    "members of a class that is found by a dotted name": (
        {
            "app.py": FORM,
            "test_e.py": f"import app, pkgutil\n{MEMBERS}"
            "def test_e(): return members(pkgutil.resolve_name('app:Form'))\n",
        },
        {"app.py": FORM + WIDER},
    ),
    "members of a class that an annotation leads to": (
        {
            "app.py": FORM + "def f(form: Form): pass\n",
            "test_e.py": f"import app, typing\n{MEMBERS}"
            "def test_e(): return members(typing.get_type_hints(app.f)['form'])\n",
        },
        {"app.py": FORM + WIDER + "def f(form: Form): pass\n"},
    ),
    "members of a class in the annotations of a function": (
        {
            "app.py": FORM + "def f(form: Form): pass\n",
            "test_e.py": f"import app\n{MEMBERS}"
            "def test_e(): return members(app.f.__annotations__['form'])\n",
        },
        {"app.py": FORM + WIDER + "def f(form: Form): pass\n"},
    ),
    "names that a function lists on import": (
        {
            "app.py": GLOBALS + "NAMES = names()\n",
            "test_e.py": "import app\ndef test_e(): return app.NAMES\n",
        },
        {"app.py": "def check_b(): return 1\n" + GLOBALS + "NAMES = names()\n"},
    ),
    "star import": (
        {
            "app.py": APP,
            "pkg.py": "from app import *\n",
            "test_e.py": "import pkg\ndef test_e(): return len(dir(pkg))\n",
        },
        {"app.py": APP + "def g(): return 2\n"},
    ),
    "docstring read in another file": (
        {
            "base.py": COMMAND,
            "sync.py": "from base import Base\nclass Sync(Base):\n    'Old.'\n",
            "test_e.py": "import sync\ndef test_e(): return sync.Sync().help()\n",
        },
        {"sync.py": "from base import Base\nclass Sync(Base):\n    'New.'\n"},
    ),
    "docstring of the module": (
        {"app.py": "'Old.'\ndef f(): return __doc__\n", "test_app.py": TEST},
        {"app.py": "'New.'\ndef f(): return __doc__\n"},
    ),
    "constants of a code object": (
        {
            "app.py": "def f(): return 1\n",
            "test_c.py": "import app\ndef test_c(): return app.f.__code__.co_consts\n",
        },
        {"app.py": "def f(): return 2\n"},
    ),
    "lines of a code object": (
        {
            "app.py": "def f():\n    return 1\n",
            "test_c.py": "import app\ndef test_c(): return app.f.__code__.co_firstlineno\n",
        },
        {"app.py": "# a comment\ndef f():\n    return 1\n"},
    ),
    "a class of the test file, called like a test, in place of an import": (
        {"app.py": "class TestSettings: mode = 1\n", "test_e.py": SETTINGS},
        {"test_e.py": SETTINGS.replace("def", "class TestSettings: mode = 2\ndef", 1)},
    ),
    "a default of a function that is called like a test": (
        {"test_e.py": TESTING},
        {"test_e.py": TESTING.replace("x=1", "x=2")},
    ),
    "a cell for the class, where a metaclass sees the names of the body": (
        {"app.py": META, "test_e.py": "import app\ndef test_e(): return app.Child.seen\n"},
        {"app.py": META.replace("return 2", "return super().unused()")},
    ),
    "set-up of the test file": (
        PLAIN,
        {"app.py": APP, "test_app.py": TEST + "def setup_module(): raise RuntimeError\n"},
    ),
}

CELLS = {
    "a plain class": ("class Base:\n    def unused(self): return 1\n", "Base"),
    "an abstract class": (
        "import abc\nclass Base(abc.ABC):\n    def unused(self): return 1\n",
        "Base",
    ),
    "an exception": ("class Base(ValueError):\n    def unused(self): return 1\n", "Base"),
}


@pytest.mark.parametrize("name", EDITS)
def test_no_result_is_valid_that_the_edit_reaches(name: str) -> None:
    before, edit = EDITS[name]
    found, ends = verdicts(before, {**before, **edit})
    assert all(verdict.state != VALID for verdict in found.values()), found
    if name != "set-up of the test file":  # pytest calls it, and nobody else
        assert run_program({**before, **edit})[1] != ends


HARMLESS = {
    "function": "def later(x: int = 3) -> str: return x\n",
    "class": "class New:\n    'Doc.'\n    x: int = 1\n    def m(self, y=None): return y\n",
    "exception": "class New(Exception):\n    pass\n",
    "cached": "from functools import cache\n",
    "comment": "# a comment\n",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_an_unused_definition_reaches_no_test(name: str) -> None:
    app = "from functools import cache\nimport typing\n" + APP
    before = {**PLAIN, "app.py": app}
    text = HARMLESS[name] if name != "cached" else "@cache\ndef later(x: typing.Any): return x\n"
    found, _ = verdicts(before, {**before, "app.py": app + text})
    assert [verdict.state for verdict in found.values()] == [VALID]


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_for_the_class_reaches_no_test_where_the_class_is_made_as_usual(name: str) -> None:
    base, base_name = CELLS[name]
    child = (
        f"class Child({base_name}):\n    def run(self): return 3\n    def unused(self): return 2\n"
    )
    before = {
        "app.py": f"{base}{child}",
        "test_e.py": "import app\ndef test_e(): return app.Child.run(1)\n",
    }
    with_cell = before["app.py"].replace("return 2", "return super().unused()")
    found, _ = verdicts(before, {**before, "app.py": with_cell})
    assert [verdict.state for verdict in found.values()] == [VALID]


def test_what_a_test_file_changes_elsewhere_reaches_the_tests_of_others() -> None:
    first = "import state\nstate.MODES.append('a')\ndef test_a(): return len(state.MODES)\n"
    second = "def test_b(): return 1\n"
    before = {"state.py": "MODES = []\n", "test_a.py": first, "test_b.py": second}

    def stale(now: str | None) -> set[str]:
        files = {**before, "test_a.py": now}
        contents = {path: text for path, text in files.items() if text is not None}
        found, _ = verdicts(before, contents)
        return {name for name, verdict in found.items() if verdict.state != VALID}

    assert "test_b.py::test_b" in stale(first.replace("'a'", "'b'"))
    assert "test_b.py::test_b" in stale(None)
    assert "test_b.py::test_b" not in stale(first + "LIMIT = 3\n")


def test_a_method_reaches_the_tests_in_which_its_class_takes_part() -> None:
    app = "class A:\n    def a(self): return 1\nclass B:\n    def b(self): return 2\n"
    test = "import app\ndef test_a(): return app.A().a()\ndef test_b(): return app.B().b()\n"
    before = {"app.py": app, "test_app.py": test}
    now = {
        **before,
        "app.py": app.replace("class B:", "class B:\n    def __eq__(self, o): return 1"),
    }
    found, _ = verdicts(before, now)
    assert {name[-1]: verdict.state == VALID for name, verdict in found.items()} == {
        "a": True,
        "b": False,
    }


@pytest.mark.skipif("sys.version_info < (3, 12)", reason="symbols are recorded from 3.12 on")
def test_a_commit_that_can_not_be_imported_is_not_proven(tmp_path: Path, home: Path) -> None:
    repo = checkout(
        tmp_path / "repo",
        {"app.py": APP, "test_app.py": TEST.replace("return", "assert"), ".kl/config.yaml": ""},
    )
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0
    repo.write("app.py", APP + "def later(x: Optional[int]): return x\n")
    repo.commit()
    answer = repo.kl("verify")
    assert answer.returncode == 1
    assert (
        "later in app.py was added: Optional[int] may fail when the file is imported"
        in answer.stdout
    )
    repo.write("app.py", APP + "def later(x: int): return x\n")
    repo.commit()
    assert repo.kl("verify").returncode == 0


@pytest.mark.skipif(
    "sys.version_info < (3, 12)", reason="an invalid escape is a SyntaxWarning from 3.12 on"
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_what_the_compiler_warned_of_before_is_nothing_new() -> None:
    app = "def warned(): return '\\d'\ndef f(): return 1\n"
    before = {"app.py": app, "test_a.py": TEST}
    (verdict,) = verdicts(before, before | {"app.py": f"{app}def later(): ...\n"})[0].values()
    assert verdict.state == "valid"
    more = {"app.py": f"{app}def later(): return '\\w'\n"}
    (verdict,) = verdicts(before, before | more)[0].values()
    assert verdict.reason.startswith("the compiler warns of app.py: ")


CODE = "def f(): return 1\nclass K:\n    def m(self): return lambda: 2\n"
READS_CODE = "import app\ndef test_c(): return app.f.__code__.co_firstlineno\n"
READS_SOURCE = "import app, inspect\ndef test_c(): return inspect.getsource(app)\n"


@pytest.mark.parametrize(
    ("now", "is_code_other", "is_source_other"),
    [
        (f"{CODE}# a comment\n", False, True),
        (f"{CODE}def later(x): return x\n", False, True),
        (f"# a comment\n{CODE}", True, True),
        (CODE.replace("lambda: 2", "lambda: 3"), True, True),
        (CODE.replace("class K:", "class L:"), True, True),
        (CODE.replace("def f(): return 1\n", "\n") + "def f(): return 1\n", True, True),
    ],
)
def test_a_code_object_is_another_one_where_a_function_is_or_its_place(
    now: str, is_code_other: bool, is_source_other: bool
) -> None:
    for test, is_other in ((READS_CODE, is_code_other), (READS_SOURCE, is_source_other)):
        before = {"app.py": CODE, "test_app.py": test}
        results, _ = verdicts(before, {**before, "app.py": now})
        assert [verdict.state != VALID for verdict in results.values()] == [is_other]


DATACLASS = "import dataclasses\n@dataclasses.dataclass\nclass C:\n    limit: int = 1\n"
NOTING = "class A:\n    def __init_subclass__(cls): ...\n"


@pytest.mark.parametrize(
    ("body", "edit", "is_quiet"),
    [
        ("class C:\n    LIMIT = 1\n", ("= 1", "= 2"), True),
        ("class C:\n    LIMIT = 1\n", ("= 1\n", "= 1\n    MORE = 2\n"), True),
        ("class B: ...\nclass C(B):\n    LIMIT = 1\n", ("= 1", "= 2"), True),
        ("import abc\nclass C(abc.ABC):\n    LIMIT = 1\n", ("= 1", "= 2"), True),
        (
            "import typing\nT = typing.TypeVar('T')\nclass C(typing.Generic[T]):\n    LIMIT = 1\n",
            ("LIMIT = 1", "LIMIT = 2"),
            True,
        ),
        ("class C(dict):\n    LIMIT = 1\n", ("= 1", "= 2"), True),
        # only its subclasses are noted, not it
        ("class C:\n    def __init_subclass__(cls): ...\n    LIMIT = 1\n", ("= 1", "= 2"), True),
        (f"{NOTING}class C(A):\n    LIMIT = 1\n", ("= 1", "= 2"), False),
        (f"{NOTING}class B(A): ...\nclass C(B):\n    LIMIT = 1\n", ("= 1", "= 2"), False),
        ("import enum\nclass C(enum.Enum):\n    LIMIT = 1\n", ("= 1", "= 2"), False),
        ("import argparse\nclass C(argparse.Action):\n    LIMIT = 1\n", ("= 1", "= 2"), False),
        ("class C(type):\n    LIMIT = 1\n", ("= 1", "= 2"), False),
        ("class C([dict][0]):\n    LIMIT = 1\n", ("= 1", "= 2"), False),
        (DATACLASS, ("int = 1", "int = 2"), True),
        (DATACLASS, ("limit: int", "limit: str"), False),
        (DATACLASS, ("int = 1\n", "int = 1\n    more: int = 2\n"), False),
        (f"{DATACLASS}    more: int = 2\n", ("    more: int = 2\n", ""), False),
        (DATACLASS.replace("= 1", "= [1][0]"), ("[1]", "[2]"), False),
        (DATACLASS.replace("= 1", "= [1][0]"), ("[1][0]", "2"), False),
        (DATACLASS, ("int = 1", "int = [1][0]"), False),
        ("def deco(c): return c\n@deco\nclass C:\n    LIMIT = 1\n", ("= 1", "= 2"), False),
        (
            DATACLASS.replace("@data", "def deco(c): return c\n@deco\n@data"),
            ("int = 1", "int = 2"),
            False,
        ),
        (
            DATACLASS.replace("@data", "import typing\n@typing.final\n@data"),
            ("int = 1", "int = 2"),
            False,
        ),
        # one of two values is computed
        (
            f"{DATACLASS}    more: int = [1][0]\n",
            ("1\n    more: int = [1]", "2\n    more: int = [2]"),
            False,
        ),
        # an attribute without annotation is no field
        (DATACLASS, ("int = 1\n", "int = 1\n    more = 2\n"), True),
        # one of two values can't be a default
        (
            f"{DATACLASS}    more: int = 2\n",
            ("1\n    more: int = 2", "2\n    more: int = []"),
            False,
        ),
        # a member that learns of the class
        (
            "class D:\n    def __set_name__(self, *names): ...\nclass C:\n    LIMIT = 1\n    d = D()\n",
            ("= 1", "= 2"),
            False,
        ),
        (
            "def deco(c): return c\nclass C:\n    LIMIT = 1\n    @deco\n    def m(self): ...\n",
            ("= 1", "= 2"),
            False,
        ),
    ],
)
def test_a_value_of_a_class_reaches_no_test_where_the_class_only_stores_it(
    body: str, edit: tuple[str, str], is_quiet: bool
) -> None:
    before = {"app.py": f"{body}def f(): return 1\n", "test_a.py": TEST}
    after = before["app.py"].replace(*edit)
    assert after != before["app.py"]
    (verdict,) = verdicts(before, {**before, "app.py": after})[0].values()
    assert (verdict.state == "valid") is is_quiet, verdict


@pytest.mark.parametrize("values", [("[]", "1"), ("1", "[]")])
def test_a_default_that_can_change_lets_the_import_fail_before_or_now(
    values: tuple[str, str],
) -> None:
    catching = (
        "try:\n    import app\nexcept ValueError:\n    app = None\n"
        "def test_a(): return app is None\n"
    )
    contents = [
        {"app.py": DATACLASS.replace("= 1", f"= {value}"), "test_a.py": catching}
        for value in values
    ]
    (verdict,) = verdicts(*contents)[0].values()
    assert verdict.state != "valid"


def test_a_value_of_a_class_of_a_conftest_reaches_all_tests() -> None:
    before = {
        "sub/conftest.py": "class C:\n    LIMIT = 1\n",
        "sub/test_a.py": "def test_a(): ...\n",
    }
    edit = {"sub/conftest.py": "class C:\n    LIMIT = 2\n"}
    (verdict,) = verdicts(before, before | edit)[0].values()
    assert verdict.state == "stale"
