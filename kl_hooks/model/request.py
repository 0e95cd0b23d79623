"""A request for a context package: the options of `kl context`, of the tool `context` and of the
Python API, each stated once.
"""

from __future__ import annotations

from typing import Annotated, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter, fields_of

_PROFILE_NAMES: Final = (
    "blended",
    "tier-first",
    "authority-first",
    "rrf",
    "weighted",
    "quota",
    "brief",
)
"""Ways to rank records (`context.fuse.PROFILES`)."""
QUOTA: Final = "quota"
"""The profile that divides the budget by what kind of work the task is."""
BRIEF: Final = "brief"
"""The profile that shows only what decides the task (`context.brief`)."""
TYPES: Final = ("implementation", "review", "planning", "refinement", "documentation")
"""Of work."""
TYPE_ALIASES: Final = {
    "implement": "implementation",
    "plan": "planning",
    "refine": "refinement",
    "docs": "documentation",
    "doc": "documentation",
}
STYLE_NAMES: Final = ("text", "markdown", "xml")
"""Of the text of a package (`context.page.STYLES`)."""
QUOTA_FIELDS: Final = ("type", "phase", "complexity", "actor", "attempt", "turn", "threshold")
"""Fields of a request that only the profile `quota` reads."""


class Request(NamedTuple):
    """A request for a package: the task, and how the package is to be made. All but `trace_id`
    decides its content.

    What is annotated are the options of `kl context`, of the tool `context` and of the Python API,
    in this order.
    """

    task: str
    budget: Annotated[
        str,
        Parameter("Size of a full package: characters (6000, the default) or tokens (1500tok)."),
    ] = "6000"
    """As `context.page.read_budget` reads it; empty: the default of the profile."""
    style: str = "text"
    """One of `STYLE_NAMES`."""
    trace_id: str = ""
    weight: Annotated[
        str,
        Parameter(
            "How much is included: nothing, only what is proven (low), or the neighbors of the"
            " nearest symbols as well (high).",
            choices=("default", "none", "low", "high"),
            is_default_shown=True,
        ),
    ] = "default"
    """How much is retrieved: `low` omits what has no proof, `high` adds the neighbors of the
    nearest symbols.
    """
    profile: Annotated[
        str,
        Parameter(
            "Ranking; quota divides the budget by kind of work, brief shows what decides.",
            choices=_PROFILE_NAMES,
            default="brief; blended with another option, quota where one below describes the work",
        ),
    ] = "blended"
    """How records are ranked: a name in `context.fuse.PROFILES`."""
    queries: Annotated[
        tuple[str, ...],
        Parameter("Search for this too, by itself. Repeatable.", name="query", metavar="TEXT"),
    ] = ()
    rounds: Annotated[
        int,
        Parameter(
            "Rounds of search, each with words of the best items before.",
            bounds=(1, 5),
            name="iterate",
            is_default_shown=True,
        ),
    ] = 1
    changed: Annotated[
        str,
        Parameter("Start from what these commits change, as in kl arch check.", metavar="A...B"),
    ] = ""
    at: Annotated[
        str,
        Parameter(
            "What was known at this revision: its files, records and history.", metavar="REV"
        ),
    ] = ""
    """Nothing newer than that. Empty: the working tree."""
    type: Annotated[
        str,
        Parameter(
            f"The type of the work: {', '.join(TYPES)}.",
            choices=(*TYPES, *TYPE_ALIASES),
            metavar="TYPE",
            default="by the task's first word",
        ),
    ] = ""
    """This and the other fields of `QUOTA_FIELDS` decide budgets of the profile `quota`."""
    phase: Annotated[
        str,
        Parameter(
            "The phase of the work.", choices=("load", "plan", "implement", "test", "review")
        ),
    ] = ""
    complexity: Annotated[
        int,
        Parameter(
            "How complex the work is: more of it has a larger budget.", bounds=(1, 10), default="5"
        ),
    ] = 0
    """0: not given."""
    attempt: Annotated[
        int, Parameter("Tries before this one: includes more known failures.", bounds=(0, 100))
    ] = 0
    actor: Annotated[
        str,
        Parameter(
            "Who works: player, coach or a role; includes its rules, gates and modes.",
            metavar="ROLE",
        ),
    ] = ""
    """The role of whoever does it."""
    turn: Annotated[
        int,
        Parameter(
            "The turn in a loop of work and review: includes what the last turns left.",
            bounds=(1, 1000),
        ),
    ] = 0
    """Of an automated loop, from 1; 0: there is none."""
    have: Annotated[
        tuple[str, ...],
        Parameter("Omit what is in this package already. Repeatable.", metavar="PACKAGE"),
    ] = ()
    """IDs of packages that the reader has."""
    threshold: Annotated[
        str, Parameter("Relevance threshold: strict, relaxed, or 0 to 1.", metavar="LEVEL")
    ] = ""
    max_sources: Annotated[int, Parameter("Most files and records.", bounds=(1, 1000))] = 0
    """Most items that are no symbols; 0: as many as fit."""
    pins: Annotated[
        tuple[str, ...],
        Parameter(
            "A record, symbol or file that belongs to it. Repeatable.", name="pin", metavar="ID"
        ),
    ] = ()
    """They belong to the package whatever its task is."""
    scope: Annotated[
        tuple[str, ...],
        Parameter("Only code and pages of this file or folder. Repeatable.", metavar="PATH"),
    ] = ()
    """Code and pages elsewhere are omitted. Empty: everywhere."""
    filters: Annotated[
        tuple[str, ...],
        Parameter(
            "Only what matches kind, status, tag or module, and the records that do. Repeatable.",
            name="filter",
            metavar="KEY=VALUE",
        ),
    ] = ()
    """`kind=decision`, `tag=money`: only what matches (`context.related`). Empty: all."""

    def options(self) -> dict[str, object]:
        """Return what differs from the defaults, as the package log and the ID of a package keep
        it.
        """
        chosen: dict[str, object] = {}
        for option in fields_of(Request):
            value = getattr(self, option.name)
            # the log has a field of its own for the budget
            if option.name != "budget" and value != option.default:
                chosen[option.name] = list(value) if isinstance(value, tuple) else value
        return chosen
