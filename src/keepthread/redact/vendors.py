"""Tokens that can be told by their own form. Each line names the public page its format is taken from.

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
    # https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
    Rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _BEGIN + r"gh[pousr]_[A-Za-z0-9]{36,255}", _real),
    _token("github-pat", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    # https://docs.gitlab.com/security/tokens/#token-prefixes
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_.-]{20,300}",
    ),
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html (unique identifiers)
    _token("aws-access-key", "akia asia", r"(?:AKIA|ASIA)[A-Z0-9]{16}", fixed=True),
    Rule(
        # the secret beside it: 40 characters of base64, https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html
        "aws-secret-key",
        "akia asia",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9][\s\S]{0,160}?(?<![A-Za-z0-9/+=])"
        r"((?=[A-Za-z/+]{0,39}[0-9])(?=[^A-Z]{0,39}[A-Z])(?=[^a-z]{0,39}[a-z])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        lambda match: not is_example(match.group(1)) and "EXAMPLE" not in match.group(1),
    ),
    # https://cloud.google.com/docs/authentication/api-keys, https://developers.google.com/identity/protocols/oauth2
    _token("google-api-key", "aiza", r"AIza[A-Za-z0-9_-]{35}", fixed=True),
    _token("google-oauth", "ya29. gocspx-", r"(?:ya29\.[A-Za-z0-9_.-]{30,2048}|GOCSPX-[A-Za-z0-9_-]{24,40})"),
    # https://docs.slack.dev/authentication/tokens
    # https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
    _token("slack-token", "xox xapp-", r"(?:xox[a-z](?:\.xox[bp])?-|xapp-)[A-Za-z0-9-]{10,400}"),
    Rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,200})",
        _real,
    ),
    # https://docs.stripe.com/keys, https://docs.stripe.com/webhooks
    _token("stripe-key", "k_live_ k_test_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,250}"),
    _token("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,128}"),
    # https://docs.claude.com/en/api/overview, https://docs.claude.com/en/api/administration-api
    _token("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,300}"),
    # https://openrouter.ai/docs/api-reference/authentication
    _token("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[A-Za-z0-9-]{32,128}"),
    # https://platform.openai.com/docs/api-reference/authentication
    Rule("openai-key", "sk-proj- sk-svcacct- sk-admin- t3blbkfj", _BEGIN + r"sk-[A-Za-z0-9_-]{20,300}", _is_openai),
    # the older form, https://api-docs.deepseek.com/ and other OpenAI-compatible vendors
    Rule("api-key", "sk-", _BEGIN + r"sk-[A-Za-z0-9]{32,64}" + _END, _random),
    # https://console.groq.com/docs/quickstart
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,80}"),
    # https://docs.x.ai/docs/tutorial
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,120}"),
    # https://huggingface.co/docs/hub/security-tokens
    _token("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,60}"),
    # https://docs.perplexity.ai/guides/getting-started
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{32,80}"),
    # https://replicate.com/docs/topics/security/api-tokens
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}", fixed=True),
    # https://docs.npmjs.com/about-access-tokens
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}", fixed=True),
    # https://pypi.org/help/#apitoken
    _token("pypi-token", "pypi-age", r"pypi-AgE[A-Za-z0-9_-]{40,1000}"),
    # https://docs.docker.com/security/access-tokens/
    _token("docker-token", "dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,64}"),
    # https://guides.rubygems.org/api-key-scopes/, https://doc.rust-lang.org/cargo/reference/publishing.html
    _token("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{48}", fixed=True),
    Rule("crates-token", "cio", _BEGIN + r"cio[A-Za-z0-9]{32}" + _END, _random),
    # https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
    _token("sendgrid-key", "sg.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    # https://www.twilio.com/docs/iam/api-keys: SK and 32 hex digits are too common to go without the name
    Rule("twilio-key", "twilio", r"(?i:twilio)[\s\S]{0,200}?" + _BEGIN + r"(SK[0-9a-f]{32})" + _END, _real),
    # https://docs.digitalocean.com/reference/api/create-personal-access-token/
    _token("digitalocean-token", "_v1_", r"do[por]_v1_[a-f0-9]{64}", fixed=True),
    # https://docs.databricks.com/aws/en/dev-tools/auth/pat
    _token("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-[0-9]{1,2})?"),
    # https://developer.hashicorp.com/vault/docs/concepts/tokens
    _token("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{20,300}"),
    # https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
    _token("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80}"),
    # https://developer.1password.com/docs/service-accounts/security/
    _token("1password-token", "ops_eyj", r"ops_eyJ[A-Za-z0-9_+/=-]{40,4000}"),
    # https://github.com/FiloSottile/age
    _token("age-key", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,64}"),
    # https://supabase.com/docs/guides/api/api-keys, https://supabase.com/docs/reference/api/introduction
    _token("supabase-token", "sbp_ sb_secret_", r"(?:sbp_(?:v0_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,64})"),
    # https://core.telegram.org/bots/api#authorizing-your-bot
    Rule("telegram-token", ":aa", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}" + _END, _real),
    # https://discord.com/developers/docs/resources/webhook
    Rule(
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/([0-9]{15,22}/[A-Za-z0-9_-]{50,90})",
        _real,
    ),
    # https://learn.microsoft.com/en-us/entra/identity-platform/howto-create-service-principal-portal
    Rule(
        "azure-secret",
        "q~",
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
        _real,
    ),
    # https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/
    _token("pulumi-token", "pul-", r"pul-[a-f0-9]{40}", fixed=True),
    # https://docs.doppler.com/reference/auth-token-formats
    _token("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    # https://planetscale.com/docs/concepts/service-tokens
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    # https://linear.app/developers/graphql
    _token("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    # https://learning.postman.com/docs/developer/postman-api/authentication/
    _token("postman-key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", fixed=True),
    # https://grafana.com/docs/grafana/latest/administration/service-accounts/
    _token("grafana-token", "glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})"),
    # https://docs.sentry.io/account/auth-tokens/
    _token("sentry-token", "sntry", r"sntry(?:s_eyJ[A-Za-z0-9_+/=-]{40,400}|u_[a-f0-9]{64})"),
    # https://shopify.dev/docs/apps/build/authentication-authorization
    _token("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", fixed=True),
    # https://www.figma.com/developers/api#access-tokens, https://developers.notion.com/docs/authorization
    _token("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{38,64}"),
    _token("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    # https://tailscale.com/kb/1277/key-prefixes
    _token("tailscale-key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9-]{16,100}"),
    # https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/
    _token("atlassian-token", "atatt3", r"ATATT3[A-Za-z0-9_=-]{60,400}"),
    # https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/
    _token("newrelic-key", "nrak-", r"NRAK-[A-Z0-9]{27}", fixed=True),
    # https://www.rfc-editor.org/rfc/rfc7519
    Rule(
        "jwt",
        "eyj",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{4,6000}\.[A-Za-z0-9_-]{8,2000}",
        _is_jwt,
    ),
)  # fmt: skip
