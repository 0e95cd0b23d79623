"""`kl init`: look at the repository, propose `.kl/`, and remove what was written with `--undo`."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import click

from kl_hooks import __version__
from kl_hooks.arch.baseline import BaselineEntry, baseline_bytes, entries_for
from kl_hooks.arch.content import WORKTREE, load_content, require_repository, utc_day
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.importers import find_config
from kl_hooks.arch.layer_check import judge
from kl_hooks.arch.layers import layer_lookup
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.arch.packages import product_packages, shared_folder
from kl_hooks.arch.propose import propose
from kl_hooks.cli.output import (
    allowed,
    command_access,
    counted,
    format_option,
    print_answer,
    print_list,
    progress,
    warn,
    workspace,
)
from kl_hooks.code.languages import (
    EXTRA,
    SCANNED,
    installable,
    is_file_module,
    is_source,
    language_of,
    scanners_of,
    unread_in_worktree,
    unread_text,
)
from kl_hooks.config.settings import SETTINGS_FILE
from kl_hooks.config.yaml import ListNode, MapNode, Node, TextNode, load_yaml
from kl_hooks.errors import KlError
from kl_hooks.git.hooks import PRE_COMMIT_FILE, hook_states, mentions_pre_commit_hooks
from kl_hooks.git.repository import ignored_by
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.lifecycle import LIFECYCLE_FILE as LIFECYCLE
from kl_hooks.model.manifest import BASELINE, MANIFEST, Layer, Manifest
from kl_hooks.model.symbol import Link, NodeId
from kl_hooks.proof.content_source import content_source
from kl_hooks.proof.expected_tests import outside_testpaths
from kl_hooks.shipped import form
from kl_hooks.store.files import read_small, store_lock
from kl_hooks.store.written_files import (
    Plan,
    apply_plan,
    content_hash,
    record_to_undo,
    undo,
    write_record,
)
from kl_hooks.workspace import Workspace, refuse_linked_folder


@dataclass
class _Survey:
    """The plan, and what was found, as rows of columns."""

    plan: Plan
    found: list[tuple[str, ...]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    layers: int = 0
    accepted: int = 0
    """Imports of today that contradict the proposed layers and go into the baseline."""
    snippet: bool = False
    """True where the pre-commit configuration could hold our entry but has to be changed by hand.
    """
    notes: tuple[str, ...] = ()
    seeds: int = 0
    """Records that the project's documents would give, beyond those that are there."""
    seeded: list[str] = field(default_factory=list)
    """Paths of those that were made."""
    uninstalled: bool = False
    """True where pre-commit runs `kl init` and kl itself is not installed."""
    hooked: bool = False
    """True where git runs every git hook of kl already, or pre-commit runs our entries."""
    installable: tuple[str, ...] = ()
    """Languages of files here that would be read if the extra were installed."""
    set_up: str = ""
    """File of import-linter or tach whose rules could be taken over instead of the proposal."""


def _survey(ws: Workspace, *, append: bool, exact: bool = False) -> _Survey:
    """Plans the set-up; writes nothing.

    `append`: the user agreed to entries in his pre-commit configuration. `exact`: see `propose`.
    """
    content = load_content(ws)
    imports = survey_imports(ws, content)
    proposal = propose(
        imports.links,
        imports.modules,
        lambda layers: _through(imports, layers),
        exact=exact,
        projects=imports.projects,
    )
    proposal = proposal._replace(is_python_alone=_is_python_alone(imports, proposal.layers))
    texts = {
        SETTINGS_FILE: form("config.yaml") + _excluded(ws),
        ".kl/.gitignore": form("gitignore"),
        LIFECYCLE: form("lifecycle.yaml"),
    }
    accepted = 0
    if proposal.layers:
        text = proposal.text()
        texts = {MANIFEST: text, **texts}
        if proposal.against and not _exists(ws, MANIFEST):
            entries = _violations_today(ws, imports, text)
            texts = {MANIFEST: text, BASELINE: baseline_bytes(entries).decode("ascii"), **texts}
            accepted = sum(entry.count for entry in entries)
    create = {path: text.encode() for path, text in texts.items() if not _exists(ws, path)}
    survey = _Survey(
        Plan(create),
        _packages(imports),
        [path for path in texts if path not in create],
        notes=allowed(tuple(imports.notes)),
    )
    survey.layers, survey.accepted = len(proposal.layers), accepted
    unread = allowed((*imports.unread, *imports.partly_read))
    survey.found += [("unread", str(problem)) for problem in unread[:5]]
    if ws.repo is not None:
        numbers = unread_in_worktree(ws.repo, scanners_of(ws))
        survey.found += [(text,)] if (text := unread_text(numbers)) else []
        survey.installable = tuple(installable(numbers))
    survey.set_up = (find_config(ws) or "") if MANIFEST in create or not proposal.layers else ""
    if survey.set_up:
        survey.found.append(
            ("rules", survey.set_up, "import-linter" if survey.set_up != "tach.toml" else "tach")
        )
    _pre_commit(ws, survey, append)
    # pre-commit sets it for the hooks that it runs, each in an environment of its own
    survey.uninstalled = bool(ws.environ.get("PRE_COMMIT"))
    config = read_small(ws.root / PRE_COMMIT_FILE, within=ws.root) or b""
    states = hook_states(ws.repo, config) if ws.repo is not None else ()
    survey.hooked = bool(states) and all(
        hook.state in ("installed", "called", "edited") for hook in states
    )
    return survey


