"""The entry: makes sure that no file of the repository being looked at is imported, then runs the
command line.

Until that is made sure nothing is imported that Python has not loaded by itself: `pathlib.py` may
be theirs too.
"""

from __future__ import annotations

import gc
import os
import sys

_RARELY = 100_000
"""New objects between two collections of cycles: a command makes many objects, needs nearly all of
them, and ends.
"""


def _forget_the_checkout() -> None:
    """Takes the current folder off `sys.path`, and what PYTHONPATH adds from the repository around
    it.

    A `click.py` in somebody's repository must not become ours. Where kl itself is in such a folder,
    it stays.
    """
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109
    except OSError:  # the folder was removed
        here = ""
    top = _top(here) if here else ""
    added = {_real(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry}
    ours = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
    sys.path[:] = [
        # an empty entry is the current folder
        entry
        for entry in sys.path
        if _real(entry) == ours
        or (entry and _real(entry) != here and not (_real(entry) in added and _in(entry, top)))
    ]


def _top(folder: str) -> str:
    """The nearest folder at or above that is a repository's or holds `.kl`; the folder itself where
    there is none.
    """
    above = folder
    while not any(os.path.lexists(os.path.join(above, name)) for name in (".git", ".kl")):  # noqa: PTH118
        if os.path.dirname(above) == above:  # noqa: PTH120
            return folder
        above = os.path.dirname(above)  # noqa: PTH120
    return above


def _real(entry: str) -> str:
    try:
        return os.path.realpath(entry or ".")
    except OSError:
        return entry


def _in(entry: str, top: str) -> bool:
    return bool(top) and (_real(entry) + os.sep).startswith(top.rstrip(os.sep) + os.sep)


def _occupy_standard_streams() -> None:
    """Opens what is closed of stdin, stdout and stderr on nothing.

    Else the next file that is opened takes that number, and what is meant for a terminal is written
    into a database.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # POSIX: open() takes the lowest free number, which is this one
            os.open(os.devnull, os.O_RDWR)
            # what Python opens is not inherited (PEP 446), but a child needs all three
            os.set_inheritable(number, True)
    sys.stdin, sys.stdout, sys.stderr = (
        # Python sets the stream to None where its number was closed at the start
        stream if stream is not None else open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        for number, mode, stream in (
            (0, "r", sys.stdin),
            (1, "w", sys.stdout),
            (2, "w", sys.stderr),
        )
    )


def main() -> None:
    """Runs `kl`; the process ends with the exit codes of `errors`."""
    # by default 700 (Python 3.11, 3.12) or 2000 (3.13): hundreds of collections
    gc.set_threshold(_RARELY)
    if sys.platform == "win32":
        # locks, permissions and git hooks are those of POSIX; the first import would fail otherwise
        sys.stderr.write("kl: Windows is not supported. Use WSL 2, or another POSIX system.\n")
        sys.exit(3)
    try:
        _occupy_standard_streams()
        _forget_the_checkout()
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were still being imported
        sys.stderr.write("kl: interrupted.\n")
        code = 130
    # nothing is left that another look could find, and the end of the process would look three
    # times
    gc.freeze()
    sys.exit(code)


def _run(argv: list[str]) -> int:
    """Run the gate of a git hook, the hook of an agent, or the command line, and return the exit
    code.
    """
    if argv[:2] == ["arch", "check"]:
        from kl_hooks.arch.gate import main as gate

        code = gate(argv[2:])
        if code is not None:
            return code
    if argv[:2] == ["agents", "hook"]:
        from kl_hooks.tools.agent_hooks import main as hook

        return hook(argv[2:])
    from kl_hooks.cli.main import run

    return run(argv)


def console() -> None:
    """As `main`, in a process that does nothing else: it ends at once."""
    try:
        main()
    except SystemExit as end:
        # sys.exit("text") leaves printing the text to Python
        if type(end.code) is int and not _others_wait():
            _leave(end.code)
        raise


def _others_wait() -> bool:
    """True where somebody else has to do with this process: a thread, a profiler, a debugger, who
    asked for `-i`.
    """
    # sys.monitoring exists since Python 3.12 (PEP 669); coverage and debuggers register there
    threading = sys.modules.get("threading")
    monitoring = getattr(sys, "monitoring", None)
    # six tools, 0 to 5, are all that sys.monitoring has
    watched = monitoring is not None and any(map(monitoring.get_tool, range(6)))
    threads = threading is not None and threading.active_count() > 1
    return bool(
        threads
        or watched
        or sys.gettrace()
        or sys.getprofile()
        or sys.flags.dev_mode
        or sys.flags.inspect
    )


def _leave(code: int) -> None:
    """Does what Python does at its end, but takes no module apart: that is a third of a short
    command's time.

    Returns where something can't be written, which Python then reports.
    """
    import atexit

    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


if __name__ == "__main__":
    console()
