"""The rules: what speaks against a result of a run, where another content is judged.

Each rule is a small function of facts. Rules of a run speak about all of its results, rules of a
change name the tests that a changed file reaches (an `Effect`), rules of a test speak about one
result. Nothing is valid because something is not known (ADR-0029).
"""

from __future__ import annotations

import builtins
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from kl_hooks.code.decorators import QUIET_DECORATORS
from kl_hooks.code.import_time import DATACLASSES, Header, ImportTime
from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.reads import DOCS, EVERYTHING, NAMED, Read
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import FACT_CLASSES
from kl_hooks.proof.bare_names import ChangedName
from kl_hooks.proof.comparison import Comparison
from kl_hooks.proof.effect import ChangeRule, Effect, RunRule, TestRule, needs
from kl_hooks.proof.facts import (
    NOT_ASSESSED,
    STALE,
    Definition,
    Difference,
    FileChange,
    RunFacts,
    Verdict,
)
from kl_hooks.proof.pytest_config import name_matches
from kl_hooks.proof.read_rules import (
    READ_SUBJECTS,
    data_file_changed,
    effects_of_reads,
    link_changed,
)
from kl_hooks.proof.requirements import is_dependency_file
from kl_hooks.proof.run_files import CONFTEST, HERE, is_special
from kl_hooks.proof.touch import TestFacts, Touch

_INIT: Final = "__init__.py"
_PLAIN_BASES: Final = frozenset(
    {"abc.ABC", "abc.ABCMeta", "typing.Generic"}
    | {
        f"builtins.{name}"
        for name, value in vars(builtins).items()
        if isinstance(value, type) and value is not type
    }
)
"""Classes of Python that do nothing with what a subclass defines."""

_SET_UPS_OF_PACKAGES: Final = frozenset(
    {"setUpModule", "setup_module", "tearDownModule", "teardown_module"}
)
"""What pytest calls in the `__init__.py` of a package around the tests in it (`Package.setup`)."""
HOOKS_OF_FOLDERS: Final = frozenset(
    {
        *("pytest_generate_tests", "pytest_itemcollected"),
        *("pytest_pycollect_makeitem", "pytest_pycollect_makemodule", "pytest_make_collect_report"),
        *("pytest_collect_file", "pytest_collect_directory", "pytest_ignore_collect"),
        *("pytest_collectstart", "pytest_collectreport", "pytest_exception_interact"),
        *("pytest_runtest_logstart", "pytest_runtest_logfinish"),
        *("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown"),
        *("pytest_runtest_makereport", "pytest_runtest_logreport", "pytest_pyfunc_call"),
        *("pytest_fixture_setup", "pytest_fixture_post_finalizer"),
        *("pytest_assertrepr_compare", "pytest_assertion_pass"),
    }
)
"""Hooks that pytest calls for the tests in the folder of a `conftest.py` (`Node.ihook`): its
documentation of each states it. `pytest_runtest_protocol` and `pytest_make_parametrize_id` are none
(`Config.hook`): they get all tests.
"""
_MAKERS: Final = frozenset(("type", "new_class", "make_dataclass"))
"""What makes a class without a definition."""


# rules of a run: what no test of it escapes


def configuration_changed(run: RunFacts, difference: Difference) -> Verdict | None:
    """Which tests there are, and what is installed, is nothing that a test executes."""
    if difference.whole:
        return Verdict(NOT_ASSESSED, "; ".join(difference.whole))
    return None


def no_symbols_recorded(run: RunFacts, difference: Difference) -> Verdict | None:
    """Without symbols any line of any Python file may have been executed."""
    paths = [change.path for change in difference.changes.values() if change.is_python]
    if run.executed is not None or not paths:
        return None
    if len(paths) > 3:
        remainder = f" and {len(paths) - 3} more"
    else:
        remainder = ""
    shown = ", ".join(paths[:3]) + remainder
    if run.why_not_executed:
        why = f": {run.why_not_executed}"
    else:
        why = ""
    return Verdict(NOT_ASSESSED, f"{shown} changed, and no executed symbols were recorded{why}")


def _requirements_differ(difference: Difference) -> bool:
    return bool(difference.requirements) or any(
        is_dependency_file(path) for path in difference.changes if path not in difference.documents
    )


def may_have_been_stored(difference: Difference) -> bool:
    """Whether a function differs that may have computed a value for other tests."""
    return any(
        change.is_python
        and change.state_before
        and (
            change.symbols_before is None
            or change.symbols_now is None
            or change.symbols_before.hashes != change.symbols_now.hashes
        )
        for change in difference.changes.values()
    )


def may_have_been_shown(difference: Difference) -> bool:
    """Whether a definition or a docstring differs that a library may get for a test."""
    return may_have_been_stored(difference) or any(
        _documents(difference, path, 0) != _documents(difference, path, 1)
        for path, change in difference.changes.items()
        if change.is_python and change.state_before and change.state_now
    )


def _documents(difference: Difference, path: str, side: int) -> Mapping[str, str] | None:
    """Those of a file before (0) or now (1); None where its content is not known."""
    content = difference.text(path, side)
    return None if content is None else difference.source.import_time(content).docs


FACT_SUBJECTS: Final[Mapping[str, Callable[[Difference], bool]]] = {
    **READ_SUBJECTS,
    "distributions": _requirements_differ,
    "stores": may_have_been_stored,
    "states": may_have_been_stored,
    "shares": may_have_been_stored,
    "process": may_have_been_stored,
    "libraries": may_have_been_shown,
}
"""Class of facts (`FACT_CLASSES`) → whether two contents differ in what it is about."""


def facts_not_recorded(run: RunFacts, difference: Difference) -> Verdict | None:
    """A run of an earlier kl recorded less: it proves its own content, and nothing of another one
    that differs in what it did not record.
    """
    for name, differs in FACT_SUBJECTS.items():
        if name not in run.recorded and differs(difference):
            why = f"an earlier kl recorded it without {FACT_CLASSES[name]}; run the tests once"
            return Verdict(NOT_ASSESSED, why)
    return None


RUN_RULES: Final[Sequence[RunRule]] = (
    facts_not_recorded,
    configuration_changed,
    data_file_changed,
    link_changed,
    no_symbols_recorded,
)


