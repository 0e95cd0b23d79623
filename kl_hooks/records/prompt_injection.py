"""Prompt injection: reasons to quarantine a directive of untrusted origin until a person has read
it. Pure.

For text of untrusted origin only (agents, transcripts, what tools print). It inspects the text
before anything is escaped. A net, not a promise: wordings that nobody thought of pass, and a person
reads them in the review.
"""

# ruff: noqa: E501 (patterns: cut into pieces they can no longer be read)

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.text import EMOJI_JOIN


def _any_of(*patterns: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE | re.MULTILINE)


_EARLIER: Final = (
    r"(?:previous|prior|above|earlier|preceding|former|foregoing|other|existing|system|original|initial|safety"
    r"|developer)"
)
_DIRECTIVES: Final = (
    r"(?:instructions?|prompts?|rules?|directions?|guidelines?|messages?|directives?|policies"
    r"|policy|constraints?)"
)
_MODEL: Final = (
    r"(?:ai|llm|language model|assistant|chatbot|coding agent|ai"
    r" agent|claude|copilot|codex|chatgpt|gpt-?\d*|gemini"
    r"|cursor)"
)
_SECRET: Final = (
    r"(?:secrets?|api[ _-]?keys?|access keys?|tokens?|passwords?|credentials?|private keys?|ssh"
    r" keys?|\.env\b|id_rsa"
    r"|~/\.ssh|~/\.aws|environment variables|cookies?)"
)
_DESTINATION: Final = (
    r"(?:https?://|www\.|ftp://|\b[\w.+-]{1,64}@[\w-]{1,64}\.\w|webhooks?|pastebin|\bgist\b|ngrok|requestbin"
    r"|remote server|external (?:server|service|url))"
)
_FETCH: Final = r"(?:curl|wget|iwr|invoke-webrequest|nc|ncat|telnet)"

# What an order consists of, by language: to set aside, what is set aside. English has its own
# patterns, since engineers write about ignored rules all day.
_SET_ASIDE: Final = (
    r"(?:vergiss|vergesst|ignorier\w*|missachte\w*|übergeh\w*|oublie[zr]?|ignore[zr]?|néglige[zr]?"
    r"|olvid[ae]\w*|ignora\w*|descarta\w*|dimentica\w*|trascura\w*|esqueç\w+|esquec\w+|ignore|negeer"
    r"|vergeet|забудь\w*|игнорируй\w*|zapomnij|zignoruj|görmezden gel)"
)
_SET_ASIDE_NOUN: Final = (
    r"(?:anweisung\w*|befehl\w*|regeln?|vorgaben?|instructions?|consignes?|règles?|directives?|instruccion\w*"
    r"|reglas?|órdenes|istruzion\w*|regol\w*|instruções|instrucoes|regras?|instructies|regels?"
    r"|инструкци\w*|правил\w*|указани\w*|polece\w*|instrukcj\w*|zasady|talimat\w*)"
)
_WHOLE: Final = (
    r"(?:alle\w*|alles|bisherig\w*|vorherig\w*|vorig\w*|obig\w*|deine\w*|toutes?|tous|précédent\w*|antérieur\w*"
    r"|tes|vos|todas?|todos|anterior\w*|previa\w*|tus|tutt[ei]|precedent\w*|tue|suas|vorige|eerdere|все|всё"
    r"|предыдущ\w*|wszystki\w*|poprzedni\w*|önceki|tüm|oben\w*|plus haut|ci-dessus|arriba|sopra|acima"
    r"|hierboven|выше)"
)
_ADDRESSED: Final = (
    r"(?:always|you must|you should|you have to|you need to|you shall|must always|make sure (?:to|you)"
    r"|be sure to|never forget to|remember to|from now on|before (?:each|every|any|you|answering|the next)"
    r"|after (?:each|every|any)|please|first|instead|immediately|silently|automatically|use|just)"
)
"""How a text addresses its reader with an order."""
_PACKAGE_RUN: Final = (
    r"(?:\bnpx (?:-y |--yes )?[\w@./-]+|\buvx [\w@./-]+|\bpipx run [\w@./-]+|\bbunx [\w@./-]+|\bdeno run\b[^\n]{0,60}https?:"
    r"|\bpip3? install\b[^\n]{0,80}(?:https?://|git\+)|\bnpm (?:i|install|exec)\b[^\n]{0,80}(?:--registry|https?://)"
    r"|\bgo run [\w./-]+@|\bcurl\b[^\n]{0,120}-o\b[^\n]{0,120}(?:chmod|&&|;)|\bwget\b[^\n]{0,160}(?:chmod|&&|;)"
    r"|\bpowershell\b[^\n]{0,60}(?:-enc\w*|iex\b)|\biex\b[^\n]{0,40}(?:iwr|invoke-webrequest|downloadstring))"
)
_FOREIGN_INDEX: Final = r"(?:--(?:extra-)?|global\.|PIP_(?:EXTRA_)?)index[-_]url[ =]?[\"']?https?://(?!(?:test\.)?pypi\.org|pypi\.python\.org|localhost|127\.|download\.pytorch\.org)"

