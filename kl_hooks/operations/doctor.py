"""The operation of what is wrong with the set-up, and the exact fix.

Each question is one function that yields findings and writes nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator
from errno import EACCES
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import EnvironmentProblem, KlError, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.evidence.high_water import read_marks, rollbacks
from kl_hooks.evidence.integrity import edited_headers
from kl_hooks.evidence.spool_places import QUARANTINED, spool_places
from kl_hooks.git.run import GitFailed
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.symbol import FilePath
from kl_hooks.model.text import counted
from kl_hooks.operations.operation import Operation
from kl_hooks.proof.acceptance import accepted, accepted_line
from kl_hooks.proof.pytest_config import CONFIG_NAMES
from kl_hooks.store.disk import Refusal, Step, cause_of, existing_folder, refusal_in
from kl_hooks.store.files import store_lock
from kl_hooks.store.spool import pending_spools
from kl_hooks.store.sqlite import has_content
from kl_hooks.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from kl_hooks.context.access import Access

_MINIMUM_GIT: Final = (2, 31)
_UNIGNORE: Final = "echo '!/.kl/' >> .gitignore"

_Facts = Iterator[tuple[str, str, str] | tuple[str, str, str, FilePath | None]]
"""State (`ok`, `remark`, `wrong`), the finding in words, the exact fix (empty: there is none); the
file of the repository that it is about, if it is about one.
"""


class Finding(NamedTuple):
    """One fact, with the subject that it is about."""

    what: str
    state: str
    """`ok`, `remark`, `wrong`."""
    text: str
    fix: str
    """The exact fix; empty: there is none."""
    path: FilePath | None = None
    """The file of the repository that it is about."""

    def to_dict(self) -> dict[str, str]:
        """As JSON has it."""
        return {"what": self.what, "state": self.state, "message": self.text, "fix": self.fix}


class DoctorRequest(NamedTuple):
    """Nothing is asked."""


class Diagnosis(NamedTuple):
    """All findings, in the order of their fixes."""

    findings: tuple[Finding, ...]
    is_wrong: bool
    """Whether something is, which may be shown or not."""

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Diagnosis:
        """What these findings mean."""
        listed = tuple(findings)
        return cls(listed, any(finding.state == "wrong" for finding in listed))


def obstacles(root: Path) -> list[Finding]:
    """What keeps a workspace from being opened, such as settings that can't be read."""
    findings = [Finding("git", *fact) for fact in _git_facts() if fact[0] == "wrong"]
    try:
        if not findings:
            open_workspace(root)
    except Problems as found:
        return [_problem_of_file("settings", problem) for problem in found.problems]
    except KlError as problem:
        if problem.place:
            reason = f"{problem.place}: {problem.reason}"
        else:
            reason = problem.reason
        if isinstance(problem, GitFailed):
            what = "repository"
        else:
            what = "settings"
        return [Finding(what, "wrong", reason, problem.hint)]
    return findings


def _problem_of_file(what: str, problem: Problem) -> Finding:
    path = FilePath(problem.path)
    return Finding(what, "wrong", str(problem), f"edit {path}", path)


def _examine(ws: Workspace, _request: DoctorRequest, _access: Access) -> Diagnosis:
    """Ask all questions; where one fails, the rest is asked all the same."""
    questions: tuple[tuple[str, Callable[[Workspace], _Facts]], ...] = (
        ("repository", _repository_facts),
        ("set-up", _set_up_facts),
        ("settings", _settings_facts),
        ("plugins", _plugin_facts),
        ("kinds", _kind_facts),
        ("git hooks", _hook_facts),
        ("store", _store_facts),
        ("spool", _spool_facts),
        ("folders", _folder_facts),
        ("knowledge", _knowledge_facts),
        ("layers", _manifest_facts),
        ("policy", _policy_facts),
        ("pytest", _pytest_facts),
    )
    findings = [Finding("git", *fact) for fact in _git_facts()]
    for what, question in questions:
        try:
            findings += [Finding(what, *fact) for fact in question(ws)]
        except (KlError, OSError) as problem:
            # one question that fails must not hide the answers to the others
            finding = _problem_finding(what, problem)
            if finding.text not in {earlier.text for earlier in findings}:
                findings.append(finding)
    return Diagnosis.of(findings)


def _problem_finding(what: str, problem: KlError | OSError) -> Finding:
    if isinstance(problem, KlError) and problem.hint:
        if problem.place:
            place = f"{problem.place}: "
        else:
            place = ""
        return Finding(what, "wrong", f"{place}{problem.reason}", problem.hint)
    return Finding(what, "wrong", str(problem), "")


