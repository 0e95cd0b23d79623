"""`kl feature detect`: the features a text names."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import print_answer, workspace
from kl_hooks.kinds.feature import feature_ids, related_features, specification_files
from kl_hooks.records.query import RecordFilter, list_records


@click.command(epilog='Example: kl feature detect "continue FEAT-AUTH-12"')
@click.argument("text", nargs=-1, required=True)
@format_option()
def detect(text: tuple[str, ...], shape: str) -> None:
    """Which features the TEXT names (FEAT-AUTH-12), the file that specifies each, and features of the same prefix."""
    ws = workspace()
    ids = feature_ids(" ".join(text))
    files = specification_files(ws.root) if ids else {}
    records = {one.id.upper(): one for one in list_records(ws, RecordFilter(("feature",)))} if ids else {}
    rows: list[dict[str, Any]] = []
    for one in ids:
        record = records.get(one)
        path = (record.text("spec") if record else "") or files.get(one, "")
        rows.append({"id": one, "title": record.title if record else "", "record": bool(record), "spec": path or None,
                     "related": list(related_features(one, [*files, *records]))})  # fmt: skip
    lines = []
    for row in rows:
        spec = row["spec"] or "none found in docs/features, .kl/knowledge/features, features"
        lines += [f"{row['id']}  {row['title'] or '(no record)'}", f"    spec     {spec}"]
        lines += [f"    related  {', '.join(row['related'])}"] if row["related"] else []
    none = "the text names no feature. An id looks like FEAT-AUTH-12."
    print_answer(shape, {"schema": "kl.feature.detect/1", "features": rows}, lines or [none])