# without this key `pre-commit install` installs the hook of the stage pre-commit alone
_STAGES: Final = "default_install_hook_types: [pre-commit, post-commit, pre-push]\n"


def _pre_commit_entry(indent: int = 0) -> str:
    """The entry of the list `repos` that runs our hooks with the installed `kl`, moved in by so
    many blanks.
    """
    return "".join(
        " " * indent + line for line in form("pre-commit.yaml").splitlines(keepends=True)
    )


def _pre_commit_addition(text: bytes) -> str | None:
    """What to append to a configuration so that it holds our entry; None where appending is not
    plainly right.

    Plainly right: the file is read without problems, `repos` is a block list and is last, and the
    longer file reads as the old one with one repository more.
    """
    root, problems = load_yaml(PRE_COMMIT_FILE, text)
    # appended lines would end otherwise than the rest of a file with CRLF
    if problems or not isinstance(root, MapNode) or not root.entries or b"\r" in text:
        return None
    last, repos = root.entries[-1]
    if (
        last.value != "repos"
        or not isinstance(repos, ListNode)
        or not repos.items
        or repos.line == last.line
    ):
        return None
    added = ("" if text.endswith(b"\n") else "\n") + _pre_commit_entry(repos.column - 1)
    if "default_install_hook_types" not in {key.value for key, _ in root.entries}:
        added += _STAGES
    if _is_old_plus_one(root, text + added.encode()):
        return added
    return None


def _is_old_plus_one(old: MapNode, text: bytes) -> bool:
    root, problems = load_yaml(PRE_COMMIT_FILE, text)
    if problems or not isinstance(root, MapNode):
        return False
    before = _plain_value(old)
    after = _plain_value(root)
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    unchanged = {key: value for key, value in after.items() if key in before and key != "repos"}
    return (
        unchanged == {key: value for key, value in before.items() if key != "repos"}
        and after["repos"][:-1] == before["repos"]
    )


def _plain_value(node: Node) -> object:
    if isinstance(node, TextNode):
        return node.value
    if isinstance(node, ListNode):
        return [_plain_value(item) for item in node.items]
    return {key.value: _plain_value(value) for key, value in node.entries}


def _excluded(ws: Workspace) -> str:
    """The part of the settings that names files outside `testpaths` which look like tests; empty
    for none.
    """
    globs = outside_testpaths(content_source(ws.repo, "")) if ws.repo is not None else []
    if not globs:
        return ""
    # a JSON string is a double-quoted scalar of YAML 1.2; names of files need not be UTF-8, the
    # settings must be
    lines = "".join(
        f"    - {json.dumps(os.fsencode(glob).decode('utf-8', 'replace'))}\n" for glob in globs
    )
    return (
        "verify:\n  exclude:  # outside testpaths, or ignored by addopts: kl verify does not expect"
        f" them\n{lines}"
    )


def _is_python_alone(read: Survey, layers: Sequence[Layer]) -> bool:
    """Whether the layers are those of Python packages, and files of other languages lie in them,
    such as scripts for browsers.
    """
    layer_of = layer_lookup(layers)
    in_layers = [
        entry.path
        for entry in read.content.entries
        if is_source(entry.path) and layer_of(entry.path)
    ]
    others = [path for path in in_layers if is_file_module(path)]
    packages = product_packages(read.modules, read.projects)
    proposed = {path for files in packages.values() for path in files}
    return len(others) < len(in_layers) and proposed.isdisjoint(others) and bool(others)


