"""Starting git: one safe way, whatever the repository's configuration and the environment ask for.

A git hook runs with `GIT_DIR`, `GIT_INDEX_FILE` and more in its environment, and a test suite that
it starts inherits them: git would then answer for, or write to, another repository than the one in
`cwd`. So all `GIT_*` variables are taken out, except what only a person sets.

Within one moment git is asked each question once, so that all parts of an answer are about one
content, and only the first waits for a process.
"""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Timer
from typing import Any, Final, TypeVar

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.text import one_line

_Answer = TypeVar("_Answer")
_ANSWERS: ContextVar[dict[Hashable, Any] | None] = ContextVar("answers", default=None)

_PREFIX: Final = (
    # `git status` and `git diff` write the refreshed index otherwise
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    # programs that the configuration of a repository can name
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "log.showSignature=false",
    # a bare repository among the tracked files brings its own configuration (git 2.38)
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "submodule.recurse=false",
    # with weaker checks an edit within the same second and of the same size is overlooked
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
)
"""Before every command: what each of these switches off starts a program, writes, or changes the
answer.
"""

LOCAL_VARIABLES: Final = frozenset(
    (
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    )
)
"""What git sets for its git hooks about *this* repository: to be taken out for any other program we
start.
"""

_PERSONAL_VARIABLES: Final = frozenset(
    (
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
    )
)
_PERSONAL_PREFIXES: Final = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")


class GitMissing(EnvironmentProblem):
    """There is no git to run."""


class GitFailed(EnvironmentProblem):
    """git answered with an exit code that was not expected, or did not answer in time."""

    def __init__(
        self, reason: str, *, returncode: int = -1, stderr: str = "", hint: str = ""
    ) -> None:
        self.returncode, self.stderr = returncode, stderr
        super().__init__(reason, hint=hint)


