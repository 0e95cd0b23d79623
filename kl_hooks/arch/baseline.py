"""`.kl/baseline.json`, the accepted violations; and what commits allow that the baseline and rules
before did not.

An import matches the entry of its fingerprint, as often as the entry counts. What is left on both
sides may be the same import after a rename: an entry whose module was removed matches a new module
that differs in nothing else, where only one such pair is possible. So moved lines and renamed files
change no verdict, and no entry ever accepts more than it states.

Rules are compared by what they do to the files there are now, so that a renamed layer or a moved
folder is no finding: an import is loosened if the old rules forbid it and the new ones do not.
Namespaces, which may have no files, are compared by name.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.arch.content import (
    MAX_BASELINE_BYTES,
    WORKTREE,
    Content,
    load_content,
    require_repository,
    utc_day,
)
from kl_hooks.arch.import_survey import survey_imports
from kl_hooks.arch.layer_check import Verdict, judge
from kl_hooks.arch.layers import ManifestProblems, layer_lookup, namespace_lookup
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.arch.moved_files import MovedModules, renamed_in_text, renamed_module
from kl_hooks.code.languages import READ_NAMES, names_of_language
from kl_hooks.code.modules import plain_name
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.provenance import ci
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import (
    BASELINE,
    MANIFEST,
    Layer,
    Manifest,
    Violation,
    fingerprint,
    plain_terms,
)
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.store.files import folder_lock, read_small, write_atomic
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.arch.content import Rules
    from kl_hooks.model.contract import Contract


_SCHEMA: Final = "kl.baseline/1"
_KEYS: Final = ("from", "to", "importer", "imported", "count", "fingerprint")
"""Of an entry."""


@dataclass(frozen=True, slots=True, order=True)
class BaselineEntry:
    """So many imports of one module by another, across two layers, that are accepted."""

    source_layer: str
    target_layer: str
    importer: str
    imported: str
    count: int = 1

    @property
    def fingerprint(self) -> str:
        """The same as that of the violations it accepts."""
        return fingerprint(self.source_layer, self.target_layer, self.importer, self.imported)

    def __str__(self) -> str:
        return (
            f"{self.source_layer} -> {self.target_layer}: {self.importer} imports {self.imported}"
        )

    def to_dict(self) -> dict[str, Any]:
        """An entry as the file and `--format json` have it."""
        values = (
            self.source_layer,
            self.target_layer,
            self.importer,
            self.imported,
            self.count,
            self.fingerprint,
        )
        return dict(zip(_KEYS, values, strict=True))


def entries_for(violations: Iterable[Violation]) -> tuple[BaselineEntry, ...]:
    """The entries that accept exactly these violations, sorted."""
    keys = sorted((v.source_layer, v.target_layer, v.importer, v.imported) for v in violations)
    return tuple(BaselineEntry(*key, count=len(list(same))) for key, same in groupby(keys))


def baseline_bytes(entries: Iterable[BaselineEntry]) -> bytes:
    """The file: sorted, an entry on each line, ASCII; the same entries give the same bytes."""
    # a line each: git merges lines, so entries of two branches rarely conflict
    rows = [f"    {json.dumps(one.to_dict())}" for one in sorted(entries)]
    if rows:
        inside = "[\n" + ",\n".join(rows) + "\n  ]"
    else:
        inside = "[]"
    return f'{{\n  "schema": "{_SCHEMA}",\n  "violations": {inside}\n}}\n'.encode("ascii")


# git's conflict markers are seven signs by default (gitattributes(5), conflict-marker-size); `|`
# with diff3
_MARKER: Final = lazy_pattern(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*|\r?)")
_LIST: Final = lazy_pattern(r'"violations"\s*:\s*\[')
_BETWEEN: Final = lazy_pattern(r"[\s,]*")
_MOST_PROBLEMS: Final = 100
_AGAIN: Final = (
    "Take it from git (git checkout -- .kl/baseline.json), or delete it and run: kl arch baseline"
    " write"
)
_FIX: Final = "Fix this line, or take the file from git: git checkout -- .kl/baseline.json"


class BaselineProblems(Problems):
    """The baseline can't be used: exit 2. `problems` has each with its place."""


