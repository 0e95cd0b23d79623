"""What the results of edits come to: a table by group, and sentences about all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
_HEAD = (
    f"  {'group':14} {'edits':>6} {'effect':>7} {'wrong':>6} {'false fresh':>12} "
    f"{'kl : testmon':>14}"
)


def upper_bound(wrong: int, edits: int) -> float:
    """The largest share of wrong verdicts that is likely (95 %) where so many were seen; where none
    was, 3 / n (the rule of three). An approximation by Wilson's interval otherwise.
    """
    if not edits:
        return 1.0
    if not wrong:
        return min(1.0, 3 / edits)
    share, z = wrong / edits, 1.645
    middle = share + z * z / (2 * edits)
    spread = z * ((share * (1 - share) + z * z / (4 * edits)) / edits) ** 0.5
    return float(min(1.0, (middle + spread) / (1 + z * z / edits)))


def selections(rows: Iterable[Row]) -> tuple[int, int]:
    """Tests that kl and testmon selected, where neither missed a change and all files were
    collected.
    """
    counted = [
        row
        for row in rows
        if row["testmon"] is not None
        and not row["testmon"]["missed"]
        and not row["false_fresh"]
        and not row["wrong"]
        and row["impacted"] in (0, 1, 5)
        and row["suite"] in (0, 1, 5)
    ]
    return sum(row["selected_in_all"] for row in counted), sum(
        row["testmon"]["selected"] for row in counted
    )


def line(name: str, rows: Sequence[Row]) -> str:
    """One line of the table."""
    stale = sum(len(row["false_fresh"]) for row in rows)
    pairs = sum(row["deselected"] for row in rows)
    kl, testmon = selections(rows)
    return (
        f"  {name:14} {len(rows):6} {sum(row['effect'] for row in rows):7}"
        f" {sum(row['wrong'] for row in rows):6} {f'{stale}/{pairs}':>12} {f'{kl} : {testmon}':>14}"
    )


def lines(rows: Sequence[Row]) -> list[str]:
    """The table, then the sentences."""
    usable = [row for row in rows if not row["problem"]]
    groups = dict.fromkeys(row["group"] for row in sorted(usable, key=lambda row: row["group"]))
    table = [_HEAD]
    table += [line(name, [row for row in usable if row["group"] == name]) for name in groups]
    table.append(line("all", usable))
    wrong = [row for row in usable if row["wrong"]]
    stale = sum(len(row["false_fresh"]) for row in usable)
    stale_once = sum(len(row["false_fresh_once"]) for row in usable)
    pairs = sum(row["deselected"] for row in usable)
    kl, testmon = selections(usable)
    alarms = [row for row in usable if row["harmless"] and row["verify"] != 0]
    harmless = sum(row["harmless"] for row in usable)
    kinds, projects = ({row[key] for row in usable} for key in ("kind", "project"))
    missed = sum(bool(row["testmon"] and row["testmon"]["missed"]) for row in usable)
    return [
        *table,
        f"{len(usable)} edits of {len(kinds)} kinds in {len(projects)} projects; of"
        f" {len(rows) - len(usable)} more the project could not be used",
        f"wrong: {len(wrong)} of {len(usable)}, at most {upper_bound(len(wrong), len(usable)):.2%}"
        " (95 %); goal 0",
        f"false fresh: {stale} of {pairs} pairs of a test and an edit, {stale / max(pairs, 1):.2%};"
        f" goal 1 %; {stale_once} after the first --kl-impacted",
        f"selected where both are right: kl {kl}, testmon {testmon}"
        + (f", ratio {kl / testmon:.2f}; goal 1.2" if testmon else " (not measured)")
        + f"; testmon missed changes in {missed} edits",
        f"harmless: {harmless - len(alarms)} of {harmless} keep the verdict; goal all",
        *(_finding("wrong", row) for row in wrong),
        *(_finding("false fresh", row) for row in usable if row["false_fresh"]),
        *(_finding("false alarm", row) for row in alarms),
        *(_finding(f"not used: {row['problem']}", row) for row in rows if row["problem"]),
    ]


def _finding(word: str, row: Row) -> str:
    stale = row.get("false_fresh") or ()
    tests = f": {', '.join(stale[:3])}" if stale else ""
    common = ", common" if row["common"] else ""
    return f"{word}: {row['group']} / {row['kind']} / {row['edit']}{common}{tests}"
