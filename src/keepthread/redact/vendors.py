"""Tokens that can be told by their own form. `catalogue` names the public page each format is taken from.

Every pattern begins with a literal and consists of bounded or disjoint parts, so that no text makes it slow.
"""

from __future__ import annotations

import re

from keepthread.redact.placeholders import is_example, is_mixed
from keepthread.redact.rules import Rule

_END = r"(?![A-Za-z0-9])"
_BEGIN = r"(?<![A-Za-z0-9])"


def _real(match: re.Match[str]) -> bool:
    return not is_example(match.group())


def _random(match: re.Match[str]) -> bool:
    return _real(match) and is_mixed(match.group()[3:])


def _is_jwt(match: re.Match[str]) -> bool:
    """Return whether the first part decodes to a JSON object with `alg`: source maps begin with eyJ too."""
    import base64
    import json

    head = match.group().split(".", 1)[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def _token(name: str, keywords: str, pattern: str, *, fixed: bool = False) -> Rule:
    # Only a fixed length can be told from a longer run; for the others the end would cost matches, not save any.
    return Rule(name, keywords, _BEGIN + pattern + (_END if fixed else ""), _real)


def _is_openai(match: re.Match[str]) -> bool:
    """Return whether this carries a mark of the vendor: "sk-" alone begins class names of style sheets too."""
    token = match.group()
    return _real(match) and (
        "T3BlbkFJ" in token or token.startswith(("sk-proj-", "sk-svcacct-", "sk-admin-"))
    )


RULES: tuple[Rule, ...] = (
    Rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _BEGIN + r"gh[pousr]_[A-Za-z0-9]{36,255}", _real),
    _token("github-pat", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_.-]{20,300}",
    ),
    _token("aws-access-key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", fixed=True),
    Rule(
        # the secret beside it
        "aws-secret-key",
        "akia asia",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9][\s\S]{0,160}?(?<![A-Za-z0-9/+=])"
        r"((?=[A-Za-z/+]{0,39}[0-9])(?=[^A-Z]{0,39}[A-Z])(?=[^a-z]{0,39}[a-z])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        lambda match: not is_example(match.group(1)) and "EXAMPLE" not in match.group(1),
    ),
    _token("google-api-key", "aiza", r"AIza[A-Za-z0-9_-]{35}", fixed=True),
    _token("google-oauth", "ya29. gocspx-", r"(?:ya29\.[A-Za-z0-9_.-]{30,2048}|GOCSPX-[A-Za-z0-9_-]{24,40})"),
    _token("slack-token", "xox xapp-", r"(?:xox[a-z](?:\.xox[bp])?-|xapp-)[A-Za-z0-9-]{10,400}"),
    Rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,200})",
        _real,
    ),
    _token("stripe-key", "k_live_ k_test_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,250}"),
    _token("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,128}"),
    _token("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,300}"),
    _token("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[A-Za-z0-9-]{32,128}"),
    Rule("openai-key", "sk-proj- sk-svcacct- sk-admin- t3blbkfj", _BEGIN + r"sk-[A-Za-z0-9_-]{20,300}", _is_openai),
    Rule("api-key", "sk-", _BEGIN + r"sk-[A-Za-z0-9]{32,64}" + _END, _random),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,80}"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,120}"),
    _token("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,60}"),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{32,80}"),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}", fixed=True),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}", fixed=True),
    _token("pypi-token", "pypi-age", r"pypi-AgE[A-Za-z0-9_-]{40,1000}"),
    _token("docker-token", "dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,64}"),
    _token("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{48}", fixed=True),
    Rule("crates-token", "cio", _BEGIN + r"cio[A-Za-z0-9]{32}" + _END, _random),
    _token("sendgrid-key", "sg.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    Rule("twilio-key", "twilio", r"(?i:twilio)[\s\S]{0,200}?" + _BEGIN + r"(SK[0-9a-f]{32})" + _END, _real),
    _token("digitalocean-token", "_v1_", r"do[por]_v1_[a-f0-9]{64}", fixed=True),
    _token("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-[0-9]{1,2})?"),
    _token("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{20,300}"),
    _token("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80}"),
    _token("1password-token", "ops_eyj", r"ops_eyJ[A-Za-z0-9_+/=-]{40,4000}"),
    _token("age-key", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,64}"),
    _token("supabase-token", "sbp_ sb_secret_", r"(?:sbp_(?:v0_)?[A-Za-z0-9]{40,128}|sb_secret_[A-Za-z0-9_-]{20,64})"),
    Rule("telegram-token", ":aa", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}" + _END, _real),
    Rule(
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/([0-9]{15,22}/[A-Za-z0-9_-]{50,90})",
        _real,
    ),
    Rule(
        "azure-secret",
        "q~",
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
        _real,
    ),
    _token("pulumi-token", "pul-", r"pul-[a-f0-9]{40}", fixed=True),
    _token("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _token("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _token("postman-key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", fixed=True),
    _token("grafana-token", "glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})"),
    _token("sentry-token", "sntry", r"sntry(?:s_eyJ[A-Za-z0-9_+/=-]{40,400}|u_[a-f0-9]{64})"),
    _token("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", fixed=True),
    _token("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{38,64}"),
    _token("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9-]{16,100}"),
    _token("atlassian-token", "atatt3", r"ATATT3[A-Za-z0-9_=-]{60,400}"),
    _token("newrelic-key", "nrak-", r"NRAK-[A-Z0-9]{27}", fixed=True),
    _token("aws-bedrock-key", "absk", r"ABSK[A-Za-z0-9+/]{100,280}={0,2}"),
    _token("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,40}", fixed=True),
    _token("heroku-key", "hrku-", r"HRKU-[A-Za-z0-9_-]{36,72}"),
    _token("fly-token", "fo1_ fm1 fm2", r"(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=_-]{100,4000})"),
    _token("brevo-key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", fixed=True),
    _token("circleci-token", "ccipat_", r"CCIPAT_[A-Za-z0-9]{20,24}_[a-f0-9]{40}", fixed=True),
    _token("buildkite-token", "bkua_", r"bkua_[a-f0-9]{40}", fixed=True),
    _token("sourcegraph-token", "sgp_", r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}", fixed=True),
    _token("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", fixed=True),
    _token("square-token", "sq0", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
    _token("dynatrace-token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", fixed=True),
    _token("contentful-token", "cfpat-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    _token("prefect-key", "pnu_", r"pnu_[A-Za-z0-9]{36}", fixed=True),
    _token("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", fixed=True),
    _token("dropbox-token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,2000}"),
    _token("cloudflare-key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", fixed=True),
    _token("elevenlabs-key", "sk_", r"sk_[a-f0-9]{48}", fixed=True),
    _token(
        "hubspot-token",
        "pat-",
        r"pat-(?:na|eu|ap)[0-9]{1,2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        fixed=True,
    ),
    Rule(
        "jwt",
        "eyj",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{4,6000}\.[A-Za-z0-9_-]{8,2000}",
        _is_jwt,
    ),
)  # fmt: skip