# rules of a change: which tests it reaches


def conftest_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """Hooks in a `conftest.py` run around the tests of its folder, some before any of them; others
    get all tests of the session (pytest's documentation, "Local per-directory plugins").
    """
    folder, _, name = change.path.rpartition("/")
    # layout and comments are in no hash
    old = change.symbols_before
    new = change.symbols_now
    same = old is not None and new is not None and not old.error and old.hashes == new.hashes
    if name != CONFTEST or same:
        return
    yield Effect(f"{change.path} changed", below=folder)
    before, now = (dict(symbols.hashes) if symbols else {} for symbols in (old, new))
    changed = {symbol for symbol in before | now if before.get(symbol) != now.get(symbol)}
    hooks = {symbol.rpartition(".")[2] for symbol in changed if ":_.pytest_" in symbol}
    # one that is imported or assigned is no symbol
    names_before, names_now = (symbols.names if symbols else frozenset() for symbols in (old, new))
    hooks |= {name for name in names_before ^ names_now if name.startswith("pytest_")}
    for hook in sorted(hooks - HOOKS_OF_FOLDERS):
        yield Effect(f"{hook} in {change.path} differs, which gets all tests")


def file_added_or_removed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What imports a file by its name gets it now, or gets it no more."""
    if change.state_before and change.state_now:
        return
    path = change.path
    users = comparison.imports.users(change.path)
    folder, _, name = path.rpartition("/")
    reason = f"{path} was {'added' if change.state_now else 'removed'}"
    yield Effect(reason, needs(users))
    if name == _INIT:
        executed = comparison.executed
        imported = {*executed.imports, *executed.modules, *comparison.imports.starts}
        below = f"{folder}/" if folder else ""
        inside = [path for path in imported if path.startswith(below)]
        if inside:
            # the names of all modules below follow from which folders are packages
            yield Effect(reason, (Touch(files=comparison.imports.needing(inside)),))
    word = comparison.files.module_word(path)
    # the standard library and installed packages import by such a name too, and their files are in
    # no closure
    if word in sys.stdlib_module_names:
        yield Effect(f"{reason}, which has the name of a module of Python")
    elif name != CONFTEST and word:
        yield from _uses_of_word(comparison, word, reason)
    yield from _namespace_effects(comparison, folder, reason)


def bare_name_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A test file that comes or goes changes which folders pytest puts on `sys.path`: a file that
    both contents have can be imported by a bare name only now, or no more, or another one first.
    """
    for changed in comparison.bare_names.changed:
        if changed.cause == change.path:
            yield from _bare_name_effects(comparison, change, changed)


def _bare_name_effects(
    comparison: Comparison, change: FileChange, changed: ChangedName
) -> Iterator[Effect]:
    """For the tests that import a name, or looked for it."""
    names = comparison.bare_names
    verb = "changed"
    if not (change.state_before and change.state_now):
        verb = "was added" if change.state_now else "was removed"
    reason = f"{change.path} {verb}, and `import {changed.name}` may get another file"
    effects = [Effect(reason, (names.users(changed),))]
    if names.is_of_others(changed.name):
        effects = [Effect(reason)]
    reads = names.asked_for(changed, comparison.uses.reads)
    effects += effects_of_reads(comparison, reads, reason)
    here = () if changed.at is None else (Touch(comparison.imports.needing(changed.at)),)
    yield from (effect._replace(needs=(*effect.needs, *here)) for effect in effects)


def _namespace_effects(comparison: Comparison, folder: str, reason: str) -> Iterator[Effect]:
    """A folder that comes or goes with a file is a part of each namespace package of its name, if
    its own folder is on the path of modules (PEP 420): then the package lists other folders.
    """
    modules = comparison.symbols.modules
    while folder:
        name = folder.rpartition("/")[2]
        others = [
            path
            for path, module in modules.items()
            if module.startswith(f"{name}.")
            and not path.startswith(f"{folder}/")
            and f"{_package_folder(path, module)}/{_INIT}" not in modules
        ]
        if others and not comparison.difference.is_lasting(folder):
            yield Effect(reason, (Touch(files=comparison.imports.needing(others)),))
        folder = folder.rpartition("/")[0]


def _package_folder(path: str, module: str) -> str:
    """The folder of the outermost package that a module is in."""
    folders = path.split("/")[:-1]
    # `pkg.a` is `pkg/a.py`, or `pkg/a/__init__.py`
    inner = module.partition("@")[0].count(".") - (not path.endswith(f"/{_INIT}"))
    return "/".join(folders[: len(folders) - inner])


def _uses_of_word(comparison: Comparison, word: str, reason: str) -> Iterator[Effect]:
    """For tests that need a file which names the word: there it may mean something else now."""
    naming = {path for path in comparison.files.files_with(word) if path not in comparison.changes}
    for path, change in comparison.changes.items():
        if change.symbols_before is not None and word in change.symbols_before.names:
            naming.add(path)
    if naming:
        yield Effect(reason, (Touch(files=comparison.imports.needing(naming)),))


