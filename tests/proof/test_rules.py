"""Each rule of the trust kernel by itself: which results it speaks against, and in which words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest import hookspec

from kl_hooks.evidence.distributions import Distributions, Uses
from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.reach import Reach
from kl_hooks.evidence.reads import DOCS, EVERYTHING, Read, Reads
from kl_hooks.model.receipt import FACT_CLASSES
from kl_hooks.proof.comparison import Comparison
from kl_hooks.proof.effect import ChangeRule, Effect, needs
from kl_hooks.proof.facts import (
    NOT_ASSESSED,
    STALE,
    VALID,
    Definition,
    Difference,
    FileChange,
    FileSymbols,
    RunFacts,
    Verdict,
)
from kl_hooks.proof.rules import (
    HOOKS_OF_FOLDERS,
    _may_be_found_elsewhere,
    _package_folder,
    _stays_test,
    changed_words,
    code_read,
    configuration_changed,
    definition_added_or_removed,
    distribution_changed,
    doubtful_by_effect,
    facts_not_recorded,
    file_added_or_removed,
    file_not_comparable,
    header_changed,
    import_effect_changed,
    may_have_been_shown,
    may_have_been_stored,
    metadata_changed,
    module_added,
    needs_unknown_file,
    no_symbols_recorded,
    own_file_changed,
    stale_by_effect,
    start_changed,
)
from kl_hooks.proof.touch import Touch
from kl_hooks.proof.verdict import Effects, changed_definitions, judge_results
from tests.evidence.making import executed_sets
from tests.proof.recorded import Files, difference_of, run_program, symbols_of_file, verdicts

A, B = "tests/test_a.py::test_a", "tests/deep/test_b.py::test_b"
STATES = ("100644 1", "100644 2")
BEFORE: Files = {
    "app.py": "def f():\n    return 1\n",
    "pkg/tool.py": "def g():\n    return 1\n",
    "tests/test_a.py": "import app\ndef test_a():\n    return app.f()\n",
    "tests/deep/test_b.py": "from pkg import tool\ndef test_b():\n    return tool.g()\n",
}
MODULES = {
    "app.py": "app",
    "pkg/tool.py": "pkg.tool",
    "tests/test_a.py": "tests.test_a",
    "tests/deep/test_b.py": "tests.deep.test_b",
}
SYMBOLS = {
    "app.py": ["namespace:app", "function:app.f"],
    "pkg/tool.py": ["namespace:pkg.tool", "function:pkg.tool.g"],
    "tests/test_a.py": ["namespace:tests.test_a", "function:tests.test_a.test_a"],
    "tests/deep/test_b.py": ["namespace:tests.deep.test_b", "function:tests.deep.test_b.test_b"],
}


def recorded_run(**changes: Any) -> Executed:
    """What the two tests of `BEFORE` execute."""
    hashes = {}
    for path, symbols in SYMBOLS.items():
        known = symbols_of_file(BEFORE[path])
        assert known is not None
        for symbol in symbols:
            kind, _, name = symbol.partition(":")
            hashes[symbol] = known.hashes[f"{kind}:_{name.removeprefix(MODULES[path])}"]
    facts: dict[str, Any] = {
        "modules": {path: [symbols[0]] for path, symbols in SYMBOLS.items()},
        "imports": {"tests/test_a.py": ("app.py",), "tests/deep/test_b.py": ("pkg/tool.py",)},
    }
    return executed_sets(
        {
            A: {"function:tests.test_a.test_a": "call", "function:app.f": "call"},
            B: {"function:tests.deep.test_b.test_b": "call", "function:pkg.tool.g": "call"},
        },
        {symbol: path for path, symbols in SYMBOLS.items() for symbol in symbols},
        hashes,
        **(facts | changes),
    )


RUN = recorded_run()


def judged(
    edit: Mapping[str, str | None], run: Executed | None = RUN, **facts: Any
) -> dict[str, tuple[str, str]]:
    """The results that are not valid after an edit: state and reason, by the last letter."""
    now = {path: text for path, text in {**BEFORE, **edit}.items() if text is not None}
    found = judge_results(RunFacts(run, True, **facts), difference_of(BEFORE, now), [A, B])
    return {
        name[-1]: (verdict.state, verdict.reason)
        for name, verdict in found.items()
        if verdict.state != VALID
    }


PROGRAM: Files = {
    "app.py": """
import pkg.tool
class Hooked:
    def __init_subclass__(cls): ...
