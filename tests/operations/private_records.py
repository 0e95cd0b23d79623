"""Records about pay and files with plans, which a policy hides from agents."""

from __future__ import annotations

from typing import Final

from tests.support import Checkout

DECISION: Final = ("--context", "Salaries", "--decision", "Pay Bob", "--governs", "src/pay.py")
"""The options of a new decision; with the tag `private` it is hidden."""


def hide_private_records(repo: Checkout, effect: str, plans: str) -> None:
    """Let the policy `deny` or `redact` what has the tag `private`, and the files of `plans`."""
    repo.write(
        ".kl/policy.yaml",
        f"""version: 1
rules:
  - name: pay
    {effect}: {{tags: [private], actors: [agent]}}
  - name: plans
    {effect}: {{paths: ["{plans}/**"], actors: [agent]}}
""",
    )