def read_baseline(path_name: str, data: bytes) -> tuple[BaselineEntry, ...]:
    """The entries in `data`. Raises BaselineProblems with everything that is wrong: a bad baseline
    never passes.
    """
    text, problems = _decoded(path_name, data)
    if not problems:
        try:
            value = json.loads(text, object_pairs_hook=_Keys)
        except json.JSONDecodeError as error:
            message = f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}."
            problems = [Problem(path_name, error.lineno, error.colno, message, _AGAIN)]
        # CPython's int() refuses more than 4,300 digits with a ValueError, deep nesting ends in a
        # RecursionError
        except (ValueError, RecursionError) as error:
            problems = [Problem(path_name, 0, 0, f"can't be read: {str(error)[:200]}.", _AGAIN)]
    if problems:
        raise BaselineProblems(problems)
    reader = _Reader(path_name, text)
    entries = reader.entries(value)
    if reader.problems:
        raise BaselineProblems(reader.problems[:_MOST_PROBLEMS])
    return entries


def _decoded(path_name: str, data: bytes) -> tuple[str, list[Problem]]:
    """The text; or why there is none to parse."""
    if len(data) > MAX_BASELINE_BYTES:
        return "", [
            Problem(
                path_name,
                0,
                0,
                f"is too large; at most {MAX_BASELINE_BYTES} bytes are read.",
                _AGAIN,
            )
        ]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return "", [
            Problem(
                path_name,
                data[: error.start].count(b"\n") + 1,
                1,
                "this byte is not UTF-8.",
                _AGAIN,
            )
        ]
    hint = "Keep every entry of both sides, take the markers out, then run: kl arch baseline prune"
    lines = enumerate(text.split("\n"), 1)
    marks = [
        Problem(path_name, n, 1, "this is a merge conflict.", hint)
        for n, x in lines
        if _MARKER.fullmatch(x)
    ]
    return text, marks[:_MOST_PROBLEMS]