class Meta(type): ...
class Plain: ...
class Below(Hooked): ...
class Made(metaclass=Meta): ...
def register(function): return function
def f(): return 1
""",
    "pkg/tool.py": "from app import Below\nclass Near(Below): ...\ndef g():\n    return 1\n",
}
NEW = "tests/deep/test_new.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # of whom the owner is: the tests that need its file
        ("import app\n@app.register\ndef own(): ...\n", "a"),
        ("from app import register as note\n@note\ndef own(): ...\n", "a"),
        ("import pkg.tool\n@pkg.tool.g\ndef own(): ...\n", "b"),
        ("import pkg.tool as t\n@t.g(1)\ndef own(): ...\n", "b"),
        # a package is no module of the run
        ("import pkg\n@pkg.g\ndef own(): ...\n", "ab"),
        ("import tool\n@tool.g\ndef own(): ...\n", "ab"),
        # of a relative name every module that ends so
        ("from ...pkg import tool\n@tool.g\ndef own(): ...\n", "b"),
        ("from .. import app\n@app.register\ndef own(): ...\n", "a"),
        ("from . import ool\n@ool.g\ndef own(): ...\n", ""),
        # a class above it
        ("import app\nclass Own(app.Hooked): ...\n", "a"),
        ("import app\nclass Own(app.Below): ...\n", "a"),
        ("import app\nclass Own(app.Made): ...\n", "a"),
        ("import app\nclass Own(metaclass=app.Meta): ...\n", "a"),
        ("import app\nclass Own(app.Plain): ...\n", ""),
        ("import app\nclass Own(app.Unknown): ...\n", "a"),
        # the class that customizes is in another file than the base
        ("from pkg.tool import Near\nclass Own(Near): ...\n", "a"),
        # one of its own, between
        ("import app\nclass Mine(app.Hooked): ...\nclass Own(Mine): ...\n", "a"),
        (
            "import app\nclass Mine:\n    def __init_subclass__(cls): ...\nclass Own(Mine): ...\n",
            "a",
        ),
        # what has no name, or is its own, reaches what the file imports
        ("import app\nD = {}\n@D['x']\ndef own(): ...\n", "a"),
        ("import app\ndef deco(f): return f\n@deco\ndef own(): ...\n", "a"),
        ("from app import f\ndef deco(f): return f\n@deco\ndef own(): ...\n", "a"),
        ("from pkg import tool\ndef deco(f): return f\n@deco\ndef own(): ...\n", "b"),
        ("import pkg.tool, app\nclass Own(max(1, 2)): ...\n", "ab"),
        ("def deco(f): return f\n@deco\ndef own(): ...\n", ""),
        # known to leave nothing behind
        (
            "import app\nclass V:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(s, v): ...\n",
            "",
        ),
        ("import app, functools\n@functools.cache\n@app.register\ndef own(): ...\n", "a"),
        ("import app, functools\n@functools.cache\ndef own(): ...\n", ""),
        ("import app, pytest\nslow = pytest.mark.shop\n@slow\ndef test_new(): ...\n", ""),
        ("import app, pytest\nslow = pytest.mark.skipif(1)\n@slow\ndef test_new(): ...\n", ""),
        ("import app, slow\nslow = slow.mark\nslow = app.f\n@slow\ndef own(): ...\n", "ab"),
    ],
)
def test_what_a_new_test_file_may_register_reaches_the_tests_of_its_owner(
    text: str, expected: str
) -> None:
    reasons = reasons_by_test({}, {NEW: text})
    assert "".join(reasons) == expected
    # of what is not known where it is, every test may have it
    noted = (f" in {NEW} may be registered", f" may have noted own of {NEW}")
    assert all(any(words in reason for words in noted) for reason in reasons.values())


def reasons_by_test(more: Files, edit: Files) -> dict[str, str]:
    """Last letter of a test → why its result is not valid, after an edit of `PROGRAM` with more."""
    before = BEFORE | PROGRAM | more
    judged_results = judge_results(
        RunFacts(RUN, True), difference_of(before, before | edit), [A, B]
    )
    return {
        name[-1]: verdict.reason
        for name, verdict in judged_results.items()
        if verdict.state != VALID
    }


def test_a_module_beside_a_new_test_file_is_named_by_it() -> None:
    new = {"pkg/test_new.py": "from . import tool\n@tool.g\ndef own(): ...\n"}
    assert reasons_by_test({}, new) == {"b": "own in pkg/test_new.py may be registered"}


def test_what_a_test_file_of_the_run_registers_anew_reaches_the_tests_of_its_owner() -> None:
    old = f"import pkg.tool\n{BEFORE['tests/test_a.py']}"
    own = "@pkg.tool.g\ndef own(): ...\n"
    added = reasons_by_test({"tests/test_a.py": old}, {"tests/test_a.py": old + own})
    assert added["b"] == "own in tests/test_a.py may be registered"
    again = reasons_by_test(
        {"tests/test_a.py": old + own}, {"tests/test_a.py": old + own.replace("g\n", "g(2)\n")}
    )
    assert again["b"] == "own in tests/test_a.py may be registered"
    # it was registered then, too
    same = reasons_by_test(
        {"tests/test_a.py": old + own}, {"tests/test_a.py": f"{old}{own}X = 1\n"}
    )
    assert "b" not in same


@pytest.mark.parametrize(
    ("text", "is_listed"),
    [
        ("from app import Plain\nclass Own(Plain): ...\n", True),
        ("from app import Plain\nclass Own(Exception, Plain): ...\n", True),
        ("class Problem(Exception): ...\n", False),
        ("class Own: ...\n", False),
        ("import app\nOwn = type('Own', (app.Plain,), {})\n", True),
        ("import app, types\nOwn = types.new_class('Own', (app.Plain,))\n", True),
        ("import dataclasses\nOwn = dataclasses.make_dataclass('Own', [])\n", True),
        ("import app\nOwn = app.Plain\n", False),
    ],
)
def test_a_class_of_a_new_test_file_reaches_the_tests_that_list_subclasses(
    text: str, is_listed: bool
) -> None:
    lister = PROGRAM["app.py"].replace("return 1", "return Plain.__subclasses__()")
    reasons = reasons_by_test({"app.py": lister}, {NEW: text})
    if is_listed:
        assert reasons == {"a": f"{NEW} has a class that is new, and subclasses are listed"}
    else:
        assert reasons == {}


@pytest.mark.parametrize(
    ("path", "module", "folder"),
    [
        ("a.py", "a", ""),
        ("pkg/a.py", "pkg.a", "pkg"),
        ("src/pkg/sub/a.py", "pkg.sub.a", "src/pkg"),
        ("src/pkg/__init__.py", "pkg", "src/pkg"),
        ("src/pkg/sub/__init__.py", "pkg.sub", "src/pkg"),
        ("src/pkg/a.py", "pkg.a@1.2", "src/pkg"),
    ],
)
def test_the_folder_of_the_outermost_package(path: str, module: str, folder: str) -> None:
    assert _package_folder(path, module) == folder


def test_each_class_above_that_notes_its_subclasses_is_reached() -> None:
    noting = "class Kept:\n    def __init_subclass__(cls): ...\n"
    more = {
        "pkg/tool.py": f"{noting}def g():\n    return 1\n",
        "app.py": PROGRAM["app.py"].replace(
            "class Hooked:", "from pkg.tool import Kept\nclass Hooked(Kept):"
        ),
    }
    assert more["app.py"] != PROGRAM["app.py"]
    new = {NEW: "import app\nclass Own(app.Hooked): ...\n"}
    assert "".join(reasons_by_test(more, new)) == "ab"


def test_a_package_at_the_top_reaches_who_imports_from_there() -> None:
    reason = dict.fromkeys("ab", ("stale", "__init__.py was added"))
    assert judged({"__init__.py": ""}) == reason


def test_a_folder_of_the_name_of_a_namespace_package_reaches_its_tests() -> None:
    reason = {"b": ("stale", "lib/pkg/extra.py was added")}
    assert judged({"lib/pkg/extra.py": "X = 1\n"}) == reason
    assert judged({"lib/pkg/deep/extra.py": "X = 1\n"}) == {
        "b": ("stale", "lib/pkg/deep/extra.py was added")
    }
    # its own folder, and one of another name
    assert judged({"pkg/extra.py": "X = 1\n"}) == judged({"lib/kg/extra.py": "X = 1\n"}) == {}
    # a folder that was there, and stays
    added = difference_of(BEFORE, BEFORE | {"lib/pkg/extra.py": "X = 1\n"})
    lasting = added._replace(is_lasting=lambda folder: folder == "lib/pkg")
    verdict = judge_results(RunFacts(RUN, True), lasting, [A, B])[B]
    assert verdict.state == VALID


def test_a_package_with_an_init_is_no_namespace_package() -> None:
    places = {"namespace:pkg": "pkg/__init__.py", "function:pkg.tool.g": "pkg/tool.py"}
    places |= {"namespace:pkg.tool": "pkg/tool.py", "function:test_b.test_b": "test_b.py"}
    run = executed_sets(
        {"test_b.py::test_b": {"function:test_b.test_b": "call", "function:pkg.tool.g": "call"}},
        places,
        dict.fromkeys(places, "1"),
        modules={"pkg/__init__.py": ["namespace:pkg"], "pkg/tool.py": ["namespace:pkg.tool"]},
        imports={"test_b.py": ("pkg/tool.py", "pkg/__init__.py")},
    )
    added = difference_of({}, {"lib/pkg/extra.py": "X = 1\n"})
    verdict = judge_results(RunFacts(run, True), added, ["test_b.py::test_b"])
    assert verdict["test_b.py::test_b"].state == VALID


@pytest.mark.parametrize(
    ("unused", "text", "expected"),
    [
        ({"old.py": "import app\n@app.register\ndef own(): ...\n"}, "import old\n", "a"),
        ({"old.py": "import app\n@app.register\ndef own(): ...\n"}, "from old import own\n", "a"),
        ({"old.py": "import app\n@app.register\ndef own(): ...\n"}, "import bold\n", ""),
        ({"pkg/old.py": "import app\n@app.register\ndef o(): ...\n"}, "import pkg.old\n", "a"),
        ({"pkg/old.py": "import app\n@app.register\ndef o(): ...\n"}, "from pkg import old\n", "a"),
        ({"pkg/old.py": "import app\n@app.register\ndef o(): ...\n"}, "import old\n", ""),
        # beside the test, and by a relative import
        ({"tests/deep/old.py": "import app\n@app.register\ndef o(): ...\n"}, "import old\n", "a"),
        (
            {"tests/old.py": "import app\n@app.register\ndef o(): ...\n"},
            "from .. import old\n",
            "a",
        ),
        ({"tests/old.py": "import app\n@app.register\ndef o(): ...\n"}, "from . import old\n", ""),
        # the package around it, and what another one imports
        (
            {"new/__init__.py": "import app\n@app.register\ndef o(): ...\n"},
            "import new.part\n",
            "a",
        ),
        (
            {"old.py": "import older\n", "older.py": "import app\n@app.register\ndef o(): ...\n"},
            "import old\n",
            "a",
        ),
        ({"old.py": "import sys\nsys.setrecursionlimit(9)\n"}, "import old\n", "ab"),
        ({"old.py": "import sys\nsys.setrecursionlimit(9)\n"}, "import sys\n", ""),
    ],
)
def test_a_new_test_file_is_the_first_to_import_a_file(
    unused: Files, text: str, expected: str
) -> None:
    assert "".join(reasons_by_test(unused, {NEW: text})) == expected


# rules of a run


def test_configuration_is_nothing_that_a_test_executes() -> None:
    verdict = configuration_changed(RunFacts(), Difference(whole=("one", "two")))
    assert verdict == Verdict(NOT_ASSESSED, "one; two")
    assert configuration_changed(RunFacts(), Difference()) is None


def test_without_symbols_no_python_file_may_differ() -> None:
    def reason(*paths: str, run: Executed | None = None) -> str:
        changes = {path: FileChange(path, *STATES) for path in paths}
        verdict = no_symbols_recorded(RunFacts(run), Difference(changes))
        assert verdict is None or verdict.state == NOT_ASSESSED
        return verdict.reason if verdict else ""

    assert reason("a.txt") == reason() == reason("a.py", run=RUN) == ""
    assert reason("a.py", "b.txt") == "a.py changed, and no executed symbols were recorded"
    assert reason("a.py", "b.py", "c.py").startswith("a.py, b.py, c.py changed")
    assert reason("a.py", "b.py", "c.py", "d.py").startswith("a.py, b.py, c.py and 1 more ")
    assert reason("a.py", "b.py", "c.py", "d.py", "e.py").startswith("a.py, b.py, c.py and 2 more ")


def test_a_requirement_that_is_documentation_is_none() -> None:
    path = "docs/requirements.txt"
    run = RunFacts(recorded=frozenset({"reads", "looks"}))
    differs = Difference({path: FileChange(path, *STATES)})
    assert facts_not_recorded(run, differs) is not None
    assert facts_not_recorded(run, differs._replace(documents=frozenset({path}))) is None
    assert facts_not_recorded(run, Difference({"a.txt": FileChange("a.txt", *STATES)})) is None


def test_of_a_data_file_an_earlier_kl_did_not_record_who_looks_for_it() -> None:
    run = RunFacts(recorded=frozenset(FACT_CLASSES.keys() - {"looks"}))
    differs = Difference({"a.txt": FileChange("a.txt", *STATES)})
    assert facts_not_recorded(run, differs) is not None
    assert facts_not_recorded(run, differs._replace(documents=frozenset({"a.txt"}))) is None
    assert facts_not_recorded(run, Difference({"a.py": FileChange("a.py", *STATES)})) is None


def test_docstrings_that_an_import_read_belong_to_who_needs_its_file() -> None:
    edit = {"pkg/tool.py": '"""A tool."""\n' + BEFORE["pkg/tool.py"]}
    # an empty path: code outside of the repository, for all tests
    for path, reached in (("", {"b"}), ("pkg/tool.py", {"b"}), ("app.py", set[str]())):
        run = recorded_run(reads=Reads(modules={path: frozenset({Read(DOCS, EVERYTHING)})}))
        assert judged(edit, run).keys() == reached, path


def test_a_docstring_that_differs_may_have_been_shown() -> None:
    text = BEFORE["app.py"]

    def differs(path: str, now: str | None) -> bool:
        return may_have_been_shown(difference_of(BEFORE, {**BEFORE, path: now} if now else BEFORE))

    assert not differs("app.py", None) and not differs("app.py", text + "# more\n")
    assert differs("app.py", '"""An application."""\n' + text)
    assert not differs("added.py", '"""Added."""\n')
    assert not differs("notes.txt", '"""Notes."""\n')
    # its earlier content is not known
    same = FileSymbols({"namespace:_": "1"})
    change = FileChange("app.py", *STATES, same, same)
    lost = Difference({"app.py": change}, text=lambda path, at: b"'Shown.'\n" if at else None)
    assert may_have_been_shown(lost)


def test_a_function_that_differs_may_have_stored_a_value() -> None:
    old, new = FileSymbols({"function:_.f": "1"}), FileSymbols({"function:_.f": "2"})
    unread = FileChange("a.py", *STATES)
    for change, expected in (
        (unread._replace(symbols_before=old, symbols_now=new), True),
        (unread._replace(symbols_before=old, symbols_now=old), False),
        (unread._replace(symbols_now=new), True),
        (unread._replace(state_now="", symbols_before=old), True),
        (unread._replace(state_before="", symbols_now=new), False),
        (unread._replace(path="a.txt"), False),
    ):
        text = FileChange("a.txt", *STATES)
        assert may_have_been_stored(Difference({change.path: change, "z.txt": text})) is expected


# rules of a change


def compared(edit: Mapping[str, str | None], run: Executed = RUN) -> Comparison:
    now = {path: text for path, text in {**BEFORE, **edit}.items() if text is not None}
    return Comparison(run, difference_of(BEFORE, now))


def effects_of(rule: ChangeRule, edit: Files | dict[str, None], run: Executed = RUN) -> list[str]:
    """The reasons that a rule gives for the first file of an edit."""
    comparison = compared(edit, run)
    return [effect.reason for effect in rule(comparison, comparison.changes[next(iter(edit))])]


def test_a_rule_about_an_edited_file_leaves_others_to_other_rules() -> None:
    unknown = recorded_run(unknown={"app.py": "loaded twice"})
    assert effects_of(file_not_comparable, {"app.py": None}, unknown) == []
    assert effects_of(code_read, {"app.py": None}) == []
    assert effects_of(file_added_or_removed, {"app.py": None})[0] == "app.py was removed"
    assert effects_of(file_added_or_removed, {"app.py": BEFORE["app.py"] + "X = 1\n"}) == []


def test_code_objects_that_are_read_rest_on_the_file() -> None:
    reads = {"tests/test_a.py": "import app\ndef test_a():\n    return app.f.__code__\n"}
    files = {**BEFORE, **reads}
    for states, count in ((STATES, 1), (("", STATES[1]), 0), ((STATES[0], ""), 0)):
        change = FileChange("app.py", *states)
        comparison = Comparison(
            RUN, difference_of(files, {**files, "app.py": ""})._replace(changes={"app.py": change})
        )
        assert len(list(code_read(comparison, change))) == count


def test_what_importing_a_test_file_changes_elsewhere_reaches_all() -> None:
    effect = "import os\nos.environ['A'] = '1'\n"
    why = "what importing {} changes elsewhere is not the same"
    # pytest collects it, whatever the run had; what is named on the command line it collected
    assert effects_of(import_effect_changed, {"test_new.py": effect}) == [why.format("test_new.py")]
    assert effects_of(import_effect_changed, {"lib/x.py": effect}) == []
    assert effects_of(import_effect_changed, {"test_new.py": "X = 1\n"}) == []
    named = executed_sets({"lib/x.py::test": {}}, {})
    assert effects_of(import_effect_changed, {"lib/x.py": effect}, named) == [
        why.format("lib/x.py")
    ]


def test_a_changed_file_that_named_a_module_may_get_another() -> None:
    more = {path: BEFORE[path] + "def test_new(): return 1\n" for path in BEFORE if "test" in path}
    assert judged(more) == {}
    assert judged({"src/tool.py": "", **more}) == {"b": (STALE, "src/tool.py was added")}


def test_a_changed_file_that_used_a_name_may_get_another_definition() -> None:
    use = "import app\ndef test_u():\n    try: return g\n    except NameError: return 0\n"
    before = {**PLAIN, "test_u.py": use, "test_n.py": NO_USE}
    edit = {
        "app.py": PLAIN["app.py"] + "def g(): return 1\n",
        "test_u.py": use + "def test_v(): return 1\n",
        "test_n.py": NO_USE + "def test_v(): return 1\n",
        "new.py": "X = 1\n",
    }
    assert reasons(before, edit) == {"test_u": "g in app.py was added"}
    now = {**before, **edit}
    del now["new.py"]
    back = {path: before[path] for path in ("app.py", "test_u.py", "test_n.py")}
    found = reasons(now, {**back, "new.py": "X = 1\n"})
    assert found["test_u"] == "g in app.py was removed"
    assert "test_n" not in found


LIBRARY = """\
class Base: pass
class Keeper:
    def __init_subclass__(cls): pass