def _through(read: Survey, layers: Sequence[Layer]) -> list[Link]:
    """The imports that reach one of these layers through files in none."""
    layer_of = layer_lookup(layers)
    by_path = {path: layer_of(path) for path in read.modules}
    return read.through(
        by_path, lambda source, target: source.name != target.name, Manifest(MANIFEST, ())
    )


def _violations_today(ws: Workspace, read: Survey, text: str) -> tuple[BaselineEntry, ...]:
    """What a check by the drafted manifest finds today."""
    return entries_for(
        judge(read_manifest(MANIFEST, text.encode()), read, utc_day(ws), WORKTREE, ()).violations
    )


def _exists(ws: Workspace, path: str) -> bool:
    return (ws.root / path).exists() or (ws.root / path).is_symlink()


def _packages(read: Survey) -> list[tuple[str, ...]]:
    """The packages as rows of columns, without files that are denied to whoever runs this."""
    access = command_access()
    modules = {
        path: module
        for path, module in read.modules.items()
        if access.shows_all or access.effect_on_place("", path, "symbol")[0] != "deny"
    }
    rows: list[tuple[str, ...]] = []
    for top, files in product_packages(modules, read.projects).items():
        inside = set(files)
        imports = sum(link.path in inside for link in read.links)
        folder = shared_folder(files).rstrip("/") or "."
        rows.append(
            (
                Counter(map(language_of, files)).most_common(1)[0][0].lower(),
                top,
                folder,
                f"{counted(len(files), 'module')}, {counted(imports, 'import')}",
            )
        )
    return rows


def _pre_commit(ws: Workspace, survey: _Survey, append: bool) -> None:
    text = read_small(ws.root / PRE_COMMIT_FILE, within=ws.root)
    if text is None:
        return
    survey.found.append(("pre-commit", PRE_COMMIT_FILE))
    if mentions_pre_commit_hooks(text):
        survey.unchanged.append(f"{PRE_COMMIT_FILE} (has our hooks)")
        return
    added = _pre_commit_addition(text) if append else None
    if added is None:
        survey.snippet = True
    else:
        survey.plan = Plan(survey.plan.create, {PRE_COMMIT_FILE: added.encode()})


def _seeds_left(ws: Workspace) -> int:
    """Records that the documents at hand would give and that are not there yet; only small files
    are read for it.
    """
    from kl_hooks.kinds.seeds import project_seeds

    seeds = project_seeds(ws.root)[0]
    if not ws.initialized or not seeds:
        return len(seeds)
    from kl_hooks.records.seeding import plan_seeding

    try:
        return sum(step.what in ("created", "updated") for step in plan_seeding(ws, seeds))
    except KlError:  # the command that reads it reports it
        return len(seeds)


def _seed(ws: Workspace) -> list[str]:
    """Makes them and puts them on the record of `kl init`, so that --undo finds them; their paths.

    Errors are warnings: the set-up itself is complete.
    """
    from kl_hooks.kinds.seeds import document_paths, project_seeds
    from kl_hooks.records.seeding import seed_records

    seeds, remarks = project_seeds(ws.root)
    for remark in allowed(tuple(remarks)):
        warn(remark)
    try:
        steps = seed_records(ws, seeds, "project", paths=document_paths())
    except KlError as problem:
        warn(f"nothing was seeded: {problem} Try again with: kl seed")
        return []
    paths = [step.record.path for step in steps if step.what == "created" and step.record]
    with store_lock(ws.state.lock, wait=10.0, what="kl init"):
        record = record_to_undo(ws.state)
        # so that --undo removes those that nobody has edited since
        hashes = {path: content_hash((ws.root / path).read_bytes()) for path in paths}
        write_record(ws.state, {**record, "created": {**record["created"], **hashes}})
    return paths


def _allow_seeding_again(ws: Workspace, removed: list[str]) -> None:
    """After --undo: what was sown may be sown again."""
    from kl_hooks.records.seeding import SEED_MARKER

    if any(path.startswith(".kl/knowledge/") for path in removed):
        (ws.state.directory / SEED_MARKER).unlink(missing_ok=True)


