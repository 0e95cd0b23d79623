"""The veil: no interface prints words of what the policy hides, wherever in an answer they are."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context.policy import load_policy
from kl_hooks.context.veil import HiddenKnowledge, Veil, _Hidden
from kl_hooks.evidence.assertions import add_claim
from kl_hooks.evidence.claims import all_claims
from kl_hooks.model.package import Candidate
from kl_hooks.records.write import create_record
from tests.context.making import steady
from tests.support import Checkout

SALARY = "Bob earns ninety thousand pounds"


def veil(*texts: str, path: str = "", place: str = "", shown: Iterable[str] = ()) -> Veil:
    return Veil([_Hidden("MEM-1", texts, path, place)], lambda: shown)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (SALARY, "withheld"),
        (f"He said: {SALARY}.", "He said: withheld."),
        ("BOB—earns ninety, (thousand) a year", "withheld) a year"),
        (
            "of Bob earns ninety thousand, of which thousand pounds",
            "of withheld, of which thousand pounds",
        ),
        # any four words in a row are hidden; three of them may mean something else
        ("earns ninety thousand pounds", "withheld"),
        ("Bob earns ninety or thousand pounds", "Bob earns ninety or thousand pounds"),
        (f"{SALARY}. {SALARY}!", "withheld. withheld!"),
        (f"{SALARY} {SALARY}", "withheld withheld"),
        ("", ""),
        ("bob", "bob"),
    ],
)
def test_four_words_in_a_row_of_a_hidden_text_are_withheld(text: str, printed: str) -> None:
    cover = veil(SALARY)
    assert cover.text(text) == printed
    assert cover.found == ({"MEM-1"} if printed != text else set())


def test_of_a_shorter_text_all_of_it_is_withheld_but_one_word_alone_is_none() -> None:
    cover = veil("Bob left", "confidential", "one two three")
    assert cover.text("Then Bob left.") == "Then withheld."
    assert cover.text("Bob, confidential") == "Bob, confidential"
    assert cover.text("one two, two three, one two three") == "one two, two three, withheld"


def test_lines_are_withheld_one_by_one_and_joined() -> None:
    cover = veil("alpha beta\ngamma delta\nepsilon")
    assert cover.text("alpha beta") == cover.text("Gamma delta") == "withheld"
    assert cover.text("beta gamma") == "beta gamma"
    assert cover.text("beta\n  gamma delta epsilon") == "withheld"


def test_a_node_is_withheld_without_its_sort_too() -> None:
    cover = veil("file:src/pay.py")
    assert cover.text("see src/pay.py") == "see withheld"
    assert cover.text("see file:src/pay.py") == "see withheld"


def test_what_may_be_seen_elsewhere_is_no_secret() -> None:
    cover = veil(
        "round half up", "ninety thousand", shown=["We round, half up.", "ninety", "thousand"]
    )
    assert cover.text("round half up") == "round half up"
    assert cover.text("ninety thousand") == "withheld", "each text is one of its own"
    assert cover.found == {"MEM-1"}
    assert veil("and half", shown=["a band halfway"]).text("and half") == "withheld"


WORDS = st.sampled_from(["bob", "earns", "ninety", "thousand", "pounds", "a", "the", "year"])


@steady
@given(st.lists(WORDS, min_size=2, max_size=8), st.lists(WORDS, max_size=14))
def test_no_four_words_in_a_row_are_left_and_the_others_stay(
    hidden: list[str], printed: list[str]
) -> None:
    text = veil(" ".join(hidden)).text(" ".join(printed))
    left = [part.split() for part in text.split("withheld")]
    size = min(4, len(hidden))
    windows = {tuple(hidden[at : at + size]) for at in range(len(hidden) - size + 1)}
    for words in left:
        assert not any(tuple(words[at : at + size]) in windows for at in range(len(words)))
    if not any(tuple(printed[at : at + size]) in windows for at in range(len(printed))):
        assert text == " ".join(printed)


# Paths


FOLDER = ".kl/knowledge/decisions"


def test_the_file_of_a_hidden_record_is_named_after_its_title() -> None:
    path = f"{FOLDER}/ADR-0007-bob-earns.md"
    redacted = veil("x", path=path, place=f"{FOLDER}/ADR-0007")
    assert redacted.text(f"see {path}.") == f"see {FOLDER}/ADR-0007"
    assert redacted.text(f"[text](./{path}) and `{path}`") == (
        f"[text]({FOLDER}/ADR-0007) and `{FOLDER}/ADR-0007`"
    )
    assert redacted.found == {"MEM-1"}
    # its name alone, without the ID in it
    assert redacted.text("the page bob-earns") == "the page withheld"
    denied = veil("x", path=path)
    assert denied.text(f"see {path}") == "see withheld"
    assert denied.text("ADR-0007-bob-earns") == "withheld"
    other = f"see {FOLDER}/ADR-0008-ann.md and a/{path}x"
    assert (
        denied.text(other)
        == "see .kl/knowledge/decisions/ADR-0008-ann.md and a/.kl/knowledge/decisions/withheld.mdx"
    )


# Values


def test_plain_values_are_covered_in_depth_and_their_keys_too() -> None:
    cover = veil(SALARY)
    answer = {
        "items": [{"note": f"{SALARY}!", "number": 7, SALARY: None}, (SALARY, True)],
        3: SALARY,
    }
    assert cover.plain(answer) == {
        "items": [{"note": "withheld!", "number": 7, "withheld": None}, ["withheld", True]],
        3: "withheld",
    }
    assert cover.found == {"MEM-1"}


def test_of_a_hidden_record_its_id_kind_and_status_are_left() -> None:
    record = {
        "schema": "kl.record/1",
        "id": "MEM-1",
        "kind": "memory",
        "status": "approved",
        "title": "Bob",
        "path": "a/MEM-1-bob.md",
        "tags": ["secret"],
        "fields": {"pattern": "Bob"},
    }
    cover = veil("x", path="a/MEM-1-bob.md", place="a/MEM-1")
    left = {
        "schema": "kl.record/1",
        "id": "MEM-1",
        "kind": "memory",
        "status": "approved",
        "title": "withheld",
        "path": "a/MEM-1",
        "tags": [],
        "fields": {},
    }
    assert cover.plain([record]) == [left]
    assert cover.found == {"MEM-1"}
    other = {**record, "id": "MEM-2", "path": "a/MEM-2.md"}
    assert cover.plain(other) == other
    assert cover.plain({"id": "MEM-1", "title": "Bob"}) == {"id": "MEM-1", "title": "Bob"}
    assert cover.plain({"schema": "kl.record/1", "id": "MEM-1"}) == {
        "schema": "kl.record/1",
        "id": "MEM-1",
        "title": "withheld",
        "path": "a/MEM-1",
        "tags": [],
        "fields": {},
    }


def test_an_item_of_a_package_keeps_what_it_is_and_where() -> None:
    item = Candidate(
        "MEM-2",
        "memory",
        SALARY,
        SALARY,
        SALARY,
        "a/b.md",
        3,
        proof=SALARY,
        beyond=SALARY,
        reasons=(SALARY, "by a person"),
    )
    shown = veil(SALARY).candidate(item)
    assert (shown.id, shown.kind, shown.path, shown.line) == ("MEM-2", "memory", "a/b.md", 3)
    texts = (shown.title, shown.text, shown.summary, shown.proof, shown.beyond, *shown.reasons)
    assert texts == (*["withheld"] * 6, "by a person")


# What a policy hides of a repository


POLICY = """version: 1
rules:
  - name: people
    {effect}: {{tags: [people], actors: [agent]}}
  - name: plans
    {effect}: {{paths: ["docs/plans/**", "src/pay/**"], actors: [agent]}}
