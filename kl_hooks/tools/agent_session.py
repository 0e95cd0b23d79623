"""The session of an agent: what it was given and what it changed, in a file of the state
directory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.agents.adapters import FOLDER
from kl_hooks.model.text import CHARACTERS_OF_A_TOKEN
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import prepare_state

if TYPE_CHECKING:
    from kl_hooks.agents.adapters import Event
    from kl_hooks.workspace import Workspace

_MOST: Final = 2_000
"""IDs and paths that are remembered."""
# limits and cooldown are those of the vendor's own plugin (requirement C21)
_MOST_MESSAGES = 50
_MOST_TOKENS = 100_000
_MOST_ERRORS = 5
_SIMILAR = 0.7
_COOLDOWN = 20
_MOST_WORDS, _FEWEST_WORDS = 400, 4
"""Words of a prompt that are compared, and fewer than which it is not."""
_KEY: Final = 24
"""Digits of a session's file name."""
_OLD: Final = 30 * 86_400
"""Seconds after which a session is forgotten."""


@dataclass(slots=True)
class Drift:
    """Signs that a session repeats itself. Of prompts only hashes of words are stored."""

    messages: int = 0
    """Prompts and calls of tools."""
    characters: int = 0
    """Of them."""
    errors: int = 0
    """Calls that failed, one after the other."""
    prompt: list[str] = field(default_factory=list)
    """Hashes of the words of the last prompt."""
    similar: float = 0.0
    """How much of it the prompt before had."""
    warned: int = 0
    """At which message it was warned of last; 0: never."""

    def add_prompt(self, text: str) -> None:
        """Count a prompt."""
        now = sorted(
            {hashlib.sha256(word.encode()).hexdigest()[:8] for word in text.casefold().split()}
        )[:_MOST_WORDS]
        both = len(set(now) & set(self.prompt))
        either = len(set(now) | set(self.prompt))
        # a short prompt ("go on", "yes") is like every other one
        self.similar = both / either if min(len(now), len(self.prompt)) >= _FEWEST_WORDS else 0.0
        self.messages, self.characters, self.prompt = (
            self.messages + 1,
            self.characters + len(text),
            now,
        )

    def add_call(self, characters: int, *, failed: bool) -> None:
        """Count a call of a tool."""
        self.messages, self.characters = self.messages + 1, self.characters + characters
        self.errors = self.errors + 1 if failed else 0

    def warning(self) -> str:
        """Return what to warn of now; empty: nothing, or it was warned of less than 20 messages
        ago.
        """
        if self.warned and self.messages - self.warned < _COOLDOWN:
            return ""
        tokens = self.characters // CHARACTERS_OF_A_TOKEN
        reasons = [
            *(
                [f"{self.errors} calls failed one after the other"]
                if self.errors >= _MOST_ERRORS
                else []
            ),
            *(["the last two prompts are nearly the same"] if self.similar > _SIMILAR else []),
            *([f"{self.messages} messages"] if self.messages > _MOST_MESSAGES else []),
            *([f"about {tokens:,} tokens"] if tokens > _MOST_TOKENS else []),
        ]
        if not reasons:
            return ""
        # in messages, not minutes: an agent that waits for a person does not drift meanwhile
        self.warned = self.messages
        return (
            f"kl: this session may drift: {', '.join(reasons)}.\nhint: list what was learned and"
            " what failed, then try another way, or begin a new session."
        )


@dataclass(slots=True)
class Session:
    """What is remembered of an agent's session."""

    given: list[str] = field(default_factory=list)
    """IDs of what it was given."""
    changed: list[str] = field(default_factory=list)
    """Files that it changed, from the repository's root, since tests last passed on all of it."""
    pending: str = ""
    """A package that the agent takes with its next tool."""
    is_reminded: bool = False
    """True once it was reminded that no tests have passed."""
    turns: int = 0
    """Prompts for which a package was made."""
    drift: Drift = field(default_factory=lambda: Drift())
    feature: str = ""
    """ID of the feature that a prompt named last; empty: none."""
    task: str = ""
    """ID of the task that this prompt named; empty: none."""
    turn_files: list[str] = field(default_factory=list)
    """Files changed since that prompt."""
    noted: list[str] = field(default_factory=list)
    """IDs of changed symbols of which it was given who relies on them."""
    mined: int = 0
    """Calls of tools in its transcript of which findings were recorded."""
    mined_bytes: int = 0
    """Size of its transcript when it was mined."""


@contextmanager
def open_session(ws: Workspace, event: Event) -> Iterator[Session]:
    """The session of an event; saved at the end where something in it changed. Raises OSError,
    KlError.
    """
    folder = ws.state.directory / FOLDER
    key = hashlib.sha256(
        f"{event.agent.name}\0{event.session}".encode("utf-8", "replace")
    ).hexdigest()[:_KEY]
    path = folder / f"{key}.json"
    session = _load(path)
    before = asdict(session)
    yield session
    if asdict(session) == before:
        return
    session.given, session.changed = session.given[-_MOST:], session.changed[-_MOST:]
    session.noted = session.noted[-_MOST:]
    prepare_state(ws.state)
    if not path.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        _forget_old(folder, ws.clock.now() / 1e6)
    write_atomic(path, json.dumps(asdict(session)).encode(), 0o600, sync=False)


def _load(path: Path) -> Session:
    try:
        found = json.loads(read_small(path) or b"{}")
        given = found.get("given", [])
        changed = found.get("changed", [])
        # the file of a session that an older kl began has neither
        files = found.get("turn_files", [])
        noted = found.get("noted", [])
        # an entry that is odd in any way is as good as none
        if not all(
            type(some) is list and all(type(one) is str for one in some)
            for some in (given, changed, files, noted)
        ):
            return Session()
        turns = found.get("turns")
        drift = found.get("drift")
        return Session(
            given,
            changed,
            str(found.get("pending", "")),
            found.get("is_reminded") is True,
            _number(turns),
            _load_drift(drift),
            str(found.get("feature", "")),
            str(found.get("task", "")),
            files,
            noted,
            _number(found.get("mined")),
            _number(found.get("mined_bytes")),
        )
    except (ValueError, AttributeError):
        return Session()


def _number(value: object) -> int:
    if type(value) is int:
        return value
    return 0


def _load_drift(found: object) -> Drift:
    # the file of a session that an older kl began has none
    if not isinstance(found, dict) or found.keys() != asdict(Drift()).keys():
        return Drift()
    numbers = [found[name] for name in ("messages", "characters", "errors", "warned", "similar")]
    words = found["prompt"]
    is_ours = all(type(one) in (int, float) for one in numbers) and isinstance(words, list)
    if is_ours and all(type(one) is str for one in words):
        return Drift(**found)
    return Drift()


def _forget_old(folder: Path, now: float) -> None:
    # other files there are of installations and visits
    for path in folder.glob(f"{'[0-9a-f]' * _KEY}.json"):
        with suppress(OSError):  # another process may have removed it
            if path.stat().st_mtime < now - _OLD:
                path.unlink()
