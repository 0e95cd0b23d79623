"""Veil: the last step of an answer before an agent gets it. The words of what the policy
hides are taken out of it, wherever they are.

What decides is not where in an answer a text is, nor what its key is called: the texts of each
hidden record, claim, page and document are known, and no interface prints them. An interface that
asks
`kl_hooks.context.access.Access` for what it shows has nothing left to take out; this holds for one
that forgot. One word alone (a tag, a number) is no text: only `Access` withholds it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.policy import NO_RULE
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import WITHHELD, Candidate, placed
from kl_hooks.model.record import Record, untitled_path
from kl_hooks.model.symbol import path_of
from kl_hooks.records.query import all_records
from kl_hooks.records.retrieval import textless_candidate

if TYPE_CHECKING:
    from kl_hooks.context.policy import Policy
    from kl_hooks.records.pages import Page
    from kl_hooks.workspace import Workspace

_WORD: Final = lazy_pattern(r"[^\W_]+")
_PATH: Final = lazy_pattern(r"[^\s\"'`()\[\]<>:,;|\\]+/[^\s\"'`()\[\]<>:,;|\\]+")
_IN_FILE: Final = r"(?:::[\w.<>]+)*(?:\[[^\]]*\])?"
"""What follows the path of a file in the name of a test."""
_NAMED_FILE: Final = lazy_pattern(r"[^\s\"'`()\[\]<>:,;|\\]+\.\w+" + _IN_FILE)
_DOTTED: Final = lazy_pattern(r"[^\W\d]\w*(?:\.(?:[^\W\d]\w*|<locals>))+")
_RECORD: Final = "kl.record/1"
_LONGEST: Final = 4
"""Words in a row of a hidden text that are the most that may not be printed: of a text that is
shorter, all of it."""


class _Hidden(NamedTuple):
    """Something that the policy hides, and its texts."""

    name: str
    """Its ID, as the audit names it."""
    texts: tuple[str, ...]
    path: str = ""
    place: str = ""
    """What is shown in place of the path; empty: nothing of it."""


_UNWRITTEN: Final = ("date", "choice", "number", "flag")
"""Types of fields that hold no text: every answer has days, and what was made that day is no
secret.
"""


def _texts_of(ws: Workspace, record: Record) -> tuple[str, ...]:
    """Return everything that somebody wrote into a record."""
    kind = ws.kinds.get(record.kind)
    fields = kind.by_name if kind else {}
    texts = (
        value
        for name, value in record.values.items()
        if name not in fields or fields[name].type not in _UNWRITTEN
    )
    return (*_values(texts), record.body)


def _values(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts of the values of fields."""
    for value in values:
        if isinstance(value, Mapping):
            yield from (f"{key} {text}" for key, text in value.items())
            yield from map(str, value.values())
        elif isinstance(value, tuple | list):
            yield from map(str, value)
        elif isinstance(value, str):
            yield value


class Veil:
    """The words that may not be printed."""

    def __init__(self, hidden: Sequence[_Hidden], shown: Callable[[], Iterable[str]]) -> None:
        """`shown`: the texts that may be seen; a phrase that is in one of them too is no secret."""
        self.found: set[str] = set()
        """IDs of what had words in an answer that were taken out of it."""
        self._shown = shown
        self._is_public: dict[str, bool] = {}
        self._names = {item.name: item for item in hidden}
        self._paths = {item.path: item for item in hidden if item.path}
        self._phrases: dict[str, str] = {}
        """Words in a row → whose they are."""
        for item in hidden:
            # the body of a record repeats its fields: each text is taken apart once
            for part in dict.fromkeys(_parts((*item.texts, _own_name(item)))):
                self._add(item.name, _words(part))

    def _add(self, name: str, words: Sequence[str]) -> None:
        # one word alone is no phrase
        size = max(2, min(len(words), _LONGEST))
        for start in range(len(words) - size + 1):
            self._phrases.setdefault(" ".join(words[start : start + size]), name)

    def text(self, text: str) -> str:
        """Return a text without hidden words."""
        if self._paths:
            text = _PATH.sub(self._place, text)
        words = list(_WORD.finditer(text))
        keys = [word[0].casefold() for word in words]
        spans: list[tuple[int, int]] = []
        """The hidden words, by their numbers: of the first one, and of the one after the last."""
        for start in range(len(words)):
            size = self._size_of_phrase(keys, start)
            if size and spans and start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(start + size, spans[-1][1]))
            elif size:
                spans.append((start, start + size))
        for first, after in reversed(spans):
            text = f"{text[: words[first].start()]}{WITHHELD}{text[words[after - 1].end() :]}"
        return text

    def candidate(self, one: Candidate) -> Candidate:
        """Return an item of a package without hidden words; what it is and where it is stay."""
        return one._replace(
            title=self.text(one.title),
            text=self.text(one.text),
            summary=self.text(one.summary),
            proof=self.text(one.proof),
            beyond=self.text(one.beyond),
            reasons=tuple(map(self.text, one.reasons)),
        )

    def plain(self, value: Any) -> Any:
        """Return a plain value (texts, lists, maps) without hidden words, in its keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            if value.get("schema") == _RECORD and value.get("id") in self._names:
                return self._left_of(value)
            return {
                self.text(key) if isinstance(key, str) else key: self.plain(one)
                for key, one in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.plain(one) for one in value]
        return value

    def _left_of(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is left of a hidden record: one word alone is no text, but it is whole
        here.
        """
        hidden = self._names[record["id"]]
        self.found.add(hidden.name)
        left = {name: record[name] for name in ("schema", "id", "kind", "status") if name in record}
        return {**left, "title": WITHHELD, "path": hidden.place, "tags": [], "fields": {}}

    def _size_of_phrase(self, keys: Sequence[str], start: int) -> int:
        """Return how many words from `start` on are a hidden phrase; 0: none is."""
        for size in range(min(_LONGEST, len(keys) - start), 1, -1):
            phrase = " ".join(keys[start : start + size])
            name = self._phrases.get(phrase)
            if name is not None and not self._is_shown(phrase):
                self.found.add(name)
                return size
        return 0

    def _place(self, match: re.Match[str]) -> str:
        path = match[0].rstrip(".")
        hidden = self._paths.get(path.removeprefix("./"))
        if hidden is None:
            return match[0]
        self.found.add(hidden.name)
        return hidden.place or WITHHELD

    def _is_shown(self, phrase: str) -> bool:
        if phrase not in self._is_public:
            self._is_public[phrase] = f" {phrase} " in self._shown_words
        return self._is_public[phrase]

    @cached_property
    def _shown_words(self) -> str:
        return "\n".join(f" {' '.join(_words(text))} " for text in self._shown())


