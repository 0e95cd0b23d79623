"""Variables of the environment that tests read, compared with those of now.

One that was not set and is makes its readers stale. Another value is a note: a terminal, a git hook
and an agent have different environments, each of them right, and a CI service has another one again
(ADR-0072).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.private import PrivateDigests, variable_key
from kl_hooks.evidence.reads import EVERYTHING, SET_VARIABLES, VARIABLES, Read
from kl_hooks.git.run import LOCAL_VARIABLES
from kl_hooks.model.text import name_list
from kl_hooks.workspace import Workspace

_NAMED: Final = 3
_OF_SHELLS: Final = frozenset({"_", "OLDPWD", "SHLVL"})
"""What a shell sets anew for each command (bash(1), Shell Variables; POSIX, 2.5.3). A run that a
program started has none of them: they show how it was started, not what it ran on.
"""
_OF_GIT: Final = frozenset(
    {
        *("GIT_AUTHOR_DATE", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_EDITOR"),
        *("GIT_EXEC_PATH", "GIT_REFLOG_ACTION"),
    }
)
"""What git sets for its hooks (githooks(5), git-commit(1)) beside `LOCAL_VARIABLES`: who lists the
variables that begin with `GIT_` mostly takes them out.
"""


def set_reason(name: str) -> str:
    """Why a test must run again that looked in vain for a variable that is set now, or for one whose
    name begins so (`SHOP_*`).
    """
    if name.endswith(EVERYTHING):
        return f"a variable {name} is set now, which the test looked for"
    return f"the variable {name} is set now, which the test looked for"


def variables_of_shell(runs: Iterable[Executed]) -> dict[str, str]:
    """Variable that is set now and that one of these runs looked for in vain → why its tests must
    run again.
    """
    return {
        variable: set_reason(name)
        for executed in runs
        for name, variables in _set_since(executed).items()
        for variable in variables
    }


def set_variables(executed: Executed | None) -> frozenset[str]:
    """The variables that a run looked for in vain, and that are set now. Where it looked for all
    whose names begin in some way: `SHOP_*`.
    """
    return frozenset(_set_since(executed))


def _set_since(executed: Executed | None) -> dict[str, list[str]]:
    """What a run looked for in vain, as it is noted → the variables that are set now."""
    if executed and executed.reads:
        reads = executed.reads.everything()
    else:
        reads = frozenset[Read]()
    looked_for = {name for path, name in reads if path == VARIABLES} - _OF_SHELLS
    were_set = {name for path, name in reads if path == SET_VARIABLES}
    others = sorted(os.environ.keys() - were_set - LOCAL_VARIABLES - _OF_GIT)
    set_since: dict[str, list[str]] = {}
    for name in looked_for:
        if name.endswith(EVERYTHING):
            fitting = [other for other in others if other.startswith(name.removesuffix(EVERYTHING))]
        else:
            fitting = [name] if name in os.environ else []
        if fitting:
            set_since[name] = fitting
    return set_since


def variable_notes(ws: Workspace, runs: Iterable[Executed]) -> list[str]:
    """One line for each variable that a test of these runs of this clone read, and that differs
    now.
    """
    digests = PrivateDigests(ws)
    readers: dict[str, dict[str, None]] = {}
    for executed in runs:
        for name in _changed_variables(ws, digests, executed):
            readers.setdefault(name, {}).update(dict.fromkeys(_readers(executed, name)))
    notes = []
    for name, tests in sorted(readers.items()):
        if name in ws.environ:
            now = "has another value now"
        else:
            now = "is not set now"
        notes.append(f"the variable {name} {now}; it was read by {name_list([*tests], _NAMED)}")
    return notes


def _changed_variables(ws: Workspace, digests: PrivateDigests, executed: Executed) -> Iterable[str]:
    for path, name in executed.reads.everything() if executed.reads else ():
        if name in _OF_SHELLS:
            continue
        if path == SET_VARIABLES:
            recorded = executed.private.get(variable_key(name), "")
        else:
            recorded = ""
        if digests.is_own(recorded) and digests.of_variable(name, ws.environ) != recorded:
            yield name


def _readers(executed: Executed, name: str) -> list[str]:
    """The tests that read a variable, and the files whose import did."""
    if executed.reads is None:
        return []
    read = Read(SET_VARIABLES, name)
    reads = executed.reads
    tests = [test for test, read_by_test in reads.tests.items() if read in read_by_test]
    return sorted(tests) + sorted(
        path for path, of_file in reads.modules.items() if read in of_file
    )
