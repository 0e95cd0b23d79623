"""What is written is read back as it was, in every format; what is read is read the same again."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.decision.formats import FORMATS, Entry, NotReadable, format_of
from tests.kinds.decision.formats.entries import ENTRIES, MARKDOWN


@pytest.mark.parametrize("name", FORMATS)
@given(entry=ENTRIES)
def test_an_entry_comes_back_as_it_was(name: str, entry: Entry) -> None:
    text = FORMATS[name].write(entry, {})
    (back,) = FORMATS[name].read(text)
    assert dict(back.values) == dict(entry.values), text


@pytest.mark.parametrize("name", FORMATS)
@given(text=st.lists(MARKDOWN, max_size=6).map("\n".join) | st.text())
def test_any_text_is_read_or_refused_and_what_was_read_stays(name: str, text: str) -> None:
    form = FORMATS[name]
    with suppress(NotReadable):
        for first in form.read(text):
            (again,) = form.read(form.write(first, {}))
            assert dict(again.values) == dict(first.values)


@given(st.text() | MARKDOWN)
def test_any_text_has_a_format(text: str) -> None:
    assert format_of("x.md", text).name in FORMATS