def _parts(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text, and the parts of it that may be printed alone."""
    for text in texts:
        yield text
        # an answer may have a text in lines of another length
        yield from text.splitlines()
        # `file:src/a.py` is written without the sort of the node, too
        yield text.partition(":")[2]


def _words(text: str) -> list[str]:
    return [word[0].casefold() for word in _WORD.finditer(text)]


def _own_name(item: _Hidden) -> str:
    """Return the words of the name of a file, without the ID in it."""
    stem = posixpath.basename(item.path).rpartition(".")[0]
    return stem.removeprefix(item.place.rpartition("/")[2])


class HiddenNames:
    """The names of hidden files in sentences: a reason of the gate names tests, files and symbols.

    A name is what the rules decide on: a path by itself, a dotted name by the file of its module.
    What a rule only redacts keeps its name, so only what is denied is looked for.
    """

    def __init__(self, rule_of: Callable[[str], str], modules: Mapping[str, str]) -> None:
        """`rule_of`: path → the rule that denies it, empty for none; `modules`: dotted name → path,
        of the files of the graph.
        """
        self.found = dict[str, str]()
        """Denied files that had a name in a sentence → the rule."""
        self._rule_of, self._modules = cache(rule_of), modules
        paths = sorted(filter(self._rule_of, modules.values()), key=len, reverse=True)
        # a path may have spaces, or signs that end one in a sentence
        names = "|".join(map(re.escape, paths))
        self._hidden_paths = re.compile(rf"(?:{names}){_IN_FILE}") if paths else None

    def text(self, text: str) -> str:
        """Return a text without the names of what is denied."""
        if self._hidden_paths is not None:
            text = self._hidden_paths.sub(self._path, text)
        return _DOTTED.sub(self._dotted, _NAMED_FILE.sub(self._path, text))

    def _path(self, match: re.Match[str]) -> str:
        path = match[0].partition("::")[0].partition("[")[0].removeprefix("./")
        # words with a dot, places of kl and of this machine, which no list of what is allowed has
        is_own = "/" not in path or path.startswith(("/", ".kl/"))
        is_file = self._rule_of(path) != NO_RULE or not is_own or path in self._modules.values()
        if is_file and self._denies(path):
            return WITHHELD
        return match[0]

    def _dotted(self, match: re.Match[str]) -> str:
        parts = match[0].split(".")
        for end in range(len(parts), 0, -1):
            if path := self._modules.get(".".join(parts[:end])):
                if self._denies(path):
                    return WITHHELD
                return match[0]
        # a module that is not there any more, or plain words, which no list of what is allowed has
        denied = [path for path in _former_paths(parts) if self._rule_of(path) not in ("", NO_RULE)]
        if denied and self._denies(denied[0]):
            return WITHHELD
        return match[0]

    def _denies(self, path: str) -> bool:
        rule = self._rule_of(path)
        if rule:
            self.found |= {path: rule}
        return bool(rule)


def _former_paths(parts: Sequence[str]) -> Iterator[str]:
    """The files in which a symbol of a module that is not there may have been."""
    for end in range(len(parts), 0, -1):
        yield f"{'/'.join(parts[:end])}.py"


class HiddenKnowledge:
    """What a policy hides of a repository."""

    def __init__(self, ws: Workspace, policy: Policy) -> None:
        self._ws, self._policy = ws, policy
        self._effects: dict[str, tuple[str, str]] = {}
        """ID of something hidden → the effect on it, and the rule."""

    @cached_property
    def veil(self) -> Veil:
        """The words that may not be printed."""
        hidden = [*self._records(), *self._pages(), *self._claims()]
        return Veil(hidden, self._shown_texts)

    @cached_property
    def names(self) -> HiddenNames:
        """The names of what is denied."""
        with self._ws.store.reading("graph") as db:
            rows = db.rows("SELECT module, path FROM files") if db is not None else ()
            modules = {str(module): str(path) for module, path in rows}
        return HiddenNames(self._rule_that_denies, modules)

    def _rule_that_denies(self, path: str) -> str:
        """Return the rule that denies a file; empty for none."""
        variants = [placed(f"file:{path}", kind, path) for kind in ("symbol", "file")]
        effect, rule = self._policy.decide(variants)
        if effect == "deny":
            return rule
        return ""

    def withheld(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return what the veil took something of out of an answer, as `Access` notes decisions."""
        words = self.veil.found if "veil" in vars(self) else ()
        if "names" in vars(self):
            files = self.names.found
        else:
            files = {}
        denied = {(f"file:{path}", ""): ("deny", rule) for path, rule in files.items()}
        return denied | {(name, ""): self._effects[name] for name in words}

    def claim_candidates(self, identifier: str, about: str) -> tuple[Candidate, ...]:
        """Return a claim as the rules see it: by the file that it is about, and as the record that
        it is about, since what hides a record hides what is claimed of it.
        """
        name = f"claim:{identifier}"
        path = path_of(about)
        claim = placed(name, "claim", path)
        record = self._by_place.get(path) or self._by_id.get(about.rpartition(":")[2])
        if record is None:
            return (claim,)
        return (claim, textless_candidate(self._ws, record))

    @cached_property
    def _all_records(self) -> list[Record]:
        return all_records(self._ws)

    @cached_property
    def _by_id(self) -> dict[str, Record]:
        return {record.id: record for record in self._all_records}

    @cached_property
    def _by_place(self) -> dict[str, Record]:
        return {record.path: record for record in self._all_records if record.path}

    def _hides(self, name: str, *variants: Candidate) -> bool:
        effect, rule = self._policy.decide(variants)
        if effect != "allow":
            self._effects[name] = effect, rule
        return effect != "allow"

    def _records(self) -> Iterator[_Hidden]:
        from kl_hooks.documents.collections import added_texts
        from kl_hooks.records.write import pending_proposals

        hidden = {
            record.id: record
            for record in self._all_records
            if self._hides(record.id, textless_candidate(self._ws, record))
        }
        proposed = dict[str, list[str]]()
        for proposal in pending_proposals(self._ws) if hidden else ():
            changes = _values(proposal.changes.values())
            proposed.setdefault(proposal.record, []).extend(changes)
        passages = {
            text.id: (text.name, posixpath.basename(text.name), text.text)
            for text in (added_texts(self._ws, list(hidden), whole=True) if hidden else ())
        }
        for name, record in hidden.items():
            is_redacted = self._effects[name][0] == "redact"
            texts = (*_texts_of(self._ws, record), *proposed.get(name, ()), *passages.get(name, ()))
            if is_redacted:
                place = untitled_path(record.path, record.id)
            else:
                place = ""
            yield _Hidden(name, texts, record.path, place)

    def _all_pages(self) -> list[Page]:
        """The pages that are no records."""
        from kl_hooks.records.pages import all_pages

        with self._ws.store.reading("graph") as db:
            return [page for page in all_pages(db) if not page.id]

    def _pages(self) -> Iterator[_Hidden]:
        for page in self._all_pages():
            kinds = ("page", "document")
            if self._hides(page.node, *(placed(page.node, kind, page.path) for kind in kinds)):
                texts = (page.title, self._text_of(page))
                # the place of a page is its name, which is shown of what is redacted
                is_denied = self._effects[page.node][0] == "deny"
                yield _Hidden(page.node, texts, *([page.path] if is_denied else ()))

    def _text_of(self, page: Page) -> str:
        from kl_hooks.store.files import read_small

        data = read_small(self._ws.root / page.path, within=self._ws.root) or b""
        return data.decode("utf-8", "replace")

    def _claims(self) -> Iterator[_Hidden]:
        from kl_hooks.evidence.assertions import archived_claims, known_assertions

        with self._ws.store.reading() as db:
            if db is None:
                return
            now = self._ws.clock.now()
            claims = [*known_assertions(self._ws, db), *archived_claims(db, now)]
        for claim in claims:
            name = f"claim:{claim.id}"
            if self._hides(name, *self.claim_candidates(claim.id, claim.about)):
                yield _Hidden(name, (claim.text,))

    def _shown_texts(self) -> Iterator[str]:
        for record in self._all_records:
            if record.id not in self._effects:
                yield from _texts_of(self._ws, record)
        for page in self._all_pages():
            if page.node not in self._effects:
                yield self._text_of(page)