def mark(c): return c
@mark
class Noted: pass
Other = Base
"""


@pytest.mark.parametrize(
    ("head", "is_reached"),
    [
        ("class K:\n", False),
        ("from functools import total_ordering\nclass P: pass\nclass K(P):\n", False),
        ("class K(Exception):\n", False),
        ("import json\nclass K(json.JSONEncoder):\n", False),
        ("from dataclasses import dataclass\n@dataclass\nclass K:\n", False),
        ("def mark(c): return c\n@mark\nclass K:\n", True),
        ("def mark(c): return c\n@mark\nclass P: pass\nclass K(P):\n", True),
        ("from lib import Base\nclass K(Base):\n", False),
        ("from lib import Base\nclass P(Base): pass\nclass K(P):\n", False),
        ("import lib\nclass K(lib.Base):\n", False),
        ("from lib import Keeper\nclass K(Keeper):\n", True),
        ("from lib import Keeper\nclass P(Keeper): pass\nclass K(P):\n", True),
        ("from lib import Noted\nclass K(Noted):\n", True),
        ("from lib import Other\nclass K(Other):\n", True),
        ("from click import ClickException\nclass K(ClickException):\n", True),
    ],
)
def test_a_member_of_a_class_that_a_registry_may_know_reaches_all(
    head: str, is_reached: bool
) -> None:
    text = head + "    x = 1\n    def one(self): return 1\n"
    before = {"app.py": text, "lib.py": LIBRARY, "test_n.py": NO_USE}
    found = reasons(before, {"app.py": text + "    def zz(self): return 1\n"})
    assert found == ({"test_n": "K.zz in app.py was added"} if is_reached else {})


def test_members_of_subclasses_count_for_special_names_alone() -> None:
    files = {**BEFORE, "app.py": "class K:\n    def one(self): return 1\n"}

    def comparison(text: str) -> Comparison:
        return Comparison(RUN, difference_of(files, {**files, "app.py": text}))

    for name, count in (("later", 1), ("__eq__", 2)):
        edited = comparison(f"{files['app.py']}    def {name}(self, o): return 1\n")
        effects = list(definition_added_or_removed(edited, edited.changes["app.py"]))
        assert len(effects) == count, name
    # what the run had is asked, not what the file became
    files["app.py"] = "def mark(c): return c\n@mark\nclass K: pass\n"
    undecorated = comparison("def mark(c): return c\nclass K: pass\n")
    assert _may_be_found_elsewhere(undecorated, "app.py", "K")
    assert _may_be_found_elsewhere(undecorated, "app.py", "Missing")


def test_what_ran_and_was_never_committed_is_the_reason_where_nobody_has_its_text() -> None:
    known = difference_of(BEFORE, {**BEFORE, "app.py": f"{BEFORE['app.py']}def open(): return 1\n"})
    lost = known._replace(text=lambda path, at: known.text(path, at) if at else None)
    for difference, reason in (
        (known, "open in app.py was added"),
        (lost, "app.py changed, and what ran was never committed"),
    ):
        comparison = Comparison(RUN, difference)
        effects = definition_added_or_removed(comparison, comparison.changes["app.py"])
        assert reason in {effect.reason for effect in effects}


def test_a_definition_stays_a_test_where_it_is_one_before_and_now() -> None:
    test, other = b"def test_a(): pass\n", b"def helper(): pass\n"
    for before, now, stays in ((test, test, True), (test, other, False), (other, test, False)):
        texts = (before, now)
        difference = Difference(text=lambda path, at, texts=texts: texts[at])  # type: ignore[misc]
        assert _stays_test(Comparison(RUN, difference), "tests/test_a.py", "test_a") is stays


def test_who_reads_metadata_of_a_distribution_rests_on_its_version() -> None:
    def reason(names: set[str], changed: Mapping[str, str], new: Mapping[str, str] = {}) -> str:
        reach: Any = SimpleNamespace(metadata=lambda nodeid: frozenset(names))
        verdict = metadata_changed(RunFacts(RUN, reach=reach, new=new), changed, A)
        assert verdict is None or verdict.state == STALE
        return verdict.reason if verdict else ""

    changed = {"outer": "outer 1 → 2", "leaf": "leaf 1 → 2"}
    assert reason({"outer"}, changed) == "outer 1 → 2"
    assert reason({"other"}, changed) == reason(set(), changed) == ""
    assert reason({"*"}, changed) == "leaf 1 → 2", "the first by name"
    # one that was not installed at all concerns whoever looked at all of them, or for it
    new = {"added": "added 1 is installed now"}
    assert reason({"*"}, changed, new) == reason({"added"}, {}, new) == new["added"]
    assert reason({"leaf"}, {}, new) == reason({"*"}, {}) == ""
    assert metadata_changed(RunFacts(RUN), changed, A) is None, "it is not known who reads it"


def test_a_use_that_the_edit_takes_away_was_one() -> None:
    user = "import app\ndef helper(): return g\n"
    before = {**PLAIN, "lib.py": user, "test_u.py": "import lib\ndef test_u(): return 1\n"}
    edit = {"app.py": PLAIN["app.py"] + "def g(): return 1\n", "lib.py": user.replace("g", "1")}
    assert reasons(before, edit) == {"test_u": "g in app.py was added"}


def test_a_conftest_is_imported_by_no_name() -> None:
    files = {**BEFORE, "x.py": "import conftest\n"}
    comparison = Comparison(RUN, difference_of(files, {**files, "lib/conftest.py": "X = 1\n"}))
    change = comparison.changes["lib/conftest.py"]
    assert len(list(file_added_or_removed(comparison, change))) == 1


def test_only_names_with_both_underscores_are_special() -> None:
    before = {**PLAIN, "test_n.py": NO_USE}
    for name in ("__later", "later__"):
        text = f"{PLAIN['app.py']}def {name}(x): return x\n"
        assert reasons(before, {"app.py": text}) == {}


def test_an_edit_of_a_function_reaches_the_test_that_executed_it() -> None:
    reason = (STALE, "app.f changed")
    assert judged({}) == {}
    assert judged({"app.py": BEFORE["app.py"].replace("1", "2")}) == {"a": reason}
    assert judged({"pkg/tool.py": BEFORE["pkg/tool.py"].replace("1", "2")}) == {
        "b": (STALE, "pkg.tool.g changed")
    }
    assert judged({"app.py": "def f2():\n    return 1\n"})["a"] == (STALE, "app.f was removed")


def test_a_conftest_reaches_the_tests_of_its_folder() -> None:
    text = "X = 1\n"
    assert judged({"tests/deep/conftest.py": text}) == {
        "b": (STALE, "tests/deep/conftest.py changed")
    }
    assert judged({"tests/conftest.py": text}).keys() == {"a", "b"}
    assert judged({"conftest.py": text}).keys() == {"a", "b"}
    assert judged({"tests/de/conftest.py": text}) == {}


def test_hooks_of_folders_are_those_that_pytest_documents_as_such() -> None:
    words = "only conftest files in"
    hooks = {name: hook.__doc__ or "" for name, hook in vars(hookspec).items()}
    of_folders = {name for name, text in hooks.items() if words in " ".join(text.split())}
    # a warning may have no place; the names in conditions of marks are no hook of a test
    assert of_folders - {"pytest_warning_recorded", "pytest_markeval_namespace"} == HOOKS_OF_FOLDERS
    for hook, reached in (("pytest_runtest_call", {"b"}), ("pytest_runtest_protocol", {"a", "b"})):
        text = f"def {hook}(item): pass\n"
        assert judged({"tests/deep/conftest.py": text}).keys() == reached


def test_comments_of_a_conftest_reach_nobody_and_one_that_can_not_be_read_all() -> None:
    path = "tests/deep/conftest.py"

    def reached(old: FileSymbols | None, new: FileSymbols | None) -> set[str]:
        change = FileChange(path, *STATES, old, new)
        difference = Difference({path: change}, text=lambda path, at: b"X = 1\n")
        run = replace(RUN, modules={**RUN.modules, path: frozenset()})
        found = judge_results(RunFacts(run, True), difference, [A, B])
        return {name for name, verdict in found.items() if verdict.state != VALID}

    same, other = FileSymbols({"namespace:_": "1"}), FileSymbols({"namespace:_": "2"})
    assert reached(same, same) == set()
    assert reached(same, other) == reached(None, same) == reached(same, None) == {B}
    broken = same._replace(error="bad")
    assert reached(broken, broken) == reached(broken, same) == {B}


def test_a_file_that_comes_or_goes_reaches_who_may_import_it() -> None:
    assert judged({"other.py": "X = 1\n"}) == {}
    removed = judged({"app.py": None})
    assert removed == {"a": (STALE, "app.f was removed")}
    # the name of a module of Python: installed code imports it too
    added = (STALE, "src/json.py was added, which has the name of a module of Python")
    assert judged({"src/json.py": ""}) == {"a": added, "b": added}
    # a file that names it may get it now
    assert judged({"src/tool.py": ""}) == {"b": (STALE, "src/tool.py was added")}
    assert judged({"tool/__init__.py": ""}) == {"b": (STALE, "tool/__init__.py was added")}
    # the names of modules follow from which folders are packages
    assert judged({"pkg/__init__.py": "X = 1\n"}) == {"b": (STALE, "pkg/__init__.py was added")}
    assert judged({"tests/deep/__init__.py": ""}) == {
        "b": (STALE, "tests/deep/__init__.py was added")
    }
    # its own file names the word no more
    without = {"pkg/tool.py": None, "tests/deep/test_b.py": "def test_b():\n    return 1\n"}
    assert judged(without).keys() == {"b"}


def test_a_conftest_that_no_test_needs_reaches_nobody_by_its_name() -> None:
    text = BEFORE["app.py"] + "# conftest\n"
    assert judged({"lib/conftest.py": "X = 1\n", "app.py": text}) == {}


def test_what_can_not_be_compared_is_not_assessed() -> None:
    edit = {"app.py": "def f():\n    return 2\n"}
    unknown = recorded_run(unknown={"app.py": "loaded twice"})
    assert judged(edit, unknown)["a"] == (NOT_ASSESSED, "app.py changed (loaded twice)")
    state, reason = judged({"app.py": "def (\n"})["a"]
    assert (state, reason) == (NOT_ASSESSED, "app.py can't be read: app.py:1:5: invalid syntax")
    assert judged({"app.py": "def (\n"}).keys() == {"a"}
    states = FileChange("app.py", *STATES, None, symbols_of_file(BEFORE["app.py"]))

    def judge(change: FileChange, run: Executed = RUN) -> dict[str, str]:
        difference = Difference({"app.py": change}, text=lambda path, at: b"def f(): pass\n")
        found = judge_results(RunFacts(run, True), difference, [A, B])
        return {name[-1]: verdict.reason for name, verdict in found.items() if verdict.reason}

    lost = "the earlier content of app.py is not known any more"
    assert judge(states) == {"a": lost}
    broken = FileSymbols(error="bad")
    assert judge(states._replace(symbols_before=broken)) == {"a": lost}
    assert judge(states._replace(symbols_now=None)) == {"a": "app.py can't be read"}
    unneeded = recorded_run(imports={})
    path = "lib/x.py"
    other = states._replace(path=path)
    found = judge_results(RunFacts(unneeded, True), Difference({path: other}), [A])
    assert found[A].state == VALID, "no test needs it"


def test_hooks_of_a_plugin_reach_every_test() -> None:
    plugin = "def pytest_runtest_call():\n    return 1\ndef other():\n    return 1\n"
    known = symbols_of_file(plugin)
    assert known is not None
    symbols = {
        "namespace:plug": known.hashes["namespace:_"],
        "function:plug.pytest_runtest_call": known.hashes["function:_.pytest_runtest_call"],
    }
    places = {symbol: path for path, all_ in SYMBOLS.items() for symbol in all_}
    run = executed_sets(
        {A: {"function:tests.test_a.test_a": "call"}, B: {"function:pkg.tool.g": "call"}},
        {**places, **dict.fromkeys(symbols, "plug.py")},
        {row.symbol: row.content_hash for row in RUN.symbols} | symbols,
        modules={path: [names[0]] for path, names in SYMBOLS.items()}
        | {"plug.py": ["namespace:plug"]},
        imports={"tests/test_a.py": ("app.py", "plug.py"), "tests/deep/test_b.py": ()},
    )
    before = {**BEFORE, "plug.py": plugin}

    def reached(text: str) -> dict[str, str]:
        difference = difference_of(before, {**before, "plug.py": text})
        found = judge_results(RunFacts(run, True), difference, [A, B])
        return {name[-1]: verdict.reason for name, verdict in found.items() if verdict.reason}

    hook = "plug.pytest_runtest_call changed"
    assert reached(plugin.replace("1", "2", 1)) == {"a": hook, "b": hook}
    assert reached(plugin + "# a comment\n") == {}
    assert reached(plugin.replace("other():\n    return 1", "other():\n    return 2")) == {}


PLAIN = {"app.py": "class A:\n    'Old.'\n    def m(self): return 1\ndef f(): return A().m()\n"}
USES_F = "import app\ndef test_f(): return app.f()\n"
NO_USE = "import app\ndef test_n(): return 1\n"


def reasons(before: Files, edit: Files) -> dict[str, str]:
    """Test → why it is not valid."""
    found, _ = verdicts(before, {**before, **edit})
    return {
        name.partition("::")[2]: verdict.reason for name, verdict in found.items() if verdict.reason
    }


@pytest.mark.parametrize(
    ("app", "edited", "reason"),
    [
        # a hook that pytest checks whatever calls it
        (
            "def pytest_exception_interact(node, call): pass\n",
            "def pytest_exception_interact(nodes, call): pass\n",
            "the header of pytest_exception_interact in app.py changed",
        ),
        # wrappers that do not take what they would get, or no arguments
        (
            "import functools\ndef u(): pass\n",
            "import functools\n@functools.cache()\ndef u(): pass\n",
            "the header of u in app.py changed",
        ),
        (
            "import functools\nclass U:\n    @classmethod\n    def u(cls): pass\n",
            "import functools\nclass U:\n    @functools.cache\n    @classmethod\n    def u(cls): pass\n",
            "the header of U.u in app.py changed",
        ),
        # arguments and sides of `|` that a type does not take
        ("", "from typing import Optional\ndef u(x: Optional[int, str]): pass\n", "u in app.py"),
        ("", "def u(x: callable | None): pass\n", "u in app.py was added: "),
        ("", "from typing import List\ndef u(x: List['a b']): pass\n", "u in app.py was added: "),
        ("", "import datetime\ndef u(x: datetime | None): pass\n", "u in app.py was added: "),
        ("", "class U:\n    def u(self, x=__MISSING): pass\n__MISSING = 1\n", ""),
        # a field that is made of it on import
        (
            "from typing import Annotated\ndef u(v): pass\nclass U:\n    x: Annotated[int, u]\n",
            "from typing import Annotated\ndef u(v, w): pass\nclass U:\n    x: Annotated[int, u]\n",
            "the header of u in app.py changed",
        ),
        # a header, in the file of the test only where it is loud
        ("def u(x): pass\n", "def u(x, y=Y): pass\n", "the header of u in app.py changed"),
        # a definition with a decorator that may register it
        ("", "@print\ndef u(): pass\n", "u in app.py was added: "),
        ("@print\ndef u(): pass\n", "", "u in app.py was removed: "),
        # names that the interpreter and pytest ask for
        ("", "def __getattr__(name): raise AttributeError\n", "__getattr__ in app.py was added"),
        ("", "def pytest_configure(): pass\n", "pytest_configure in app.py was added"),
        ("", "def len(x): return 1\n", "len in app.py was added"),
        ("def len(x): return 1\n", "", "len in app.py was removed"),
        # the order of what an import executes
        (
            "def u(): pass\nX = 1\ndef v(): pass\nY = u\n",
            "def u(): pass\ndef v(): pass\nX = 1\nY = u\n",
            "the order of what importing app.py executes changed",
        ),
        ("def u(): pass\n", "def u(): break\n", "app.py:"),
    ],
)
def test_an_edit_around_function_bodies_is_named(app: str, edited: str, reason: str) -> None:
    text = PLAIN["app.py"]
    before = {"app.py": text + app, "test_n.py": NO_USE, "test_x.py": "def test_x(): return 1\n"}
    found = reasons(before, {"app.py": text + edited})
    assert found.keys() == {"test_n"}, found
    assert found["test_n"].startswith(reason)


def test_another_test_of_a_file_reaches_no_test_of_it() -> None:
    before = {"test_n.py": NO_USE, **PLAIN}
    more = NO_USE + "def test_more(x=1): return 1\nclass TestMore:\n    def test_a(self): pass\n"
    assert reasons(before, {"test_n.py": more}) == {}
    function = more.partition("class")[0]
    assert reasons({**before, "test_n.py": function}, {"test_n.py": NO_USE}).keys() == {"test_more"}
    assert "test_n" not in reasons(
        {**before, "test_n.py": more}, {"test_n.py": more.replace("x=1", "x=2")}
    )
    loud = more.replace("x=1", "x=MISSING")
    assert "test_n" in reasons({**before, "test_n.py": more}, {"test_n.py": loud})
    assert reasons(before, {"test_n.py": NO_USE + "def setup_module(): pass\n"}).keys() == {
        "test_n"
    }
    # a test by pytest's configuration, whatever its name
    ini = {"pytest.ini": "[pytest]\npython_functions = check_*\npython_classes = Checks\n"}
    checks = NO_USE + "def check_more(): pass\nclass Checks:\n    def check_a(self): pass\n"
    assert reasons({**before, **ini}, {"test_n.py": checks}) == {}
    assert reasons(before, {"test_n.py": checks}).keys() == {"test_n"}
    # in other files it is no test
    assert reasons(before, {"app.py": PLAIN["app.py"] + "def test_u(x): return x\n"}) == {}


@pytest.mark.parametrize(
    "added",
    [
        "import pytest\n@pytest.fixture\ndef test_client(): return 1\n",
        "from pytest import fixture\n@fixture\ndef test_client(): return 1\n",
        "if True:\n    def test_more(): pass\n",
        "def test_more(): yield 1\n",
    ],
)
def test_what_may_be_no_test_counts_as_used_whatever_it_is_called(added: str) -> None:
    before = {"test_n.py": NO_USE, **PLAIN}
    assert "test_n" in reasons(before, {"test_n.py": NO_USE + added})


def test_a_test_that_becomes_a_fixture_is_none_any_more() -> None:
    before = {"test_n.py": "import pytest\n" + NO_USE + "def test_more(): pass\n", **PLAIN}
    fixture = before["test_n.py"].replace("def test_more", "@pytest.fixture\ndef test_more")
    assert "test_n" in reasons(before, {"test_n.py": fixture})


def test_a_header_of_a_test_that_other_code_names_reaches_that() -> None:
    before = {
        "app.py": "",
        "test_n.py": NO_USE
        + "def test_more(x=1): pass\nclass TestMore:\n    def test_a(self): pass\n",
        "test_u.py": "from test_n import test_more\ndef test_u(): return test_more.__defaults__\n",
        "test_i.py": "import test_n\ndef test_i(): return 1\n",
    }
    edit = {"test_n.py": before["test_n.py"].replace("x=1", "x=2")}
    found = reasons(before, edit)
    assert found["test_u"] == "the header of test_more in test_n.py changed"
    assert found.keys().isdisjoint({"test_n", "test_i"})


def test_a_docstring_that_is_read_is_named() -> None:
    reads = "import app\ndef test_r(): return app.A.__doc__\n"
    before = {**PLAIN, "test_r.py": reads, "test_x.py": "def test_x(): return 1\n"}
    edit = {"app.py": PLAIN["app.py"].replace("Old", "New")}
    reason = "the docstring of A in app.py changed, and docstrings are read"
    assert reasons(before, edit) == {"test_r": reason}
    module = {**before, "app.py": "'Old.'\n" + PLAIN["app.py"].replace("    'Old.'\n", "")}
    assert reasons(module, {"app.py": module["app.py"].replace("Old", "New")}) == {
        "test_r": "the docstring in app.py changed, and docstrings are read"
    }
    # one of two docstrings, and one that was not there
    two = PLAIN["app.py"] + "class B:\n    'Old B.'\n"
    edit = {"app.py": two.replace("Old B", "New B")}
    reads_b = {**before, "app.py": two, "test_r.py": reads.replace("app.A", "app.B")}
    assert "the docstring of B in" in reasons(reads_b, edit)["test_r"]
    assert reasons({**before, "app.py": two}, edit) == {}
    bare = PLAIN["app.py"].replace("    'Old.'\n", "")
    assert reasons({**before, "app.py": bare}, PLAIN) == {"test_r": reason}
    decorated = {**before, "app.py": "@print\n" + PLAIN["app.py"], "test_r.py": NO_USE}
    executed = recorded_docstring_change(decorated)
    assert executed == {"test_n": "the docstring of A in app.py changed, which is decorated"}


def test_a_docstring_inside_a_decorated_class_may_be_read_by_the_decorator() -> None:
    text = "def mark(c): return c\n@mark\nclass A:\n    def m(self):\n        'Old.'\n"
    before = {"app.py": text, "test_n.py": NO_USE}
    assert reasons(before, {"app.py": text.replace("Old", "New")}) == {
        "test_n": "the docstring of A.m in app.py changed, which is decorated"
    }


def recorded_docstring_change(before: Files) -> dict[str, str]:
    text = before["app.py"].replace("@print\n", "def mark(c): return c\n@mark\n")
    return reasons({**before, "app.py": text}, {"app.py": text.replace("Old", "New")})


def test_an_effect_needs_all_of_its_conditions_and_its_folder() -> None:
    test = Comparison(RUN, Difference()).test(A)
    fits, other = Touch(files=frozenset({A.partition("::")[0]})), Touch(files=frozenset({"x.py"}))
    assert Effect("r").applies(test) and Effect("r", (fits,)).applies(test)
    assert Effect("r", (fits, fits), below="tests").applies(test)
    assert not Effect("r", (fits, other)).applies(test)
    assert not Effect("r", below="test").applies(test)
    assert Effect("r").state == STALE
    assert needs(None) == () and needs(None, fits) == (fits,)
    assert needs(frozenset({"a"}), fits) == (Touch(files=frozenset({"a"})), fits)


# rules of a test


def test_a_result_without_executed_symbols_rests_on_its_file() -> None:
    skipped, doctest = "tests/test_a.py::test_skipped", "docs/guide.py::guide"
    other = {"app.py": BEFORE["app.py"].replace("1", "2")}
    own = {"tests/test_a.py": BEFORE["tests/test_a.py"] + "def test_new(): pass\n"}

    def judge(edit: Files, *names: str, run: Executed = RUN) -> list[tuple[str, str]]:
        found = judge_results(
            RunFacts(run, True), difference_of(BEFORE, {**BEFORE, **edit}), list(names)
        )
        return [(found[name].state, found[name].reason) for name in names]

    assert judge(own, skipped, A) == [(STALE, "tests/test_a.py changed"), (VALID, "")]
    missing = (NOT_ASSESSED, "what it executed was not recorded")
    assert judge(other, doctest, "docs/guide.txt::guide") == [missing, (VALID, "")]
    assert judge(other, "tests/deep/test_b.py::test_none") == [(VALID, "")]
    assert judge({"notes.txt": "new"}, doctest) == [(VALID, "")]
    imported = recorded_run(imports={"docs/guide.py": ("pkg/tool.py",)})
    assert judge(other, doctest, run=imported) == [(VALID, "")]


def test_a_test_that_executed_more_than_is_recorded_is_not_assessed() -> None:
    run = recorded_run(incomplete={B: "it started a thread"})
    assert judged({"app.py": BEFORE["app.py"].replace("1", "2")}, run)["b"] == (
        NOT_ASSESSED,
        "it started a thread",
    )
    assert judged({}, run) == {}


def test_an_inherited_test_is_found_by_its_name() -> None:
    base = "class Base:\n    def test_m(self): return 1\n    def help(self): return 1\n"
    places = {
        "namespace:test_i": "test_i.py",
        "method:base.Base.test_m": "base.py",
        "method:base.Base.help": "base.py",
        "namespace:base": "base.py",
    }
    inherited, called = "test_i.py::TestI::test_m", "test_i.py::TestI::help"
    run = executed_sets(
        {
            inherited: {"method:base.Base.test_m": "call"},
            called: {"method:base.Base.help": "call"},
        },
        places,
        modules={"test_i.py": ["namespace:test_i"], "base.py": ["namespace:base"]},
        imports={"test_i.py": ("base.py",)},
    )
    symbols = FileSymbols({"namespace:_": run.symbols[-1].content_hash})
    change = FileChange("test_i.py", *STATES, symbols, symbols)
    difference = Difference({"test_i.py": change}, text=lambda path, at: base.encode())
    found = judge_results(RunFacts(run, True), difference, [inherited, called])
    assert (found[inherited].state, found[called].reason) == (VALID, "test_i.py changed")


def test_the_function_of_a_test_is_found_by_its_full_name() -> None:
    names = {
        "t.py::Sub::check": "method:t.Sub.check",
        "t.py::test_p[1-a]": "function:t.test_p",
        "t.py::test_other": "function:other.test_other",
        "t.py::test_method": "method:t.Sub.check",
    }
    places = {"function:other.test_other": "other.py", "namespace:t": "t.py"}
    places |= {name: "t.py" for name in names.values() if name.partition(":")[2][0] == "t"}
    run = executed_sets({test: {name: "call"} for test, name in names.items()}, places)
    difference = Difference({"t.py": FileChange("t.py", *STATES)})
    comparison = Comparison(run, difference)
    found = {name for name in names if own_file_changed(comparison, (), comparison.test(name))}
    assert found == {"t.py::test_other", "t.py::test_method"}


def test_stale_and_doubtful_effects_are_distinguished() -> None:
    comparison = Comparison(RUN, Difference())
    test, doubtful = comparison.test(A), [Effect("r", state=NOT_ASSESSED)]
    assert stale_by_effect(comparison, doubtful, test) is None
    assert doubtful_by_effect(comparison, doubtful, test) == Verdict(NOT_ASSESSED, "r")
    assert stale_by_effect(comparison, [Effect("r")], test) == Verdict(STALE, "r")


def test_a_changed_file_without_symbols_that_a_test_needs_is_not_assessed() -> None:
    run = recorded_run(unknown={"app.py": "loaded twice"})
    changed, other = compared({"app.py": None}, run), compared({"pkg/tool.py": None}, run)
    verdict = Verdict(NOT_ASSESSED, "app.py is not known (loaded twice)")
    assert needs_unknown_file(changed, (), changed.test(A)) == verdict
    assert needs_unknown_file(changed, (), changed.test(B)) is None
    assert needs_unknown_file(other, (), other.test(A)) is None


# rules of the environment


def test_what_is_installed_now_reaches_the_tests_that_rest_on_it() -> None:
    uses = Uses(
        files={"app.py": ("one", "two")},
        missing={"pkg/tool.py": ("quick",)},
        installed={},
        requires={},
    )
    run = replace(RUN, distributions=uses)
    distributions = Distributions({"one": "1", "two": "1"})
    facts = RunFacts(run, True, reach=Reach(distributions, run))
    one = facts._replace(installed={"one": "one 1 → 2"})
    assert distribution_changed(one, {"one": "one 1 → 2"}, A) == Verdict(STALE, "one 1 → 2")
    both = {"two": "two 1 → 2", "one": "one 1 → 2"}
    assert distribution_changed(facts, both, A) == Verdict(STALE, "one 1 → 2 and 1 more")
    assert distribution_changed(facts, both, B) is None
    assert distribution_changed(facts, {}, A) is None
    assert distribution_changed(RunFacts(), both, A) is None
    added = facts._replace(added={"quick": "quick is installed now"})
    assert module_added(added, {}, B) == Verdict(STALE, "quick is installed now")
    assert module_added(added, {}, A) is module_added(facts, {}, B) is None
    assert module_added(RunFacts(added={"quick": "w"}), {}, B) is None
    started = facts._replace(start="site changed")
    assert start_changed(started, {}, A) == Verdict(STALE, "site changed")
    assert start_changed(facts, {}, A) is None
    for changed, expected in ((one, {A}), (added, {B}), (started, {A, B}), (facts, set())):
        found = judge_results(changed, Difference(), [A, B])
        assert {name for name, verdict in found.items() if verdict.state != VALID} == expected
    # what the content has against a result comes first
    edit = difference_of(BEFORE, {**BEFORE, "app.py": BEFORE["app.py"].replace("1", "2")})
    assert judge_results(one, edit, [A])[A].reason == "app.f changed"


# in words, and the fold


def test_changed_symbols_in_words() -> None:
    symbols = [row.symbol for row in RUN.symbols]
    for names, verb, words in (
        (["function:app.f"], "changed", "app.f changed"),
        (["function:app.f"], "was removed", "app.f was removed"),
        (["namespace:app"], "changed", "the body of app changed"),
        (["function:app.f", "namespace:app"], "changed", "app.f and 1 more changed"),
    ):
        changed = {symbols.index(name): verb for name in names}
        assert changed_words(names, changed, RUN) == words
    for kind in ("type", "interface"):
        run = executed_sets({}, {f"{kind}:app.C": "app.py"})
        assert changed_words([f"{kind}:app.C"], {0: "changed"}, run).startswith("the body of")


def test_where_no_source_differs_only_unseen_reads_count() -> None:
    run = recorded_run(incomplete={B: "it started another process"}, reads=None)
    document = Difference(
        {"NEWS.md": FileChange("NEWS.md", *STATES)},
        documents=frozenset({"NEWS.md"}),
        read_documents={"NEWS.md": "test_b names it"},
    )
    found = judge_results(RunFacts(run, True), document, [A, B])
    assert {name[-1]: verdict.state for name, verdict in found.items()} == {
        "a": VALID,
        "b": NOT_ASSESSED,
    }
    silent = document._replace(read_documents={})
    for facts in (RunFacts(run, True), RunFacts(None, False)):
        assert {verdict.state for verdict in judge_results(facts, silent, [A, B]).values()} == {
            VALID
        }


def test_a_rule_of_a_run_speaks_about_all_of_its_results() -> None:
    found = judge_results(RunFacts(), difference_of(BEFORE, {**BEFORE, "app.py": ""}), [A, B])
    assert {verdict.state for verdict in found.values()} == {NOT_ASSESSED}


def test_source_and_data_are_judged_together() -> None:
    edit = {"app.py": BEFORE["app.py"].replace("1", "2"), "NEWS.md": "new"}
    difference = difference_of(BEFORE, {**BEFORE, **edit})._replace(
        documents=frozenset({"NEWS.md"})
    )
    run = recorded_run(reads=None)
    found = judge_results(RunFacts(run, True), difference, [A, B])
    assert (found[A].reason, found[B].state) == ("app.f changed", VALID)
    reads = recorded_run(reads=Reads({B: frozenset({Read("NEWS.md")})}))
    data = difference_of(BEFORE, {**BEFORE, "NEWS.md": "new"})
    found = judge_results(RunFacts(reads, True), data, [A, B])
    assert (found[A].state, found[B].state) == (VALID, STALE)


def test_definitions_are_known_only_where_nothing_else_speaks_against_a_test() -> None:
    """By them it is decided whether a changed function may reset what tests leave behind."""
    difference = difference_of(BEFORE, {**BEFORE, "app.py": BEFORE["app.py"].replace("1", "2")})
    for incomplete, definitions in ({}, frozenset()), ({A: "it started a process"}, None):
        comparison = Comparison(recorded_run(incomplete=incomplete), difference)
        test = comparison.test(A)
        assert changed_definitions(comparison, Effects(comparison), test) == definitions
    header = {"app.py": BEFORE["app.py"].replace("def f():", "def f(more=1):")}
    comparison = Comparison(RUN, difference_of(BEFORE, {**BEFORE, **header}))
    assert changed_definitions(comparison, Effects(comparison), comparison.test(A)) == {
        Definition("app.py", "f")
    }


KEEP = "def keep(function):\n    return function\n"
CALLS_F = "import app\ndef test_f():\n    return app.f()\n"


@pytest.mark.parametrize(
    ("old", "new", "is_known"),
    [
        ("def f(): return 1\n", "def f(more=1): return 1\n", True),
        ("def f(): return 1\n", "@lib.keep\ndef f(): return 1\n", False),
        ("@lib.keep\ndef f(): return 1\n", "def f(): return 1\n", False),
        ("@lib.keep\ndef f(): return 1\n", "@lib.keep\ndef f(more=1): return 1\n", False),
    ],
)
def test_what_a_decorator_does_with_a_definition_is_not_known(
    old: str, new: str, is_known: bool
) -> None:
    before = {"app.py": f"import lib\n{old}", "lib.py": KEEP, "test_f.py": CALLS_F}
    run, _ = run_program(before)
    comparison = Comparison(
        run, difference_of(before, {**before, "app.py": before["app.py"].replace(old, new)})
    )
    effects = [*header_changed(comparison, comparison.changes["app.py"])]
    assert any(effect.definition is None for effect in effects) is not is_known
    assert effects


# plain values, defaults, docstrings

CLASSES = """\
import enum
from dataclasses import dataclass, replace
from lib import Base, Keeper
class K:
    size = 1
    def one(self): return 1
