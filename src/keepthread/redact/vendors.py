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


def _cased(match: re.Match[str]) -> bool:
    """Return whether both cases occur: a hash in hex digits is of one."""
    return _random(match) and match.group() != match.group().lower()


def _is_jwt(match: re.Match[str]) -> bool:
    """Return whether the first part decodes to a JSON object with `alg`: source maps begin with eyJ too."""
    import base64
    import json

    head = re.split(r"\.|%", match.group(), maxsplit=1)[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def _is_key(match: re.Match[str]) -> bool:
    """Return whether base64 of a PEM file is one of a private key: certificates begin alike."""
    import base64

    return b"PRIVATE KEY" in base64.b64decode(match.group()[:80] + "==", validate=False)


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
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct- gr1348941",
        r"(?:gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_.-]{20,300}|GR1348941[A-Za-z0-9_-]{20,24})",
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
    _token("google-api-key", "aiza aq.ab", r"(?:AIza[A-Za-z0-9_-]{35}|AQ\.Ab[A-Za-z0-9_-]{40,80})", fixed=True),
    _token(
        "google-oauth",
        "ya29. gocspx- 1//0",
        r"(?:ya29\.[A-Za-z0-9_.-]{30,2048}|GOCSPX-[A-Za-z0-9_-]{24,40}|1//0[A-Za-z0-9_-]{40,200})",
    ),
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
    Rule(  # keys that bear a mark of the service behind their random part
        "azure-key",
        "azdo azfu azse azca acdb aiot apim +aba +acr +aeh +amc +arm +asb +ast jqqj9",
        r"(?<![A-Za-z0-9])(?:[A-Za-z0-9+/]{76}(?:APIM|ACDb|\+(?:ABa|AMC|ASt))[A-Za-z0-9+/]{5}[AQgw]=="
        r"|[A-Za-z0-9+/]{33}(?:AzCa|AIoT|\+(?:ASb|AEh|ARm))[A-P][A-Za-z0-9+/]{5}=|[A-Za-z0-9+/]{42}(?:AzSe|\+ACR)[A-D][A-Za-z0-9+/]{5}"
        r"|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9]{52}JQQJ9[9D][A-Za-z0-9]{26,30}(?:==)?)",
        _real,
    ),
    Rule(  # one without such a mark, near a word that says whose it is; a digest has its name in front
        "azure-key",
        "azure account keyname cosmos",
        r"(?i:azure|account(?:[_ -]?(?:key|name))|keyname|cosmos)[\s\S]{0,200}?"
        r"(?<![A-Za-z0-9=_-])([A-Za-z0-9+/]{86}==)",
        _real,
    ),
    Rule(  # of minisign and signify
        "private-key",
        ("secret key\n", "secret key\r\n"),
        r"[Ss]ecret key\r?\n[ \t]{0,8}(RW[A-Za-z0-9+/]{88,400}={0,2})",
        _real,
    ),
    Rule("private-key", "ls0tls1crudjti", r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,20000}={0,2}", _is_key),
    Rule(  # PKCS #1 and #8 without the lines around them
        "private-key",
        "ibaakc ibadan",
        r"(?<![A-Za-z0-9])MII[A-Za-z0-9+/]{3}IBA(?:AKC|DAN)[A-Za-z0-9+/]{100,20000}={0,2}",
        _real,
    ),
    _token("pulumi-token", "pul-", r"pul-[a-f0-9]{40}", fixed=True),
    _token("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _token("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _token("postman-key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", fixed=True),
    _token(
        "grafana-token",
        "glsa_ glc_ eyjrijoi",
        r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,400}|eyJrIjoi[A-Za-z0-9+/=_-]{60,400})",
    ),
    _token("sentry-token", "sntry", r"sntry(?:s_eyJ[A-Za-z0-9_+/=-]{40,400}|u_[a-f0-9]{64})"),
    _token("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", fixed=True),
    _token("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{38,64}"),
    _token("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9-]{16,100}"),
    _token("atlassian-token", "atatt3 atctt3 atbb", r"(?:AT[AC]TT3[A-Za-z0-9_=-]{60,400}|ATBB[A-Za-z0-9]{24,40})"),
    _token(
        "newrelic-key",
        "nrak- nrii- nral",
        r"(?:NRAK-[A-Za-z0-9]{27}|NRII-[A-Za-z0-9_-]{32}|[0-9a-f]{36}NRAL)",
        fixed=True,
    ),
    _token(
        "aws-bedrock-key",
        "absk bedrock-api-key-",
        r"(?:ABSK[A-Za-z0-9+/]{100,280}={0,2}|bedrock-api-key-[A-Za-z0-9+/=_-]{28,4000})",
    ),
    _token("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,40}", fixed=True),
    _token("heroku-key", "hrku-", r"HRKU-[A-Za-z0-9_-]{36,72}"),
    _token("fly-token", "fo1_ fm1 fm2", r"(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=_-]{100,4000})"),
    _token("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}", fixed=True),
    _token("circleci-token", "ccipat_", r"CCIPAT_[A-Za-z0-9]{20,24}_[a-f0-9]{40}", fixed=True),
    _token("buildkite-token", "bkua_", r"bkua_[a-f0-9]{40}", fixed=True),
    _token("sourcegraph-token", "sgp_", r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}", fixed=True),
    _token("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", fixed=True),
    _token("square-token", "sq0", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
    _token("dynatrace-token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}", fixed=True),
    _token("contentful-token", "cfpat-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    _token("prefect-key", "pnu_", r"pnu_[A-Za-z0-9]{36}", fixed=True),
    _token("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", fixed=True),
    _token("dropbox-token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,2000}"),
    _token(
        "cloudflare-key",
        "v1.0- cfut_ cfat_ cfk_",
        r"(?:v1\.0-[a-f0-9]{24}-[a-f0-9]{146}|cf(?:ut|at|k)_[A-Za-z0-9_-]{40,64})",
        fixed=True,
    ),
    _token("elevenlabs-key", "sk_", r"sk_[a-f0-9]{48}", fixed=True),
    _token(
        "hubspot-token",
        "pat-",
        r"pat-(?:na|eu|ap)[0-9]{1,2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        fixed=True,
    ),
    _token("nvidia-key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,80}"),
    _token("cerebras-key", "csk-", r"csk-[a-z0-9]{40,64}"),
    Rule("fireworks-key", "fw_", _BEGIN + r"fw_[A-Za-z0-9]{22,32}" + _END, _random),
    _token("together-key", "tgp_v1_", r"tgp_v1_[A-Za-z0-9_-]{40,64}"),
    _token("tavily-key", "tvly-", r"tvly-(?:[a-z]{2,6}-)?[A-Za-z0-9]{30,64}"),
    _token("jina-key", "jina_", r"jina_[A-Za-z0-9_-]{50,80}"),
    _token("firecrawl-key", "fc-", r"fc-[a-f0-9]{32}", fixed=True),
    _token("e2b-key", "e2b_", r"e2b_[a-f0-9]{40}", fixed=True),
    _token("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,80}"),
    Rule("resend-key", "re_", _BEGIN + r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32}" + _END, _random),
    _token("neon-key", "napi_", r"napi_[a-z0-9]{60,72}"),
    Rule("render-key", "rnd_", _BEGIN + r"rnd_[A-Za-z0-9]{28,40}" + _END, _random),
    _token("posthog-key", "phx_ phs_", r"ph[xs]_[A-Za-z0-9]{40,64}"),
    _token("langfuse-key", "sk-lf-", r"sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", fixed=True),
    _token(
        "vercel-token",
        "vcp_ vci_ vck_ vca_ vcr_ vercel_blob_rw_",
        r"(?:vc[pikar]_[A-Za-z0-9]{24,64}|vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{24,40})",
    ),
    _token("mapbox-token", "k.eyj", r"[sp]k\.eyJ[A-Za-z0-9_-]{40,400}\.[A-Za-z0-9_-]{20,24}"),
    Rule(
        "discord-token",
        "discord",
        r"(?i:discord)[\s\S]{0,200}?" + _BEGIN
        + r"([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})",
        _real,
    ),
    Rule("facebook-token", "eaa", _BEGIN + r"EAA[A-Za-z0-9]{90,400}" + _END, _random),
    _token("adafruit-key", "aio_", r"aio_[A-Za-z0-9]{28}", fixed=True),
    _token("typeform-token", "tfp_", r"tfp_[A-Za-z0-9_.=-]{40,72}"),
    _token("yandex-key", "aqvn", r"AQVN[A-Za-z0-9_-]{35,38}", fixed=True),
    _token("alibaba-key", "ltai", r"LTAI[A-Za-z0-9]{16,24}", fixed=True),
    _token("tencent-key", "akid", r"AKID[A-Za-z0-9]{32}", fixed=True),
    _token("nuget-key", "oy2", r"oy2[a-z0-9]{43}", fixed=True),
    _token("sonar-token", "sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{40}", fixed=True),
    _token("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-fA-F0-9]{40}", fixed=True),
    _token("octopus-key", "api-", r"API-[A-Z0-9]{26}", fixed=True),
    _token("openshift-token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}", fixed=True),
    _token("readme-key", "rdme_", r"rdme_[a-z0-9]{70}", fixed=True),
    _token("infracost-key", "ico-", r"ico-[A-Za-z0-9]{32}", fixed=True),
    _token("harness-key", "at.", r"[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}", fixed=True),
    _token("duffel-token", "duffel_", r"duffel_(?:live|test)_[A-Za-z0-9_=-]{43}"),
    _token("flutterwave-key", "flwseck", r"FLWSECK(?:_TEST)?-[a-z0-9A-Z]{12,32}(?:-X)?"),
    _token("easypost-key", "ezak eztk", r"EZ[AT]K[A-Za-z0-9]{54}", fixed=True),
    _token("frameio-token", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{64}"),
    _token("clojars-token", "clojars_", r"CLOJARS_[a-z0-9]{60}", fixed=True),
    _token("defined-token", "dnkey-", r"dnkey-[a-z0-9A-Z=_-]{26}-[A-Za-z0-9=_-]{52}"),
    _token("maxmind-key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", fixed=True),
    _token("scalingo-token", "tk-us-", r"tk-us-[A-Za-z0-9_-]{48}"),
    Rule("mailgun-key", "mailgun", r"(?i:mailgun)[\s\S]{0,200}?" + _BEGIN + r"(key-[a-f0-9]{32})" + _END, _real),
    _token("mailchimp-key", "-us", r"[a-f0-9]{32}-us[0-9]{1,2}", fixed=True),
    _token("twitch-token", "oauth:", r"oauth:[a-z0-9]{30}", fixed=True),
    _token("artifactory-key", "akcp cmvmd", r"(?:AKCp[A-Za-z0-9]{68,72}|cmVmd[A-Za-z0-9]{59,64})"),
    Rule("clickhouse-key", "4b1d", _BEGIN + r"4b1d[A-Za-z0-9]{38}" + _END, _cased),
    _token("intra42-secret", "s-s4t2", r"s-s4t2(?:ud|af)-[a-f0-9]{64}", fixed=True),
    _token("settlemint-token", "sm_", r"sm_[aps]at_[A-Za-z0-9]{16}", fixed=True),
    _token(
        "authress-key",
        ".acc",
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}"
        r"\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}",
    ),
    _token("adobe-secret", "p8e-", r"p8e-[a-zA-Z0-9_-]{32}", fixed=True),
    _token(
        "1password-secret-key",
        "a3-",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{6}-[A-Z0-9]{5}|[A-Z0-9]{11})(?:-[A-Z0-9]{5}){3}",
        fixed=True,
    ),
    Rule("teams-webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,300})", _real),
    Rule(
        "jwt",
        "eyj",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}(?:\.|%2E)(?:[A-Za-z0-9_-]{4,6000}(?:\.|%2E)|"
        r"[A-Za-z0-9_-]{0,2000}\.[A-Za-z0-9_-]{16,200}\.[A-Za-z0-9_-]{1,8000}\.)[A-Za-z0-9_-]{8,2000}",
        _is_jwt,
    ),
)  # fmt: skip