# json.loads() silently lets the last of equal keys win, and a merge of two branches can leave both
class _Keys(dict[str, Any]):
    """A JSON object that remembers which of its keys were given twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice: list[str] = []
        if len(self) < len(pairs):
            self.twice = sorted(
                key for key, number in Counter(key for key, _ in pairs).items() if number > 1
            )


class _Reader:
    """Take entries out of parsed JSON, and gathers what is wrong with it."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.problems: list[Problem] = []
        self._lines: list[int] = []

    def entries(self, value: Any) -> tuple[BaselineEntry, ...]:
        """Return the valid entries; problems are gathered."""
        if not isinstance(value, _Keys):
            self._report(1, "must be a JSON object with schema and violations.", _AGAIN)
            return ()
        if value.get("schema") != _SCHEMA:
            shown = json.dumps(value.get("schema"))[:60]
            self._report(
                1,
                f'"schema" is {shown}, not "{_SCHEMA}".',
                "Was it written by a newer kl? Upgrade, or write it anew.",
            )
        self._keys(1, value, ("schema", "violations"))
        rows = value.get("violations")
        if not isinstance(rows, list):
            self._report(1, '"violations" must be a list.', _AGAIN)
            return ()
        valid_entries: list[BaselineEntry] = []
        first: dict[BaselineEntry, int] = {}
        for number, row in enumerate(rows):
            entry = self._entry(number, row)
            if entry is None:
                continue
            same = BaselineEntry(
                entry.source_layer, entry.target_layer, entry.importer, entry.imported
            )
            if same in first:
                here = (
                    f"{entry.importer} -> {entry.imported} is listed twice (first at line"
                    f" {self._line(first[same])})."
                )
                self._report(
                    self._line(number),
                    here,
                    "Keep one of them, with the lower count that is right.",
                )
            first.setdefault(same, number)
            valid_entries.append(entry)
        return tuple(sorted(valid_entries))

    def _entry(self, number: int, row: Any) -> BaselineEntry | None:
        before = len(self.problems)
        if not isinstance(row, _Keys):
            self._report(self._line(number), "an entry must be an object.", _FIX)
            return None
        wrong = list(_wrong(row))
        if wrong or row.keys() != set(_KEYS) or row.twice:
            line = self._line(number)
            self._keys(line, row, _KEYS)
            for message in wrong:
                self._report(line, message, _FIX)
        if len(self.problems) > before:
            return None
        entry = BaselineEntry(
            row["from"], row["to"], row["importer"], row["imported"], row["count"]
        )
        if row["fingerprint"] != entry.fingerprint:
            message = f'the fingerprint does not fit {entry}: it would be "{entry.fingerprint}".'
            self._report(self._line(number), message, _FIX)
            return None
        return entry

    def _keys(self, line: int, row: _Keys, allowed_keys: tuple[str, ...]) -> None:
        for key in sorted(row.keys() - set(allowed_keys)):
            self._report(line, f'unknown key "{key[:60]}".', f"Known: {', '.join(allowed_keys)}.")
        for key in [key for key in allowed_keys if key not in row and key != "schema"]:
            self._report(line, f'the key "{key}" is missing.', _FIX)
        for key in row.twice:
            self._report(line, f'"{key[:60]}" is given twice.', _FIX)

    def _report(self, line: int, message: str, hint: str) -> None:
        self.problems.append(Problem(self.path, line, 1, message, hint))

    def _line(self, number: int) -> int:
        """Return the line of an entry; lines are counted only where something is wrong."""
        self._lines = self._lines or list(_lines(self.text))
        if number < len(self._lines):
            return self._lines[number]
        return 1


