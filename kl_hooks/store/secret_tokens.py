"""Tokens with a known beginning. A pattern that takes long to compile: imported where a word may be one."""

from __future__ import annotations

import re
from typing import Final

_B64: Final = "[A-Za-z0-9_-]"
_PREFIXES: Final = (
    ("aws", r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github", r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}"),
    ("gitlab", rf"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-{_B64}{{20,300}}(?:\.{_B64}{{1,40}}){{0,3}}"),
    ("slack", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[A-Za-z0-9-]{10,250}|xoxe\.xox[bp]-[A-Za-z0-9-]{10,250}"),
    ("stripe", r"(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{20,100}"),
    ("openai", rf"sk-(?:proj|ant|svcacct|admin|or|lf)-{_B64}{{16,300}}|sk-[A-Za-z0-9]{{20,100}}"),
    ("google", rf"AIza{_B64}{{30,60}}|ya29\.{_B64}{{20,500}}|GOCSPX-{_B64}{{20,60}}|1//0{_B64}{{30,120}}"),
    ("npm", r"npm_[A-Za-z0-9]{30,60}"),
    ("pypi", rf"pypi-{_B64}{{32,1000}}"),
    ("digitalocean", r"do[opr]_v1_[a-f0-9]{40,80}"),
    ("huggingface", r"(?:hf_[A-Za-z]{30,60}|hf_[A-Za-z0-9]{30,60}|api_org_[A-Za-z]{30,60})"),
    ("sendgrid", rf"SG\.{_B64}{{16,32}}\.{_B64}{{32,64}}"),
    ("shopify", r"shp(?:at|ca|pa|ss|ua)_[A-Fa-f0-9]{32,64}"),
    ("mail", rf"key-[0-9a-f]{{32}}|[0-9a-f]{{32}}-us[0-9]{{1,2}}(?![0-9])|xkeysib-{_B64}{{60,120}}"),
    ("vault", rf"hv[bs]\.{_B64}{{24,300}}"),
    ("hashicorp", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_B64}{{40,100}}"),
    ("databricks", r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    ("grafana", r"gls?a_[A-Za-z0-9_]{32,60}|glc_[A-Za-z0-9+/]{32,400}={0,2}"),
    ("linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}"),
    ("notion", r"(?:secret|ntn)_[A-Za-z0-9]{40,60}"),
    ("misc", r"EAACEdEose0cBA[A-Za-z0-9]{10,300}|PMAK-[A-Za-z0-9-]{50,70}|" rf"dckr_pat_{_B64}{{20,60}}|"
             rf"sntrys_[A-Za-z0-9+/=_]{{30,300}}|figd_{_B64}{{30,60}}|NRAK-[A-Z0-9]{{27}}|rubygems_[a-f0-9]{{48}}|"
             rf"tskey-[a-z]{{2,12}}-[A-Za-z0-9-]{{16,100}}|CCIPAT_[A-Za-z0-9_]{{20,100}}|sl\.{_B64}{{60,300}}|"
             rf"AGE-SECRET-KEY-1[A-Z0-9]{{58}}|gsk_[A-Za-z0-9]{{40,60}}|pplx-[A-Za-z0-9]{{40,60}}|r8_[A-Za-z0-9]{{30,50}}|"
             rf"xai-[A-Za-z0-9]{{60,100}}|sbp_[a-f0-9]{{40}}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{{30,70}}|"
             rf"SK[a-f0-9]{{32}}(?![A-Za-z0-9])|EAAA{_B64}{{60}}|sq0[a-z]{{3}}-{_B64}{{22,50}}"),
)  # fmt: skip
KNOWN: Final = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _PREFIXES) + ")"
)
"""Where a word begins (also after a written `\\n`): `task-…` holds no `sk-…`."""
