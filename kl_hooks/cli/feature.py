"""`kl feature detect`: the features a text names."""

from __future__ import annotations

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import print_answer, workspace
from kl_hooks.kinds.feature import detect_features


@click.command(epilog='Example: kl feature detect "continue FEAT-AUTH-12"')
@click.argument("text", nargs=-1, required=True)
@format_option()
def detect(text: tuple[str, ...], shape: str) -> None:
    """Which features the TEXT names (FEAT-AUTH-12), the file that specifies each, and features of the same prefix."""
    rows = detect_features(workspace(), " ".join(text))
    lines = []
    for row in rows:
        spec = row["spec"] or "none found in docs/features, .kl/knowledge/features, features"
        lines += [f"{row['id']}  {row['title'] or '(no record)'}", f"    spec     {spec}"]
        lines += [f"    related  {', '.join(row['related'])}"] if row["related"] else []
    none = "the text names no feature. An id looks like FEAT-AUTH-12."
    print_answer(shape, {"schema": "kl.feature.detect/1", "features": rows}, lines or [none])