def _wrong(row: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the values that are there."""
    for key in (key for key in _KEYS if key in row):
        value = row[key]
        if key == "count":
            if type(value) is not int or value < 1:
                yield '"count" must be a whole number from 1.'
        elif not isinstance(value, str) or not value:
            yield f'"{key}" must be text.'


def _lines(text: str) -> Iterator[int]:
    """The line on which each entry of the list starts."""
    start = _LIST.search(text)
    decoder = json.JSONDecoder()
    place = start.end() if start else len(text)
    line, position = 1, 0
    while True:
        separator = _BETWEEN.match(text, place)
        if separator:
            place = separator.end()
        if place >= len(text) or text[place] == "]":
            return
        line, position = line + text.count("\n", position, place), place
        yield line
        place = decoder.raw_decode(text, place)[1]


class _Match(NamedTuple):
    """Violations matched against a baseline."""

    new: tuple[Violation, ...]
    """In the order they were given; of more than an entry accepts, the last ones."""
    accepted: tuple[Violation, ...]
    needed: tuple[BaselineEntry, ...]
    """The entries as far as a violation matches them: without unused ones, with no higher counts.
    """
    renamed: tuple[tuple[BaselineEntry, BaselineEntry], ...] = ()
    """An entry, and what it would be called today."""

    @property
    def today(self) -> tuple[BaselineEntry, ...]:
        """`needed` under the names of today."""
        names = dict(self.renamed)
        return tuple(sorted(replace(names.get(one, one), count=one.count) for one in self.needed))


def match_baseline(
    entries: Sequence[BaselineEntry], violations: Sequence[Violation], modules: Collection[str]
) -> _Match:
    """Match `violations` with the entries of a baseline; `modules` are the dotted names that exist
    today.
    """
    groups: dict[BaselineEntry, list[int]] = defaultdict(list)
    for number, violation in enumerate(violations):
        groups[
            BaselineEntry(
                violation.source_layer,
                violation.target_layer,
                violation.importer,
                violation.imported,
            )
        ].append(number)
    counts = {_key(entry): entry.count for entry in entries}
    used: dict[BaselineEntry, int] = {}
    taken: set[int] = set()

    def take(key: BaselineEntry, group: BaselineEntry) -> None:
        covered = groups[group][: counts[key]]
        taken.update(covered)
        used[key] = len(covered)

    for key in counts.keys() & groups.keys():
        take(key, key)
    renamed = []
    for named, other in (_IMPORTER, _IMPORTED):
        free = [key for key in counts if key not in used and named(key) not in modules]
        loose = [group for group in groups if group not in counts and groups[group][0] not in taken]
        for key, group in _pairs(free, loose, named, other):
            take(key, group)
            renamed.append((key, group))
    needed = {key: replace(key, count=number) for key, number in used.items()}
    return _Match(
        tuple(violation for number, violation in enumerate(violations) if number not in taken),
        tuple(violation for number, violation in enumerate(violations) if number in taken),
        tuple(sorted(needed.values())),
        tuple(
            sorted((needed[key], replace(group, count=needed[key].count)) for key, group in renamed)
        ),
    )


def added_entries(
    before: Iterable[BaselineEntry], after: Iterable[BaselineEntry]
) -> tuple[BaselineEntry, ...]:
    """What `after` accepts and `before` does not, with the difference in counts."""
    count_of = {_key(entry): entry.count for entry in before}
    grown = ((entry, entry.count - count_of.get(_key(entry), 0)) for entry in after)
    return tuple(replace(entry, count=more) for entry, more in grown if more > 0)


_Name = Callable[[BaselineEntry], str]
_Rest = Callable[[BaselineEntry], tuple[str, str, str]]
_IMPORTER: tuple[_Name, _Rest] = (
    lambda x: x.importer,
    lambda x: (x.source_layer, x.target_layer, x.imported),
)
_IMPORTED: tuple[_Name, _Rest] = (
    lambda x: x.imported,
    lambda x: (x.source_layer, x.target_layer, x.importer),
)


def _key(entry: BaselineEntry) -> BaselineEntry:
    return replace(entry, count=1)


def _pairs(
    free: Iterable[BaselineEntry], loose: Iterable[BaselineEntry], name: _Name, other_part: _Rest
) -> list[tuple[BaselineEntry, BaselineEntry]]:
    """Pairs that differ in one name only, none of which could be another: the last part of that
    name decides first.
    """
    pairs: list[tuple[BaselineEntry, BaselineEntry]] = []
    sides = [list(free), list(loose)]
    keys: list[Callable[[BaselineEntry], object]] = [
        lambda x: (other_part(x), name(x).rpartition(".")[2]),
        other_part,
    ]
    for key in keys:
        alone = [_alone(side, key) for side in sides]
        same_pairs = [
            (alone[0][same], alone[1][same])
            for same in sorted(alone[0].keys() & alone[1].keys(), key=repr)
        ]
        pairs += same_pairs
        paired = {one for pair in same_pairs for one in pair}
        sides = [[one for one in side if one not in paired] for side in sides]
    return pairs


def _alone(
    side: Iterable[BaselineEntry], key: Callable[[BaselineEntry], object]
) -> dict[object, BaselineEntry]:
    """Key → the entry that has it, for keys that only one has."""
    entries_by_key: dict[object, list[BaselineEntry]] = defaultdict(list)
    for entry in side:
        entries_by_key[key(entry)].append(entry)
    return {same: many[0] for same, many in entries_by_key.items() if len(many) == 1}


def apply_baseline(
    verdict: Verdict, baseline: bytes, modules: Mapping[str, str]
) -> tuple[Verdict, _Match]:
    """Return the verdict without what the baseline accepts.

    `modules`: path → dotted name. Raises BaselineProblems.
    """
    entries = read_baseline(BASELINE, baseline)
    match = match_baseline(
        entries, verdict.violations, {plain_name(name) for name in modules.values()}
    )
    return verdict._replace(violations=match.new, accepted=match.accepted, baseline=BASELINE), match


def shrink_baseline(ws: Workspace, verdict: Verdict, match: _Match, content: Content) -> str:
    """Remove what is fixed from the file, and rename modules in it, after a clean check of the
    working tree.

    Return what was done, in one line, or nothing. Only a person's own check does it: no CI job, no
    git hook, and no check that could not judge every file.
    """
    # unjudged: the imports of a file that can't be read would look fixed
    if (
        verdict.source != WORKTREE
        or content.baseline is None
        or not verdict.clean
        or verdict.unjudged
    ):
        return ""
    fixed = _total(read_baseline(BASELINE, content.baseline)) - _total(match.needed)
    # pre-commit (it sets PRE_COMMIT=1) fails a hook that modifies files; a CI job leaves its
    # checkout as it is
    if not (fixed or match.renamed) or ci(ws.environ) or ws.environ.get("PRE_COMMIT"):
        return ""
    done = [f"{fixed} fixed"] * bool(fixed) + [f"{len(match.renamed)} renamed"] * bool(
        match.renamed
    )
    try:
        written = _write(ws, match.today, content.baseline)
    except EnvironmentProblem as problem:
        return f"{problem.place}: {', '.join(done)}, but it {problem.reason}"
    if not written:
        return ""
    return f"{BASELINE}: {', '.join(done)}, {_total(match.today)} left. Commit it."


def _total(entries: Iterable[BaselineEntry]) -> int:
    """How many imports these entries accept."""
    return sum(entry.count for entry in entries)


def _write(ws: Workspace, entries: Iterable[BaselineEntry], before: bytes | None) -> bool:
    """Write the file, whole or not at all. False, and nothing is written, if it is not `before` any
    more.

    EnvironmentProblem where it can't be written.
    """
    top = require_repository(ws).top
    try:
        with folder_lock((top / BASELINE).parent):
            # compared under the lock: of two kl at once the second must not undo what the first has
            # written
            if read_small(top / BASELINE, within=top, most=MAX_BASELINE_BYTES) != before:
                return False
            write_atomic(top / BASELINE, baseline_bytes(entries), within=top)
    except (OSError, ValueError) as error:
        hint = "Is .kl a folder that you may write to?"
        raise EnvironmentProblem(
            f"can't be written: {error}.", place=BASELINE, hint=hint
        ) from error
    return True


class BaselineComparison(NamedTuple):
    """The violations of the working tree compared with the baseline on disk."""

    verdict: Verdict
    """Without the baseline: every violation is in it."""
    entries: tuple[BaselineEntry, ...]
    """Of the baseline; none where there is none."""
    found: _Match
    before: bytes | None
    """The file as it was read; None: there is none."""

    @property
    def today(self) -> tuple[BaselineEntry, ...]:
        """The entries that accept exactly what is there."""
        return entries_for(self.verdict.violations)

    @property
    def added(self) -> tuple[BaselineEntry, ...]:
        """What a baseline of today would accept in addition; a rename is no addition."""
        return added_entries(self.found.today, self.today)

    @property
    def fixed(self) -> tuple[BaselineEntry, ...]:
        """What the baseline accepts and nothing needs."""
        return added_entries(self.found.needed, self.entries)


def compare_baseline(ws: Workspace) -> BaselineComparison:
    """Compare the working tree with its baseline. UsageProblem for no manifest, ManifestProblems,
    BaselineProblems.
    """
    content = load_content(ws)
    if content.manifest is None:
        raise UsageProblem(
            "is not there, so nothing is forbidden.",
            place=MANIFEST,
            hint="Create one with: kl init",
        )
    manifest = load_manifest(ws.state.cache, MANIFEST, content.manifest)
    if content.baseline is not None:
        entries = read_baseline(BASELINE, content.baseline)
    else:
        entries = ()
    survey = survey_imports(ws, content, manifest)
    verdict = judge(manifest, survey, utc_day(ws), WORKTREE, ())
    modules = {plain_name(name) for name in survey.modules.values()}
    return BaselineComparison(
        verdict, entries, match_baseline(entries, verdict.violations, modules), content.baseline
    )


def replace_baseline(
    ws: Workspace, comparison: BaselineComparison, entries: tuple[BaselineEntry, ...]
) -> None:
    """Make `entries` the baseline. Refuses where a governed file could not be judged, or the file
    has changed.
    """
    if comparison.verdict.unjudged:
        first = comparison.verdict.problems[0]
        hint = "Fix it first: a baseline must know every file."
        raise UsageProblem(
            first.message, place=f"{first.path}:{first.line}:{first.column}", hint=hint
        )
    if not _write(ws, entries, comparison.before):
        raise EnvironmentProblem(
            "changed while it was looked at.", place=BASELINE, hint="Run this again."
        )


_MOST: Final = 5
"""Entries of the baseline that are named one by one."""


def loosened_rules(
    before: Rules,
    after: Rules,
    manifest: Manifest | None,
    modules: Mapping[str, str],
    violations: Sequence[Violation],
    content: Content | None = None,
) -> tuple[Problem, ...]:
    """How the rules `after` allow more than those `before`, each with its place in the new rules.

    `manifest`: that of `after`, read; None where there is none. `violations`: today's violations
    under it, accepted ones too. `content`: what is judged, to find files that a move took out of
    every layer. UsageProblem where the rules before can't be read: nothing can be compared with
    them.
    """
    if before.manifest is None or before.same(after):
        return ()
    if manifest is None:
        removed = f"removed since {before.name}: nothing is forbidden any more."
        return (before.loosened(MANIFEST, 0, "")._replace(message=removed),)
    try:
        old = load_manifest(None, MANIFEST, before.manifest)
        entries = _entries(before.baseline)
    except (ManifestProblems, BaselineProblems) as problem:
        message = f"can't be compared with the rules of {before.name}, which are invalid: {problem}"
        raise UsageProblem(
            message, place=MANIFEST, hint="Compare with another revision."
        ) from problem
    if content:
        moves = MovedModules(before, old, manifest, content, modules)
    else:
        moves = None
    weaker = [
        *_layers(_with_moved_namespaces(old, manifest, moves), manifest, modules),
        *_options(old, manifest, moves),
        *_exceptions(old, manifest, moves),
    ]
    accepted = _accepted(entries, _entries(after.baseline), violations, modules)
    problems = [
        *(moves.out_of_layers() if moves else ()),
        *(before.loosened(MANIFEST, line, text) for line, text in weaker),
        *(before.loosened(BASELINE, 0, text) for text in accepted),
    ]
    return tuple(dict.fromkeys(problems))


def _entries(data: bytes | None) -> tuple[BaselineEntry, ...]:
    if data is None:
        return ()
    return read_baseline(BASELINE, data)


def _checks_less(old: str, new: str) -> bool:
    """Whether files that were checked are not any more, by the `language` of the rules."""
    if old.lower() == new.lower():
        return False
    before = names_of_language(old) or READ_NAMES
    after = names_of_language(new) or READ_NAMES
    return not set(before) <= set(after)


def _layers(old: Manifest, new: Manifest, modules: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """The pairs of layers between whose files imports were forbidden and are not any more."""
    before = layer_lookup(old.layers)
    after = layer_lookup(new.layers)
    sorts = sorted({(_name(before(path)), _name(after(path))) for path in modules})
    olds, news = ({layer.name: layer for layer in one.layers} for one in (old, new))
    reported = set[tuple[str, str]]()
    for old_name, now in sorts:
        for other, current in sorts:
            if (
                not _forbids(olds, old_name, other)
                or _forbids(news, now, current)
                or (old_name, other) in reported
            ):
                continue
            reported.add((old_name, other))
            line = news[now].line if now else 0
            if (old_name, other) == (now, current):
                names = (old_name, other)
            else:
                names = (f"files of {old_name}", f"files of {other}")
            yield line, f"{names[0]} may now import {names[1]}{_why(now, current)}"
    for name in olds.keys() & news.keys():
        allowed_anew = (
            (olds.keys() & set(news[name].may_depend_on)) - set(olds[name].may_depend_on) - {name}
        )
        for other in sorted(
            allowed_anew - {other for old_name, other in reported if old_name == name}
        ):
            reported.add((name, other))
            yield news[name].line, f"{name} may now import {other}"
    without_files = (olds.keys() & news.keys()) - {old_name for old_name, _ in sorts}
    yield from _namespaces(old, new, {*sorts, *((name, name) for name in without_files)}, reported)
    for name in sorted({old_name for old_name, now in sorts if old_name and not now}):
        yield 0, f"files of {name} are now in no layer"


def _with_moved_namespaces(old: Manifest, new: Manifest, moves: MovedModules | None) -> Manifest:
    """The old rules with the new names of namespaces that are modules and were moved."""
    names = {name for layer in new.layers for name in layer.namespaces}
    if moves is None or all(names.issuperset(layer.namespaces) for layer in old.layers):
        return old
    layers = [
        layer._replace(
            namespaces=tuple(
                name if name in names else renamed_module(name, moves.names)
                for name in layer.namespaces
            ),
        )
        for layer in old.layers
    ]
    return old._replace(layers=tuple(layers))


def _namespaces(
    old: Manifest, new: Manifest, sorts: Iterable[tuple[str, str]], reported: set[tuple[str, str]]
) -> Iterator[tuple[int, str]]:
    """The namespaces that some layer was forbidden to import and is not any more.

    No file represents a package from outside, so these are compared by name. `sorts`: old and new
    layer of the files; `reported`: pairs of old layers that are already reported.
    """
    olds, news = ({layer.name: layer for layer in one.layers} for one in (old, new))
    before = namespace_lookup(old.layers)
    after = namespace_lookup(new.layers)
    for namespace in sorted(
        {name for layer in (*old.layers, *new.layers) for name in layer.namespaces}
    ):
        old_owner = before(namespace)
        now = after(namespace)
        sources = sorted(
            {
                (source, current)
                for source, current in sorts
                if old_owner
                and (source, old_owner.name) not in reported
                and _forbids(olds, source, old_owner.name)
                if current and not _forbids(news, current, _name(now))
            }
        )
        if sources:
            names = ", ".join(
                dict.fromkeys(
                    name if name == current else f"files of {name}" for name, current in sources
                )
            )
            if now:
                where = f"the namespace is now in {now.name}"
            else:
                where = "the namespace is now in no layer"
            yield now.line if now else 0, f"{names} may now import {namespace}: {where}"


def _name(layer: Layer | None) -> str:
    if not layer:
        return ""
    return layer.name


def _forbids(layers: Mapping[str, Layer], source: str, target: str) -> bool:
    return bool(
        source and target and source != target and target not in layers[source].may_depend_on
    )


def _why(now: str, current: str) -> str:
    if not now or not current:
        return ": one of them is in no layer"
    if now != current:
        return ""
    return f": both are in {now}"


def _options(old: Manifest, new: Manifest, moves: MovedModules | None) -> Iterator[tuple[int, str]]:
    """The options and contracts that allow more; a contract with the new names of moved modules
    does not.
    """
    if (old.type_checking_imports, new.type_checking_imports) == ("enforce", "ignore"):
        yield 0, "imports under TYPE_CHECKING are ignored"
    if _checks_less(old.language, new.language):
        yield new.language_line, f'only files of language "{new.language}" are checked'
    if old.exhaustive and not new.exhaustive:
        yield 0, "files may be in no layer (exhaustive)"
    if (old.indirect, new.indirect) == ("forbid", "ignore"):
        yield 0, "chains of imports are ignored (indirect)"
    if (old.unassigned_imports, new.unassigned_imports) == ("follow", "ignore"):
        yield 0, "imports through files in no layer are ignored (unassigned_imports)"
    if old.runtime_imports == "forbid" != new.runtime_imports:
        yield 0, "imports that only test runs show are no violations (runtime_imports)"
    contracts = {contract.name: contract for contract in new.contracts}
    for contract in old.contracts:
        if contract.name not in contracts:
            yield 0, f'contract "{contract.name}" was removed'
            continue
        now = contracts[contract.name]
        if _terms(contract) != _terms(now) and not (
            moves and _terms(_renamed_contract(contract, moves.names)) == _terms(now)
        ):
            yield now.line, f'contract "{contract.name}" was changed, and may allow more'


def _renamed_contract(contract: Contract, names: Mapping[str, str]) -> Contract:
    """A contract with the new names of modules (`names`: before → after)."""
    values = {option.key: option.value for option in contract.options}
    containers = values.get("containers", ())

    def renamed(key: str, text: str) -> str:
        return renamed_in_text(text, names, containers if key == "layers" else ())

    options = [
        option._replace(
            value=renamed(option.key, option.value)
            if isinstance(option.value, str)
            else tuple(renamed(option.key, text) for text in option.value),
        )
        for option in contract.options
    ]
    return contract._replace(options=tuple(options))


def _terms(contract: Contract) -> str:
    """Return what a contract demands, without the lines it is written on."""
    return str(plain_terms(contract, ("line", "decision")))


def _exceptions(
    old: Manifest, new: Manifest, moves: MovedModules | None
) -> Iterator[tuple[int, str]]:
    """The exceptions that are new or end later; the same one under the new name of a moved module
    is none.
    """
    ends: dict[tuple[str, str], str] = {}
    for allowance in old.exceptions:
        # days sort as text, and this one comes after all: an exception without an end
        pair = allowance.source, allowance.target
        ends[pair] = max(ends.get(pair, ""), allowance.until or "9999-99-99")
    if moves and any((one.source, one.target) not in ends for one in new.exceptions):
        layers = {layer.name for layer in old.layers}
        for ends_of, last in list(ends.items()):
            # a layer may have the name of a module
            names = [
                name if name in layers else renamed_module(name, moves.names) for name in ends_of
            ]
            ends.setdefault((names[0], names[1]), last)
    for allowance in new.exceptions:
        pair = allowance.source, allowance.target
        end = ends.get(pair)
        if allowance.until:
            until = f" until {allowance.until}"
        else:
            until = ""
        if end is None:
            yield (
                allowance.line,
                f"{allowance.source} is excepted from the rules for {allowance.target}{until}",
            )
        elif (allowance.until or "9999-99-99") > end:
            yield (
                allowance.line,
                f"the exception from {allowance.source} to {allowance.target} was extended{until}",
            )


def _accepted(
    old: Sequence[BaselineEntry],
    new: Sequence[BaselineEntry],
    violations: Sequence[Violation],
    modules: Mapping[str, str],
) -> Iterator[str]:
    """The entries that the new baseline has in addition; an entry under the new name of a module is
    none.
    """
    # the same matching as in a check: else a rename that a check accepts would block as a looser
    # rule
    today = match_baseline(old, violations, {plain_name(name) for name in modules.values()}).renamed
    names = {replace(before, count=1): replace(after, count=1) for before, after in today}
    renamed = [
        replace(names.get(replace(entry, count=1), entry), count=entry.count) for entry in old
    ]
    added = added_entries(renamed, new)
    for entry in added[:_MOST]:
        yield f"accepts {entry}" + (f" ({entry.count} times)" if entry.count > 1 else "")
    if len(added) > _MOST:
        yield f"accepts {_total(added[_MOST:])} more"