_PHRASES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "it instructs the reader to set other instructions aside",
        _any_of(
            rf"\b(?:ignore|disregard|forget|override|bypass|discard|drop|overlook|do not"
            rf" (?:follow|obey)|don't"
            rf" (?:follow|obey))\b[\w\s,'’]{{0,40}}?\b{_EARLIER}\b[\w\s,'’]{{0,30}}?\b{_DIRECTIVES}\b",
            r"\b(?:ignore|disregard|forget) (?:all |everything |anything )?(?:of )?(?:what |that"
            r" )?(?:you (?:have"
            r" |were |are )|(?:said |written |stated )?(?:above|before this))",
            rf"\bforget (?:all|any|your) {_DIRECTIVES}",
            rf"\b(?:none|not one) of (?:the|your|these|those) {_EARLIER} {_DIRECTIVES} (?:appl(?:y|ies)|counts?|holds?|matters?)\b",
            rf"\b(?:the|your|all) {_EARLIER} {_DIRECTIVES} (?:no longer|do not|don't) (?:apply|count|hold|matter)\b",
            rf"\b{_SET_ASIDE}\b[^\n.]{{0,30}}\b{_WHOLE}\b[^\n.]{{0,30}}\b{_SET_ASIDE_NOUN}",
            rf"\b{_SET_ASIDE}\b[^\n.]{{0,30}}\b{_SET_ASIDE_NOUN}\b[^\n.]{{0,20}}\b{_WHOLE}\b",
            r"\b(?:vergiss|vergesst|oublie[zr]?|olvida|dimentica|esqueça|забудь)\b (?:alles|tout|todo|tutto|tudo|всё|все)\b"
            r"[^\n.]{0,40}\b(?:was|bisher|ce que|lo que|quello che|o que|что)\b",
            rf"\b(?:stop|cease|quit) (?:following|obeying|applying)\b[^\n.]{{0,30}}\b(?:your|all|any|the (?:previous|system|above))\b"
            rf"[^\n.]{{0,30}}\b{_DIRECTIVES}\b",
            rf"\b(?:these|the following|my|new) {_DIRECTIVES} (?:take precedence|supersede|replace|override|have priority)\b[^\n.]{{0,40}}"
            rf"\b(?:{_EARLIER}|your|all|any)\b",
            rf"\byour (?:system )?{_DIRECTIVES} (?:have|has) (?:been )?(?:changed|updated|replaced|revoked)\b",
            r"\b(?:system|safety|instruction|policy) override\b\s{0,3}[:!]",
            rf"\b(?:set|put|leave|lay) aside (?:all |any )?(?:of )?(?:your|the (?:system|safety|previous|usual)) (?:\w+ )?{_DIRECTIVES}\b",
            rf"\b(?:treat|regard|consider) (?:all |any )?(?:of )?(?:the|your|these|those) (?:{_EARLIER} )?{_DIRECTIVES}(?: above)? as (?:void|obsolete|cancell?ed|withdrawn|invalid|outdated)\b",
            rf"\b(?:delete|erase|clear|remove|wipe|drop) (?:all |any )?(?:of )?your (?:{_EARLIER} )?{_DIRECTIVES}\b",
            r"\b(?:whatever|all|everything|anything) (?:that )?(?:was|were|is|you were|you have been) (?:said|told|written|stated|instructed)\b[^\n.]{0,40}"
            r"\b(?:no longer|not|doesn't|does not)\b[^\n.]{0,12}\b(?:matters?|counts?|appl(?:y|ies)|hold)\b",
            r"\b(?:ignore[zr]?|oublie[zr]?) tout ce qui (?:précède|est au-dessus)|\b(?:ignora|olvida) (?:cuanto|todo lo que|lo que)\b[^\n.]{0,20}\b(?:antes|arriba|dijo|dije)\b"
            r"|\b(?:ignoriere|vergiss) (?:alles|das) (?:obige|vorherige|bisherige|davor)\b",
            r"\bignorier\w* (?:alle |die |sämtliche )?(?:vorherigen|bisherigen|obigen|vorigen)"
            r" (?:anweisungen"
            r"|regeln|befehle)",
            r"\bignora (?:todas )?(?:las |tus )?(?:instrucciones|reglas) (?:anteriores|previas)",
            r"\bignore[zr]? (?:toutes )?(?:les |tes |vos )?(?:instructions|consignes|règles)"
            r" (?:précédentes"
            r"|antérieures)",
            r"忽略(?:之前|以上|先前|所有|前面)[^\n]{0,8}(?:指令|指示|规则|提示)",
            r"(?:以前|前|上記)の(?:指示|命令)を無視",
        ),
    ),
    (
        "it gives the reader a new part to play",
        _any_of(
            r"\byou are (?:now|no longer|actually) (?:an? |the |my |in |bound |called |running )",
            r"\bfrom now on,? (?:you|your|always|act|respond|reply)\b",
            r"\bpretend (?:to be|you are|that you)\b",
            rf"\byou are now [\w-]{{2,20}}, (?:an?|the|my) (?:[\w-]+ ){{0,3}}(?:{_MODEL}|agent|model|bot|persona|expert|hacker|engineer|administrator)\b",
            r"(?:^|[.!:;] )\s{0,8}(?:act|behave|respond|answer) as (?:an? |the )?(?:root|super ?user|sys ?admin|(?:system )?admin\w*|repository owner|maintainer"
            r"|release manager|unrestricted|uncensored|different (?:ai|assistant))\b",
            r"\b(?:your|the) (?:new|real|true|actual|updated)"
            r" (?:instructions?|task|goal|objective|mission|system"
            r" prompt)\b[^\n]{0,10}(?::|\bis\b|\bare\b)",
            r"\b(?:developer|god|jailbreak|dan|unrestricted)"
            r" mode\b[^\n]{0,12}\b(?:enabled|on|activated)\b",
            r"\b(?:switch|change|go|enter|move) (?:in)?to (?:the )?(?:god|jailbreak|dan|unrestricted|uncensored|unfiltered|no[- ]limits?) mode\b",
            r"(?:^|[.!:;] )\s{0,8}(?:assume|take on|play|adopt) the (?:role|part|persona|identity) of (?:an? |the )?[\w -]{0,30}?(?:admin\w*|root|owner|maintainer|hacker|attacker|assistant)\b",
            r"\byour (?:new|only|sole) (?:job|role|purpose|duty|persona) (?:now )?(?:is|will be)\b",
            rf"\b(?:if you are|as) an? {_MODEL}\b[^\n]{{0,60}}\b(?:must|should|shall|have to|need"
            r" to|will|always"
            rf"|never|do)\b",
            rf"\b(?:any|all|every|each) {_MODEL}s?(?: agents?| assistants?|"
            r" models?)?\b[^\n]{0,40}\b(?:must"
            rf"|should|shall|have to|need to)\b",
            rf"\b(?:note|message|attention|instructions?|important)\b[ ,:]{{1,3}}(?:to|for)?"
            rf" ?(?:the |all |any"
            rf" )?{_MODEL}s?(?: agents?| assistants?| models?)?\b[^\n]{{0,20}}:",
        ),
    ),
    (
        "it claims to speak for the user or for whoever made the reader",
        _any_of(
            r"\bthe (?:users?|owners?|maintainers?|developers?|operators?|humans?|administrators?|reviewers?|security team) (?:has |have |had )?(?:already )?(?:approved|authori[sz]ed|agreed"
            r"|consented|allowed|pre-?approved)\b[^\n.]{0,40}\b(?:this|all|every|any|you|it)\b",
            r"\b(?:this|the following) (?:message|note|instruction|order|request) (?:is|comes) (?:directly )?from (?:the |your )?(?:system"
            r"|developers?|admin\w*|anthropic|openai|google|user|operator)\b",
            r"\b(?:as|i am|i'm|this is) (?:the|your) (?:repo(?:sitory)? |project |system |lead )?(?:developer|admin\w*|creator|owner|operator|maintainer|user)"
            r"(?:,| and|, and)? i (?:hereby )?(?:authori[sz]e|order|instruct|command|allow|permit|approve|confirm|agree)\b",
            r"(?:^|[.!;] |\()\s{0,8}(?:already |pre-?)?(?:approved|authori[sz]ed|cleared|permitted|signed off) by (?:the |your )?(?:\w+ )?(?:owner|user|maintainer|admin\w*|security team|legal|ceo|cto|manager)s?\b\s{0,3}[:,;-]",
            r"\bthe (?:user|owner|maintainer|admin\w*|operator|security team) (?:says?|said|confirm(?:s|ed)|agrees?)\b[^\n.]{0,40}\b(?:fine|ok|okay|allowed|safe|all right|permitted)\b[^\n.]{0,20}\bto (?:push|merge|delete|skip|bypass|send|install|run|disable|publish)\b",
            r"\bI, (?:the|your) (?:\w+ )?(?:owner|user|maintainer|admin\w*|developer|operator), (?:hereby )?(?:permit|allow|authori[sz]e|approve|order|instruct|ask)\b",
            r"\bthe (?:user|owner|maintainer|operator|human) (?:wants|asked|told|instructed|expects|ordered|requested|needs) you to\b",
            r"\byou (?:have|are) (?:full |been )?(?:permission|authori[sz]ed|granted|cleared) (?:to|from)\b[^\n.]{0,40}\b(?:skip|bypass|delete|push"
            r"|merge|send|read|without)\b",
        ),
    ),
    (
        "it asks to keep something from the user",
        _any_of(
            r"\b(?:without|no need (?:to|for)|don't|do not|never) (?:ask\w*|wait\w*|request\w*|seek\w*)(?: for| the user for| first for)?"
            r" (?:confirm\w*|permission|approval|consent)\b[^\n.]{0,60}\b(?:push|delete|merge|commit|run|send|install|you|execute|apply)\b",
            r"\b(?:push|delete|merge|commit|run|send|install|execute|apply)\b[^\n.]{0,60}\bwithout (?:asking|telling|notifying|informing"
            r"|mentioning)\b(?! (?:for )?(?:a|the) (?:password|question))",
            r"\b(?:leave|keep) (?:this|it|that|the \w+) out of (?:your|the) (?:summary|report|answer|reply|response|commit message)\b",
            r"\bsay nothing (?:about|of) (?:this|it|that)\b",
            r"\bthe (?:user|human|reviewer|owner|maintainer|operator)s? (?:must|should|may|need)(?: not| never|n't) (?:find out|know|learn|notice|hear|see|be told)\b",
            r"\b(?:remove|omit|delete|strip|drop|leave out) (?:this|these|the above) (?:line|lines|text|note|message|paragraph|sentence|step)s? (?:from|in|before) (?:your|you)\b",
            r"\bkeep (?:this|it|that) (?:just )?between (?:us|you and me)\b",
            r"\bact as (?:if|though) nothing (?:had )?happened\b",
            r"\b(?:do not|don't|never|without)"
            r" (?:tell|telling|inform|informing|mention|mentioning|reveal"
            r"|revealing|show|showing|alert|alerting|notify|notifying|ask|asking"
            r"|disclos\w+)\b[^\n.]{0,40}\b(?:the"
            r" )?(?:user|human|developer|operator|reviewer|maintainer|owner)s?\b",
            r"\b(?:hide|conceal|keep) (?:this|it|that)\b[^\n.]{0,20}\bfrom (?:the"
            r" )?(?:user|human|developer"
            r"|operator|reviewer|maintainer)s?\b",
            r"\b(?:reveal|print|repeat|output|show|leak) (?:me )?(?:your|the) (?:full |entire"
            r" |hidden )?(?:system"
            r"|initial|developer) (?:prompt|message|instructions?)\b",
        ),
    ),
    (
        "it has the markup of a tool call or of a conversation",
        _any_of(
            r"</?(?:tool_call|tool_use|tool_result|function_calls?|function_results?|invoke|antml:\w+|system"
            r"|system-reminder|assistant|human|user|instructions?|im_start|im_end)\b[^>\n]{0,80}>",
            r"<\|[a-z_]{2,30}\|>",
            r"\[/?(?:INST|SYS|SYSTEM|TOOL_CALLS?)\]",
            r"<</?SYS>>",
            r"^\s{0,8}(?:#{1,6} *)?(?:system|assistant|human|user)(?: prompt| message)? ?:\s",
            r"\"(?:tool_calls?|function_call|tool_use)\"\s{0,4}:",
            r"\bBEGIN (?:SYSTEM|NEW) (?:PROMPT|INSTRUCTIONS?|MESSAGE)\b",
            r"<(?:start|end)_of_turn>|<\uff5c[^\n>]{1,40}\uff5c>|\[(?:AVAILABLE_TOOLS|TOOL_RESULTS)\]",
            r"^\s{0,8}#{2,4} (?:instruction|response|system)s?\s{0,2}:\s*$",
            r"^[\s\W]{0,12}(?:end of|end) (?:the )?(?:data|documents?|context|user input|untrusted (?:text|content)|quoted text|knowledge|memor(?:y|ies))"
            r"[\s\W]{0,12}$[\s\S]{0,200}\b(?:you|now|run|ignore|execute|push|new)\b",
            r"^\s{0,8}</(?:item|knowledge|data|document|context|untrusted\w*|memory)>\s*$",
        ),
    ),
    (
        "it instructs the reader to run what comes from the network",
        _any_of(
            rf"\b{_FETCH}\b[^\n|]{{0,200}}\|\s{{0,4}}(?:sudo\s{{1,4}})?(?:ba|z|k|da)?sh\b",
            rf"\b{_FETCH}\b[^\n|]{{0,200}}\|\s{{0,4}}(?:sudo\s{{1,4}})?(?:python3?|perl|ruby|node)\b",
            rf"\b(?:eval|source|(?:ba|z)?sh)\b[^\n]{{0,20}}[$<]\(\s?{_FETCH}\b",
            r"\bbase64 (?:-d|-D|--decode)\b[^\n]{0,80}\|\s{0,4}(?:ba|z)?sh\b",
            rf"\b{_ADDRESSED}\b[^\n]{{0,80}}?{_PACKAGE_RUN}[^\n]{{0,80}}?\b(?:before|after|first|every|each|always|then|so that|otherwise|or else)\b",
            rf"\b(?:always|you must|before (?:each|every|any|you|answering)|from now on|after (?:each|every))\b[^\n]{{0,80}}?{_PACKAGE_RUN}",
            rf"{_PACKAGE_RUN}[^\n]{{0,40}}? before you (?:start|begin|answer|continue|go on|reply|commit|edit)\b",
            _FOREIGN_INDEX,
            r"(?:^|[.!:;,] |\bfirst |\bthen |\bplease )\s{0,8}(?:download|fetch|get) and (?:then )?(?:run|execute|eval\w*|source|install|import) (?:the (?:script|file|code) )?(?:at |from )?[\"'`<]?https?://",
            rf"\b(?:install|add|run|use)\b[^\n]{{0,60}}{_PACKAGE_RUN}[^\n]{{0,40}}\b(?:before|after|in|on|for) (?:every|each|all|any)\b",
            rf"\b{_FETCH}\b[^\n]{{0,120}}\bchmod (?:\+x|[0-7]{{3,4}})[^\n]{{0,80}}(?:&&|;)\s{{0,4}}[\w./~$-]{{1,60}}",
            r"\b(?:python3?|node|perl|ruby) -[ce] [\"'][^\n]{0,160}(?:urlopen|requests\.get|fetch\(|http\.get)[^\n]{0,160}(?:exec|eval)|\b(?:exec|eval)\("
            r"[^\n]{0,80}(?:urlopen|requests\.get|b64decode|fetch)\(",
            r"\b(?:download|fetch|get|clone)\b[^\n.]{0,60}https?://[^\n]{0,120}\b(?:and|then)\b[^\n.]{0,20}\b(?:run|execute|source|eval|follow (?:its|the)"
            r" instructions)\b",
            rf"\b(?:always|you must|you should|you have to|you need to|you shall|make sure to|be"
            rf" sure to|never"
            r" forget to|remember"
            rf" to)\b[^\n.]{{0,60}}\b{_FETCH}\b(?![^\n]{{0,80}}(?:localhost|127\.0\.0\.1|::1"
            rf"|0\.0\.0\.0))",
        ),
    ),
    (
        "it asks to send something away that is secret",
        _any_of(
            rf"\b(?:send|post|upload|e-?mail|exfiltrate|leak|forward|transmit|copy|paste|share|submit|append"
            rf"|include|put|report)\b[^\n]{{0,80}}{_SECRET}[^\n]{{0,80}}{_DESTINATION}",
            rf"{_DESTINATION}[^\n]{{0,60}}\?[^\n]{{0,40}}=[^\n]{{0,10}}(?:\$\{{?[A-Z_]{{3,}}|\{{\{{)",
            r"!\[[^\]\n]{0,80}\]\(https?://[^)\n]{0,200}\?[^)\n]{0,200}\)",
            rf"\b(?:include|paste|put|add|append|write|copy|reveal|print|embed)\b[^\n.]{{0,40}}\b(?:contents?|values?|all|your|the user's)\b[^\n]{{0,40}}{_SECRET}"
            rf"[^\n]{{0,40}}\b(?:in|into|to|as) (?:your|the|a|each|every) (?:answer|reply|response|commit|pull request|pr|comment|issue|summary|url|branch)",
            rf"\b(?:send|upload|give|e-?mail|submit|post|hand|provide) (?:me |us )?(?:your|the user's|all|the contents? of|each)\b[^\n.]{{0,20}}{_SECRET}[^\n.]{{0,40}}\b(?:to|so that) (?:our|my|us|me|we|this)\b",
            rf"\b(?:encode|base64-encode|encrypt|read|copy|take)\b[^\n.]{{0,20}}{_SECRET}[^\n.]{{0,40}}\b(?:add|put|append|include|send|write|place|insert) (?:it|them|that|the result)\b[^\n.]{{0,20}}\b(?:to|in|into|as)\b",
            rf"\b(?:env|printenv)\b\s{{0,4}}\|[^\n]{{0,80}}\b(?:{_FETCH}|base64|nslookup|dig)\b",
            rf"\bcat\b[^\n|]{{0,60}}{_SECRET}[^\n|]{{0,60}}\|\s{{0,4}}{_FETCH}\b",
            rf"\b{_FETCH}\b[^\n]{{0,160}}(?:-d|--data\S*|-F|-T|--upload-file)["
            r" =]?['\"]?[^\n]{0,30}(?:@|\$\("
            rf"|{_SECRET})",
        ),
    ),
    (
        "it instructs the reader to bypass what protects the work",
        _any_of(
            r"\b(?:always|you must|you should|you have to|must always|make sure to|be sure"
            r" to)\b[^\n.]{0,60}(?:--no-verify|--dangerously-skip-permissions|--force\b|--no-gpg-sign|git"
            r" push"
            r" -f\b|rm -rf [/~]|chmod 777|verify=False|--insecure\b)",
            r"\b(?:always|please|just|instead|use|commit|run)\b[^\n.]{0,30}\bgit (?:commit|push)\b[^\n.]{0,60}--no-verify\b(?![^\n]{0,40}(?:skips?|bypass|option))",
            r"\b(?:always|please|just|from now on)\b[^\n.]{0,40}\b(?:skip|disable|delete|remove|comment out)\b[^\n.]{0,30}\b(?:failing tests?|all tests|the tests"
            r"|assertions?|the hooks?|ci checks?|code review|the linter|type checks?)\b",
            r"(?:^|[.!:;,] |\band |\bthen |\bplease )\s{0,8}(?:force[- ])?(?:push|merge|commit|deploy|release|publish)\b[^\n.]{0,40}\bwithout (?:any |a |further )?(?:review|tests?|testing|checks?|approval|running)\b",
            r"(?:^|[.!:;,] |\bplease )\s{0,8}(?:mark|set|flag) (?:all |the |every |these )?(?:flaky |failing |broken |red )?(?:tests?|jobs?|checks?) as (?:skipped|xfail\w*|passed|green|optional|allowed)\b",
            r"(?:^|[.!:;,] |\bplease )\s{0,8}(?:use|add|pass) [`'\"]?(?:--no-verify|--force|--no-gpg-sign|--dangerously-skip-permissions)[`'\"]?(?: for| in| to| with| on)? (?:all|every|each|any)\b",
            r"(?:^|[.!:;,] |\band |\bthen )\s{0,8}(?:skip|disable|delete|remove|comment out|silence|mute) (?:all |the |any |every |these |those )?(?:of the )?(?:failing |broken |slow |red )?"
            r"(?:tests?|assertions?|checks?|hooks?|lints?|ci|review)\b[^\n.]{0,30}\b(?:merge|push|commit|deploy|release|ship|anyway)\b",
            r"\b(?:set |export |with )?SKIP=[\w,-]+[^\n.]{0,20}\b(?:commit|push)\b[^\n.]{0,40}\b(?:hooks?|checks?)\b",
            r"\b(?:set|export|use|add)\b[^\n.]{0,30}(?:GIT_SSL_NO_VERIFY|NODE_TLS_REJECT_UNAUTHORIZED=0|PYTHONHTTPSVERIFY=0|--allow-write\b[^\n]{0,30}always)",
            r"\b(?:always |automatically |silently |you must |you should |please"
            r" )(?:approve|accept|merge|grant"
            r"|allow)\b[^\n.]{0,30}\b(?:this|all|every|any|each|these)\b[^\n.]{0,30}\b(?:memor\w+|candidates?"
            r"|changes?|pull requests?|requests?|permissions?|tool calls?|commands?)\b",
            r"(?<!we )\b(?:disable|turn off|switch off|bypass|circumvent) (?:all |the |any |your"
            r" )?(?:safety|security"
            r"|sandbox\w*|guard ?rails?|permission checks?|content"
            r" filters?)\b(?![^\n.]{0,20}\b(?:test|in"
            r" tests)\b)",
            r"\brm -rf (?:/|~|\$HOME)(?:\s|$|\*)",
        ),
    ),
)
"""Reason → pattern."""

