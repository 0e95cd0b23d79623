"""Writes what is heard into the spool, one line per test at the moment its verdict is known. The hot path.

Everything that a line needs is bound before the first test runs, so that a test suite that replaces `os`, `time`,
`json` or `open` with its own does not reach us.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from json.encoder import JSONEncoder, encode_basestring
from typing import Any

from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.store.redaction import compile_patterns, may_hold_secret, redact
from kl_hooks.store.spool import SpoolWriter

compile_patterns()  # now: a suite may replace `re`
ENCODE = JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
"""Canonical JSON of values that we made ourselves; `json.dumps` could be somebody's mock by now."""
LONGEST_ID = 4096
"""Characters; of a longer test id the beginning and a digest of the whole are kept."""
SYNC_EVERY = 1.0
"""Seconds between two calls of fdatasync: what a power cut may cost."""


def clean_id(nodeid: str) -> str:
    """The id as it may reach the disk: redacted, encodable, and not longer than it needs to be."""
    nodeid = redact(nodeid)
    if not nodeid.isascii():
        nodeid = replace_surrogates(nodeid)
    if len(nodeid) > LONGEST_ID:
        nodeid = nodeid[:LONGEST_ID] + "…sha256:" + hashlib.sha256(nodeid.encode()).hexdigest()[:16]
    return nodeid


def without_group(nodeid: str) -> str:
    """The id without the `@group` that xdist's `--dist loadgroup` appends: the same test has one name everywhere."""
    at = nodeid.rfind("@")
    return nodeid[:at] if at > nodeid.rfind("]") and at > nodeid.rfind("::") else nodeid


class Journal:
    """The lines of the tests of one run.

    `prefix` leads from the repository's root to pytest's; `grouped` is true where xdist appends groups to ids.
    """

    def __init__(self, writer: SpoolWriter, prefix: str = "", grouped: bool = False) -> None:
        self._line = writer.line
        self._sync = writer.sync
        self._now = time.monotonic
        self._synced = self._now()
        self._prefix = prefix
        self._grouped = grouped
        self._plan: Sequence[str] = ()
        self._place = 0
        self._announced: str | None = None
        self._quoted = ""
        self.lines = 0

    def expect(self, nodeids: Sequence[str]) -> None:
        """The tests in the order in which they will run; then each line can name the test that starts next."""
        self._plan = nodeids

    def name(self, nodeid: str) -> str:
        """The id as it stands in the record."""
        return clean_id(self._prefix + (without_group(nodeid) if self._grouped else nodeid))

    def _quote(self, nodeid: str) -> str:
        """The name as JSON; the short way for nearly all, which need no cleaning."""
        if self._grouped:
            nodeid = without_group(nodeid)
        nodeid = self._prefix + nodeid
        if may_hold_secret(nodeid) or len(nodeid) > LONGEST_ID or not nodeid.isascii():
            nodeid = clean_id(nodeid)
        return encode_basestring(nodeid)

    def started(self, nodeid: str) -> None:
        """A test starts. Writes only where no line before has named it."""
        if nodeid != self._announced:
            if not self._plan or self._plan[self._place : self._place + 1] != [nodeid]:
                self._plan = ()  # somebody runs them in an order of their own: from now on each start is written
            self._announced, self._quoted = nodeid, self._quote(nodeid)
            self._line(f'["s",{self._quoted}]')

    def finished(self, nodeid: str, verdict: str, seconds: float, detail: Mapping[str, Any] | None) -> None:
        """The verdict of a test; a later one for the same test replaces it."""
        own, following, quoted_following = self._quoted, None, "null"
        if nodeid != self._announced:
            own = self._quote(nodeid)
        elif self._plan:
            self._place += 1
            if self._place < len(self._plan):
                following = self._plan[self._place]
                quoted_following = self._quote(following)
            self._announced, self._quoted = following, quoted_following
        more = "null" if detail is None else ENCODE(detail)
        self._line(f'["t",{own},"{verdict}",{int(seconds * 1e6)},{more},{quoted_following}]')
        self.lines += 1
        now = self._now()
        if now - self._synced > SYNC_EVERY:
            self._synced = now
            self._sync()
