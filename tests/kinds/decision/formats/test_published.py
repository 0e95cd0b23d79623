"""Files in the published forms of other tools: read into the right fields, and nothing that they
state is lost.
"""

from __future__ import annotations

import re

import pytest

from kl_hooks.kinds.decision import formats
from kl_hooks.kinds.decision.formats import FORMATS, Entry, NotReadable, Other, format_of
from tests.kinds.decision.formats import published

TEXTS = {
    "madr4": ("0002-x.md", published.MADR4, "madr"),
    "madr2": ("0002-x.md", published.MADR2, "madr"),
    "nygard": ("0002-x.md", published.NYGARD, "nygard"),
    "log4brains": ("20201102-x.md", published.LOG4BRAINS, "log4brains"),
    "seed a": ("ADR-0003.json", published.SEED_A, "json"),
    "seed b": ("x.json", published.SEED_B, "json"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_the_format_is_reported(case: str) -> None:
    name, text, form = TEXTS[case]
    assert format_of(name, text).name == form
    assert format_of(name, text.replace("\n", "\r\n")).name == form


def everything(entry: Entry) -> str:
    return "\n".join(entry.text(name) for name in entry.values).lower()


@pytest.mark.parametrize("case", ["madr4", "madr2", "nygard", "log4brains"])
def test_no_word_is_lost(case: str) -> None:
    _, text, form = TEXTS[case]
    (entry,) = FORMATS[form].read(text)
    body = re.sub(r"(?m)^#+ .*$|^---$|^# These.*$", "", text)
    for word in re.findall(r"[A-Za-z0-9]{3,}", re.sub(r"(?m)^[-*]? ?[a-zA-Z-]+:", "", body)):
        if word.lower() not in (
            "status",
            "supersedes",
            "amended",
            "record",
            "architecture",
            "decisions",
            "use",
            "bash",
        ):
            assert word.lower() in everything(entry), word


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("case", TEXTS)
def test_every_form_gives_it_back(case: str, form: str) -> None:
    _, text, own = TEXTS[case]
    (entry,) = FORMATS[own].read(text)
    (back,) = FORMATS[form].read(FORMATS[form].write(entry, {}))
    assert dict(back.values) == dict(entry.values)


@pytest.mark.requirement("B19")
def test_madr_4() -> None:
    entry = formats.read_madr(published.MADR4)
    assert entry.text("title") == "Use Markdown Any Decision Records"
    assert (entry.text("status"), entry.many("superseded_by"), entry.text("date")) == (
        "superseded",
        ("ADR-0005",),
        "2024-08-01",
    )
    assert (entry.many("deciders"), entry.many("consulted")) == (("Ada", "Grace"), ("the team",))
    assert entry.many("drivers") == ("must be text", "must be reviewed,\nin pull requests")
    assert len(entry.many("alternatives")) == 3
    assert entry.text("decision").endswith("#### Rollout\n\nIn spring.")
    assert entry.text("consequences").startswith("* Good") and entry.text(
        "confirmation"
    ).startswith("A review")
    assert entry.text("comparison").count("### ") == 2
    assert 'nav_order: "3"' in entry.text("more") and "### Appendix" in entry.text("more")


def test_older_madr_and_log4brains() -> None:
    entry = formats.read_madr(published.MADR2)
    assert entry.many("deciders") == ("Ada", "Grace") and entry.text("date") == "2019-03-04"
    assert "### Positive Consequences" in entry.text("consequences") and "Less nice" in entry.text(
        "consequences"
    )
    assert "Technical Story: [#12]" in entry.text("more")
    entry = formats.read_madr(published.LOG4BRAINS)
    assert (entry.many("tags"), entry.text("date")) == (("dev-tools", "doc"), "2020-11-02")


def test_adr_tools() -> None:
    entry = formats.read_nygard(published.NYGARD)
    assert (entry.name, entry.text("title"), entry.text("status")) == (
        "2",
        "Implement as shell scripts",
        "accepted",
    )
    assert entry.many("supersedes") == ("0001-record-architecture-decisions.md",)
    assert entry.many("amended_by") == ("0007-use-bash.md",)
    newer = formats.read_nygard(
        published.NYGARD.replace("Accepted", "Superceded by [9. Use Python](0009-use-python.md)")
    )
    assert (newer.text("status"), newer.many("superseded_by")) == (
        "superseded",
        ("0009-use-python.md",),
    )
    text = formats.write_nygard(
        formats.read_nygard(published.NYGARD),
        {"0001-record-architecture-decisions.md": Other("1", "R", "1.md")},
    )
    assert text.startswith(
        "# 2. Implement as shell scripts\n\nDate: 2016-02-12\n\n## Status\n\nAccepted\n\nSupersedes"
        " [1. R](1.md)"
    )


@pytest.mark.requirement("A20", "B19")
def test_the_json_of_both_seeds() -> None:
    (entry,) = formats.read_json(published.SEED_A)
    assert (entry.name, entry.text("status"), entry.many("supersedes")) == (
        "ADR-0003",
        "accepted",
        ("ADR-0001",),
    )
    assert entry.many("governs") == ("src/store.py", "type:shop.store.Store")
    assert entry.many("alternatives") == ("PostgreSQL, which needs a server", "files")
    assert formats.entry_to_dict(entry)["consequences"] == ["one writer, many readers"]
    (entry,) = formats.read_json(published.SEED_B)
    assert (entry.text("status"), entry.text("trigger")) == ("superseded", "clarifying_question")
    assert entry.values["confidence"] == 85 and entry.many("superseded_by") == ("ADR-0005",)
    assert entry.text("date") == "2026-05-01T10:00:00+00:00" and "team" in entry.text("more")


@pytest.mark.parametrize(
    ("form", "text", "line"),
    [
        ("madr", "---\nstatus: [x\n---\n# T\n", 2),
        ("madr", "---\nstatus: x\n# T\n", 1),
        ("madr", "no title", 0),
        ("madr", "---\na: &x [1]\nb: *x\n---\n# T", 2),
        ("json", '{"title": ', 1),
        ("json", "[1]", 0),
        ("json", '[{"title": ""}]', 0),
        ("json", "[" * 100_000, 0),
        ("madr", "---\n" + "- [" * 2000 + "\n---\n# T", 2),
    ],
)
def test_what_can_t_be_read_states_where_and_why(form: str, text: str, line: int) -> None:
    with pytest.raises(NotReadable) as wrong:
        FORMATS[form].read(text)
    assert wrong.value.reason and wrong.value.line == line
