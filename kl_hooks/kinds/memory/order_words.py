"""Words by which a text orders its reader about: a reason and a pattern each. All are bounded, so they stay fast."""

from __future__ import annotations

import re
from typing import Final


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE | re.MULTILINE)


_FORMER: Final = (
    r"(?:previous|prior|above|earlier|preceding|former|foregoing|other|existing|system|original|initial|safety"
    r"|developer)"
)
_SAID: Final = (
    r"(?:instructions?|prompts?|rules?|directions?|guidelines?|messages?|directives?|policies|policy|constraints?)"
)
_MODEL: Final = (
    r"(?:ai|llm|language model|assistant|chatbot|coding agent|ai agent|claude|copilot|codex|chatgpt|gpt-?\d*|gemini"
    r"|cursor)"
)
_SECRET: Final = (
    r"(?:secrets?|api[ _-]?keys?|access keys?|tokens?|passwords?|credentials?|private keys?|ssh keys?|\.env\b|id_rsa"
    r"|~/\.ssh|~/\.aws|environment variables|cookies?)"
)
_AWAY: Final = (
    r"(?:https?://|www\.|ftp://|\b[\w.+-]{1,64}@[\w-]{1,64}\.\w|webhooks?|pastebin|\bgist\b|ngrok|requestbin"
    r"|remote server|external (?:server|service|url))"
)
_FETCH: Final = r"(?:curl|wget|iwr|invoke-webrequest|nc|ncat|telnet)"

