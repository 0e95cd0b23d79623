"""Texts that break programs: one of each sort that the Big List of Naughty Strings collects, made by hand."""

from __future__ import annotations

from typing import Final

NAUGHTY: Final = (
    "undefined", "null", "None", "NaN", "true", "No", "-1", "1e309", "0x0", "1/0", "22:22", "=1+1", "@SUM(A1)",
    "---", "...", "- a", "# b", "## Evidence",
    "---\nid: MEM-00000000\n---", "key: value", "&a *a !t | > % @ `", "{}[]",
    "'", '"', "''", "\\", "\\n", "'\"'", '"""', "`",
    "```\nfence\n```", "~~~", "<!-- c -->", "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "../../etc/passwd",
    "C:\\CON\\NUL", "a/b", "%s%n%x", "{0}", "${HOME}", "$(id)", "; ls",
    "' OR 1=1 --", '" AND NEAR(', "a* OR b", "col:x", "^x",
    "(", ")", "NOT", "a-b", "Ω≈ç√∫", "ÄÖÜß", "田中さん", "ぁ゠ヿ", "بسم",
    "١٢٣", "Z̮a̠l̙g̣o", "😍👩‍👧", "🇺🇸", "𝕋𝕙𝕖", "ﬁ", "İi̇", "ß", "ǅ",
    "\u00a0x", "\u3000y", "\u200bzero", "\u202ereversed", "\ufeffbom",
    "a\u0000b", "a\u001b[31mred", "\u0085next", "\u2028line",
    "tab\there", "a\rb", "a\r\nb", "\x7f", "\U000e0041tag", "\ufffe",
    " leading", "trailing ", "two\n\n\nempty",
    "x" * 5000, "word " * 800, "\n- list\n  - nested\n", "| a | b |\n|---|---|", "[[Title]]",
    "[x](javascript:alert(1))", "title: >-\n  folded", "? complex",
    "!!python/object:os.system", "<<: *x", "# c\n## Pattern\n\nmore",
)  # fmt: skip
"""None is empty; each is another memory."""