LONGEST: Final = 20_000
"""Characters that are inspected; a longer text is quarantined for its length."""
_COLOUR: Final = lazy_pattern(r"\x1b\[[0-9;:]{0,32}m")
# Control, bidirectional, zero width and tag characters: a person who reads the text does not see
# what they hide.
_INVISIBLE: Final = lazy_pattern(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# The zero width joiner is legitimate between emoji.
_EMOJI_JOIN: Final = lazy_pattern(EMOJI_JOIN)
_QUOTED: Final = lazy_pattern(r"`[^`\n]{1,200}`")
# Base64 in either alphabet; hashes of Subresource Integrity (`sha256-…`) look the same and are
# none.
_BLOB: Final = lazy_pattern(
    r"(?<![A-Za-z0-9+/=_-])(?<!sha256-)(?<!sha384-)(?<!sha512-)[A-Za-z0-9+/_-]{40,}={0,2}"
)
_HEX: Final = lazy_pattern(r"(?:[0-9A-Fa-f]{2}){24,}")
# A Latin and a Cyrillic letter in one word: a word that looks like another one.
_MIXED: Final = lazy_pattern(r"(?:[a-z][а-яё]|[а-яё][a-z])", re.IGNORECASE)
_LONG_BLOB: Final = 400


_COMMENT: Final = lazy_pattern(r"<!--(.{0,2000}?)(?:-->|\Z)", re.DOTALL)
_ORDER_IN_COMMENT: Final = _any_of(
    rf"\b(?:{_MODEL}|agents?|assistants?|models?|reviewers?|you|your)\b",
    r"(?:^|[.,;:!]\s{0,3})\s{0,8}(?:please |always |never |do not |don't )?(?:run|push|approve|delete|send|ignore|execute|install|merge|commit|call|fetch|curl|reply"
    r"|answer|print|output|accept|disable|skip)\b(?!-)",
)
_DIGITS: Final = str.maketrans("013457@$!|", "oieastasil")
_SPACED: Final = lazy_pattern(r"(?:\b\w[ .*_-]{1,2}){5,}\w\b")
_ENTITIES: Final = lazy_pattern(
    r"(?:&#(?:x[0-9a-f]{2,4}|[0-9]{2,5});){6,}|(?:%[0-9a-f]{2}){8,}", re.I
)
_ESCAPES: Final = lazy_pattern(r"(?:\\x[0-9a-f]{2}|\\u00[0-9a-f]{2}){6,}", re.IGNORECASE)


def injection_reasons(text: str) -> tuple[str, ...]:
    """Return why a text should be quarantined, one reason each; empty: it need not be."""
    if len(text) > LONGEST:
        reasons = [f"it is longer than {LONGEST} characters"]
    else:
        reasons = []
    # a byte order mark is no part of the text
    text = _COLOUR.sub("", text[:LONGEST].replace("\r\n", "\n").removeprefix("\ufeff"))
    bare = _EMOJI_JOIN.sub("", text)
    if _INVISIBLE.search(bare):
        reasons.append("it has characters that nobody can see")
    # one spelling of full-width and mathematical letters, of accents typed apart, and of spaces
    plain = re.sub(r"[ \t\u00a0]+", " ", unicodedata.normalize("NFKC", _INVISIBLE.sub("", bare)))
    if _MIXED.search(plain):
        reasons.append("it mixes letters of two scripts in a word")
    comments = _COMMENT.findall(_QUOTED.sub("", plain))
    if any(_ORDER_IN_COMMENT.search(comment) for comment in comments):
        reasons.append("it has an HTML comment, which is not shown where Markdown is rendered")
    if any(map(_is_encoded_text, _BLOB.findall(text))):
        reasons.append("it has a block of encoded text")
    reasons += [reason for reason, pattern in _PHRASES if pattern.search(plain)]
    for spelling in _other_spellings(plain):
        disguised = [reason for reason, pattern in _PHRASES if pattern.search(spelling)]
        reasons += [f"{reason}, in a disguised spelling" for reason in disguised]
    return tuple(dict.fromkeys(reasons))


def _other_spellings(plain: str) -> Iterator[str]:
    """Yield what a reader may decode: letters typed apart, digits for letters, escapes, ROT13. Only
    the part that is written so, where it can be separated: the rest was inspected as it is.
    """
    if apart := _SPACED.findall(plain):
        # two separators between words, one between letters; where there is one only, words run
        # together, and the letters are compared without any space
        joined = " ".join(re.sub(r"(?<=\w)[ .*_-](?=\w\b)", "", part) for part in apart)
        yield from (joined, _with_words(joined))
        # the rest of the order may be written as usual
        yield _SPACED.sub(lambda part: re.sub(r"(?<=\w)[ .*_-]{1,2}(?=\w\b)", "", part[0]), plain)
    digits = [word for word in re.findall(r"[\w@$!|]+", plain) if _is_leet(word)]
    if len(digits) >= 2:
        yield re.sub(r"[\w@$!|]+", lambda word: _read_digits(word[0]), plain)
    for escapes in (_ENTITIES, _ESCAPES):
        if escapes.search(plain):
            # the whole text: the rest of the order may be written as usual
            yield escapes.sub(lambda escaped: _decoded(escaped[0]), plain)
    if re.search(r"\bnyy\b|\bvtaber\b|\brot ?13\b|\bvafgehpgvba", plain, re.IGNORECASE):
        yield codecs.encode(plain, "rot13")


def _decoded(escapes: str) -> str:
    return html.unescape(unquote(re.sub(r"\\(?:x|u00)", "%", escapes)))


def _is_leet(word: str) -> bool:
    letters = sum(map(str.isalpha, word))
    return letters >= 2 and 0 < len(word) - letters <= letters and word[-1:] not in "!|"


def _read_digits(word: str) -> str:
    if not _is_leet(word):
        return word
    return word.translate(_DIGITS)


_JOINED: Final = lazy_pattern(
    r"(ignore|disregard|forget|override|bypass|all|any|the|your|of|previous|prior|above|earlier|instructions?|rules?|prompts?|system|and"
    r"|run|send|reveal|print|user|tell|do|not)",
    re.IGNORECASE,
)


def _with_words(joined: str) -> str:
    return " ".join(_JOINED.sub(r" \1 ", joined).split())


def _is_encoded_text(word: str) -> bool:
    if _HEX.fullmatch(word):
        return _readable(bytes.fromhex(word))
    standard = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        # validate: else characters outside the alphabet are skipped, and any text decodes to
        # something
        data = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        data = b""  # a path, or a name in words
    return _readable(data) or len(word) >= _LONG_BLOB


def _readable(data: bytes) -> bool:
    """Return True for a sentence: printable, with spaces."""
    printable = sum(32 <= byte < 127 or byte in (9, 10) for byte in data)
    return len(data) >= 24 and printable * 20 >= len(data) * 19 and data.count(b" ") >= 2
