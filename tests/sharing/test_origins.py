"""Every row of SECURITY.md's table of origins, played: what `kl claim show` prints, and what it
counts for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from kl_hooks.evidence.trust import ORIGINS
from tests.evidence.origins import COUNTS
from tests.support import Checkout

from .test_notes_and_keys import clones, keys, recorded, trust, verdict  # noqa: F401 (fixtures)


def test_each_origin_is_shown_with_what_it_proves_and_counts_so(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    ci, bob, own = clones("ci"), clones("bob"), clones("own")
    recorded(ci)
    recorded(own)
    assert ci.kl("sync", "--sign", str(keys["ci"])).returncode == 0
    assert bob.kl("sync", "--pull").returncode == 0
    assert json.loads(bob.kl("claim", "list", "--format", "json").stdout)["total"] == 0, (
        "of notes nothing is claimed"
    )
    # what a person imported is shown as an assertion
    file = tmp_path / "bundle"
    assert ci.kl("evidence", "export", "--sign", str(keys["ci"]), "-o", str(file)).returncode == 0
    assert bob.kl("evidence", "import", "bundle", str(file)).returncode == 0

    def played(repo: Checkout, kind: str) -> None:
        words, tier, from_ci = COUNTS[kind]
        [claim] = json.loads(repo.kl("claim", "list", "--format", "json").stdout)["claims"]
        assert (claim["schema"], claim["tier"]) == ("kl.claim/3", tier), (kind, words)
        assert {one["origin"].partition(":")[0] for one in claim["support"]} == {kind}
        shown = repo.kl("claim", "show", claim["id"]).stdout
        name, proves, not_proven = ORIGINS[kind]
        assert f"origin     {name}" in shown and f"proves: {proves}\n" in shown, shown
        assert f"does not prove: {not_proven}\n" in shown
        assert (": github" in shown) is (kind in ("ci", "signed")), "the name of the key"
        assert verdict(repo, "--require", "verified", "--from", "ci").startswith(
            "proven (verified by CI github" if from_ci == "verified" else "not proven"
        )

    played(own, "local")
    played(bob, "imported")
    shown = bob.kl("claim", "list").stdout.split()[0]
    assert "is not trusted here: assumed" in bob.kl("claim", "show", shown).stdout, (
        "why it is no more"
    )
    for one in (one for one in bob.entries() if one.receipt.source == "pytest"):
        assert "is not trusted here: assumed" in bob.kl("evidence", "show", one.receipt.id).stdout
    # the file of a team names the key, and counts only in a commit that the clone follows
    add = ("trust", "add", "github", "--key", f"{keys['ci']}.pub", "--role", "ci", "--team")
    assert bob.kl(*add).returncode == 0
    listed = bob.kl("claim", "show", shown).stdout
    assert 'signed by "github" of .kl/trust, which this clone does not follow yet' in listed
    assert "git config kl.trustRef origin/main: assumed" in listed
    (bob.root / ".kl/trust").unlink()
    trust(bob, keys["ci"], "person")
    played(bob, "signed")
    assert bob.kl("trust", "remove", "github").returncode == 0
    trust(bob, keys["ci"])
    played(bob, "ci")
    # one of each is two independent observations
    recorded(bob)
    [claim] = json.loads(bob.kl("claim", "list", "--format", "json").stdout)["claims"]
    assert claim["tier"] == "verified"