"""


@pytest.fixture
def office(repo: Checkout) -> Checkout:
    """A repository with a word for each place where hidden knowledge can be."""
    repo.write("docs/plans/next.md", "# Zeta title\n\nZeta page text one two\n")
    repo.write("docs/open.md", "# Public page\n\nZeta public words here\n")
    repo.write("src/pay/charge.py", "def charge() -> int:\n    return 1\n")
    repo.commit("files")
    ws = repo.workspace()
    hidden = {
        "title": "Zeta record title",
        "context": "Zeta context words",
        "decision": "d",
        "status": "accepted",
        "tags": ["people"],
    }
    decision = create_record(ws, ws.kinds["decision"], hidden, body="Zeta body words here now\n")
    create_record(
        ws, ws.kinds["memory"], {"title": "m", "pattern": "Zeta memory words", "tags": ["people"]}
    )
    create_record(ws, ws.kinds["memory"], {"title": "n", "pattern": "Zeta shown words"})
    add_claim(ws, "Zeta claim on a file", "file:src/pay/charge.py#charge", None)
    add_claim(ws, "Zeta claim on a record", f"adr:{decision.id}", None)
    add_claim(ws, "Zeta claim on its file", f"file:{decision.path}", None)
    add_claim(ws, "Zeta claim on anything", "file:docs/open.md", None)
    repo.commit("records")
    assert repo.kl("search", "zeta").returncode == 0
    return repo


def hidden_knowledge(
    office: Checkout, effect: str, monkeypatch: pytest.MonkeyPatch
) -> HiddenKnowledge:
    office.write(".kl/policy.yaml", POLICY.format(effect=effect))
    monkeypatch.setenv("KL_AGENT", "bot")
    ws = office.workspace()
    policy = load_policy(ws)
    assert policy is not None
    return HiddenKnowledge(ws, policy)


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_the_texts_of_everything_that_is_hidden_are_withheld(
    office: Checkout, effect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    office_hidden = hidden_knowledge(office, effect, monkeypatch)
    for text in (
        "Zeta record title",
        "Zeta context words",
        "Zeta body words here",
        "Zeta memory words",
        "Zeta title",
        "Zeta page text one",
        "Zeta claim on a file",
        "Zeta claim on a record",
        "Zeta claim on its file",
    ):
        assert office_hidden.veil.text(f"<{text}>") == "<withheld>", text
    for text in ("Zeta public words here", "Zeta shown words", "Zeta claim on anything"):
        assert office_hidden.veil.text(text) == text
    withheld = office_hidden.withheld()
    names = {name.partition(":")[0].partition("-")[0] for name, _ in withheld}
    assert names == {"ADR", "MEM", "claim", "file"}
    assert set(withheld.values()) == {(effect, "people"), (effect, "plans")}
    assert all(part == "" for _, part in withheld)


def test_nothing_is_withheld_of_what_nobody_printed(
    office: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    office_hidden = hidden_knowledge(office, "deny", monkeypatch)
    assert office_hidden.withheld() == {}
    assert office_hidden.veil.text("plain words") == "plain words"
    assert office_hidden.withheld() == {}


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_what_is_left_of_the_path_of_something_hidden(
    office: Checkout, effect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cover = hidden_knowledge(office, effect, monkeypatch).veil
    decision = next(office.root.glob(f"{FOLDER}/ADR-*zeta*")).relative_to(office.root).as_posix()
    is_denied = effect == "deny"
    assert cover.text(decision) == ("withheld" if is_denied else f"{FOLDER}/ADR-0001")
    # the place of a page is its name
    page = "docs/plans/next.md"
    assert cover.text(page) == ("withheld" if is_denied else page)
    record = {"schema": "kl.record/1", "id": "ADR-0001", "title": "Zeta"}
    assert cover.plain(record)["path"] == ("" if is_denied else f"{FOLDER}/ADR-0001")


def test_changes_that_were_proposed_to_a_hidden_record_are_withheld(
    office: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in (("--decision", "Zeta proposed words"), ("--consequences", "Zeta other words")):
        done = office.kl("decision", "edit", "ADR-0001", *command, env={"KL_AGENT": "bot"})
        assert done.returncode == 0, done.stderr
    cover = hidden_knowledge(office, "deny", monkeypatch).veil
    for text in ("Zeta proposed words", "Zeta other words"):
        assert cover.text(text) == "withheld", text


def test_the_text_of_a_hidden_document_from_elsewhere_is_withheld(
    office: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, tags in (("hidden", ("--collection", "people")), ("open", ())):
        path = office.root.parent / f"{name}-report.md"
        path.write_text(f"# Zeta {name} title\n\nZeta {name} text words\n", "utf-8")
        done = office.kl("document", "add", str(path), *tags)
        assert done.returncode == 0, done.stderr
    cover = hidden_knowledge(office, "deny", monkeypatch).veil
    assert cover.text("Zeta hidden text words") == "withheld"
    # its file, with and without the folder
    assert cover.text("hidden-report.md") == "withheld"
    assert "report" not in cover.text(f"read from {office.root.parent}/hidden-report.md")
    assert cover.text("Zeta open text words") == "Zeta open text words"


def test_without_a_store_a_policy_hides_no_claims(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hidden_knowledge(repo, "deny", monkeypatch).veil.text("any words") == "any words"


def test_an_archived_claim_stays_hidden(office: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    ws = office.workspace()
    claim = next(one for one in all_claims(ws) if one.text == "Zeta claim on a file")
    office.edit(
        "INSERT INTO claim_archive (id, text, about, author, made_at, expires, archived_at) SELECT"
        " id, text, about, author, made_at, expires, '2026-01-01T00:00:00.000000Z' FROM claim"
        f" WHERE id = '{claim.id}'",
        f"DELETE FROM claim WHERE id = '{claim.id}'",
    )
    cover = hidden_knowledge(office, "deny", monkeypatch).veil
    assert cover.text("Zeta claim on a file") == "withheld"