class Low(K): pass
class Own(Base):
    size = 1
class Kept(Keeper):
    size = 1
class Many(enum.Enum):
    size = 1
class Both(Base, dict):
    size = 1
class Timed(K, object):
    size = 1
class Called:
    size = 1
    other = print
class Described:
    size = 1
    @lib.field
    def one(self): return 1
@dataclass
class Point:
    size: int = 1
@print
class Printed:
    size = 1
class Outer:
    class Inner:
        size = 1
"""
USES = {
    "test_k.py": "import app\ndef test_k(): return app.K().one()\n",
    "test_low.py": "import app\ndef test_low(): return app.Low().one()\n",
    "test_word.py": "import app\ndef test_word(): return getattr(app, 'thing', None) or 'size'\n",
    "test_n.py": NO_USE,
    "lib.py": LIBRARY + "def field(f): return f\n",
}
LIB_HEAD = "import lib\n"


def reached(edit: str, old: str, new: str, text: str = CLASSES) -> set[str]:
    """The tests that are not valid after an edit of a class of `CLASSES`."""
    before = {"app.py": LIB_HEAD + text, **USES}
    start = text.index(f"class {edit}")
    changed = text[:start] + text[start:].replace(old, new, 1)
    assert changed != text
    return {*reasons(before, {"app.py": LIB_HEAD + changed})}


EVERY: frozenset[str] = frozenset({"test_k", "test_low", "test_word", "test_n"})


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("K", {"test_k", "test_low", "test_word"}),
        ("Own", {"test_word"}),
        ("Both", {"test_word"}),
        ("Timed", {"test_word"}),
        ("Point", {"test_word"}),
        # what may do something with the value: a base, a metaclass, a decorator, the body, a member
        ("Kept", EVERY),
        ("Many", EVERY),
        ("Printed", EVERY),
        ("Called", EVERY),
        ("Described", EVERY),
    ],
)
def test_a_value_of_a_class_reaches_who_has_the_class_or_asks_for_the_name(
    name: str, tests: set[str]
) -> None:
    old = "size: int = 1" if name == "Point" else "size = 1"
    assert reached(name, old, old.replace("1", "2")) == tests


def test_a_value_that_is_added_or_removed_reaches_who_has_the_word_in_its_files() -> None:
    assert reached("K", "size = 1", "size = 1\n    more = 1") == {"test_k", "test_low"}
    # other classes of the file have the name
    assert reached("K", "    size = 1\n", "") == EVERY
    # of a data class that changes which arguments it takes, and which its subclasses may have
    for new in ("size: int = 1\n    more: int = 1", "size: str = 1", "size: int = []"):
        assert reached("Point", "size: int = 1", new) == EVERY, new
    # the body of a class in another one is its own
    assert reached("Outer", "size = 1", "size = 2") == {"test_word"}


def test_a_class_that_a_docstring_mentions_is_used_by_its_examples_alone() -> None:
    run_examples = "import app, doctest\ndef test_run(): return doctest.run_docstring_examples\n"
    has_one = "import app\ndef test_own():\n    '>>> app.K().size'\n"
    tests = {"test_n.py": NO_USE, "test_run.py": run_examples}
    for text, users in (("See K.", set()), (">>> K().size", {"test_run"})):
        for head in (f'"""{text}"""\n', f'def f():\n    """{text}"""\n'):
            before = {"app.py": f"{head}class K:\n    size = 1\n", **tests}
            edit = {"app.py": before["app.py"].replace("size = 1\n", "size = 1\n    more = 1\n")}
            assert reasons(before, edit).keys() == users, head
    before = {"app.py": "class K:\n    size = 1\n", "test_n.py": NO_USE, "test_own.py": has_one}
    assert reasons(before, {"app.py": "class K:\n    size = 2\n"}).keys() == {"test_own"}


def test_a_name_that_a_text_has_counts_where_it_is_more_than_compared() -> None:
    app = "class K:\n    size = 1\ndef other(): return 1\n"
    for code, is_used in (
        ("app.other() == 'size'", False),
        ("app.other() in ('size', 'name')", False),
        ("app.other() == str('size')", True),
        ("app.other() < 'size' if 0 else 1", True),
        ("app.other() == 'size' or len(globals()) and 1", True),
        ("app.other() == 'size' or getattr(int, 'bit_' + 'count')", True),
    ):
        before = {"app.py": app, "test_t.py": f"import app\ndef test_t(): return {code}\n"}
        found = reasons(before, {"app.py": app.replace("size = 1", "size = 2")})
        assert bool(found) is is_used, code


def test_the_reason_names_the_value() -> None:
    before = {"app.py": LIB_HEAD + CLASSES, **USES}
    for new, verb in (("size = 2", "changed"), ("size = 1\n    more = 1", "was added")):
        found = reasons(before, {"app.py": LIB_HEAD + CLASSES.replace("size = 1", new, 1)})
        name = "more" if "more" in new else "size"
        assert found["test_k"] == f"K.{name} in app.py {verb}"
    edited = {"app.py": LIB_HEAD + CLASSES.replace("    size = 1\n", "", 1)}
    assert reasons(before, edited)["test_k"] == "K.size in app.py was removed"


def test_values_of_test_files_and_of_what_can_not_be_compared_reach_all() -> None:
    text = "class Base_:\n    size = 1\ndef test_own(): return 1\n"
    for path in ("test_own.py", "conftest.py"):
        before = {path: text, "test_n.py": f"import {path[:-3]}\ndef test_n(): return 1\n"}
        found = reasons(before, {path: text.replace("size = 1", "size = 2")})
        assert "test_n" in found, path


def test_another_annotation_of_a_value_may_fail_on_import() -> None:
    before = {"app.py": "class K:\n    limit: int = 3\n", "test_n.py": NO_USE}
    for annotation in ("Missing", "str"):
        edit = {"app.py": before["app.py"].replace("int", annotation)}
        assert reasons(before, edit) == {"test_n": "the body of app.K changed"}
    assert reasons(before, {"app.py": before["app.py"].replace("3", "4")}) == {}


def test_a_value_below_a_class_that_is_its_own_base_by_name_is_judged() -> None:
    text = "class K: pass\nclass K(K): pass\nclass Low(K):\n    size = 1\n"
    assert {"test_low", "test_word"} <= reached("Low(K)", "size = 1", "size = 2", text)


PACKAGE = {
    "parts.py": "__all__ = ['a']\ndef a(): return 1\ndef b(): return 2\n",
    "star.py": "from parts import *\n",
    "again.py": "from star import *\n",
    "joined.py": "import parts\n__all__ = ['c', *parts.__all__]\n",
    "named.py": "import parts\ndef names(): return parts.__all__\ndef other(): return 1\n",
    "test_star.py": "import star\ndef test_star(): return star.a()\n",
    "test_again.py": "import again\ndef test_again(): return again.a()\n",
    "test_joined.py": "import joined\ndef test_joined(): return 1\n",
    "test_named.py": "import named\ndef test_named(): return named.names()\n",
    "test_other.py": "import named\ndef test_other(): return named.other()\n",
    "test_made.py": (
        "import parts\ndef test_made():\n    space = {}\n"
        "    exec('from parts import *', space)\n    return sorted(space)[1:]\n"
    ),
    "test_listed.py": "import parts\ndef test_listed(): return sorted(vars(parts))\n",
    "test_asked.py": "import parts\ndef test_asked(): return ask(parts, 'X')\n"
    "def ask(o, n): return getattr(o, n.lower(), 0)\n",
    "test_a.py": "import parts\ndef test_a(): return parts.a()\n",
}


COUNTING = {
    "app.py": "def more(): return [1]\ndef less():\n    'Less.'\n    return 0\n",
    # of the youngest alone: a worker of a whole run has millions
    "test_count.py": "import gc\ndef test_count(): return len(gc.get_objects(0)) >= 0\n",
    "test_app.py": "import app\ndef test_app(): return app.more()\n",
}


def test_a_comment_makes_no_objects_that_could_be_counted() -> None:
    text = COUNTING["app.py"]
    for quiet in (text + "# later\n", text.replace("[1]", "[ 1 ]")):
        assert not reasons(COUNTING, {"app.py": quiet})
    for loud in (text + "def new(): return 1\n", text.replace("'Less.'", "'Fewer.'")):
        assert "test_count" in reasons(COUNTING, {"app.py": loud})
    assert "test_count" in reasons(COUNTING, {"app.py": text + "def broken(:\n"})


def test_the_list_of_public_names_reaches_who_imports_by_it_or_asks_for_it() -> None:
    parts = PACKAGE["parts.py"]
    tests = {"test_star", "test_again", "test_joined", "test_named", "test_made", "test_listed"}
    for new in ("['a', 'b']", "['a', 'c']"):
        found = reasons(PACKAGE, {"parts.py": parts.replace("['a']", new)})
        assert found.keys() == tests, new
        assert found["test_star"] == "__all__ in parts.py changed"
    removed = reasons(PACKAGE, {"parts.py": parts.partition("\n")[2]})
    assert removed.keys() == tests and removed["test_star"] == "__all__ in parts.py was removed"
    # any other name of a module may be read by whatever imports it
    found = reasons(PACKAGE, {"parts.py": parts + "X = 1\n"})
    assert found.keys() == {name[:-3] for name in PACKAGE if name.startswith("test_")}


DEFAULTS = """\
import lib, pytest
def free(x=1, *, y=2): return x
def other(): return 1
def loud(x: lib.Base = 1): return x
@lib.mark
def marked(x=1): return x
class K:
    def one(self, x=1): return 1
    def two(self): return 2