DOCTOR: Final = Operation(
    "doctor",
    "Check the set-up, and show the exact fix for what is wrong. Exit 1 if something is.",
    DoctorRequest,
    _examine,
    lambda diagnosis: {"findings": [finding.to_dict() for finding in diagnosis.findings]},
    "kl.doctor/2",
    "kl doctor --format json",
    is_tool=False,
)


def _set_up_facts(ws: Workspace) -> _Facts:
    if ws.initialized:
        from kl_hooks.git.repository import ignored_by
        from kl_hooks.model.manifest import MANIFEST

        yield "ok", str(ws.root / ".kl"), ""
        # as `.*` of some projects does: the gate of a commit sees no manifest then
        if ws.repo is not None and (rule := ignored_by(ws.repo, MANIFEST)):
            yield (
                "wrong",
                f".kl/ is ignored by {rule}: commits and clones don't have it.",
                _UNIGNORE,
            )
    else:
        yield "wrong", "no .kl/ here: nothing is recorded or enforced.", "kl init"


def _settings_facts(ws: Workspace) -> _Facts:
    yield from (("remark", str(warning), "") for warning in ws.settings.warnings)


def _plugin_facts(ws: Workspace) -> _Facts:
    yield from (
        ("wrong", f"{problem.place}: {problem.reason}", problem.hint)
        for problem in ws.missing_plugins
    )


def _kind_facts(ws: Workspace) -> _Facts:
    yield from (_problem_of_file("kinds", problem)[1:] for problem in ws.catalog.problems)


def _manifest_facts(ws: Workspace) -> _Facts:
    from kl_hooks.arch.layers import ManifestProblems
    from kl_hooks.arch.manifest_parser import read_manifest
    from kl_hooks.model.manifest import MANIFEST
    from kl_hooks.store.files import read_small

    text = read_small(ws.root / MANIFEST, within=ws.root)
    if text is None:
        return
    try:
        manifest = read_manifest(MANIFEST, text)
    except ManifestProblems as found:
        yield from (("wrong", str(problem), f"edit {MANIFEST}") for problem in found.problems)
        return
    yield "ok", f"{counted(len(manifest.layers), 'layer')} in {MANIFEST}", ""


def _policy_facts(ws: Workspace) -> _Facts:
    from kl_hooks.config.settings import POLICY_FILE
    from kl_hooks.context.access import find_policy

    try:
        policy = find_policy(ws)
    except Problems as found:
        yield from (
            ("wrong", f"{one} Nothing is shown until it is right.", f"edit {one.path}")
            for one in found.problems
        )
        return
    if policy is not None:
        yield "ok", f"{counted(len(policy.rules), 'rule')} in {POLICY_FILE}", ""


def _git_facts() -> _Facts:
    from kl_hooks.git.repository import git_version

    needed = ".".join(map(str, _MINIMUM_GIT))
    try:
        found = git_version()
    except KlError as problem:
        yield "wrong", problem.reason, problem.hint or f"Install git {needed} or newer."
        return
    shown = ".".join(map(str, found))
    if found < _MINIMUM_GIT:
        yield "wrong", f"git {shown} is too old.", f"Install git {needed} or newer."
    else:
        yield "ok", f"git {shown}", ""


def _repository_facts(ws: Workspace) -> _Facts:
    from kl_hooks.git.repository import head, is_shallow

    if damage := list(_index_facts(ws)):
        yield from damage
        return
    if ws.repo is None:
        yield "wrong", f"{ws.root} is not in a git repository.", "git init, or give --root"
        return
    if is_shallow(ws.repo):
        reason = (
            "shallow clone: commits before its boundary are unknown here, so evidence from history"
            " is limited."
        )
        yield "remark", reason, "git fetch --unshallow   (in CI: fetch-depth: 0)"
    elif head(ws.repo)[0] is None:
        yield "remark", "no commit yet.", "git commit"
    else:
        yield "ok", str(ws.repo.top), ""


