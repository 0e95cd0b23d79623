"""Words that tell whether an answer decides much or little. Whole words count, never parts of them."""

from __future__ import annotations

import re
from typing import Final


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


HIGH: Final = _set(
    """api apis architecture architectural asynchronous authentication authorization availability backend broker cache
    caching ci cloud concurrency consistency container containers database databases dependency deployment encryption
    event-driven framework frontend grpc graphql infrastructure integration kafka kubernetes latency library migration
    migrations microservice microservices monolith multi-tenant oauth orm performance persistence postgres postgresql
    protocol queue redis replication scalability schema security serverless service-oriented sharding sql storage
    tenancy transaction transactions versioning webhook websocket"""
)
"""Much is decided with them: 20 points each, 60 at most."""
MEDIUM: Final = _set(
    """configuration errors exceptions interface logging metrics monitoring module observability pagination plugin retry
    retries session sessions testing timeout timeouts tracing validation"""
)
"""Something is: 10 points each, 30 at most."""
LOW: Final = _set(
    """capitalisation capitalization color colour comment comments docstring emoji font format formatting icon indent
    indentation label name naming rename renamed spelling typo typos whitespace wording"""
)
"""Little is: 15 points off each."""
PHRASES: Final = {"error handling": 10, "message broker": 20, "rest api": 20, "source of truth": 20}
"""Words that count together."""
BARE: Final = _set("yes no ok okay sure yep nope maybe fine agreed correct right true false")
"""An answer of these alone says nothing that a record could keep."""
REASON: Final = re.compile(
    r"\b(?:because|since|due to|owing to|thanks to|given that|so that|in order to|as (?:it|we|they|this|that|there|our)"
    r"|for (?:its|their|better|the sake of|reasons? of|the reason))\b",
    re.IGNORECASE,
)
"""What begins a reason; a bare `as` or `for` does not."""
INSTEAD: Final = re.compile(r"\b(?:instead of|rather than|over|versus|vs\.?)\s+", re.IGNORECASE)
"""What comes before an alternative."""
NO_ALTERNATIVE: Final = _set(
    "time all http https tcp udp ssh tls network networks it them this that the a an and here there 0 1 2 3"
)
"""After `over` these are no alternatives: over time, over HTTP."""
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#.-]*[A-Za-z0-9+#]|[A-Za-z0-9]")


def words(text: str) -> list[str]:
    """The words of a text as written; `C++`, `event-driven` and `Node.js` are one each."""
    return _WORD.findall(text)
