"""`kl evidence import coverage` of lcov, Istanbul and llvm-cov: what the run executed, assumed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support import Checkout, checkout

CART = """import { formatPrice } from "./format";

export class Cart {
  private lines: number[] = [];

  add(price: number): this {
    this.lines.push(price);
    return this;
  }

  get total(): number {
    return this.lines.reduce((sum, price) => sum + price, 0);
  }
}

export const double = (n: number): number => n * 2;
export const first = (n: number) => n, second = (n: number) => n + 1;

export function describe(cart: Cart): string {
  return formatPrice(double(cart.total));
}
"""
FORMAT = """export function formatPrice(cents: number): string {
  return `${cents}`;
}
"""
MONEY = """pub struct Money(u64);

impl Money {
    pub fn new() -> Self { Self(0) }
    pub fn cents(&self) -> u64 {
        self.0
    }
}
"""
FILES = {
    "web/src/cart.ts": CART,
    "web/src/format.ts": FORMAT,
    "src/money.rs": MONEY,
    ".gitignore": "coverage/\n*.info\n*.json\n*.xml\n",
}
LCOV = """TN:
SF:src/cart.ts
FN:6,(anonymous_0)
FN:11,(anonymous_1)
FN:12,(anonymous_2)
FN:16,(anonymous_3)
FN:17,(anonymous_4)
FN:17,(anonymous_5)
FN:19,describe
FNDA:1,(anonymous_0)
FNDA:1,(anonymous_1)
FNDA:1,(anonymous_2)
FNDA:0,(anonymous_3)
FNDA:1,(anonymous_4)
FNDA:0,(anonymous_5)
FNDA:0,describe
end_of_record
"""
"""As jest writes it: methods and arrow functions have no names."""
NAMED = """TN:Cart___has_a_total
SF:src/cart.ts
FN:6,add
FN:11,get total
FN:19,describe
FNDA:1,add
FNDA:1,get total
FNDA:0,describe
end_of_record
TN:nobody_knows
SF:src/cart.ts
FN:19,describe
FNDA:1,describe
end_of_record
"""
TEST = "web/test/cart.test.ts::Cart > has a total"
JUNIT = (
    '<testsuites><testsuite name="cart"><testcase classname="web/test/cart.test.ts"'
    ' name="Cart &gt; has a total" time="0.1"/></testsuite></testsuites>'
)


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory, home: object) -> Checkout:
    """TypeScript below `web`, and Rust; nobody measured anything yet."""
    return checkout(tmp_path_factory.mktemp("coverage") / "shop", FILES)


def report(repo: Checkout, text: str, name: str = "web/coverage/lcov.info") -> str:
    """A report, written after the files of the repository."""
    path = repo.write(name, text)
    last = max((repo.root / file).stat().st_mtime for file in FILES) + 60
    os.utime(path, (last, last))
    return str(path)


def imported(repo: Checkout, text: str, *options: str, name: str = "web/coverage/lcov.info") -> Any:
    done = repo.kl("evidence", "import", "coverage", report(repo, text, name), *options)
    assert done.returncode == 0, done
    return done


def measured(repo: Checkout, name: str) -> dict[str, tuple[bool, bool]]:
    """Symbol → whether the run executed it, and whether it was changed since."""
    answer = json.loads(repo.kl("proof", "tests", name, "--format", "json").stdout)
    return {
        row["symbol"].partition("#")[2]: (row["is_executed"], row["is_changed"])
        for row in answer["runs"]
    }


def test_what_a_run_executed_is_shown_as_assumed(shop: Checkout) -> None:
    done = imported(shop, LCOV)
    assert "the run executed 2 of 4 measured symbols in 1 file (lcov)." in done.stdout
    # two arrow functions on one line, and no column
    assert done.stderr == (
        "kl: 1 executed function without links, because several begin on one line.\n"
    )
    assert measured(shop, "web/src/cart.ts") == {
        "Cart": (True, False),
        "Cart.add": (True, False),
        "Cart.total": (True, False),
        "double": (False, False),
        "describe": (False, False),
    }
    listed = shop.kl("evidence", "list", "--source", "coverage", "--format", "json").stdout
    (run,) = json.loads(listed)["receipts"]
    source = f"run {run['run'][:8]} (lcov)"
    text = shop.kl("proof", "tests", "Cart.total").stdout
    assert f"web/src/cart.ts#Cart.total: executed by {source}, assumed; measured " in text
    assert "Which test executed it is not known: such a report names none." in text
    shown = shop.kl("graph", "show", "cart.ts#describe").stdout
    assert f"coverage       not executed by {source}\n" in shown
    brief = shop.kl("context", "Cart.total adds what describe shows").stdout
    assert f"executed by {source}, assumed" in brief and f"not executed by {source}" in brief
    package = shop.kl("context", "Cart.total adds up", "--budget", "6000").stdout
    assert f"executed by {source}, assumed" in package
    assert run["environment"]["coverage"] == {"format": "lcov"} and run["tree"] is None


def test_a_test_that_a_report_names_is_the_recorded_one(shop: Checkout) -> None:
    tree = shop.git("rev-parse", "HEAD^{tree}")
    shop.write("report.xml", JUNIT)
    shop.kl("evidence", "import", "junit", "report.xml", "--tree", tree)
    done = imported(shop, NAMED, "--tree", tree)
    assert "1 test executed 3 of 3 measured symbols in 1 file" in done.stdout
    assert "1 context that name no test of this repository: 'nobody_knows'." in done.stderr
    answer = json.loads(shop.kl("proof", "tests", "Cart.total", "--format", "json").stdout)
    (row,) = answer["tests"]
    assert (row["test"], row["outcome"], row["state"]) == (TEST, "passed", "not assessed")
    assert answer["runs"] == []
    # what a test executed that nobody knows, the run executed
    assert measured(shop, "cart.ts#describe") == {"describe": (True, False)}
    package = shop.kl("context", "Cart.total adds up", "--budget", "6000").stdout
    assert "executed by 1 test, passed, assumed" in package
    brief = shop.kl("context", "Cart.total adds up").stdout
    assert "executed by 1 test, assumed" in brief


def test_no_verdict_rests_on_it(shop: Checkout) -> None:
    tree = shop.git("rev-parse", "HEAD^{tree}")
    shop.write("report.xml", JUNIT)

    def verdicts() -> list[Any]:
        commands = (["verify"], ["claim", "list"], ["proof", "impacted"], ["status"])
        answers = [shop.kl(*words, "--format", "json") for words in commands]
        plain = [(done.returncode, json.loads(done.stdout)) for done in answers]
        # what `kl status` counts of receipts is another number after an import
        return [*plain[:3], plain[3][1]["proof"]]

    for prepared in ([], ["evidence", "import", "junit", "report.xml", "--tree", tree]):
        if prepared:
            shop.kl(*prepared)
        before = verdicts()
        # a report of its own for each turn: one that is known is not imported again
        imported(shop, NAMED + f"# {prepared}\n", "--tree", tree)
        imported(shop, LCOV + f"# {prepared}\n", "--tree", tree)
        assert verdicts() == before
    shop.write("web/src/format.ts", "// nothing that a test executes\n" + FORMAT)
    before = verdicts()
    imported(shop, NAMED, "--tree", tree)
    imported(shop, LCOV, "--tree", tree)
    assert verdicts() == before


def test_a_file_that_changed_since_has_no_links(shop: Checkout) -> None:
    tree = shop.git("rev-parse", "HEAD^{tree}")
    path = report(shop, NAMED + LCOV)
    shop.write("web/src/cart.ts", CART.replace("sum + price", "price + sum"))
    later = Path(path).stat().st_mtime + 5
    os.utime(shop.root / "web/src/cart.ts", (later, later))
    refused = shop.kl("evidence", "import", "coverage", path)
    assert refused.returncode == 2 and "no executed function of this content" in refused.stderr
    assert "cart.ts: no links, because it changed after it was measured." in refused.stderr
    assert "--tree" in refused.stderr
    assert shop.kl("evidence", "import", "coverage", path, "--tree", tree).returncode == 0
    assert measured(shop, "Cart.total") == {"Cart.total": (True, True)}
    assert "before it was changed" in shop.kl("proof", "tests", "Cart.total").stdout
    assert measured(shop, "Cart.add") == {"Cart.add": (True, False)}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            CART.replace("export class", "\n\n\nexport class"),
            "add is on line 9, and on 6 in the report",
        ),
        ("// short\n", "line 6 was measured, and it has 2"),
        (CART.replace("  add", "\n  add"), "no function begins on line 6"),
    ],
)
def test_another_content_is_noticed_whatever_the_clock_shows(
    shop: Checkout, content: str, why: str
) -> None:
    shop.write("web/src/cart.ts", content)
    done = shop.kl("evidence", "import", "coverage", report(shop, NAMED))
    assert done.returncode == 2 and why in done.stderr, done
    assert "coverage" not in shop.kl("evidence", "list").stdout


def test_istanbul_and_llvm_and_what_is_not_of_the_repository(shop: Checkout) -> None:
    place = {"start": {"line": 1, "column": 16}}
    function = {"fnMap": {"0": {"name": "formatPrice", "decl": place}}, "f": {"0": 3}}
    istanbul = {
        f"{shop.root}/web/src/format.ts": function,
        f"{shop.root}/node_modules/left/src/format.ts": function,
        # as v8-to-istanbul describes a file that no test loaded
        f"{shop.root}/web/src/cart.ts": {
            "fnMap": {"0": {"name": "(empty-report)", "loc": place}},
            "f": {"0": 1},
        },
    }
    done = imported(shop, json.dumps(istanbul), name="final.json")
    assert "executed 1 of 1 measured symbol in 2 files (Istanbul)" in done.stdout
    assert done.stderr == "kl: 1 measured file of another place.\n"
    rows = [
        ("_RNvMNtC4shop5moneyNtB2_5Money3new", 4, 1),
        ("_RNvMNtC4shop5moneyNtB2_5Money5cents", 5, 0),
    ]
    functions = [
        {
            "name": name,
            "count": count,
            "filenames": ["/build/shop/src/money.rs"],
            "regions": [[line, 5, line, 20, count, 0, 0, 0]],
        }
        for name, line, count in rows
    ]
    files = [{"filename": "/build/shop/src/money.rs"}]
    llvm = {"type": "llvm.coverage.json.export", "data": [{"files": files, "functions": functions}]}
    answer = imported(shop, json.dumps(llvm), "--format", "json", name="cov.json")
    plain = json.loads(answer.stdout)
    assert (plain["format"], plain["symbols"], plain["unreached"], plain["files"]) == (
        "llvm-cov",
        1,
        1,
        1,
    )
    assert measured(shop, "Money.new") == {"Money.new": (True, False)}
    assert measured(shop, "Money.cents") == {"Money.cents": (False, False)}
    functions[0]["regions"][0][0] = 5
    done = shop.kl("evidence", "import", "coverage", report(shop, json.dumps(llvm), "cov.json"))
    assert done.returncode == 2
    assert "cents is on line 5, and another function in the report" in done.stderr


def test_lines_alone_show_what_is_below_the_first_line(shop: Checkout) -> None:
    lines = "TN:\nSF:web/src/cart.ts\nDA:6,1\nDA:7,1\nDA:11,1\nDA:12,0\nDA:16,1\nDA:19,1\nend_of_record\n"
    imported(shop, lines, name="lcov.info")
    # a function on one line is also executed when it is defined
    assert measured(shop, "web/src/cart.ts") == {
        "Cart": (True, False),
        "Cart.add": (True, False),
        "Cart.total": (False, False),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("TN:\nSF:/etc/passwd\nFN:1,x\nFNDA:1,x\nend_of_record\n", "no source file of this repo"),
        ("TN:\nSF:../../../etc/pass\0wd\nend_of_record\n", "(none at all)"),
        ("TN:\nSF:src/cart.ts\nFNF:0\nend_of_record\n", "no executed function"),
    ],
)
def test_what_is_not_about_the_repository_is_refused(shop: Checkout, text: str, why: str) -> None:
    done = shop.kl("evidence", "import", "coverage", report(shop, text))
    assert done.returncode == 2 and why in done.stderr.replace(
        "('../../../etc/pass\\\\x00wd')", "(none at all)"
    ), done
    assert "coverage" not in shop.kl("evidence", "list").stdout


def test_a_report_of_a_gigabyte_is_not_read(shop: Checkout) -> None:
    path = shop.root / "huge.info"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    done = shop.kl("evidence", "import", "coverage", str(path))
    assert done.returncode == 2 and "larger than 64 MiB" in done.stderr
