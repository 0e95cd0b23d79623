"""One decision about one memory, as `kl memory approve` and `reject` make it."""

from __future__ import annotations

from kl_hooks.cli.common import workspace


def decided(identifier: str, do: str, reason: str = "", shape: str = "text") -> None:
    """Carries it out and says what the memory is now. UsageProblem for an agent that is no reviewer."""
    from kl_hooks.cli.kind_new import settle
    from kl_hooks.cli.memory_after import meant, told
    from kl_hooks.kinds.memory.deciding import Decision
    from kl_hooks.kinds.memory.reviewing import decide
    from kl_hooks.kinds.memory.who import reviewer
    from kl_hooks.records.permissions import pending_proposals

    ws = workspace()
    who = reviewer(ws, identifier)
    record = meant(identifier)
    if who.person and record.status == "approved" and pending_proposals(ws, record.id):
        settle(ws, record, shape, accepted=do == "approve")
        return
    again = do == "approve" and record.status == "approved"
    made = decide(ws, record, Decision(record.id, do, "", reason), who)
    told(made, "approved, confirmed today" if again else "", shape)
