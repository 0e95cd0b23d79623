"""Writes a proposal as the text of `.kl/architecture.yaml`, with a comment wherever it is unsure. Pure."""

from __future__ import annotations

import re

from kl_hooks.arch.propose import Proposal
from kl_hooks.model.manifest import Layer

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_HEAD = """\
# The layers of this repository, from the bottom up. A layer may always import itself.
# Proposed by `kl init` from today's imports, so that the first check is green: it describes what the code does,
# not what it should do. Review it, tighten it, then run: kl arch check
"""
_TAIL = """
type_checking_imports: ignore  # or: enforce
exhaustive: false              # true: every Python file must belong to a layer
exceptions: []                 # - {from: a.b, to: c.d, until: 2030-01-31, decision: ADR-0001}
"""


_AGAINST = """\
# {imports} of today {contradict} this order: {accepted} in .kl/baseline.json, and only new ones block.
# kl init --exact proposes layers without exceptions instead: parts that import each other become one.
"""


def draft(proposal: Proposal) -> str:
    """The text of the manifest; reading it back gives the proposal's layers."""
    before: list[str] = []
    blocks = []
    for layer in proposal.layers:
        comments = "".join(f"  # {_comment(line)}\n" for line in proposal.doubts.get(layer.name, ()))
        blocks.append(comments + _layer(layer, before))
        before.append(layer.name)
    left = "".join(f"# In no layer: {_comment(line)}\n" for line in proposal.left_out)
    head = _HEAD + (_against(proposal.against) if proposal.against else "") + "version: 1\n\nlayers:\n"
    return head + "\n".join(blocks) + ("\n" + left if left else "") + _TAIL


def _against(number: int) -> str:
    if number == 1:
        return _AGAINST.format(imports="1 import", contradict="contradicts", accepted="it is accepted")
    return _AGAINST.format(imports=f"{number} imports", contradict="contradict", accepted="they are accepted")


def _layer(layer: Layer, before: list[str]) -> str:
    everything = bool(before) and set(layer.may_depend_on) == set(before)
    allowed = " below" if everything else _list(layer.may_depend_on)
    return f"  - name: {quoted(layer.name)}\n    paths:{_list(layer.paths)}\n    may_depend_on:{allowed}\n"


def _list(words: tuple[str, ...]) -> str:
    """On one line where it fits, else one word a line."""
    line = " [" + ", ".join(quoted(word) for word in words) + "]"
    return line if len(line) <= 90 else "\n" + "\n".join(f"      - {quoted(word)}" for word in words)


def quoted(word: str) -> str:
    """The word as YAML text: plain where that is safe, else in double quotes with escapes."""
    if _PLAIN.fullmatch(word) and word.lower() not in ("true", "false", "yes", "no", "on", "off", "null", "y", "n"):
        return word
    return '"' + "".join(_sign(sign) for sign in word) + '"'


def _sign(sign: str) -> str:
    if sign in '"\\':
        return "\\" + sign
    code = ord(sign)
    return sign if sign.isprintable() and code < 0x3000 else f"\\U{code:08X}"


def _comment(line: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in line)