def _hook_facts(ws: Workspace) -> _Facts:
    from kl_hooks.git.hooks import hook_states, outdated_hooks

    if ws.repo is None:
        return
    if ws.git_settings:
        path = ws.git_settings.hooks_path
    else:
        path = None
    older = {one.name for one in outdated_hooks(ws.repo)}
    for hook in hook_states(ws.repo):
        if hook.state == "inert":
            reason = f"{hook.name} is installed but git does not run it: core.hooksPath is {path}."
            yield "wrong", reason, f"git config --unset core.hooksPath, or: {hook.reason}"
        elif hook.state == "broken":
            yield "wrong", f"{hook.name}: {hook.reason}", "kl hooks install"
        elif hook.state == "installed" and hook.name in older:
            yield (
                "remark",
                f"{hook.name} was written by an older version of kl.",
                "kl init --upgrade",
            )
        elif hook.state == "installed":
            yield "ok", f"{hook.name} is ours", ""
    if path and not any(h.state == "inert" for h in hook_states(ws.repo)):
        reason = (
            f"core.hooksPath is {path}: git hooks in .git/hooks, pre-commit's included, are not"
            " run."
        )
        yield "remark", reason, "git config --unset core.hooksPath, or call kl from that folder"


_SWITCHED_OFF: Final = lazy_pattern(
    r"no:kl\b|--no-kl\b|^\s*kl\s*=\s*[\"']?(?:false|no|off|0)\b", re.M | re.I
)
_ASK: Final = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('pytest_kl') else 1)"


def _pytest_facts(ws: Workspace) -> _Facts:
    """Does the pytest that people run here load the plugin? Looked at from outside: no file of the
    repository runs.
    """
    environ = ws.environ
    command = shutil.which("pytest", path=environ.get("PATH"))
    if command is None:
        yield (
            "remark",
            "no `pytest` on PATH: test runs are recorded where it is installed with kl-hooks.",
            "",
        )
    else:
        yield from _loaded_by(Path(command))
    if environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        reason = "PYTEST_DISABLE_PLUGIN_AUTOLOAD is set: pytest loads no plugin by itself."
        yield "remark", reason, "pytest -p pytest_kl.plugin, or unset it"
    if "no:kl" in environ.get("PYTEST_ADDOPTS", "") or "--no-kl" in environ.get(
        "PYTEST_ADDOPTS", ""
    ):
        yield (
            "wrong",
            "PYTEST_ADDOPTS switches the plugin off.",
            "take `no:kl` or `--no-kl` out of PYTEST_ADDOPTS",
        )
    for name in CONFIG_NAMES:
        path = ws.root / name
        if path.is_file() and _SWITCHED_OFF.search(path.read_text("utf-8", "replace")):
            yield (
                "wrong",
                f"{name} switches the plugin off (no:kl, --no-kl, or kl = false).",
                f"edit {name}",
            )


