"""The hooks of `sharing`: its tables, the reader of signed bundles, and the port for evidence of
others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kl_hooks.hookspecs import Schema, Source, hookimpl, schema_hook

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_ATTESTATION: Final = """
CREATE TABLE attestation (
    -- A signature that was found to be over a receipt. Whom to trust is decided when it is read.
    receipt TEXT NOT NULL,            -- receipt.id
    fingerprint TEXT NOT NULL,        -- SHA256:… of the public key
    key TEXT NOT NULL,                -- the public key as in authorized_keys
    signature BLOB NOT NULL,          -- SSHSIG, without its armor
    added TEXT NOT NULL,              -- when this store first saw it, ISO 8601
    PRIMARY KEY (receipt, fingerprint)
) WITHOUT ROWID;
"""
_ATTESTATION_SCHEMA: Final = Schema(
    owner="attestation", database="kl", steps=(_ATTESTATION,), append_only=("attestation",)
)


_COMMON: Final = """
CREATE TABLE common_event (
    -- Events of other clones: a claim, a rejection, one more failure. Whom to trust is decided when they are read.
    event TEXT NOT NULL,              -- sha256 of the event
    fingerprint TEXT NOT NULL,        -- SHA256:… of the public key that signed it
    batch TEXT NOT NULL,              -- sha256 of the line that it came in
    name TEXT NOT NULL,
    record TEXT NOT NULL,             -- the Id it is about
    author TEXT NOT NULL,
    at TEXT NOT NULL,                 -- ISO 8601, UTC
    body TEXT NOT NULL,               -- canonical JSON
    added TEXT NOT NULL,              -- when this store first saw it, ISO 8601
    PRIMARY KEY (event, fingerprint)
);
"""
_COMMON_SCHEMA: Final = Schema(owner="common_events", database="kl", steps=(_COMMON,))


kl_schema = schema_hook(_ATTESTATION_SCHEMA, _COMMON_SCHEMA)


@hookimpl
def kl_sources() -> list[Source]:
    # imported here and below: every command loads this module, and few need one of these
    from kl_hooks.sharing.attestation import read_bundle

    return [Source("bundle", read_bundle)]


@hookimpl
def kl_foreign_evidence(workspace: Workspace) -> Any:
    from kl_hooks.sharing.port import SharedEvidence

    return SharedEvidence(workspace)
