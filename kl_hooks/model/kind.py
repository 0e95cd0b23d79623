"""Kind: the description of a sort of records. It is data: commands, forms and checks are derived
from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from operator import attrgetter
from typing import Final

from kl_hooks.model.symbol import RECORD_ID

AUTHORITIES: Final = ("human", "agent", "auto")
"""Who vouches for a record, the most trusted first."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the records of a kind."""

    name: str
    type: str
    """One of `FIELD_TYPES`."""
    description: str
    """What to write here, in one line; the form and the docs page show it."""
    required: bool = False
    section: str = ""
    """Its heading in the body of a file; empty: it is part of the front matter."""
    choices: tuple[str, ...] = ()
    """The words of a `choice`; the first is the default."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of its words that are read, and what is stored for them."""
    aliases: tuple[str, ...] = ()
    """Other names of the field that are read."""
    least: int = 0
    most: int = 1_000_000
    """Bounds of a `number`."""
    relation: str = ""
    """For `ids`, and for `words` that name what is no record: the relation of the Links."""
    example: str = ""
    internal: bool = False
    """True where programs write it, not people: no form and no command has it."""
    repeats: str = ""
    """A field whose content it has in another form; a package shows that one alone."""
    pattern: str = ""
    """Of a `line`, or of each of `words`: what kl writes matches it. What other programs wrote is
    read as it is.
    """
    is_label: bool = False
    """Of a `choice`: what sort of record it is, or how it fared, and not what it is about. A search
    for the word does not find it.
    """
    directive: bool = False
    """True for a field of an observation that instructs its readers: an agent's value waits for a
    person.
    """


# The generated `repr` of a dataclass takes three times as long.
_FIELD_VALUES: Final = attrgetter(*(each.name for each in dataclass_fields(Field)))


@dataclass(frozen=True, slots=True)
class Verb:
    """A change of status: `kl <kind> <name> ID`."""

    name: str
    to: str
    description: str
    """Its line in the help."""
    of: tuple[str, ...] = ()
    """The statuses it can start from; empty: all others."""
    needs: tuple[str, ...] = ()
    """Fields that must be given or be there, such as a reason."""
    person: bool = False
    """True where only a person may do it."""
    agents: tuple[str, ...] = ()
    """Agents of the user's configuration that may do what else only a person may: `reviewer`, one
    that reviews; `author`, one that is trusted, to what it made itself.
    """


@dataclass(frozen=True)
class Kind:
    """The description of a sort of records."""

    name: str
    """Singular, lower case: `decision`; it names the command."""
    plural: str
    """`decisions`; it names the folder."""
    prefix: str
    """Of its ids: `ADR`."""
    purpose: str
    """One line: what it is for."""
    storage: str
    """`file`: Markdown in `.kl/knowledge/<plural>/`; `state`: rows of the database, until a record
    is `filed`.
    """
    statuses: tuple[str, ...]
    """The first is what a new record has."""
    live: tuple[str, ...]
    """The statuses in which it may be shown to an agent unasked."""
    fields: tuple[Field, ...] = ()
    verbs: tuple[Verb, ...] = ()
    section: str = ""
    """Heading of its items in a package."""
    summary_field: str = ""
    """The field that its one-line summary ends with; empty: the last required field of type `text`.
    """
    list_fields: tuple[str, ...] = ()
    """Fields that a list shows next to the title, because the status does not show what matters."""
    budget_category: str = "domain_knowledge"
    """One of `BUDGET_CATEGORIES`."""
    filed: tuple[str, ...] = ()
    """Of a kind stored in the database: the statuses in which a record is a file. Entering one
    writes it.
    """
    numbering: str = "serial"
    """`serial`: ADR-0007. `hash`: MEM-3f9a1c2b, over the fields in `identity`: the same in every
    clone. `random`: OUT-3f9a1c2b. `given`: whoever makes the record names the ID, else it is
    serial."""
    identity: tuple[str, ...] = ()
    digits: int = 0
    """Of its numbers; 0: four for serial ones, eight for others."""
    ttl: Mapping[str, int] = field(default_factory=dict)
    """Authority → days until a record expires; records of other authorities never do."""
    retention: int = 0
    """Days that an expired record is retained in the database; 0: as `Lifecycle.purge_expired_days`
    has it.
    """
    proof: str = ""
    """The class of evidence that an approved record counts as: `ADR`, `RepositoryMemory`; empty:
    none.
    """
    spellings: Mapping[str, str] = field(default_factory=dict)
    """Other names of its statuses that are read."""
    nature: str = "directive"
    """`directive`: it instructs its readers, so what an agent writes waits for a person.
    `observation`: it reports what happened, so it is recorded at once, in the name of its author.
    """
    folders: tuple[str, ...] = ()
    """Folders that coding agents read too, with a folder and a file `SKILL.md` for each record, in
    their format. The first is written to. Empty: it has the folder of its plural, and our format.
    """
    by: str = "kl"
    """The plugin or file that it comes from."""

    @cached_property
    def all_fields(self) -> tuple[Field, ...]:
        """Its own fields and those that every record has, in the order in which they are
        written.
        """
        # a kind may describe one of the common fields in its own words
        own = {one.name for one in self.fields}
        return tuple(
            [*(one for one in FIRST_FIELDS if one.name not in own), *self.fields]
            + [one for one in LAST_FIELDS if one.name not in own]
        )

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """Field name, and every other name that is read → field."""
        named = {alias: one for one in self.all_fields for alias in one.aliases}
        # real names last: an alias of one field must not hide another field of that name
        return named | {one.name: one for one in self.all_fields}

    @cached_property
    def digest(self) -> str:
        """A digest of all that decides how its records are read and indexed: names, fields,
        statuses. Of two kinds with the same one either reads what the other wrote.
        """
        described = [_FIELD_VALUES(each) for each in self.all_fields]
        text = repr((self.name, self.plural, self.prefix, described, self.statuses))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def proposal(self) -> str:
        """Of a directive: the status of a record that waits for a person; empty for an
        observation.
        """
        if self.nature != "directive":
            return ""
        starts = (
            verb.of or self.statuses[:1]
            for verb in self.verbs
            if verb.person and verb.to in self.live
        )
        return next((one for some in starts for one in some if one not in self.live), "")

    def date_field(self, status: str) -> str:
        """The field for the day on which a record got this status; empty where it has none."""
        name = STATUS_DATES.get(status, "")
        has_field = any(field.name == name and field.type == "date" for field in self.fields)
        if has_field:
            return name
        return ""

    def has_id(self, text: str) -> bool:
        """True if a record of this kind can have this ID."""
        return bool(RECORD_ID.fullmatch(text)) and text.startswith(f"{self.prefix}-")

    def is_pending(self, status: str) -> bool:
        """True for the status of a successor that takes no record's place before a person accepts
        it.
        """
        # one chain of comparisons: it is the first status, and the first status is not a live one
        return SUPERSEDED in self.statuses and status == self.statuses[0] not in self.live


