"""Operations of claims: assert one, list, find, show, confirm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.evidence.claims import claim_to_dict
from kl_hooks.model.claim import DOUBTFUL, Claim, Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import TOP, Listing, Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_ID: Final = Parameter("Its ID, or the beginning of it.", argument="ID")
_PROGRESS: Final = "Importing captured runs and commits"


class AddRequest(NamedTuple):
    """What is claimed."""

    text: Annotated[
        str, Parameter("What is claimed, in one sentence.", argument="TEXT", aliases=("claim",))
    ]
    about: Annotated[
        str,
        Parameter(
            "What it is about: file:src/a.py, test:tests/test_a.py::test_b, ADR-0007 …",
            metavar="PATH_OR_ID",
            default="what it rests on first",
            aliases=("artifact_id",),
        ),
    ] = ""
    expires: Annotated[
        str,
        Parameter("When it ends: 30d, 12h, or a date such as 2027-01-31.", aliases=("expires_at",)),
    ] = ""
    cited: Annotated[
        tuple[str, ...],
        Parameter(
            "What it rests on. Repeatable.", name="support", metavar="ADR-7|MEM-…|COMMIT|TEST"
        ),
    ] = ()
    author: str = ""
    """As events name it; empty: whoever runs this."""


class Written(NamedTuple):
    """A claim that was asserted or confirmed."""

    id: str
    """Shown to whoever wrote it, also where the rest is hidden from him."""
    claims: tuple[Claim, ...]
    """The claim; none where it is hidden."""


def _add(ws: Workspace, request: AddRequest, _access: Access) -> Written:
    from kl_hooks.proof.claims import record_claim

    expires = request.expires or None
    claim = record_claim(ws, request.text, request.about, request.cited, expires, request.author)
    return Written(claim.id, (claim,))


def _written_to_dict(written: Written) -> dict[str, Any]:
    if written.claims:
        return claim_to_dict(written.claims[0])
    return {"id": written.id}


ADD: Final = Operation(
    "claim add",
    """Claim something about code. A claim alone is *assumed*, by any actor; what it cites counts
    while that is valid.

    It is stale when the code changes that it is about, that its text names in backticks, or that a
    cited test executes.
    """,
    AddRequest,
    _add,
    _written_to_dict,
    "kl.claim/3",
    'kl claim add "parses UTF-8 names" --about file:src/names.py --expires 30d',
    tool="record_claim",
    writes=True,
)


class ListRequest(NamedTuple):
    """Which claims."""

    about: Annotated[
        str,
        Parameter("Only claims about this file, test, symbol or record.", metavar="PATH_OR_ID"),
    ] = ""
    tier: Annotated[
        str,
        Parameter("Only claims of this tier.", choices=tuple(tier.word for tier in reversed(Tier))),
    ] = ""
    stale: Annotated[bool, Parameter("Only those under which something changed.")] = False
    everything: Annotated[bool, Parameter("Expired ones too.", name="all")] = False
    limit: Annotated[int, TOP] = 50


class ClaimList(NamedTuple):
    """Claims, and what an answer may lack."""

    claims: Listing
    unlisted: int
    """Matches that are not in the list."""
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many there are."""
        return self.claims.total + self.unlisted


def _list(ws: Workspace, request: ListRequest, _access: Access) -> ClaimList:
    from kl_hooks.proof.claims import claims_now

    notes: list[str] = []
    claims = tuple(
        claim
        for claim in claims_now(ws, notes.append, request.about or None)
        if (request.everything or claim.freshness != "expired")
        and request.tier in ("", claim.tier.word)
        and (not request.stale or claim.freshness in DOUBTFUL)
    )
    return ClaimList(Listing(claims, request.limit), 0, tuple(notes))


def _list_to_dict(claim_list: ClaimList) -> dict[str, Any]:
    return {
        "claims": [claim_to_dict(claim) for claim in claim_list.claims.shown],
        "total": claim_list.total,
    }


LIST: Final = Operation(
    "claim list",
    "List claims: derived from evidence or asserted manually.",
    ListRequest,
    _list,
    _list_to_dict,
    "kl.claim.list/2",
    "kl claim list --tier verified",
    is_tool=False,
    progress=_PROGRESS,
)


class SearchRequest(NamedTuple):
    """What to find."""

    query: Annotated[str, Parameter("Words; any text will do.", argument="WORDS...")]
    limit: Annotated[int, TOP._replace(bounds=(1, 1000))] = 20


def _search(ws: Workspace, request: SearchRequest, access: Access) -> ClaimList:
    from kl_hooks.proof.claims import search_claims
    from kl_hooks.records.query import NO_LIMIT

    # what is hidden is not counted, and takes no place among the first
    most = request.limit if access.shows_all else NO_LIMIT
    claims, total = search_claims(ws, request.query.split(), most)
    return ClaimList(Listing(tuple(claims), request.limit), total - len(claims))


SEARCH: Final = Operation(
    "claim search",
    "Find asserted claims that match any of the words and have not expired, best first.",
    SearchRequest,
    _search,
    _list_to_dict,
    "kl.claim.list/2",
    "kl claim search utf-8 names",
    progress=_PROGRESS,
)


class ClaimRequest(NamedTuple):
    """One claim."""

    id: Annotated[str, _ID]


class ShownClaim(NamedTuple):
    """A claim."""

    claim: Claim
    notes: tuple[str, ...]


def _show(ws: Workspace, request: ClaimRequest, _access: Access) -> ShownClaim:
    from kl_hooks.proof.claims import claim_with_id

    notes: list[str] = []
    return ShownClaim(claim_with_id(ws, request.id, notes.append), tuple(notes))


def _shown_to_dict(shown: ShownClaim) -> dict[str, Any]:
    return claim_to_dict(shown.claim)


SHOW: Final = Operation(
    "claim show",
    "Show a claim with every reason for its tier.",
    ClaimRequest,
    _show,
    _shown_to_dict,
    "kl.claim/3",
    "kl claim show 3f9a1c2b",
    tool="claim_read",
    progress=_PROGRESS,
)


class ConfirmRequest(NamedTuple):
    """Which claim is still so, and who states it."""

    id: Annotated[str, _ID]
    author: str = ""
    """As events name it; empty: whoever runs this."""


def _confirm(ws: Workspace, request: ConfirmRequest, access: Access) -> ShownClaim:
    from kl_hooks.proof.claims import claim_with_id, confirm_claim

    notes: list[str] = []
    # nobody states of what he may not read that it is so
    access.claim(claim_with_id(ws, request.id, notes.append))
    confirmed = confirm_claim(ws, request.id, lambda _: None, request.author)
    return ShownClaim(confirmed, tuple(notes))


CONFIRM: Final = Operation(
    "claim confirm",
    """State that a claim is still so: it rests on the files as they are now.

    It lifts no tier, and a test that the claim cites must have a valid result too. A claim that a
    cited test refutes can't be confirmed.
    """,
    ConfirmRequest,
    _confirm,
    _shown_to_dict,
    "kl.claim/3",
    "kl claim confirm 3f9a1c2b",
    writes=True,
)

OPERATIONS: Final = (ADD, LIST, SEARCH, SHOW, CONFIRM)