def git(
    *args: str,
    cwd: str | Path,
    stdin: bytes | None = None,
    keep_index: bool = False,
    timeout: float = 30.0,
    ok: Sequence[int] = (0,),
    config: Sequence[tuple[str, str]] = (),
    network: bool = False,
) -> bytes:
    """What `git ARGS…` prints, run in `cwd` without a terminal, in English, and without network.

    `network`: for `kl sync` alone, which a person or their configuration starts. `keep_index`
    leaves `GIT_INDEX_FILE` as it is: only for a deliberate look at what is being committed.
    `config` overrides settings for this one call. GitMissing; GitFailed for an exit code not in
    `ok`, or no answer after `timeout` seconds.
    """
    command = [executable(), *_PREFIX, *args]
    try:
        with _Process(
            command,
            cwd=cwd,
            env=_environment(keep_index, config, network),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                answer, errors = process.communicate(stdin, timeout)
            except BaseException:  # also an interrupt: nobody waits for it any more
                process.kill()
                raise
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {verb_of(args)} gave no answer in {timeout:g} s.") from None
    except (OSError, ValueError) as problem:
        raise GitFailed(f"git {verb_of(args)} can't be run in {cwd}: {problem}.") from problem
    if process.returncode not in ok:
        raise _failure(args, process.returncode, errors)
    return answer


class _Process(subprocess.Popen[bytes]):
    """A process whose end is noticed at once: to wait with a limit of time, CPython looks, sleeps a
    millisecond and looks again, half as long as git takes for an answer.
    """

    def wait(self, timeout: float | None = None) -> int:
        """As `Popen.wait`."""
        # pidfd_open(2): Linux 5.3; elsewhere, or without a descriptor left, as CPython does
        if timeout is not None and self.returncode is None and hasattr(os, "pidfd_open"):
            with suppress(OSError):
                descriptor = os.pidfd_open(self.pid)
                try:
                    end = select.poll()
                    end.register(descriptor, select.POLLIN)
                    has_ended = bool(end.poll(timeout * 1000))
                finally:
                    os.close(descriptor)
                if not has_ended:  # or the rest would wait as long once more
                    raise subprocess.TimeoutExpired(self.args, timeout)
        return super().wait(timeout)


@contextmanager
def start_git(
    *args: str,
    cwd: str | Path,
    stdin: bool = False,
    timeout: float = 300.0,
    config: Sequence[tuple[str, str]] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """A git that is read from (and, with `stdin`, written to) while it runs; ended when the block
    is left.

    Its exit code is the caller's to look at. It is ended after `timeout` seconds. Raises as `git`.
    """
    try:
        process = subprocess.Popen(
            [executable(), *_PREFIX, *args],
            cwd=cwd,
            env=_environment(False, config),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            # a pipe for stderr that nobody reads would stop git as soon as it is full
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as problem:
        raise GitFailed(f"git {verb_of(args)} can't be run in {cwd}: {problem}.") from problem
    watch = Timer(timeout, process.kill)
    watch.daemon = True
    watch.start()
    try:
        yield process
    finally:
        watch.cancel()
        for pipe in (process.stdin, process.stdout):
            # closing flushes: git may have ended before it had read everything, its exit code has
            # the reason
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        if process.poll() is None:
            process.terminate()
        process.wait()


def executable() -> str:
    """The path of git. Relative entries of PATH are skipped: they could find one inside the
    repository.
    """
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        candidate = os.path.join(folder, "git")  # noqa: PTH118
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):  # noqa: PTH113, PTH117
            return candidate
    raise GitMissing("git was not found in PATH.", hint="Install git 2.31 or newer.")


def _environment(
    keep_index: bool, config: Sequence[tuple[str, str]], network: bool = False
) -> dict[str, str]:
    """The environment for git: ours without what a surrounding git has set, plus `config`."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_")
        or name in _PERSONAL_VARIABLES
        or name.startswith(_PERSONAL_PREFIXES)
    }
    if keep_index and "GIT_INDEX_FILE" in os.environ:
        clean["GIT_INDEX_FILE"] = os.environ["GIT_INDEX_FILE"]
    # a partial clone would fetch missing objects over the network
    clean.update(
        LC_ALL="C", GIT_TERMINAL_PROMPT="0", GIT_NO_LAZY_FETCH="1", GIT_ALLOW_PROTOCOL="none"
    )
    if network:
        # not `ext`: a remote's address could name a program (git-remote-ext)
        clean["GIT_ALLOW_PROTOCOL"] = "file:git:http:https:ssh"
    # GIT_CONFIG_COUNT (git 2.31), not `-c`: there a name ends at its first `=`, and a filter's name
    # may have one
    if config:
        stated_count = clean.get("GIT_CONFIG_COUNT", "")
        if stated_count.isascii() and stated_count.isdigit():
            first = int(stated_count)
        else:
            first = 0
        for number, (key, value) in enumerate(config, first):
            clean[f"GIT_CONFIG_KEY_{number}"], clean[f"GIT_CONFIG_VALUE_{number}"] = key, value
        clean["GIT_CONFIG_COUNT"] = str(first + len(config))
    return clean


def _failure(args: Sequence[str], returncode: int, stderr: bytes) -> GitFailed:
    """The exception for an unexpected exit code, with git's own first line as the reason."""
    text = stderr.decode("utf-8", "replace").strip()
    hint = ""
    if "dubious ownership" in text:
        # git names the command, with the folder, on a line of its own
        asked = next(
            (line.strip() for line in text.splitlines() if line.strip().startswith("git config")),
            "",
        )
        hint = (
            "If you trust that folder:"
            f" {asked or 'git config --global --add safe.directory FOLDER'}"
        )
    first = one_line(text.partition("\n")[0], 300) or f"exit code {returncode}"
    if hint:
        first += "."
    return GitFailed(f"git {verb_of(args)}: {first}", returncode=returncode, stderr=text, hint=hint)


def verb_of(args: Sequence[str]) -> str:
    """The name of the git command in its arguments."""
    return next((arg for arg in args if not arg.startswith("-")), "")


@contextmanager
def one_moment(*, is_later: bool = False) -> Iterator[None]:
    """Within the block what the repository and its working tree hold is asked once.

    Only for what changes neither: it would not see its own change. A block inside another one is
    of the same moment, unless it `is_later`.
    """
    answers = _ANSWERS.get()
    token = _ANSWERS.set({} if answers is None or is_later else answers)
    try:
        yield
    finally:
        _ANSWERS.reset(token)


def is_one_moment() -> bool:
    """Whether this runs within a moment."""
    return _ANSWERS.get() is not None


def was_asked(question: Hashable) -> bool:
    """Whether this was asked in this moment."""
    return question in (_ANSWERS.get() or ())


def once(question: Hashable, ask: Callable[[], _Answer]) -> _Answer:
    """Return what `ask` returns, or what it returned for this question earlier in this moment. What
    it raises is not cached.
    """
    answers = _ANSWERS.get()
    if answers is None:
        return ask()
    if question not in answers:
        answers[question] = ask()
    answer: _Answer = answers[question]
    return answer