PROPOSED: Final = "proposed"
REJECTED: Final = "rejected"
SUPERSEDED: Final = "superseded"
"""Statuses that mean the same in every kind that has them."""
STATUS_DATES: Final[Mapping[str, str]] = {
    "accepted": "decided_at",
    "rejected": "decided_at",
    "deprecated": "deprecated_at",
}
"""Status → field that gets the day on which a verb leads there, in a kind that has this field."""


def with_proposals(kind: Kind) -> Kind:
    """The same kind; a directive that nobody has to accept yet gets a status for proposals, and the
    verbs for them.
    """
    names = {verb.name for verb in kind.verbs}
    if kind.nature != "directive" or kind.proposal or not kind.live or names & {"accept", "reject"}:
        return kind
    statuses = [one for one in (PROPOSED, REJECTED) if one not in kind.statuses]
    verbs = (
        Verb("accept", kind.live[0], "Accept what an agent proposed.", (PROPOSED,), person=True),
        Verb("reject", REJECTED, "Reject what an agent proposed.", (PROPOSED,), person=True),
    )
    return replace(kind, statuses=(*kind.statuses, *statuses), verbs=(*kind.verbs, *verbs))


COUNT_FIELDS: Final = (
    Field(
        "occurrence_count",
        "number",
        "How often it had happened at the last write.",
        least=1,
        internal=True,
    ),
    Field("last_occurred", "date", "When it last happened, as of then.", internal=True),
    # each clone adds only its newer ones
    Field(
        "counted", "map", "Clone by clone, how many of its Events that number holds.", internal=True
    ),
)
"""Of a kind whose occurrences are counted: the count as of the last time the file was written,
which travels with it; see `records.events`.
"""
VERIFICATION: Final = Field(
    "standing",
    "choice",
    "How it fared since.",
    is_label=True,
    choices=("active", "verified", "disproven", "deprecated", "superseded"),
)
"""Of a kind whose records people verify or disprove: see `records.permissions` and
`records.liveness`.
"""
FIRST_FIELDS: Final = (
    Field("title", "line", "What it is, in one line.", required=True, aliases=("name",)),
    Field("status", "line", "Its status."),
    Field("date", "date", "When it was made.", aliases=("created_at", "created")),
    Field("updated", "date", "When it was last changed.", aliases=("updated_at",)),
)
"""What every record begins with."""
LAST_FIELDS: Final = (
    Field("about", "ids", "The files and symbols it is about.", relation="about"),
    Field("related", "ids", "Other records it belongs with.", relation="related"),
    Field("tags", "words", "Short words to find it by."),
    Field("authority", "choice", "Who vouches for it.", choices=AUTHORITIES),
    Field("source", "line", "Where it comes from: a person, a session, a file."),
    Field("expires", "date", "When it ends.", aliases=("expires_at",)),
    Field("supersedes", "ids", "The records it takes the place of.", relation="supersedes"),
    Field("superseded_by", "ids", "The records that took its place.", relation="superseded_by"),
)
"""What every record may end with."""


SEEDED: Final = (
    Field("entity_id", "line", "What the seed calls it: the same in every run.", internal=True),
    Field("source_path", "line", "The file that it was read from.", internal=True),
    Field("source_hash", "line", "sha256 of what was read there.", internal=True),
    # another one today means that a person edited the record
    Field("seeded_hash", "line", "sha256 of what the seed wrote.", internal=True),
)
"""Written by `kl seed` alone; nobody fills them in."""