def _loaded_by(command: Path) -> _Facts:
    interpreter = _interpreter(command)
    if interpreter is None:
        yield (
            "remark",
            f"{command} is not a Python script: whether it loads the plugin is unknown.",
            "",
        )
        return
    try:
        # -I: neither variables nor files of the repository decide what is found
        asked = subprocess.run(
            [interpreter, "-I", "-c", _ASK], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        yield (
            "wrong",
            f"{command} runs on {interpreter}, which can't be started ({problem}).",
            "reinstall pytest",
        )
        return
    if asked.returncode == 0:
        yield "ok", f"{command} loads the plugin", ""
    else:
        reason = (
            f"{command} runs on {interpreter}, where kl-hooks is not installed: its runs leave no"
            " evidence."
        )
        yield "wrong", reason, f"{interpreter} -m pip install kl-hooks"


def _interpreter(script: Path) -> str | None:
    """The interpreter named in the first line of a script; None where there is none."""
    try:
        with script.open("rb") as file:
            first = file.readline(512).decode("utf-8", "replace").strip()
    except OSError:
        return None
    # `#!/usr/bin/env python3` names the interpreter in the second word
    if first.startswith("#!"):
        words = first.removeprefix("#!").split()
    else:
        words = []
    if words and words[0].endswith("/env"):
        words = words[1:]
    if words and "python" in words[0]:
        return shutil.which(words[0])
    return None


def _state_facts(ws: Workspace) -> _Facts:
    """Only what is wrong: folders that are files, files that are folders."""
    state = ws.state
    above = () if state.origin == "override" else (state.directory,)
    for folder in (*above, state.spool, state.graph.parent):
        yield from _no_folder(folder)
    for path in (state.database, state.lock, state.high_water):
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            yield _aside(path, f"is {_file_type(path)}, where kl stores a file")
    if state.graph.is_dir() and not state.graph.is_symlink():
        yield _aside(state.graph, "is a folder, where kl stores a file")


def _knowledge_facts(ws: Workspace) -> _Facts:
    from kl_hooks.records.repository import KNOWLEDGE_FOLDER

    yield from _no_folder(ws.root / KNOWLEDGE_FOLDER)


def _index_facts(ws: Workspace) -> _Facts:
    from kl_hooks.git.files import index_rows

    if ws.repo is None or ws.repo.bare:
        return
    try:
        index_rows(ws.repo)
    except GitFailed as problem:
        path = ws.repo.git_dir / "index"
        fix = f"{_mv(path, 'damaged')}; git reset -q   (then stage again what was staged)"
        yield "wrong", problem.reason, fix if path.name in problem.reason else problem.hint


def _no_folder(path: Path) -> _Facts:
    # lexists(): a link that leads nowhere is in the way too, and exists() is False for it
    if os.path.lexists(path) and not path.is_dir():
        yield _aside(path, f"is {_file_type(path)}, where kl stores a folder")


def _file_type(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        if path.exists():
            return "a link"
        return "a link that leads nowhere"
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISREG(mode):
        return "a file"
    return "no regular file"


def _aside(path: Path, reason: str) -> tuple[str, str, str]:
    return "wrong", f"{path} {reason}.", _mv(path, "aside")


def _mv(path: Path, end: str) -> str:
    return f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.{end}')}"


_OTHER_PLACE: Final = "export KL_STATE=FOLDER   (one that you can write)"
_WAIT: Final = "wait for it, or end that process; captures wait in the spool"


def _store_facts(ws: Workspace) -> _Facts:
    """Creates nothing where there is no store."""
    if wrong := list(_state_facts(ws)):
        yield from wrong
        return
    database = ws.state.database
    problem = ws.store.problem()
    if isinstance(problem, StoreNewer):
        yield "wrong", problem.reason, "pip install --upgrade kl-hooks (captures wait in the spool)"
    elif isinstance(problem, StoreDamaged):
        yield _damaged(ws, problem)
    elif isinstance(problem, StoreBusy):
        yield "wrong", f"{problem.place}: {problem.reason}", _WAIT
    elif no_place := _no_place(ws):
        yield "wrong", f"{no_place}; captures go to another spool.", _OTHER_PLACE
    elif refused := _state_refusal(ws):
        yield refused
    elif problem is not None:
        yield "wrong", f"{problem.place}: {problem.reason}", _fix_of_problem(problem)
    elif ws.store.address:
        yield "ok", f"{ws.store.address.place}, repository {ws.store.address.repository}", ""
    elif ws.state.is_emptied:
        reason = f"{database} is empty (0 bytes): what was stored in it is lost."
        yield "wrong", reason, f"put a copy back, or: rm {shlex.quote(str(database))}"
    elif not database.exists() and os.access(existing_folder(ws.state.directory), os.W_OK):
        yield "remark", "no evidence yet; the store is made by the first command that needs it.", ""
    else:
        yield _can_be_written(ws)
    # what can't be opened can't be read either, for the same reason
    if problem is None:
        yield from _receipt_facts(ws)


def _fix_of_problem(problem: EnvironmentProblem) -> str:
    # other commands send the reader here
    if problem.hint == "See: kl doctor":
        return _OTHER_PLACE
    return problem.hint


def _damaged(ws: Workspace, problem: EnvironmentProblem) -> tuple[str, str, str]:
    database = ws.state.database
    fix = (
        f"copy the file if you want to examine it, then move it away: mv {database}"
        f" {database}.damaged"
    )
    return "wrong", f"{problem.place or database}: {problem.reason}", fix


def _receipt_facts(ws: Workspace) -> _Facts:
    """Receipts that are lost, edited or unreadable; and losses that were accepted."""
    database = ws.state.database
    # before the store is opened, as `kl evidence verify` does: another process may move them on
    marks = read_marks(ws)
    try:
        with ws.store.reading() as db:
            lost = rollbacks(db, marks)
            edited = edited_headers(db) if db else []
        events = accepted(ws)
    except StoreDamaged as problem:
        yield _damaged(ws, problem)
        return
    except EnvironmentProblem as problem:
        yield "wrong", str(problem), problem.hint
        return
    for one in lost:
        if database.exists() and not has_content(database):
            state = "is empty (0 bytes)"
        else:
            state = "was deleted"
        if one.had and not ws.store.address and not has_content(database):
            why = f"{database} {state}: "
        else:
            why = ""
        yield (
            "wrong",
            f"{why}{one}.",
            "put the newer kl.db back, or: kl evidence accept --reason TEXT",
        )
    if edited:
        shown = f"{', '.join(edited[:3])}{' …' if len(edited) > 3 else ''}"
        reason = (
            f"{counted(len(edited), 'receipt')} edited: the ID is not the hash of the header"
            f" ({shown})."
        )
        yield "wrong", reason, f"kl evidence verify; then put an unedited copy of {database} back"
    yield from (("remark", f"accepted on {accepted_line(one)}", "") for one in events)


def _state_refusal(ws: Workspace) -> tuple[str, str, str] | None:
    """What the state directory can't do, tried in the folder of the spool."""
    folder = existing_folder(ws.state.spool)
    if not ws.state.directory.exists() or not os.access(folder, os.W_OK):
        return None
    refusal = refusal_in(folder)
    if refusal is None:
        return None
    words = _refusal_words(folder, refusal)
    return (
        "wrong",
        f"{words} Runs of tests can't be recorded there.",
        _fix_of(refusal, _OTHER_PLACE),
    )


def _refusal_words(folder: Path, refusal: Refusal) -> str:
    return f"{folder}: can't {refusal.step}: {refusal.cause.words}."


def _fix_of(refusal: Refusal, other_place: str) -> str:
    if not refusal.cause.fix:
        return other_place
    return f"{refusal.cause.fix}, or: {other_place}"


def _folder_facts(ws: Workspace) -> _Facts:
    """What kl can't do in the other folders that it writes to, tried for real."""
    if not ws.initialized:
        return
    home = ws.root / ".kl"
    cache = existing_folder(ws.state.cache)
    refusal = refusal_in(home)
    if refusal is not None and refusal.step is Step.LOCK:  # records are written without one there
        words = f"{_refusal_words(home, refusal)} Of two commands at once one may undo the other."
        yield "remark", words, refusal.cause.fix
    elif refusal is not None:
        words = f"{_refusal_words(home, refusal)} Records can't be written."
        yield "wrong", words, refusal.cause.fix
    refusal = refusal_in(cache) if cache.is_dir() else None
    if refusal is not None:
        words = f"{_refusal_words(cache, refusal)} Nothing is cached: answers take longer."
        yield "remark", words, _fix_of(refusal, "export XDG_CACHE_HOME=FOLDER")


def _no_place(ws: Workspace) -> str:
    """Return why the state directory can't be made where it is configured; empty if it exists or
    can be.
    """
    import tempfile

    folder = ws.state.directory
    there = existing_folder(ws.state.directory)
    if not there.is_dir():
        return f"{there} is not a folder"
    if os.statvfs(there).f_flag & os.ST_RDONLY:
        return f"{folder} is on a file system that is mounted read-only"
    if ws.state.origin != "override" or there == folder or not os.access(there, os.W_OK):
        return ""
    # permissions alone are not enough: the superuser has them all, and /proc accepts no folders
    try:
        Path(tempfile.mkdtemp(prefix=".kl-", dir=there)).rmdir()
    except OSError as problem:
        return f"{folder} can't be made ({problem.strerror})"
    return ""


def _can_be_written(ws: Workspace) -> tuple[str, str, str]:
    folder = ws.state.directory
    database = ws.state.database
    try:
        # a moment, not KL_LOCK_WAIT: whoever asks the doctor wants to know that the lock is taken
        with store_lock(ws.state.lock, wait=0.2, what="kl doctor"):
            for path in (folder, database):
                if not os.access(path, os.W_OK):
                    raise PermissionError(EACCES, os.strerror(EACCES), str(path))
    except StoreBusy as problem:
        return "wrong", problem.reason, _WAIT
    except OSError as problem:
        cause = cause_of(problem, folder)
        if problem.errno == EACCES:
            why = "by you"
        else:
            why = f"({cause.words})"
        return (
            "wrong",
            f"{database} can't be written {why}; captures go to another spool.",
            cause.fix,
        )
    return "ok", str(database), ""


def _spool_facts(ws: Workspace) -> _Facts:
    """Captures that are not in the store yet, and files in the spool that are none."""
    for folder, origin, *_ in spool_places(ws):
        if count := len(pending_spools(folder)):
            yield (
                "remark",
                f"captures waiting in {folder} ({origin}): {count}.",
                "kl evidence list   (imports them)",
            )
        if aside := sorted(folder.glob(f"*{QUARANTINED}")):
            were = "was" if len(aside) == 1 else "were"
            reason = (
                f"{counted(len(aside), 'file')} could not be understood and {were} set aside, such"
                f" as {aside[0]}."
            )
            yield "remark", reason, "inspect them, then delete them"
