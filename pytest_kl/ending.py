"""How pytest and its process end: what comes after the last test can still make the exit status another one.

Imported with the plugin in every project: nothing but the standard library and pytest.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

AT_EXIT: list[Callable[[], None]] = []
"""What is left to do when the process ends. Registered when this module is imported, long before a conftest can
register something: Python calls the last registered first, so that ours comes after theirs."""


@atexit.register
def _at_exit() -> None:
    while AT_EXIT:
        AT_EXIT.pop()()


class EndOfPytest:
    """Sees how pytest ended: `pytest_unconfigure` and the cleanups of `config.add_cleanup` are over when
    `pytest_cmdline_main` returns or raises (pytest 8.2 to 9.2), and what it returns is the exit status.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Closes the record with the exit status, or with what was raised."""
        config.stash[RUNNING] = True
        try:
            status = yield
        except BaseException as problem:
            _close(config, None, problem)
            raise
        return _close(config, status, None)


RUNNING = pytest.StashKey[bool]()
"""True where an `EndOfPytest` waits for the end."""


def _close(config: pytest.Config, status: Any, problem: BaseException | None) -> Any:
    recorder = config.pluginmanager.get_plugin("kl-recorder")
    return status if recorder is None else recorder.close(status, problem)


def is_program(config: pytest.Config) -> bool:
    """Whether pytest is what this process was started for: it ends after the session. Not where a script, an IDE, a
    test or an interactive interpreter calls `pytest.main`.
    """
    file = Path(str(getattr(sys.modules.get("__main__"), "__file__", None) or ""))
    started = file.name in ("pytest", "py.test") or file.parts[-2:] == ("pytest", "__main__.py")
    same = tuple(map(str, config.invocation_params.args)) == tuple(sys.argv[1:])
    return started and same and not (sys.flags.interactive or os.environ.get("PYTHONINSPECT"))


def uncaught() -> BaseException | None:
    """The exception that Python last printed a traceback of, or that a debugger was offered."""
    found: BaseException | None = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return found


def fails(problem: BaseException | None) -> bool:
    """Whether Python ends with exit status 1 for it; for a usage error pytest has a status of its own."""
    return problem is not None and not isinstance(problem, pytest.UsageError)


def exit_of(problem: BaseException) -> int:
    """The exit status with which Python ends for an exception that nobody catches."""
    if isinstance(problem, KeyboardInterrupt):
        return 130
    code = problem.code if isinstance(problem, SystemExit) else 1
    return code if isinstance(code, int) else 0 if code is None else 1