PHRASES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("it tells the reader to set other instructions aside", _any(
        rf"\b(?:ignore|disregard|forget|override|bypass|discard|drop|overlook|do not (?:follow|obey)|don't"
            rf" (?:follow|obey))\b[\w\s,'’]{{0,40}}?\b{_FORMER}\b[\w\s,'’]{{0,30}}?\b{_SAID}\b",
        r"\b(?:ignore|disregard|forget) (?:all |everything |anything )?(?:of )?(?:what |that )?(?:you (?:have"
            r" |were |are )|(?:said |written |stated )?(?:above|before this))",
        rf"\bforget (?:all|any|your) {_SAID}",
        r"\bignorier\w* (?:alle |die |sämtliche )?(?:vorherigen|bisherigen|obigen|vorigen) (?:anweisungen"
            r"|regeln|befehle)",
        r"\bignora (?:todas )?(?:las |tus )?(?:instrucciones|reglas) (?:anteriores|previas)",
        r"\bignore[zr]? (?:toutes )?(?:les |tes |vos )?(?:instructions|consignes|règles) (?:précédentes"
            r"|antérieures)",
        r"忽略(?:之前|以上|先前|所有|前面)[^\n]{0,8}(?:指令|指示|规则|提示)",
        r"(?:以前|前|上記)の(?:指示|命令)を無視",
    )),
    ("it gives the reader a new part to play", _any(
        r"\byou are (?:now|no longer|actually) (?:an? |the |my |in |bound |called |running )",
        r"\bfrom now on,? (?:you|your|always|act|respond|reply)\b",
        r"\bpretend (?:to be|you are|that you)\b",
        r"\b(?:your|the) (?:new|real|true|actual|updated) (?:instructions?|task|goal|objective|mission|system"
            r" prompt)\b[^\n]{0,10}(?::|\bis\b|\bare\b)",
        r"\b(?:developer|god|jailbreak|dan|unrestricted) mode\b[^\n]{0,12}\b(?:enabled|on|activated)\b",
        rf"\b(?:if you are|as) an? {_MODEL}\b[^\n]{{0,60}}\b(?:must|should|shall|have to|need to|will|always"
            rf"|never|do)\b",
        rf"\b(?:any|all|every|each) {_MODEL}s?(?: agents?| assistants?| models?)?\b[^\n]{{0,40}}\b(?:must"
            rf"|should|shall|have to|need to)\b",
        rf"\b(?:note|message|attention|instructions?|important)\b[ ,:]{{1,3}}(?:to|for)? ?(?:the |all |any"
            rf" )?{_MODEL}s?(?: agents?| assistants?| models?)?\b[^\n]{{0,20}}:",
    )),
    ("it asks to keep something from the user", _any(
        r"\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|mentioning|reveal"
            r"|revealing|show|showing|alert|alerting|notify|notifying|ask|asking"
            r"|disclos\w+)\b[^\n.]{0,40}\b(?:the )?(?:user|human|developer|operator|reviewer|maintainer|owner)s?\b",
        r"\b(?:hide|conceal|keep) (?:this|it|that)\b[^\n.]{0,20}\bfrom (?:the )?(?:user|human|developer"
            r"|operator|reviewer|maintainer)s?\b",
        r"\b(?:reveal|print|repeat|output|show|leak) (?:me )?(?:your|the) (?:full |entire |hidden )?(?:system"
            r"|initial|developer) (?:prompt|message|instructions?)\b",
    )),
    ("it has the markup of a tool call or of a conversation", _any(
        r"</?(?:tool_call|tool_use|tool_result|function_calls?|function_results?|invoke|antml:\w+|system"
            r"|system-reminder|assistant|human|user|instructions?|im_start|im_end)\b[^>\n]{0,80}>",
        r"<\|[a-z_]{2,30}\|>",
        r"\[/?(?:INST|SYS|SYSTEM|TOOL_CALLS?)\]",
        r"<</?SYS>>",
        r"^\s{0,8}(?:#{1,6} *)?(?:system|assistant|human|user)(?: prompt| message)? ?:\s",
        r"\"(?:tool_calls?|function_call|tool_use)\"\s{0,4}:",
        r"\bBEGIN (?:SYSTEM|NEW) (?:PROMPT|INSTRUCTIONS?|MESSAGE)\b",
    )),
    ("it tells the reader to run what comes from the network", _any(
        rf"\b{_FETCH}\b[^\n|]{{0,200}}\|\s{{0,4}}(?:sudo\s{{1,4}})?(?:ba|z|k|da)?sh\b",
        rf"\b{_FETCH}\b[^\n|]{{0,200}}\|\s{{0,4}}(?:sudo\s{{1,4}})?(?:python3?|perl|ruby|node)\b",
        rf"\b(?:eval|source|(?:ba|z)?sh)\b[^\n]{{0,20}}[$<]\(\s?{_FETCH}\b",
        r"\bbase64 (?:-d|-D|--decode)\b[^\n]{0,80}\|\s{0,4}(?:ba|z)?sh\b",
        rf"\b(?:always|you must|you should|you have to|you need to|you shall|make sure to|be sure to|never"
            rf" forget to|remember to)\b[^\n.]{{0,60}}\b{_FETCH}\b(?![^\n]{{0,80}}(?:localhost|127\.0\.0\.1|::1"
            rf"|0\.0\.0\.0))",
    )),
    ("it asks to send something away that is secret", _any(
        rf"\b(?:send|post|upload|e-?mail|exfiltrate|leak|forward|transmit|copy|paste|share|submit|append"
            rf"|include|put|report)\b[^\n]{{0,80}}{_SECRET}[^\n]{{0,80}}{_AWAY}",
        rf"{_AWAY}[^\n]{{0,60}}\?[^\n]{{0,40}}=[^\n]{{0,10}}(?:\$\{{?[A-Z_]{{3,}}|\{{\{{)",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\n]{0,200}\?[^)\n]{0,200}\)",
        rf"\bcat\b[^\n|]{{0,60}}{_SECRET}[^\n|]{{0,60}}\|\s{{0,4}}{_FETCH}\b",
        rf"\b{_FETCH}\b[^\n]{{0,160}}(?:-d|--data\S*|-F|-T|--upload-file)[ =]?['\"]?[^\n]{{0,30}}(?:@|\$\("
            rf"|{_SECRET})",
    )),
    ("it tells the reader to get round what protects the work", _any(
        r"\b(?:always|you must|you should|you have to|must always|make sure to|be sure"
            r" to)\b[^\n.]{0,60}(?:--no-verify|--dangerously-skip-permissions|--force\b|--no-gpg-sign|git push"
            r" -f\b|rm -rf [/~]|chmod 777|verify=False|--insecure\b)",
        r"\b(?:always |automatically |silently |you must |you should |please )(?:approve|accept|merge|grant"
            r"|allow)\b[^\n.]{0,30}\b(?:this|all|every|any|each|these)\b[^\n.]{0,30}\b(?:memor\w+|candidates?"
            r"|changes?|pull requests?|requests?|permissions?|tool calls?|commands?)\b",
        r"(?<!we )\b(?:disable|turn off|switch off|bypass|circumvent) (?:all |the |any |your )?(?:safety|security"
            r"|sandbox\w*|guard ?rails?|permission checks?|content filters?)\b(?![^\n.]{0,20}\b(?:test|in"
            r" tests)\b)",
        r"\brm -rf (?:/|~|\$HOME)(?:\s|$|\*)",
    )),
)  # fmt: skip
"""Reason → what it looks like."""