class Kept(lib.Keeper):
    def one(self, x=1): return 1
class Noting:
    def __init_subclass__(cls): pass
    def kept(self): return 1
    shown = kept.__defaults__
"""
CALLS = {
    "test_free.py": "from app import free\ndef test_free(): return free()\n",
    "test_alias.py": "from app import free as f\nimport lib\n"
    "def test_alias(): return lib.shown(f)\n",
    "test_k.py": "import app\ndef test_k(): return app.K().two()\n",
    "test_listed.py": "import app\ndef test_listed(): return len(vars(app)) and 1\n",
    "test_asked.py": "import app, lib\ndef test_asked(): return lib.asked(app, 'OTHER')\n",
    "test_below.py": "import app, lib\ndef test_below(): return len(lib.below(app.Kept)) and 1\n",
    "test_n.py": NO_USE,
    "lib.py": LIBRARY + "def shown(f): return f.__defaults__\n"
    "def asked(o, name): return getattr(o, name.lower())()\n"
    "def below(c): return [c, *c.__subclasses__()]\n",
}


@pytest.mark.parametrize(
    ("definition", "new", "tests"),
    [
        ("free(x=1", "free(x=2", {"test_free", "test_alias", "test_listed", "test_asked"}),
        ("y=2", "y=(3, 'a')", {"test_free", "test_alias", "test_listed", "test_asked"}),
        ("free(x=1", "free(x=[]", None),
        ("free(x=1", "free(x", None),
        ("free(x=1", "free(z=1", None),
        ("free(x=1", "free(x=MISSING", None),
        ("def free", "@print\ndef free", None),
        ("two(self)", "two(self, z=1)", None),
        ("    def two(self", "    @staticmethod\n    def two(self=1", None),
        ("class K:", "class K(object):", None),
        ("def other", "@pytest.fixture\ndef other", None),
        ("    def kept", "    @staticmethod\n    def kept", None),
        ("    def __init_subclass__", "    @staticmethod\n    def __init_subclass__", None),
        ("    def __init_subclass__(cls)", "    def __init_subclass__(cls, **more)", None),
        ("marked(x=1", "marked(x=2", None),
        ("loud(x: lib.Base = 1", "loud(x: lib.Base = 2", None),
        (
            "K:\n    def one(self, x=1",
            "K:\n    def one(self, x=2",
            {"test_k", "test_listed", "test_asked", "test_below"},
        ),
        (
            "Kept(lib.Keeper):\n    def one(self, x=1",
            "Kept(lib.Keeper):\n    def one(self, x=2",
            None,
        ),
    ],
)
def test_another_default_reaches_who_calls_the_function_or_may_read_its_signature(
    definition: str, new: str, tests: set[str] | None
) -> None:
    before = {"app.py": DEFAULTS, **CALLS}
    found = reasons(before, {"app.py": DEFAULTS.replace(definition, new, 1)})
    every = {name[:-3] for name in CALLS if name.startswith("test_")}
    assert found.keys() == (every if tests is None else tests)


@pytest.mark.parametrize(
    "use",
    [
        "@print\ndef items(p: Annotated[dict, free]): pass\n",
        "@print\ndef items(p: Annotated[dict, taken]): pass\n",
        "class Items:\n    p: Annotated[dict, free]\n",
    ],
)
def test_a_function_that_an_annotation_hands_to_a_library_is_called_on_import(use: str) -> None:
    start = "from typing import Annotated\nfrom app import free\nfrom app import free as taken\n"
    before = {
        "app.py": "def free(q, limit=1): pass\n",
        "main.py": start + use,
        "test_main.py": "import main\ndef test_main(): return 1\n",
        "test_n.py": NO_USE,
    }
    found = reasons(before, {"app.py": "def free(q, limit=2): pass\n"})
    assert found == {"test_main": "the header of free in app.py changed"}
    # without a decorator it is an annotation like any other
    quiet = {**before, "main.py": start + "def items(p: Annotated[dict, free]): pass\n"}
    assert reasons(quiet, {"app.py": "def free(q, limit=2): pass\n"}) == {}


def test_the_class_in_an_annotation_that_is_read_is_got_without_its_name() -> None:
    before = {
        "app.py": "class Service:\n    def run(self, x=1): pass\n",
        "lib.py": "import app\ndef make(s: app.Service): pass\n",
        "test_read.py": "import inspect\nimport lib\ndef test_read():\n"
        "    kind = inspect.signature(lib.make).parameters['s'].annotation\n"
        "    return str(inspect.signature(kind.run))\n",
        "test_n.py": NO_USE,
    }
    edited = before["app.py"].replace("x=1", "x=2")
    assert reasons(before, {"app.py": edited}).keys() == {"test_read"}


def test_a_default_in_a_test_file_may_be_of_what_pytest_calls() -> None:
    hook = "def pytest_generate_tests(metafunc, sizes=(1, 2)): pass\n"
    before = {"test_own.py": hook + "def test_own(): return 1\n", "test_n.py": NO_USE, "app.py": ""}
    found = reasons(before, {"test_own.py": before["test_own.py"].replace("(1, 2)", "(1, 2, 3)")})
    assert found.keys() == {"test_own"}


DOCUMENTED = '''\
"""Module."""
import lib
def free():
    """Free."""
    def inner():
        """Inner."""
    return 1
class K:
    """K."""
    def one(self):
        """One."""
        return 1
class Kept(lib.Keeper):
    """Kept."""
'''
READS = {
    "test_free.py": "import app, lib\ndef test_free(): return lib.text(app.free)\n",
    "test_called.py": "import app\ndef test_called(): return app.free()\n",
    "test_k.py": "import app, lib\ndef test_k(): return lib.text(app.K().one)\n",
    "test_below.py": "import app, lib\ndef test_below(): return lib.below(object)\n",
    "test_listed.py": "import app, lib\ndef test_listed(): return lib.listed(app)\n",
    "test_other.py": "import app, lib\ndef test_other(): return lib.text(len)\n",
    "lib.py": LIBRARY + "def text(x): return str(x.__doc__)[:3]\n"
    "def below(c): return text(c) and len(c.__subclasses__()) * 0\n"
    "def listed(m): return [text(x) for x in vars(m).values() if callable(x)] * 0\n",
}


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("Free.", {"test_free", "test_listed"}),
        ("K.", {"test_k", "test_listed", "test_below"}),
        ("One.", {"test_k", "test_listed", "test_below"}),
        # whoever reads docstrings may have the module, what a function defines, or what is
        # registered
        ("Module.", {"test_free", "test_k", "test_below", "test_listed", "test_other"}),
        ("Inner.", {"test_free", "test_k", "test_below", "test_listed", "test_other"}),
        ("Kept.", None),
    ],
)
def test_a_docstring_reaches_who_reads_docstrings_and_may_have_what_it_is_of(
    text: str, tests: set[str] | None
) -> None:
    before = {"app.py": DOCUMENTED, **READS}
    found = reasons(before, {"app.py": DOCUMENTED.replace(text, "Other.", 1)})
    every = {name[:-3] for name in READS if name.startswith("test_")}
    assert found.keys() == (every if tests is None else tests)


DRAWING = {
    "lib.py": "import random\ndef number(): return random.random()\n"
    "def own(): return random.Random(5).random()\n",
    "test_drawn.py": "import lib\ndef test_drawn(): assert lib.number() < 1\n",
    "test_own.py": "import lib\ndef test_own(): assert lib.own() < 1\n",
}


@pytest.mark.parametrize(
    ("at_import", "tests"),
    [
        ("NUMBER = random.random()", {"test_drawn"}),
        ("class Numbers:\n    first = random.random()", {"test_drawn"}),
        ("def number(first=random.random()): ...", {"test_drawn"}),
        ("NUMBER = random.Random(5).random()", set()),
        ("def number(): return random.random()", set()),
        ("def pick(choose=random.choice, first=1): ...\nTHREE = 3", set()),
    ],
)
def test_a_test_file_that_draws_random_numbers_reaches_who_draws_them_later(
    at_import: str, tests: set[str]
) -> None:
    new = f"import random\n{at_import}\ndef test_new(): ...\n"
    assert reasons(DRAWING, {"test_new.py": new}).keys() == tests
    without = {**DRAWING, "test_new.py": "import random\ndef test_new(): ...\n"}
    assert reasons(without, {"test_new.py": new}).keys() - {"test_new"} == tests
    removed, _ = verdicts({**DRAWING, "test_new.py": new}, DRAWING)
    stale = {name.partition("::")[2] for name, verdict in removed.items() if verdict.reason}
    assert stale - {"test_new"} == tests


def test_any_code_may_change_what_the_interpreter_counts() -> None:
    before = {
        "app.py": "def free(): return 1\n",
        "lib.py": "import gc\nimport weakref\n"
        "def alive(): return len(gc.get_objects())\n"
        "def references(x): return weakref.getweakrefcount(x)\n"
        "def refer(x): return weakref.ref(x)\n",
        "test_app.py": "import app\ndef test_app(): app.free()\n",
        "test_alive.py": "import lib\ndef test_alive(): lib.alive()\n",
        "test_references.py": "import lib\ndef test_references(): lib.references(lib.alive)\n",
        "test_refer.py": "import lib\ndef test_refer(): lib.refer(lib.alive)\n",
        "notes.md": "Old.\n",
    }
    counting = {"test_alive", "test_references"}
    changed = before["app.py"].replace("1", "2")
    assert reasons(before, {"app.py": changed}).keys() == counting | {"test_app"}
    assert reasons(before, {"test_new.py": "def test_new(): ...\n"}).keys() == counting
    assert reasons(before, {"notes.md": "New.\n"}).keys() == set()


REGISTRY = {
    "registry.py": "H = {}\ndef register(f):\n    H[f.__name__] = f\n    return f\n"
    "def wraps(f):\n    return f\n",
    "csvs.py": "import registry\nregistry.H['csv'] = 1\n",
    "test_a.py": "import csvs\ndef test_a(): assert csvs\n",
    "test_b.py": "import registry\ndef test_b(): assert len(registry.H) < 9\n",
    "test_c.py": "def test_c(): ...\n",
}
REGISTERING = {
    **REGISTRY,
    "csvs.py": "from registry import register, wraps\n@register\ndef csv(): ...\n",
}


@pytest.mark.parametrize(
    ("before", "edit", "tests"),
    [
        (REGISTRY, {"csvs.py": "import registry\nregistry.H['tsv'] = 1\n"}, "ab"),
        (REGISTRY, {"csvs.py": "import registry\n"}, "ab"),
        (REGISTRY, {"csvs.py": None, "test_a.py": "def test_a(): ...\n"}, "ab"),
        # nothing imports it any more
        (REGISTRY, {"test_a.py": None}, "b"),
        (REGISTRY, {"test_a.py": "def test_a(): ...\n"}, "ab"),
        (REGISTRY, {"test_a.py": "import csvs\ndef test_a(): assert 1\n"}, "a"),
        # an import inside a function, and one that another file has now
        (
            {**REGISTRY, "test_a.py": "def test_a():\n    import csvs\n    assert csvs\n"},
            {"test_a.py": "def test_a():\n    import csvs\n    assert 1\n"},
            "a",
        ),
        (
            REGISTRY,
            {"test_a.py": "def test_a(): ...\n", "test_c.py": "import csvs\ndef test_c(): ...\n"},
            "ac",
        ),
        # it moves into a function, which runs after other tests
        (REGISTRY, {"test_a.py": "def test_a():\n    import csvs\n    assert csvs\n"}, "ab"),
        (
            REGISTRY,
            {
                "test_a.py": "def test_a(): ...\n",
                "test_c.py": "def test_c():\n    import csvs\n    assert csvs\n",
            },
            "abc",
        ),
        # a decorator that stores, and one that does not
        (REGISTERING, {"csvs.py": REGISTERING["csvs.py"].replace("def csv", "def tsv")}, "ab"),
        (REGISTERING, {"csvs.py": "from registry import register, wraps\n"}, "ab"),
        (REGISTERING, {"test_a.py": None}, "b"),
        (
            {**REGISTERING, "csvs.py": REGISTERING["csvs.py"].replace("@register", "@wraps")},
            {"test_a.py": None},
            "",
        ),
        (
            {
                **REGISTRY,
                "registry.py": "import functools\n@functools.singledispatch\ndef show(x): ...\nH = {}\n",
                "csvs.py": "import registry\n@registry.show.register(int)\ndef of_int(x): ...\n",
            },
            {"test_a.py": None},
            "b",
        ),
        # of the library: any test may use it
        (REGISTRY, {"csvs.py": f"{REGISTRY['csvs.py']}import logging\nlogging.disable()\n"}, "abc"),
        (REGISTRY, {"csvs.py": f"{REGISTRY['csvs.py']}import os\nregistry.H.update(os)\n"}, "abc"),
        # of the module itself: its body may decide what it leaves
        (REGISTRY, {"csvs.py": f"{REGISTRY['csvs.py']}OWN = []\nOWN.append(1)\n"}, "ab"),
        (REGISTRY, {"csvs.py": f"{REGISTRY['csvs.py']}def later(): ...\n"}, ""),
        (
            REGISTRY,
            {"csvs.py": f"{REGISTRY['csvs.py']}if __name__ == '__main__':\n    print()\n"},
            "ab",
        ),
    ],
)
def test_who_needs_a_file_needs_the_modules_whose_import_leaves_something_in_it(
    before: Files, edit: dict[str, str | None], tests: str
) -> None:
    now = {path: text for path, text in {**before, **edit}.items() if text is not None}
    results, _ = verdicts(before, now)
    stale = {name[-1] for name, verdict in results.items() if verdict.reason}
    assert stale - {path[5] for path, text in edit.items() if text is None} == set(tests) - {
        path[5] for path, text in edit.items() if text is None
    }


LINES = {
    "app.py": "import logging\ndef f(): logging.warning('e')\n",
    "test_a.py": "import app\ndef test_a(): record = app.f(); assert not record or record.lineno == 2\n",
    "test_b.py": "import app\nFORMAT = '%(lineno)d'\ndef test_b(): return app.f()\n",
    "test_c.py": "import app\ndef test_c(): return app.f()\n",
}


def test_numbers_of_lines_rest_on_the_layout() -> None:
    lower = {"app.py": f"# a comment\n{LINES['app.py']}"}
    assert {name[-1] for name in reasons(LINES, lower)} == {"a", "b"}
    assert reasons(LINES, {"app.py": f"{LINES['app.py']}# a comment\n"}) == {}


HOOK = "def {}(items=()):\n    return {}\n"


@pytest.mark.parametrize(
    ("hook", "tests"),
    [("pytest_collection_modifyitems", "ab"), ("pytest_runtest_setup", "a"), ("helper", "a")],
)
def test_a_hook_that_gets_all_tests_reaches_those_of_other_folders(hook: str, tests: str) -> None:
    before = {
        "unit/conftest.py": HOOK.format(hook, 1),
        "unit/test_a.py": "def test_a(): ...\n",
        "whole/test_b.py": "def test_b(): ...\n",
    }
    for now in (HOOK.format(hook, 2), ""):
        results, _ = verdicts(before, {**before, "unit/conftest.py": now})
        stale = {name for name, verdict in results.items() if verdict.reason}
        assert {name.partition("test_")[2][0] for name in stale} == set(tests)


@pytest.mark.parametrize(
    ("added", "tests"),
    [
        ("def test_two(): ...\n", "s"),
        ("def two(): ...\n", ""),
        ("    def test_more(self): ...\n", "l"),
        ("    def more(self): ...\n", ""),
    ],
)
def test_a_test_that_comes_from_another_file_reaches_who_gets_it(added: str, tests: str) -> None:
    before = {
        "shared.py": "def test_one(): ...\nclass Laws:\n    law = 1\n",
        "test_s.py": "from shared import *\ndef test_s(): ...\n",
        "test_l.py": "import shared\nclass TestLaws(shared.Laws): ...\ndef test_l(): ...\n",
        "test_m.py": "import shared\ndef test_m(): return shared.test_one()\n",
    }
    results, _ = verdicts(before, {**before, "shared.py": before["shared.py"] + added})
    stale = {name for name, verdict in results.items() if verdict.reason}
    assert {name[5] for name in stale} == set(tests)


def test_a_hook_that_a_conftest_imports_reaches_those_of_other_folders() -> None:
    hook = "pytest_collection_modifyitems"
    before = {
        "plugin.py": HOOK.format(hook, 1),
        "unit/conftest.py": "import plugin\n",
        "unit/test_a.py": "def test_a(): ...\n",
        "whole/test_b.py": "def test_b(): ...\n",
    }
    now = {"unit/conftest.py": f"import plugin\nfrom plugin import {hook}\n"}
    results, _ = verdicts(before, {**before, **now})
    assert {name[-4] for name, verdict in results.items() if verdict.reason} == {"a", "b"}


NOTING = {
    "noting.py": "CODES = set()\n"
    "def note(function):\n    CODES.add(function.__code__)\n    return function\n"
    "def places(function):\n    return function.__code__.co_firstlineno\n",
    "loader.py": "from noting import note as internal\n@internal\ndef load(): return 1\n",
    "nodes.py": "def revert(): return 1\n",
    "test_load.py": "import loader\ndef test_load(): assert loader.load()\n",
    "test_nodes.py": "import loader\nimport nodes\ndef test_nodes(): assert nodes.revert()\n",
    "test_other.py": "import loader\nimport nodes\ndef test_other(): assert nodes\n",
    "test_places.py": "import noting\nimport nodes\ndef test_places(): noting.places(nodes.revert)\n",
}


@pytest.mark.parametrize(
    ("edit", "tests"),
    [
        # a decorator gets the functions of the file that it is in
        ({"nodes.py": "def revert(): return 2\n"}, {"test_nodes", "test_places"}),
        (
            {"loader.py": NOTING["loader.py"].replace("1", "2")},
            # it leaves something in noting.py, too
            {"test_load", "test_nodes", "test_other", "test_places"},
        ),
    ],
)
def test_a_decorator_reads_the_code_of_what_it_decorates(
    edit: dict[str, str], tests: set[str]
) -> None:
    assert reasons(NOTING, edit).keys() == tests


@pytest.mark.parametrize(
    "use",
    [
        "import nodes\ninternal(nodes.revert)\n",
        "import nodes\nfor function in (nodes.revert,):\n    internal(function)\n",
        "import noting\nimport nodes\ngetattr(noting, 'note')(nodes.revert)\n",
    ],
)
def test_a_function_that_is_called_too_may_read_any_code(use: str) -> None:
    before = {**NOTING, "loader.py": NOTING["loader.py"] + use}
    after = reasons(before, {"nodes.py": "def revert(): return 2\n"})
    assert after.keys() >= {"test_load", "test_nodes", "test_other", "test_places"}