def _to_dict(survey: _Survey) -> dict[str, object]:
    return {
        "schema": "kl.init/2",
        "found": [list(row) for row in survey.found],
        "wrote": sorted(survey.plan.create),
        "added_to": sorted(survey.plan.append),
        "unchanged": survey.unchanged,
        "layers": survey.layers,
        "accepted": survey.accepted,
        "seeds": survey.seeds,
        "seeded": [file.path for file in allowed(_seeded_files(survey))],
        "snippet": _pre_commit_entry() if survey.snippet else None,
        "next": _steps(survey),
    }


def _seeded_files(survey: _Survey) -> tuple[_WrittenFile, ...]:
    return tuple(_WrittenFile(NodeId(f"file:{path}"), path, "seeded") for path in survey.seeded)


def _survey_lines(ws: Workspace, survey: _Survey) -> Iterator[str]:
    """What was found and done, for a person."""
    yield f"kl {__version__} - knowledge layer for this repository\n"
    for row in survey.found:
        yield "  found   " + "  ".join(f"{word:<14}" for word in row).rstrip()
    if not survey.layers:
        yield "  found   no package: no layers to propose"
    yield ""
    for path in survey.plan.create:
        about = {
            MANIFEST: (
                f"{counted(survey.layers, 'layer')}, proposed from your imports   [review this]"
            ),
            BASELINE: (
                f"{counted(survey.accepted, 'import')} against these layers accepted; only new ones"
                " block"
            ),
        }.get(path, "")
        yield f"  wrote   {path:<24} {about}".rstrip()
    for path, text in survey.plan.append.items():
        lines = text.count(b"\n")
        yield f"  added   {path:<24} +{counted(lines, 'line')}"
    for path in survey.unchanged:
        yield f"  exists  {path}"
    if survey.seeded:
        yield f"  seeded  {counted(len(survey.seeded), 'record')} in .kl/knowledge/   [review them]"
    if ws.repo is not None and (rule := ignored_by(ws.repo, MANIFEST)):
        yield f"  ignored .kl/ by {rule}: commits would not have it. Add to .gitignore: !/.kl/"
    yield f"  store   {ws.state.directory}   private to this clone\n"
    if survey.snippet:
        yield f"  To check commits, add this to the list `repos` of {PRE_COMMIT_FILE}"
        yield "  (kl init --yes appends it where it can):\n"
        yield _pre_commit_entry(4) + f"\n  and at the top of it:  {_STAGES}"
    for number, step in enumerate(_steps(survey), 1):
        yield f"  {'next' if number == 1 else '    '}    {number}. {step}"
    yield "Nothing was committed. Undo with: kl init --undo"


def _test_command(survey: _Survey) -> str:
    """The command that runs the tests and records them, which pytest does itself. Python's where
    there is Python.
    """
    languages = {row[0] for row in survey.found}
    commands = [scanned.tests for scanned in SCANNED if scanned.name.lower() in languages]
    if not commands or "pytest" in commands:
        return "pytest"
    return f"kl run -- {commands[0]}"


def _steps(survey: _Survey) -> list[str]:
    if survey.uninstalled:
        return [
            *([f"review the proposal       {MANIFEST}"] if MANIFEST in survey.plan.create else []),
            "check the code against it git add .kl && pre-commit run kl-check",
            "install the git hooks     pre-commit install",
        ]
    pre_commit = any(row[0] == "pre-commit" for row in survey.found)
    if pre_commit:
        hooks = "pre-commit install"
    else:
        hooks = "kl hooks install"
    if MANIFEST in survey.plan.create:
        force = " --force"
    else:
        force = ""
    if survey.set_up:
        own = [f"or keep your own rules    kl arch import --write{force}   (from {survey.set_up})"]
    else:
        own = []
    if MANIFEST in survey.plan.create:
        look = [f"look at the proposal      {MANIFEST}"]
    else:
        look = []
    if survey.layers:
        review = [*look, "check the code against it kl arch check"]
    else:
        review = []
    if survey.seeds:
        seeds = [f"seed from your documents  kl seed   ({counted(survey.seeds, 'record')})"]
    else:
        seeds = []
    languages = " and ".join(survey.installable)
    extra = [f"have {languages} read, too: {EXTRA}, and again: kl init"]
    return [
        *(extra if survey.installable else []),
        *review,
        *own,
        *(seeds if not survey.seeded else []),
        *([] if survey.hooked else [f"install the git hooks     {hooks}"]),
        f"record a run of tests     {_test_command(survey)}",
        "see what is recorded      kl status",
    ]


