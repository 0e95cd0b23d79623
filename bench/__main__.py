"""Runs every bench, one after the other: `python -m bench`. The last one adds a line to the
history.
"""

from __future__ import annotations

import subprocess
import sys

from bench.measure import ROOT, environment

BENCHES = (
    ("bench.command_cost", ()),
    ("bench.pytest_cost", ()),
    ("bench.context_cost", ("--files", "3000")),
    ("bench.scan_cost", ()),
    ("bench.scan_cost", ("--repository", "large", "--rounds", "1", "--no-slow")),
    ("bench.drift_cost", ()),
    ("bench.update_cost", ()),
    ("bench.records_cost", ()),
    ("bench.closure_cost", ()),
    ("bench.tiers_cost", ()),
    ("bench.writers_cost", ()),
    ("bench.documents_cost", ("--documents", "3000")),
    ("bench.resolver_quality", ()),
    ("bench.executed_symbols", ()),
    ("bench.sharing_cost", ()),
    ("bench.proof_quality", ("flaky",)),
    ("bench.proof_quality", ("mutants", "--seconds", "120")),
    ("bench.proof_quality", ("commits", "--number", "3", "--seconds", "120")),
    ("bench.proof_quality", ("rot",)),
    ("bench.report_cost", ()),
    ("bench.history", ()),
)


def main() -> int:
    """0 if all ran."""
    failed = 0
    for module, args in BENCHES:
        print(f"== {module} {' '.join(args)}", flush=True)
        failed |= subprocess.run(
            [sys.executable, "-m", module, *args], cwd=ROOT, env=environment(), check=False
        ).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