def file_not_comparable(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What can't be compared is not assessed for whoever needs the file."""
    if not change.state_before or not change.state_now:
        return
    path = change.path
    users = comparison.imports.users(change.path)
    if why := comparison.executed.unknown.get(path):
        yield Effect(f"{path} changed ({why})", needs(users), state=NOT_ASSESSED)
    elif change.symbols_now is None or change.symbols_now.error:
        yield Effect(_why_unread(change), needs(users), state=NOT_ASSESSED)
    elif not comparison.files.is_comparable(change):
        yield Effect(f"the module of {path} is not known", needs(users), state=NOT_ASSESSED)
    elif comparison.imports.is_needed(users) and (
        change.symbols_before is None or change.symbols_before.error
    ):
        why = f"the earlier content of {path} is not known any more"
        yield Effect(why, needs(users), state=NOT_ASSESSED)


def _why_unread(change: FileChange) -> str:
    if change.symbols_now is None:
        return f"{change.path} can't be read"
    return f"{change.path} can't be read: {change.path}:{change.symbols_now.error}"


def symbol_of_an_import_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What runs while a file is imported belongs to all that need the file: its module body, and
    functions of this file that the import of another one called (`__init_subclass__`, a decorator,
    what computes parameters).
    """
    changed = comparison.changed.keys() & comparison.symbols.at.get(change.path, ())
    changed -= _assigning_bodies(comparison, change).keys()
    if not changed:
        return
    for path, indexes in comparison.executed.modules.items():
        if executed := sorted(indexes & changed):
            yield _effect_of_symbols(comparison, executed, comparison.imports.users(path))


def assignment_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A plain value in the body of a class (`limit = 3`) is got by who has the class or an object
    of it, and the public names of a module by who asks for them. Importing the file calls nothing.
    """
    path = change.path
    users = comparison.imports.users(change.path)
    for scope, names in _assigning_bodies(comparison, change).values():
        before, now = (comparison.files.body(path, side, scope).assignments for side in (0, 1))
        for name in sorted(names):
            verb = "changed"
            if name not in before or name not in now:
                if name in now:
                    verb = "was added"
                else:
                    verb = "was removed"
            if scope:
                reason = f"{scope}.{name} in {path} {verb}"
            else:
                reason = f"{name} in {path} {verb}"
            if not scope:
                # no name that is joined at run time (`"visit_" + kind`), and none that data has, is
                # `__all__` (ADR-0109): of what is installed those ask for it that show docstrings
                yield from _effects_on_texts(comparison, reason)
                docs = comparison.uses.reads & {Read(DOCS, path), Read(DOCS, EVERYTHING)}
                yield from effects_of_reads(comparison, sorted(docs), reason)
                yield Effect(reason, needs(users, comparison.uses.list_readers(path)))
                for condition in comparison.uses.module_listed(path):
                    yield Effect(reason, needs(users, *condition))
                continue
            yield from _effects_on_unknown_users(comparison, path, reason)
            yield from _member_effects(comparison, change, scope, name, reason)
            definition = Definition(path, f"{scope}.{name}")
            if verb == "changed":
                named = comparison.uses.users_of_name(name, path)
                yield Effect(reason, needs(users, named), definition=definition)
            else:
                yield from _uses_of_name(comparison, definition, reason, name in now, users)


def _assigning_bodies(
    comparison: Comparison, change: FileChange
) -> dict[int, tuple[str, frozenset[str]]]:
    """The bodies of a file that differ in plain assignments alone, where these have no meaning for
    the interpreter, pytest or a framework: those of `Comparison.changed_assignments`.
    """
    path = change.path
    is_test = path in comparison.executed.tests.files or path.rpartition("/")[2] == CONFTEST
    if is_test or not _imports_both(comparison, change) or comparison.imports.users(path) is None:
        return {}
    return {
        index: (scope, names)
        for index, (scope, names) in comparison.files.changed_assignments(path).items()
        if not scope or _only_stores(comparison, path, scope, names)
    }


def _only_stores(comparison: Comparison, path: str, scope: str, names: frozenset[str]) -> bool:
    """Whether all that a class does with these names is to store the values: no base, decorator or
    metaclass makes something of them, as an enumeration does. A data class makes defaults.
    """
    header = comparison.files.import_times(path)[1].headers.get(scope)
    before = comparison.files.import_times(path)[0].headers.get(scope)
    if header is None or before is None or header.text != before.text:
        return False
    if not (
        _has_plain_bases(comparison, path, scope) and _has_quiet_members(comparison, path, scope)
    ):
        return False
    if not header.decorators:
        return True
    old, new = (comparison.files.body(path, side, scope).assignments for side in (0, 1))
    # with a default that can change the import fails, so a test may rest on either side
    return all(name in DATACLASSES for name in header.decorators) and all(
        name in new and new[name].is_immutable and (name not in old or old[name].is_immutable)
        for name in names
    )


def _has_quiet_members(comparison: Comparison, path: str, scope: str) -> bool:
    """Whether nothing in a class may look at what else it has: a descriptor (`__set_name__`), a
    call in its body.
    """
    headers = comparison.files.import_times(path)[1].headers
    members = [name for name in headers if name.rpartition(".")[0] == scope]
    return comparison.files.body(path, 1, scope).is_plain and not any(
        headers[name].registers for name in members
    )


def _has_plain_bases(comparison: Comparison, path: str, name: str) -> bool:
    """Whether the classes above a class that are not of the repository do nothing where a subclass
    is defined.
    """
    return _ancestry(comparison, path, name).bases_outside <= _PLAIN_BASES


def import_effect_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What the import of a file changes outside of itself (`os.environ`, a list of another module),
    other tests of the same process find.
    """
    path = change.path
    executed = comparison.executed
    is_imported = path in executed.modules or path in executed.tests.files
    if not is_imported and not comparison.files.is_collected(path):
        return
    old, new = comparison.files.import_times(path)
    before = Counter(zip(old.effects, old.reaches, strict=True))
    now = Counter(zip(new.effects, new.reaches, strict=True))
    reason = f"what importing {path} changes elsewhere is not the same"
    reached = {names for _, names in [*(before - now), *(now - before)]}
    for names in sorted(reached):
        yield from _effects_of_import(comparison, path, names, reason)


def _effects_of_import(
    comparison: Comparison, path: str, names: str, reason: str
) -> Iterator[Effect]:
    """For the tests that need what a statement changes. `names`: as of `ImportTime.reaches`."""
    owners = [frozenset(comparison.imports.owners(name)) for name in names.split()]
    # of a test file, which is imported before all tests, all of them count
    if owners and all(owners) and not comparison.files.is_collected(path):
        yield Effect(reason, needs(comparison.imports.needing(frozenset().union(*owners))))
    else:
        yield Effect(reason)


def module_not_imported_now(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What a module leaves elsewhere is not there where nothing imports it any more."""
    for path in sorted(
        comparison.imports.not_imported_now & comparison.imports.imported_by(change.path)
    ):
        reason = f"{path} is not imported any more"
        if affected := comparison.imports.affected(path):
            yield Effect(reason, needs(comparison.imports.needing(affected)))
        for names in comparison.files.import_times(path)[0].reaches:
            yield from _effects_of_import(comparison, path, names, reason)


def first_import(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """Files that the run did not import register something where others look."""
    path = change.path
    if path not in comparison.imports.first_imported:
        return
    if path in comparison.executed.modules:
        before = comparison.files.import_times(path)[0]
    else:
        before = ImportTime()
    yield from _registrations(comparison, path, before)
    for other in comparison.imports.imported_with(path):
        yield from _registrations(comparison, other, ImportTime())


def _registrations(comparison: Comparison, path: str, before: ImportTime) -> Iterator[Effect]:
    """What importing a file may register. `before`: what importing it executed in the run."""
    new = comparison.files.import_times(path)[1]
    is_new = path not in comparison.executed.modules
    if is_new and new.effects and not comparison.files.is_collected(path):
        yield Effect(
            f"importing {path} changes something elsewhere, and a test file imports it now"
        )
    added = {
        name: header
        for name, header in new.headers.items()
        if name not in before.headers or before.headers[name].text != header.text
    }
    for name, header in sorted(added.items()):
        # its decorators and bases are known to leave nothing behind
        if not header.registers:
            continue
        owners = frozenset(_registering_files(comparison, path, name, header))
        if owners:
            reason = f"{name} in {path} may be registered"
            yield Effect(reason, needs(comparison.imports.needing(owners)))
    makes_classes = any(map(_may_be_listed, added.values())) or not _MAKERS.isdisjoint(
        comparison.files.names_in_file(path)
    )
    if makes_classes and (listers := _subclass_listers(comparison)):
        yield Effect(f"{path} has a class that is new, and subclasses are listed", (listers,))


def _may_be_listed(header: Header) -> bool:
    return any(base.partition(".")[0] != "builtins" for base in header.bases)


def _registering_files(
    comparison: Comparison, path: str, name: str, header: Header
) -> Iterator[str]:
    """The files of the run whose code may note a definition: those of its decorators, and of the
    classes above it that execute code where a subclass is defined.

    What the file itself has for a decorator or such a class, or what has no name, may do so in each
    file of the run that this file imports.
    """
    for decorator in header.decorators:
        if not decorator or decorator.startswith(HERE):
            yield from comparison.imports.run_files_imported(path)
        else:
            yield from comparison.imports.owners(decorator)
    for base in header.bases:
        if not base:
            yield from comparison.imports.run_files_imported(path)
    for owner in _customizing_files(comparison, path, name):
        if owner in comparison.executed.modules:
            yield owner
        else:
            yield from comparison.imports.run_files_imported(owner)


def _customizing_files(comparison: Comparison, path: str, name: str) -> Iterator[str]:
    """The files of the classes above a class that execute code of their own where a subclass is
    defined, and of what is no class of its file.
    """
    waiting = [(path, name)]
    seen_classes = set[tuple[str, str]]()
    while waiting:
        place = waiting.pop()
        seen_classes.add(place)
        header = comparison.files.import_times(place[0])[1].headers.get(place[1])
        is_above = place != (path, name)
        if is_above and (header is None or header.customizes or "builtins.type" in header.bases):
            yield place[0]
        for base in header.bases if header is not None else ():
            waiting += _places_of(comparison, place[0], base) - seen_classes


def _places_of(comparison: Comparison, path: str, base: str) -> set[tuple[str, str]]:
    """(file, name) of a base of a class: of the repository, else nothing."""
    if base.startswith(HERE):
        return {(path, base.removeprefix(HERE))}
    return {(owner, base.rpartition(".")[2]) for owner in comparison.imports.owners(base)}


def noted_outside(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """An installed package may note a definition, by its decorator, base or metaclass: a test that
    reaches the package may find it there, whatever it imports (`marshmallow.Schema`). pytest alone
    asks for what it collects as a test.
    """
    path = change.path
    is_imported = path in comparison.executed.modules or path in comparison.executed.tests.files
    if not is_imported and path not in comparison.imports.first_imported:
        return
    contents = comparison.files.import_times(path)
    for side, other in ((0, 1), (1, 0)):
        for name, header in sorted(contents[side].headers.items()):
            if not header.registers or _is_test(comparison, path, side, name):
                continue
            same = contents[other].headers.get(name)
            is_same_body = comparison.files.body(path, 0, name) == comparison.files.body(
                path, 1, name
            )
            if same is not None and same.text == header.text and is_same_body:
                continue
            for outside in _outside_names(comparison, path, header, contents[side]):
                users = comparison.imports.files_reaching(outside)
                reason = f"{outside.partition('.')[0]} may have noted {name} of {path}"
                if users is None:
                    yield Effect(reason)
                elif users:
                    yield Effect(reason, needs(comparison.imports.needing(users)))


def _is_test(comparison: Comparison, path: str, side: int, name: str) -> bool:
    """Whether pytest collects a definition of a test file before (0) or now (1), or a part of it;
    a new class with the bases of one that it collects is one, too.
    """
    if not comparison.files.is_collected(path):
        return False
    config = comparison.difference.pytest_config(path)
    outer = name.partition(".")[0]
    if name_matches(outer, config.python_functions) or name_matches(outer, config.python_classes):
        return True
    tests = comparison.files.test_names(path, 0) | comparison.files.test_names(path, 1)
    collected = {test.partition(".")[0] for test in tests}
    headers = comparison.files.import_times(path)[side].headers
    bases = headers[outer].bases if outer in headers else ()
    return outer in collected or any(
        bases and one.bases == bases
        for content in comparison.files.import_times(path)
        for other, one in content.headers.items()
        if other in collected
    )


def _outside_names(
    comparison: Comparison, path: str, header: Header, content: ImportTime
) -> Iterator[str]:
    """What is not of the repository among the decorators and bases of a definition, by full names.
    Of one that does not resolve, all that the file imports from outside.
    """
    imported = dict.fromkeys(
        name
        for name in content.imports
        if not name.startswith(".") and _is_outside(comparison, name)
    )
    for name in (*header.decorators, *header.bases):
        if not name:
            yield from (name for name in imported if name.partition(".")[0] not in _STANDARD)
            continue
        # a class of the standard library notes none of those that are made of it
        may_note = name in header.decorators or name.partition(".")[0] not in _STANDARD
        is_known = name in QUIET_DECORATORS or name in _NOTE_NOTHING
        if may_note and not is_known and _is_outside(comparison, name):
            yield name


_STANDARD: Final = sys.stdlib_module_names
_NOTE_NOTHING: Final = frozenset(
    {
        *("pydantic.BaseModel", "pydantic.RootModel", "pydantic_settings.BaseSettings"),
        *("msgspec.Struct", "click.ParamType", "click.Command", "click.Group", "click.Option"),
    }
)
"""Classes of much used packages whose subclasses are found in `__subclasses__()` alone."""


def _is_outside(comparison: Comparison, name: str) -> bool:
    is_written_here = name.startswith((HERE, ".", "builtins."))
    return not is_written_here and not any(comparison.imports.owners(name))


def random_numbers_drawn(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What importing a file draws from the generator of the process, no other code gets."""
    path = change.path
    if path not in comparison.imports.first_imported and path not in comparison.executed.modules:
        return
    old, new = comparison.files.import_times(path)
    if old != new and comparison.files.draws_at_import(path):
        drawing = comparison.uses.users_of("draws_random_numbers")
        yield Effect(f"importing {path} draws other random numbers", (drawing,))


def objects_counted(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """Any code that runs before may make objects, or refer to one."""
    if change.is_python and not comparison.files.differs_in_layout_alone(change):
        counting = comparison.uses.users_of("counts_objects")
        reason = f"{change.path} changed, and may leave other objects, which are counted"
        yield Effect(reason, (counting,))


def code_read(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """Code that asks for code objects or source executes nothing of them. Source has comments and
    layout; code objects have their places in it.
    """
    if not (change.state_before and change.state_now):
        return
    readers = comparison.uses.users_of("reads_source")
    if comparison.files.has_other_functions(change.path):
        readers |= comparison.uses.code_readers(change.path)
    if readers:
        reason = f"{change.path} changed, and code objects or source are read"
        yield Effect(reason, needs(comparison.imports.users(change.path), readers))


def hook_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """pytest calls hooks around all tests."""
    hooks = [
        index
        for index in comparison.symbols.at.get(change.path, ())
        if index in comparison.changed
        and comparison.executed.symbols[index].symbol.rpartition(".")[2].startswith("pytest_")
    ]
    if hooks:
        yield _effect_of_symbols(comparison, hooks, None)


def _effect_of_symbols(
    comparison: Comparison, indexes: Sequence[int], files: frozenset[str] | None
) -> Effect:
    names = tuple(sorted(comparison.executed.symbols[index].symbol for index in indexes))
    words = changed_words(names, comparison.changed, comparison.executed)
    return Effect(words, needs(files), names)


def _imports_both(comparison: Comparison, change: FileChange) -> bool:
    """Whether a file was imported by the run, is needed by a test, and can be compared.

    What no test of the run imported, code that is the same imports no more than then.
    """
    return (
        bool(change.state_before and change.state_now)
        and change.path in comparison.executed.modules
        and comparison.files.is_comparable(change)
        and change.symbols_before is not None
        and not change.symbols_before.error
        and comparison.imports.is_needed(comparison.imports.users(change.path))
    )


def compiler_refuses(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What the parser takes and the compiler refuses, such as `return` outside of a function."""
    if not _imports_both(comparison, change):
        return
    refused = comparison.files.import_times(change.path)[1].refused
    if refused:
        yield Effect(f"{change.path}:{refused}", needs(comparison.imports.users(change.path)))


def compiler_warns(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What the compiler warns of it refuses where warnings are errors, which configuration, a hook,
    an option or a variable may decide.
    """
    if not _imports_both(comparison, change):
        return
    old, new = comparison.files.import_times(change.path)
    if added := sorted((Counter(new.warned) - Counter(old.warned)).elements()):
        reason = f"the compiler warns of {change.path}: {added[0]}"
        yield Effect(reason, needs(comparison.imports.users(change.path)))


def header_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """Importing a file executes decorators, defaults, annotations and bases, and code may read
    them later (`inspect.signature`).
    """
    if not _imports_both(comparison, change):
        return
    old, new = comparison.files.import_times(change.path)
    for name in sorted(old.headers.keys() & new.headers.keys()):
        header = new.headers[name]
        if old.headers[name].text == header.text:
            continue
        reason = f"the header of {name} in {change.path} changed"
        users = comparison.imports.users(change.path)
        yield from _effects_on_unknown_users(comparison, change.path, reason)
        if _differs_in_defaults(comparison, change.path, old.headers[name], header):
            yield from _effects_on_users(comparison, change, name, reason)
        elif header.loud or not _stays_test(comparison, change.path, name):
            is_quiet = not (header.loud or old.headers[name].loud)
            # where the header of a class differs, so does what the import executed of it
            definition = Definition(change.path, name) if is_quiet else None
            yield Effect(reason, needs(users), definition=definition)
        elif naming := comparison.uses.naming(change.path, name):
            # the import can't fail by it, and the test itself executes another function
            yield Effect(reason, needs(users, naming))


def _differs_in_defaults(comparison: Comparison, path: str, old: Header, new: Header) -> bool:
    """Whether another constant is the default of an argument, and nothing else differs."""
    is_test = path in comparison.executed.tests.files or path.rpartition("/")[2] == CONFTEST
    is_quiet = not (is_test or old.loud or new.loud)
    return is_quiet and bool(new.shape) and old.shape == new.shape


def _effects_on_users(
    comparison: Comparison, change: FileChange, name: str, reason: str
) -> Iterator[Effect]:
    """Who calls a function executes it; who reads its signature has it, or its class."""
    path = change.path
    users = comparison.imports.users(path)
    owner, _, last = name.rpartition(".")
    definition = Definition(path, name)
    for condition in comparison.uses.module_asked(path):
        yield Effect(reason, needs(users, *condition))
    # a library may call it when a file is imported: `Annotated[int, BeforeValidator(check)]`
    if importing := comparison.uses.given_to_libraries(last):
        yield Effect(reason, needs(importing))
    if owner:
        yield from _member_effects(comparison, change, owner, last, reason)
        return
    touch = comparison.uses.class_users(path, name)
    everyone = needs(users) if touch is None else needs(users, touch)
    yield Effect(reason, everyone, definition=definition)


def class_cell_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A method that names `super` or `__class__` gives the body of its class one more name, which a
    metaclass gets with the others, whether a test calls the method or not.
    """
    if not _imports_both(comparison, change):
        return
    old, new = (
        Counter(content.class_cells) for content in comparison.files.import_times(change.path)
    )
    for name in sorted((old - new) | (new - old)):
        is_in_both = all(
            name in content.headers for content in comparison.files.import_times(change.path)
        )
        # `type` takes the name out
        if is_in_both and not _has_plain_bases(comparison, change.path, name):
            reason = f"the body of {name} in {change.path} changed: its cell for the class"
            yield Effect(reason, needs(comparison.imports.users(change.path)))


def import_order_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A definition that comes after what uses it on import is not there yet."""
    if not _imports_both(comparison, change):
        return
    old, new = comparison.files.import_times(change.path)
    common = set(old.order) & set(new.order)
    before, now = (
        list(dict.fromkeys(entry for entry in content.order if entry in common))
        for content in (old, new)
    )
    if before != now:
        reason = f"the order of what importing {change.path} executes changed"
        yield Effect(reason, needs(comparison.imports.users(change.path)))


def definition_added_or_removed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A definition that only one of the two contents has."""
    if not _imports_both(comparison, change):
        return
    old, new = comparison.files.import_times(change.path)
    for name in sorted(old.headers.keys() ^ new.headers.keys()):
        added = name in new.headers
        if added:
            header = new.headers[name]
        else:
            header = old.headers[name]
        owner = name.rpartition(".")[0]
        if owner and (owner in old.headers) != (owner in new.headers):
            continue  # with its class
        yield from _definition_effects(comparison, change, name, header, added)


def tests_added_elsewhere(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A test file gets tests from others, too: by a star import, or a class above its own."""
    path = change.path
    if path not in comparison.executed.modules:
        return
    config = comparison.difference.pytest_config(path)
    old, new = comparison.files.import_times(path)
    for name in sorted(new.headers.keys() - old.headers.keys()):
        owner, _, last = name.rpartition(".")
        if not name_matches(last, config.python_functions):
            continue
        if owner:
            getters = comparison.uses.subclass_makers(path, owner)
        else:
            getters = Touch(
                files=comparison.imports.needing(comparison.imports.star_importers(path))
            )
        yield Effect(f"{name} in {path} may be a test elsewhere", (getters,))


def _definition_effects(
    comparison: Comparison, change: FileChange, name: str, header: Header, added: bool
) -> Iterator[Effect]:
    path = change.path
    users = comparison.imports.users(change.path)
    reason = f"{name} in {path} {'was added' if added else 'was removed'}"
    if comparison.difference.text(path, 0) is None:
        # its symbols are cached, but not what its import executes: nobody knows what was added
        reason = f"{path} changed, and what ran was never committed"
    owner, _, last = name.rpartition(".")
    # a new header is evaluated by the import; of a removed one only a registry may know
    if header.loud if added else header.registers:
        yield Effect(f"{reason}: {header.loud}", needs(users))
        return
    folder, _, file = path.rpartition("/")
    if file == _INIT and name in _SET_UPS_OF_PACKAGES:
        yield Effect(reason, below=folder)
    # pytest calls functions of a test file by their names, and another test of it for itself
    unasked = path in comparison.executed.tests.files and (
        name not in comparison.files.test_names(path, int(added))
    )
    # a module-level name comes before the builtin one (execution model, LEGB), and one such as
    # `__getattr__` is asked by the interpreter
    called = unasked or last.startswith("pytest_") or is_special(last)
    # code gets what is new by its name, but for what the interpreter or an object of its class asks
    new_name = last if added and not (owner or is_special(last)) else ""
    if not owner and (called or hasattr(builtins, last)):
        yield Effect(reason, needs(users))
        yield from _effects_on_texts(comparison, reason, new_name)
        return
    yield from _effects_on_unknown_users(comparison, path, reason, new_name)
    if owner:
        yield from _member_effects(comparison, change, owner, last, reason)
    else:
        for condition in comparison.uses.module_listed(path):
            yield Effect(reason, needs(users, *condition))
        if header.bases and (listers := _subclass_listers(comparison)):
            yield Effect(reason, needs(users, listers))
    yield from _uses_of_name(comparison, Definition(path, name), reason, added, users)


def _effects_on_unknown_users(
    comparison: Comparison, path: str, reason: str, new_name: str = ""
) -> Iterator[Effect]:
    """Who got the module by a name may get all that it defines by names that data has, and examples
    in a text may use it.
    """
    named = comparison.uses.reads & {Read(NAMED, path)}
    yield from effects_of_reads(comparison, sorted(named), reason)
    yield from _effects_on_texts(comparison, reason, new_name)


def _effects_on_texts(comparison: Comparison, reason: str, new_name: str = "") -> Iterator[Effect]:
    """The examples in a text, such as a README, may use anything, and what is new by its name."""
    if texts := comparison.uses.text_tests(new_name):
        yield Effect(reason, (texts,))


def _member_effects(
    comparison: Comparison, change: FileChange, owner: str, last: str, reason: str
) -> Iterator[Effect]:
    """A member of a class: an object of the class finds it by a name that may be made at run time
    (`visit_` and a node's class), and frameworks call methods by their names.
    """
    users = comparison.imports.users(change.path)
    if _may_be_found_elsewhere(comparison, change.path, owner):
        yield Effect(reason, needs(users))
        return
    definition = Definition(change.path, f"{owner}.{last}")
    touch = comparison.uses.class_users(change.path, owner)
    having = needs(users) if touch is None else needs(users, touch)
    yield Effect(reason, having, definition=definition)
    # who lists a module or subclasses, or reads annotations, gets the class without naming it
    for condition in comparison.uses.module_listed(change.path):
        yield Effect(reason, needs(users, *condition))
    readers = comparison.uses.users_of("reads_annotations")
    if leads := _subclass_listers(comparison) | readers:
        yield Effect(reason, needs(users, leads))
    if is_special(last):
        # `__init_subclass__`, `__set_name__` and others run where a subclass is defined
        makers = comparison.uses.subclass_makers(change.path, owner)
        yield Effect(reason, needs(users, makers))


def _subclass_listers(comparison: Comparison) -> Touch:
    """The tests that execute code which asks a class for its subclasses."""
    return comparison.uses.users_of("lists_subclasses")


def _may_be_found_elsewhere(comparison: Comparison, path: str, name: str) -> bool:
    """Whether a registry may know a class, so that code uses it without naming it: by a decorator,
    by a base that is not of the standard library or executes code for each subclass, or by a
    metaclass.
    """
    ancestry = _ancestry(comparison, path, name)
    for place, header in ancestry.headers.items():
        if header is None or any(name not in QUIET_DECORATORS for name in header.decorators):
            return True
        # a base that notes its subclasses; the class itself notes none of its own members
        if header.customizes and place != (path, name):
            return True
    return any(map(_may_register, ancestry.bases_outside))


class _Ancestry(NamedTuple):
    """A class and those above it, as the run had them."""

    headers: Mapping[tuple[str, str], Header | None]
    """(file, name) → header, of those of the repository; None where the file has none of the name."""
    bases_outside: Set[str]
    """The full names of the others; empty for what does not resolve."""


def _ancestry(comparison: Comparison, path: str, name: str) -> _Ancestry:
    headers: dict[tuple[str, str], Header | None] = {}
    outside = set[str]()
    waiting = [(path, name)]
    while waiting:
        place = waiting.pop()
        if place in headers:
            continue
        header = headers[place] = comparison.files.import_times(place[0])[0].headers.get(place[1])
        for base in header.bases if header is not None else ():
            owner = comparison.imports.base_header(place[0], base)
            if owner is None:
                outside.add(base)
            else:
                waiting.append(owner)
    return _Ancestry(headers, outside)


def _may_register(base: str) -> bool:
    """Whether a base that is not of the repository, or the class of a class, may note the classes
    that are made of it.
    """
    # `builtins` is one of them
    return base == "builtins.type" or base.partition(".")[0] not in sys.stdlib_module_names


def _stays_test(comparison: Comparison, path: str, name: str) -> bool:
    """Whether a definition of a test file is a test in both contents."""
    return name in comparison.files.test_names(path, 0) & comparison.files.test_names(path, 1)


_DONT_REWRITE: Final = "PYTEST_DONT_REWRITE"
"""In the docstring of a module: pytest does not rewrite its assertions, whose messages then lack
what was compared (its documentation, "Disabling assert rewriting").
"""


def docstring_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A docstring is data where code reads it: a decorator or base of another library may, and
    whatever asks for `__doc__`.
    """
    if not _imports_both(comparison, change):
        return
    old, new = comparison.files.import_times(change.path)
    names = sorted(
        name
        for name in old.docs.keys() | new.docs.keys()
        if old.docs.get(name) != new.docs.get(name) and _is_in_both(name, old, new)
    )
    if not names:
        return
    users = comparison.imports.users(change.path)
    if len({_DONT_REWRITE in content.docs.get("", "") for content in (old, new)}) > 1:
        reason = f"{_DONT_REWRITE} of {change.path}: its assertions are other ones"
        yield Effect(reason, needs(users))
    for name in names:
        if _is_documented(name, new):
            reason = f"the docstring of {name} in {change.path} changed, which is decorated"
            yield Effect(reason, needs(users))
    readers = _docstring_readers(comparison)
    read_here = sorted(comparison.uses.reads & {Read(DOCS, change.path)})
    for name in names:
        shown = f" of {name}" if name else ""
        reason = f"the docstring{shown} in {change.path} changed, and docstrings are read"
        yield from effects_of_reads(comparison, read_here, reason)
        for condition in _conditions_of_having(comparison, change.path, name) if readers else ():
            for reading in readers:
                yield Effect(reason, needs(users, *reading, *condition))


def _docstring_readers(comparison: Comparison) -> list[tuple[Touch, ...]]:
    """The conditions under each of which a test has the text of any docstring: its code reads some,
    or installed code did for it, or for the import of a file, and nothing showed whose.
    """
    reads = comparison.uses.reads & {Read(DOCS, EVERYTHING)}
    tests = comparison.uses.users_of("reads_docs") | comparison.uses.read_by(reads)
    importing = [
        needs(comparison.imports.users(path) if path else None)
        for path in comparison.uses.readers(reads)
    ]
    return [*([(tests,)] if tests else []), *importing]


def _conditions_of_having(
    comparison: Comparison, path: str, name: str
) -> Iterator[tuple[Touch, ...]]:
    """The conditions under each of which a test may have a definition of a file, without executing
    it: it has the class, or names the function, or lists what leads there.
    """
    headers = comparison.files.import_times(path)[1].headers
    owner = name.rpartition(".")[0]
    if name not in headers or (owner and owner not in headers):
        yield ()  # of the module, or inside a function
        return
    class_name = owner or (name if not headers[name].shape else "")
    if class_name and _may_be_found_elsewhere(comparison, path, class_name):
        yield ()
        return
    touch = comparison.uses.class_users(path, owner or name)
    yield () if touch is None else (touch,)
    yield from comparison.uses.module_asked(path)
    if class_name and (listers := _subclass_listers(comparison)):
        yield (listers,)


def _is_in_both(name: str, old: ImportTime, new: ImportTime) -> bool:
    """Whether both contents have the definition, or neither: else more than its docstring
    changed.
    """
    return (name in old.headers) == (name in new.headers)


def _is_documented(name: str, content: ImportTime) -> bool:
    """Whether a decorator or base of a definition, or of a class around it, may read its
    docstring.
    """
    while name:
        header = content.headers.get(name)
        if header is not None and header.documented:
            return True
        name = name.rpartition(".")[0]
    return False


def _uses_of_name(
    comparison: Comparison,
    definition: Definition,
    reason: str,
    added: bool,
    users: frozenset[str] | None,
) -> Iterator[Effect]:
    """A name was added or removed: what used it, or uses it, may get something else now."""
    name = definition.name.rpartition(".")[2]
    # in a changed file the symbols that differ decide, unless the name was used there all along
    suspicious = {
        path for path in comparison.files.files_with(name) if path not in comparison.changes
    }
    for path, change in comparison.changes.items():
        if change.symbols_before is not None and change.symbols_now is not None:
            if added:
                names = change.symbols_before.names
            else:
                names = change.symbols_now.names
            suspicious |= {path} if name in names else set()
    if suspicious:
        naming = Touch(files=comparison.imports.needing(suspicious))
        yield Effect(reason, needs(users, naming), definition=definition)


CHANGE_RULES: Final[Sequence[ChangeRule]] = (
    conftest_changed,
    file_added_or_removed,
    bare_name_changed,
    file_not_comparable,
    compiler_refuses,
    compiler_warns,
    header_changed,
    class_cell_changed,
    import_order_changed,
    definition_added_or_removed,
    tests_added_elsewhere,
    docstring_changed,
    symbol_of_an_import_changed,
    assignment_changed,
    import_effect_changed,
    module_not_imported_now,
    first_import,
    noted_outside,
    random_numbers_drawn,
    objects_counted,
    code_read,
    hook_changed,
)


# rules of a test: what speaks against its result


def executed_symbol_changed(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """Something that the test executed, or that computed a value it got, differs."""
    ran = comparison.changed.keys() & test.own
    changed = ran or comparison.changed.keys() & test.behind.symbols
    if not changed:
        return None
    executed = comparison.executed
    names = tuple(sorted(executed.symbols[index].symbol for index in changed))
    if ran:
        stored = ""
    else:
        stored = ", which computed a value that other tests get"
    return Verdict(STALE, changed_words(names, comparison.changed, executed) + stored, names)


def own_file_changed(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """A doctest, a skipped test, a file that was not collected: nothing of it was executed."""
    if test.path in comparison.changes and not _has_own_function(comparison, test):
        return Verdict(STALE, f"{test.path} changed")
    return None


def _has_own_function(comparison: Comparison, test: TestFacts) -> bool:
    """Whether the function of the test is among what it executed."""
    name = test.nodeid.partition("::")[2].partition("[")[0].replace("::", ".")
    full_name = f"{comparison.symbols.modules.get(test.path, '')}.{name}"
    last = name.rpartition(".")[2]
    for index in test.own:
        kind, _, symbol_name = comparison.executed.symbols[index].symbol.partition(":")
        if symbol_name == full_name:
            return True
        # inherited from a class of another file
        inherited = kind == "method" and symbol_name.rpartition(".")[2] == last
        if inherited and last.startswith("test"):
            return True
    return False


def stale_by_effect(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """A change reaches the test."""
    return _first_effect(comparison, effects, test, STALE)


def doubtful_by_effect(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """A change that can't be compared reaches the test."""
    return _first_effect(comparison, effects, test, NOT_ASSESSED)


def _first_effect(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts, state: str
) -> Verdict | None:
    for effect in effects:
        if effect.state == state and effect.applies(test):
            return Verdict(effect.state, effect.reason, effect.symbols)
    return None


def execution_incomplete(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """The test executed more than what is recorded, and source differs."""
    if comparison.changes:
        why = comparison.executed.incomplete.get(test.nodeid)
    else:
        why = None
    if why:
        return Verdict(NOT_ASSESSED, why)
    return None


def needs_unknown_file(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """The test needs a changed file whose symbols could not be named."""
    for path, why in comparison.executed.unknown.items():
        if path in comparison.changes and test.needs_any(comparison.imports.needing([path])):
            return Verdict(NOT_ASSESSED, f"{path} is not known ({why})")
    return None


def nothing_recorded(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """A result without executed symbols (skipped, or not collected) rests on what is imported."""
    executed = comparison.executed
    imported = test.path in executed.modules or test.path in executed.imports
    if test.recorded or imported or not test.path.endswith(".py") or not comparison.changes:
        return None
    return Verdict(NOT_ASSESSED, "what it executed was not recorded")


TEST_RULES: Final[Sequence[TestRule]] = (
    executed_symbol_changed,
    own_file_changed,
    stale_by_effect,
    doubtful_by_effect,
    execution_incomplete,
    needs_unknown_file,
    nothing_recorded,
)


# rules of the environment: what is installed, or required, and was not when the test ran


def start_changed(run: RunFacts, changed: Mapping[str, str], nodeid: str) -> Verdict | None:
    """An interpreter executes it before any test."""
    if run.start:
        return Verdict(STALE, run.start)
    return None


def distribution_changed(run: RunFacts, changed: Mapping[str, str], nodeid: str) -> Verdict | None:
    """A distribution that the test reaches has another version."""
    names = sorted(run.reach.of(nodeid) & changed.keys()) if run.reach and changed else ()
    if not names:
        return None
    if len(names) > 1:
        others = f" and {len(names) - 1} more"
    else:
        others = ""
    return Verdict(STALE, f"{changed[names[0]]}{others}")


def module_added(run: RunFacts, changed: Mapping[str, str], nodeid: str) -> Verdict | None:
    """A module that was looked for and not found when the test ran can be imported now."""
    names = sorted(run.reach.missing(nodeid) & run.added.keys()) if run.reach and run.added else ()
    if names:
        return Verdict(STALE, run.added[names[0]])
    return None


def metadata_changed(run: RunFacts, changed: Mapping[str, str], nodeid: str) -> Verdict | None:
    """The test read metadata of a distribution that has another version, or looked at all of
    them.
    """
    if run.reach:
        names = run.reach.metadata(nodeid)
    else:
        names = frozenset[str]()
    words = {**run.new, **changed}
    first = min(words if EVERYTHING in names else names & words.keys(), default="")
    if first:
        return Verdict(STALE, words[first])
    return None


EnvironmentRule = Callable[[RunFacts, Mapping[str, str], str], Verdict | None]
ENVIRONMENT_RULES: Final[Sequence[EnvironmentRule]] = (
    start_changed,
    distribution_changed,
    module_added,
    metadata_changed,
)


# in words


def changed_words(names: Sequence[str], changed: Mapping[int, str], executed: Executed) -> str:
    """`the body of shop.cart and 2 more changed`, of sorted names of changed symbols."""
    kind, _, name = names[0].partition(":")
    if kind in ("namespace", "type", "interface"):
        what = f"the body of {name}"
    else:
        what = name
    if len(names) > 1:
        return f"{what} and {len(names) - 1} more changed"
    verbs = {executed.symbols[index].symbol: verb for index, verb in changed.items()}
    return f"{what} {verbs[names[0]]}"