@click.command(epilog="Example: kl init --yes")
@click.option(
    "--yes",
    is_flag=True,
    help=f"Also add our entries to {PRE_COMMIT_FILE}, where they can simply be appended, and seed.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Layers without exceptions: parts that import each other become one layer.",
)
@click.option(
    "--undo",
    "back",
    is_flag=True,
    help="Remove what kl init and kl hooks install wrote, unless it was edited since.",
)
@click.option(
    "--upgrade",
    is_flag=True,
    help="Only renew the git hooks that an older version of kl has written.",
)
@format_option()
def init(yes: bool, exact: bool, back: bool, upgrade: bool, shape: str) -> int:
    """Look at the repository and propose `.kl/`: layers from today's imports, settings.

    Where parts of the code import each other, the layers are those that the fewest imports
    contradict, and a baseline accepts these: the first check is clean. Never overwrites a file and
    commits nothing.
    """
    ws = workspace()
    require_repository(ws)
    if back:
        return _print_undo(ws, shape)
    if upgrade:
        return _upgrade_hooks(ws, shape)
    refuse_linked_folder(ws.root)
    # sys.stdin is None in a process that was started with its standard input closed (CPython)
    person = sys.stdin is not None and sys.stdin.isatty() and shape == "text"
    append = yes or (person and _confirm_append(ws))
    with progress("Reading imports"):
        survey = _survey(ws, append=append, exact=exact)
        survey.seeds = _seeds_left(ws)
    apply_plan(ws.root, ws.state, survey.plan)
    if survey.seeds and (yes or (person and _confirm_seeding(survey.seeds))):
        survey.seeded = _seed(ws)
    for remark in survey.notes:
        warn(remark)
    print_answer(shape, _to_dict(survey), _survey_lines(ws, survey))
    return 0


def _confirm_append(ws: Workspace) -> bool:
    """Asks, where there is a file to add to that has none of ours yet."""
    text = read_small(ws.root / PRE_COMMIT_FILE, within=ws.root)
    can_be = (
        text is not None
        and not mentions_pre_commit_hooks(text)
        and _pre_commit_addition(text) is not None
    )
    return can_be and click.confirm(
        f"Add kl's entries to {PRE_COMMIT_FILE}?", default=False, err=True
    )


def _confirm_seeding(seeds: int) -> bool:
    """Asks whether the documents' own words become records."""
    return click.confirm(
        f"Make {counted(seeds, 'record')} of what your documents state?", default=False, err=True
    )


def _upgrade_hooks(ws: Workspace, shape: str) -> int:
    """Renew git hooks that an older version of kl has written; those of other tools and edited ones
    stay.
    """
    from kl_hooks.git.hooks import install_hooks, outdated_hooks

    assert ws.repo is not None  # require_repository refused it
    names = [hook.name for hook in outdated_hooks(ws.repo)]
    if names:
        hooks = install_hooks(ws.repo, names, sys.executable, ws.state.spool)
    else:
        hooks = []
    plain = [
        {"name": hook.name, "path": str(hook.path), "action": hook.action, "reason": hook.reason}
        for hook in hooks
    ]
    rows = [f"  {hook.action:<10} {hook.path}" for hook in hooks]
    none = "nothing to renew: no git hook here was written by an older version of kl."
    print_list(shape, {"schema": "kl.init.upgrade/1", "hooks": plain}, rows, len(rows), none)
    return 0


class _WrittenFile(NamedTuple):
    """A file that kl init wrote, and what was done with it."""

    node: NodeId
    path: str
    what: str


def _print_undo(ws: Workspace, shape: str) -> int:
    from kl_hooks.git.hooks import uninstall_hooks

    assert ws.repo is not None  # require_repository refused it
    done = undo(ws.root, ws.state)
    _allow_seeding_again(ws, [path for path, what in done if what == "removed"])
    for hook in uninstall_hooks(ws.repo):
        if hook.path.is_relative_to(ws.root):
            path = hook.path.relative_to(ws.root)
        else:
            path = hook.path
        done.append((path.as_posix(), f"left: {hook.reason}" if hook.reason else hook.action))
    shown = allowed(tuple(_WrittenFile(NodeId(f"file:{path}"), path, what) for path, what in done))
    lines = [f"  {file.path:<28} {file.what}" for file in shown]
    lines.append(f"What kl recorded in this clone stays; it is private to it: {ws.state.directory}")
    plain = [{"path": file.path, "what": file.what} for file in shown]
    print_answer(shape, {"schema": "kl.init.undo/1", "done": plain}, lines)
    return 0
