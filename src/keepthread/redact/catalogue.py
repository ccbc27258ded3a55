"""What each rule finds, and the public page its format is taken from: for the documentation, never loaded by a hook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keepthread.redact import finder, pem

ENVIRONMENT = "environment"


class Entry(NamedTuple):
    """One rule: the form of what it finds, in Markdown, the page, and what is special about it."""

    form: str
    source: str
    note: str = ""


def names() -> list[str]:
    """Return the names of all rules there are, in the order in which they are tried."""
    ruled = [rule.name for rule in finder.RULES]  # in whichever module they stand
    return list(dict.fromkeys([pem.NAME, ENVIRONMENT, *ruled]))


def table(positives: Mapping[str, str] | None = None) -> str:
    """Return the Markdown table of all rules.

    Args:
        positives: what each rule found where there are no secrets; without it the column is left out.
    """
    head = ["rule", "what it finds", "source of the format", "note"]
    if positives is not None:
        head.insert(3, "finds (distinct)")
    lines = [_row(head), _row(["---"] * len(head))]
    for name in names():
        entry = ENTRIES[name]
        cells = [f"`{name}`", entry.form, f"<{entry.source}>" if entry.source else "", entry.note]
        if positives is not None:
            cells.insert(3, positives.get(name, "0"))
        lines.append(_row(cells))
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


ENTRIES: Mapping[str, Entry] = {
    "private-key": Entry(
        "`-----BEGIN ... PRIVATE KEY-----` to its END: whole blocks, in one line with `\\n`, numbered, in diffs, "
        "cut at either end; the private lines of a PuTTY key; base64 of such a file, PKCS #1 and #8 without its lines",
        "https://www.rfc-editor.org/rfc/rfc7468",
        "PGP: <https://www.rfc-editor.org/rfc/rfc9580#section-6>",
    ),
    "environment": Entry(
        "the values of this environment's and of the user's own variables whose names look secret, wherever they stand",
        "",
        "12 characters and more; no path, number, word or plain URL; the only rule that knows unknown forms",
    ),
    "github-token": Entry(
        "`ghp_` `gho_` `ghu_` `ghs_` `ghr_` and 36 characters or more",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
    ),
    "github-pat": Entry(
        "`github_pat_` and 22 characters or more",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
    ),
    "gitlab-token": Entry(
        "`glpat-` `gldt-` `glrt-` `glcbt-` `glptt-` `glft-` `glimt-` `glagent-` `glsoat-` `gloas-` "
        "`glffct-` `glrtr-` `GR1348941` and 20 or more",
        "https://docs.gitlab.com/security/tokens/#token-prefixes",
    ),
    "aws-access-key": Entry(
        "`AKIA` `ASIA` `ABIA` `ACCA` and 16 capitals or digits",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
        "the documentation's own example, with EXAMPLE in it, stays",
    ),
    "aws-secret-key": Entry(
        "40 characters of base64 in upper and lower case with digits, within 160 characters after an access key",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
        "a hash in that place stays: it has no capitals",
    ),
    "google-api-key": Entry("`AIza` and 35; `AQ.Ab` and 40 or more", "https://cloud.google.com/docs/authentication/api-keys"),
    "google-oauth": Entry(
        "`ya29.` and 30 or more; `GOCSPX-` and 24 or more; `1//0` and 40 or more",
        "https://developers.google.com/identity/protocols/oauth2",
        "the key of a service account's file is a `private-key`",
    ),
    "slack-token": Entry(
        "`xoxb-` `xoxp-` and the others, `xoxe.xoxp-`, `xapp-`", "https://docs.slack.dev/authentication/tokens"
    ),
    "slack-webhook": Entry(
        "the path after `hooks.slack.com/services/`",
        "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
    ),
    "stripe-key": Entry("`sk_` `rk_` `pk_` with `live_` or `test_` and 10 or more", "https://docs.stripe.com/keys"),
    "webhook-secret": Entry(
        "`whsec_` and 24 or more", "https://docs.stripe.com/webhooks", "Stripe's, and those of who copied the form"
    ),
    "anthropic-key": Entry(
        "`sk-ant-` (api, admin, oat, ...) and 16 or more", "https://docs.claude.com/en/api/overview"
    ),
    "openrouter-key": Entry("`sk-or-v1-` and 32 or more", "https://openrouter.ai/docs/api-reference/authentication"),
    "openai-key": Entry(
        "`sk-proj-` `sk-svcacct-` `sk-admin-`, or `sk-` with `T3BlbkFJ` in it",
        "https://platform.openai.com/docs/api-reference/authentication",
    ),
    "api-key": Entry(
        "`sk-` and 32 to 64 letters and digits, both of them",
        "https://api-docs.deepseek.com/",
        "of many OpenAI-compatible vendors; class names of style sheets have dashes or no digits",
    ),
    "groq-key": Entry("`gsk_` and 40 or more", "https://console.groq.com/docs/quickstart"),
    "xai-key": Entry("`xai-` and 40 or more", "https://docs.x.ai/docs/tutorial"),
    "huggingface-token": Entry("`hf_` `api_org_` and 30 or more", "https://huggingface.co/docs/hub/security-tokens"),
    "perplexity-key": Entry("`pplx-` and 32 or more", "https://docs.perplexity.ai/guides/getting-started"),
    "replicate-token": Entry("`r8_` and 37", "https://replicate.com/docs/topics/security/api-tokens"),
    "npm-token": Entry("`npm_` and 36", "https://docs.npmjs.com/about-access-tokens"),
    "pypi-token": Entry("`pypi-AgE` and 40 or more", "https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns"),
    "docker-token": Entry("`dckr_pat_` `dckr_oat_` and 20 or more", "https://docs.docker.com/security/access-tokens/"),
    "rubygems-key": Entry("`rubygems_` and 48 hex digits", "https://guides.rubygems.org/api-key-scopes/"),
    "crates-token": Entry(
        "`cio` and 32 letters and digits, both of them", "https://doc.rust-lang.org/cargo/reference/publishing.html"
    ),
    "sendgrid-key": Entry(
        "`SG.` and two parts, 16 and 32 or more", "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys"
    ),
    "twilio-key": Entry(
        "`SK` and 32 hex digits within 200 characters after the word twilio",
        "https://www.twilio.com/docs/iam/api-keys",
        "without the name too common",
    ),
    "digitalocean-token": Entry(
        "`dop_v1_` `doo_v1_` `dor_v1_` and 64 hex digits",
        "https://docs.digitalocean.com/reference/api/create-personal-access-token/",
    ),
    "databricks-token": Entry("`dapi` and 32 hex digits", "https://docs.databricks.com/aws/en/dev-tools/auth/pat"),
    "vault-token": Entry(
        "`hvs.` `hvb.` `hvr.` and 20 or more",
        "https://developer.hashicorp.com/vault/docs/concepts/tokens",
        "the older `s.` is a part of too many names",
    ),
    "terraform-token": Entry(
        "14, `.atlasv1.` and 60 or more",
        "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens",
    ),
    "1password-token": Entry(
        "`ops_eyJ` and 40 or more", "https://developer.1password.com/docs/service-accounts/security/"
    ),
    "age-key": Entry("`AGE-SECRET-KEY-1` and 50 or more", "https://github.com/FiloSottile/age"),
    "supabase-token": Entry(
        "`sbp_` and 40 or more, `sb_secret_` and 20 or more", "https://supabase.com/docs/guides/api/api-keys"
    ),
    "telegram-token": Entry(
        "8 to 10 digits, `:AA` and 32 to 34", "https://core.telegram.org/bots/api#authorizing-your-bot"
    ),
    "discord-webhook": Entry(
        "id and token after `discord.com/api/webhooks/`", "https://discord.com/developers/docs/resources/webhook"
    ),
    "azure-secret": Entry(
        "3, a digit, `Q~` and 31 to 34",
        "https://learn.microsoft.com/en-us/entra/identity-platform/howto-create-service-principal-portal",
        "keys of storage accounts are a `secret-value`",
    ),
    "azure-key": Entry(
        "`+ASt` `ACDb` `AzFu` `AZDO` `JQQJ99` and the other marks of a service at their places; 86 characters "
        "of base64 and `==` "
        "within 200 characters after azure, account key, key name or cosmos",
        "https://github.com/microsoft/security-utilities",
        "a digest stays: `sha512-` stands in front of it",
    ),
    "pulumi-token": Entry(
        "`pul-` and 40 hex digits", "https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/"
    ),
    "doppler-token": Entry(
        "`dp.pt.` `dp.st.` and the others, and 40 or more", "https://docs.doppler.com/reference/auth-token-formats"
    ),
    "planetscale-token": Entry(
        "`pscale_tkn_` `pscale_pw_` `pscale_oauth_` and 32 or more",
        "https://planetscale.com/docs/concepts/service-tokens",
    ),
    "linear-key": Entry("`lin_api_` `lin_oauth_` and 32 or more", "https://linear.app/developers/graphql"),
    "postman-key": Entry(
        "`PMAK-`, 24 and 34 hex digits", "https://learning.postman.com/docs/developer/postman-api/authentication/"
    ),
    "grafana-token": Entry(
        "`glsa_`, 32 and 8 hex digits; `glc_` and 32 or more; `eyJrIjoi` and 60 or more",
        "https://grafana.com/docs/grafana/latest/administration/service-accounts/",
    ),
    "sentry-token": Entry(
        "`sntrys_eyJ` and 40 or more, `sntryu_` and 64 hex digits", "https://docs.sentry.io/account/auth-tokens/"
    ),
    "shopify-token": Entry(
        "`shpat_` `shpca_` `shppa_` `shpss_` and 32 hex digits",
        "https://shopify.dev/docs/apps/build/authentication-authorization",
    ),
    "figma-token": Entry("`figd_` and 38 or more", "https://www.figma.com/developers/api#access-tokens"),
    "notion-token": Entry("`ntn_` and 40 or more", "https://developers.notion.com/docs/authorization"),
    "tailscale-key": Entry("`tskey-`, a kind and 16 or more", "https://tailscale.com/kb/1277/key-prefixes"),
    "atlassian-token": Entry(
        "`ATATT3` `ATCTT3` and 60 or more, `ATBB` and 24 or more",
        "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/",
    ),
    "newrelic-key": Entry("`NRAK-` and 27, `NRII-` and 32", "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/"),
    "aws-bedrock-key": Entry(
        "`ABSK` and 100 or more of base64, `bedrock-api-key-` and 28 or more", "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html"
    ),
    "netlify-token": Entry("`nfp_` and 36 to 40", "https://docs.netlify.com/cli/get-started/"),
    "heroku-key": Entry("`HRKU-` and 36 or more", "https://devcenter.heroku.com/articles/authentication"),
    "fly-token": Entry("`fo1_` and 43, `fm1_` `fm2_` and 100 or more", "https://fly.io/docs/security/tokens/"),
    "brevo-key": Entry("`xkeysib-` `xsmtpsib-`, 64 hex digits and 16", "https://developers.brevo.com/docs/getting-started"),
    "circleci-token": Entry(
        "`CCIPAT_`, 20 to 24 and 40 hex digits", "https://circleci.com/docs/managing-api-tokens/"
    ),
    "buildkite-token": Entry("`bkua_` and 40 hex digits", "https://buildkite.com/docs/apis/managing-api-tokens"),
    "sourcegraph-token": Entry(
        "`sgp_`, an optional instance and 40 hex digits",
        "https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token",
        "40 hex digits without the prefix stay: every commit has such a name",
    ),
    "langsmith-key": Entry(
        "`lsv2_pt_` `lsv2_sk_`, 32 and 10 hex digits", "https://docs.langchain.com/langsmith/create-account-api-key"
    ),
    "square-token": Entry(
        "`sq0atp-` `sq0csp-` and 22 to 43", "https://developer.squareup.com/docs/build-basics/access-tokens"
    ),
    "dynatrace-token": Entry(
        "`dt0c01.` and the like, 24 and 64",
        "https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens",
    ),
    "contentful-token": Entry(
        "`CFPAT-` and 43", "https://www.contentful.com/developers/docs/references/authentication/"
    ),
    "prefect-key": Entry("`pnu_` and 36", "https://docs.prefect.io/v3/how-to-guides/cloud/manage-users/api-keys"),
    "airtable-token": Entry(
        "`pat`, 14, a dot and 64 hex digits", "https://airtable.com/developers/web/guides/personal-access-tokens"
    ),
    "dropbox-token": Entry("`sl.` and 130 or more", "https://developers.dropbox.com/oauth-guide"),
    "cloudflare-key": Entry(
        "`v1.0-`, 24 and 146 hex digits; `cfut_` `cfat_` `cfk_` and 40 or more", "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/"
    ),
    "elevenlabs-key": Entry("`sk_` and 48 hex digits", "https://elevenlabs.io/docs/api-reference/authentication"),
    "hubspot-token": Entry(
        "`pat-na1-` and the like, and a UUID", "https://developers.hubspot.com/docs/guides/apps/private-apps/overview"
    ),
    "nvidia-key": Entry("`nvapi-` and 60 or more", "https://docs.nvidia.com/nim/large-language-models/latest/getting-started.html"),
    "cerebras-key": Entry("`csk-` and 40 or more", "https://inference-docs.cerebras.ai/quickstart"),
    "fireworks-key": Entry("`fw_` and 22 to 32 letters and digits, both of them", "https://docs.fireworks.ai/getting-started/quickstart"),
    "together-key": Entry("`tgp_v1_` and 40 or more", "https://docs.together.ai/docs/quickstart"),
    "tavily-key": Entry("`tvly-` and 30 or more", "https://docs.tavily.com/documentation/quickstart"),
    "jina-key": Entry("`jina_` and 50 or more", "https://jina.ai/reader/"),
    "firecrawl-key": Entry("`fc-` and 32 hex digits", "https://docs.firecrawl.dev/introduction"),
    "e2b-key": Entry("`e2b_` and 40 hex digits", "https://e2b.dev/docs/api-key"),
    "pinecone-key": Entry("`pcsk_` and two parts, the second of 50 or more", "https://docs.pinecone.io/guides/projects/manage-api-keys"),
    "resend-key": Entry("`re_`, 8 and 20 to 32, with digits", "https://resend.com/docs/dashboard/api-keys/introduction"),
    "neon-key": Entry("`napi_` and 60 or more", "https://neon.com/docs/manage/api-keys"),
    "render-key": Entry("`rnd_` and 28 to 40, with digits", "https://render.com/docs/api"),
    "posthog-key": Entry("`phx_` `phs_` and 40 or more", "https://posthog.com/docs/api"),
    "langfuse-key": Entry("`sk-lf-` and a UUID", "https://langfuse.com/faq/all/where-are-langfuse-api-keys"),
    "vercel-token": Entry("`vcp_` and the others, and 24 or more; `vercel_blob_rw_` and two parts", "https://vercel.com/docs/rest-api"),
    "mapbox-token": Entry("`sk.eyJ` `pk.eyJ` and two parts", "https://docs.mapbox.com/help/dive-deeper/access-tokens/"),
    "discord-token": Entry("24 or more, 6, and 27 or more behind dots, within 200 characters after the word discord", "https://discord.com/developers/docs/reference#authentication"),
    "facebook-token": Entry("`EAA` and 90 or more", "https://developers.facebook.com/docs/facebook-login/guides/access-tokens/"),
    "adafruit-key": Entry("`aio_` and 28", "https://io.adafruit.com/api/docs/"),
    "typeform-token": Entry("`tfp_` and 40 or more", "https://www.typeform.com/developers/get-started/personal-access-token/"),
    "yandex-key": Entry("`AQVN` and 35 to 38", "https://yandex.cloud/en/docs/iam/concepts/authorization/api-key"),
    "alibaba-key": Entry("`LTAI` and 16 to 24", "https://www.alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair"),
    "tencent-key": Entry("`AKID` and 32", "https://www.tencentcloud.com/document/product/598/32675"),
    "nuget-key": Entry("`oy2` and 43", "https://learn.microsoft.com/en-us/nuget/nuget-org/publish-a-package"),
    "sonar-token": Entry("`squ_` `sqp_` `sqa_` and 40 hex digits", "https://docs.sonarsource.com/sonarqube-server/latest/user-guide/managing-tokens/"),
    "shippo-token": Entry("`shippo_live_` `shippo_test_` and 40 hex digits", "https://docs.goshippo.com/docs/guides_general/authentication/"),
    "octopus-key": Entry("`API-` and 26 capitals or digits", "https://octopus.com/docs/octopus-rest-api/how-to-create-an-api-key"),
    "openshift-token": Entry("`sha256~` and 43", "https://docs.redhat.com/en/documentation/openshift_container_platform/4.19/html/authentication_and_authorization/managing-oauth-access-tokens"),
    "readme-key": Entry("`rdme_` and 70", "https://docs.readme.com/main/reference/authentication"),
    "infracost-key": Entry("`ico-` and 32", "https://www.infracost.io/docs/"),
    "harness-key": Entry("`pat.` `sat.`, 22, 24 and 20", "https://developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys/"),
    "duffel-token": Entry("`duffel_live_` `duffel_test_` and 43", "https://duffel.com/docs/api/overview/making-requests"),
    "flutterwave-key": Entry("`FLWSECK-` `FLWSECK_TEST-` and 12 to 32", "https://developer.flutterwave.com/v3.0.0/docs/authentication"),
    "easypost-key": Entry("`EZAK` `EZTK` and 54", "https://docs.easypost.com/docs/authentication"),
    "frameio-token": Entry("`fio-u-` and 64", "https://developer.frame.io/docs/getting-started/authentication"),
    "clojars-token": Entry("`CLOJARS_` and 60", "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens"),
    "defined-token": Entry("`dnkey-`, 26 and 52", "https://docs.defined.net/guides/rotating-api-keys/"),
    "maxmind-key": Entry("6, 29 and `_mmk`", "https://support.maxmind.com/knowledge-base/articles/maxmind-license-key-formats"),
    "scalingo-token": Entry("`tk-us-` and 48", "https://developers.scalingo.com/"),
    "mailgun-key": Entry("`key-` and 32 hex digits within 200 characters after the word mailgun", "https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth"),
    "mailchimp-key": Entry("32 hex digits and `-us` with a number", "https://mailchimp.com/developer/marketing/guides/quick-start/"),
    "twitch-token": Entry("`oauth:` and 30", "https://dev.twitch.tv/docs/chat/authenticating/"),
    "artifactory-key": Entry("`AKCp` and 68 or more, `cmVmd` and 59 or more", "https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens"),
    "clickhouse-key": Entry("`4b1d` and 38", "https://clickhouse.com/docs/cloud/manage/openapi"),
    "intra42-secret": Entry("`s-s4t2ud-` `s-s4t2af-` and 64 hex digits", "https://api.intra.42.fr/apidoc"),
    "settlemint-token": Entry("`sm_aat_` `sm_pat_` `sm_sat_` and 16", "https://console.settlemint.com/documentation/"),
    "authress-key": Entry("`sc_` and the like, with `.acc` and a last part of 30 or more", "https://authress.io/knowledge-base/docs/authorization/service-clients/"),
    "adobe-secret": Entry("`p8e-` and 32", "https://developer.adobe.com/developer-console/docs/guides/authentication/"),
    "1password-secret-key": Entry("`A3-` and groups of 5, 6 or 11", "https://support.1password.com/secret-key-security/"),
    "teams-webhook": Entry("the path after `webhook.office.com/webhookb2/`", "https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook"),
    "jwt": Entry(
        "three parts of base64url, or five, the first of which decodes to JSON with `alg`",
        "https://www.rfc-editor.org/rfc/rfc7519",
        "source maps begin with `eyJ` too, and stay",
    ),
    "authorization": Entry(
        "what stands behind `Authorization:` and `Bearer`", "https://www.rfc-editor.org/rfc/rfc9110#name-authorization"
    ),
    "url-password": Entry(
        "the password in `scheme://user:password@host`, or a token in the user's place; `user:password@tcp(host)`, "
        "`user:password@host:port/name`",
        "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
    ),
    "curl-user": Entry(
        "the password of `curl -u user:password`, also of wget, http and xh", "https://curl.se/docs/manpage.html#-u"
    ),
    "netrc": Entry(
        "the password of a `.netrc`, over several lines too",
        "https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html",
    ),
    "login-password": Entry(
        "`docker login -p`, `sshpass -p`, `mysql -p`, `redis-cli -a`, `openssl -pass pass:`, `htpasswd -b`, "
        "`ssh-keygen -N`, `vault login`, `net user`, `ConvertTo-SecureString` and their like",
        "https://docs.docker.com/reference/cli/docker/login/",
    ),
    "option": Entry("`--password value`, `--token=value`, `--db-secret value`, `-password value` and their like", ""),
    "configured-secret": Entry(
        "`npm config set //host/:_authToken value`, `aws configure set`, `setx NAME value` and their like", ""
    ),
    "stored-secret": Entry(
        "what `vault kv put`, `kubectl create secret`, `gh secret set --body` and their like are given", ""
    ),
    "variable": Entry(
        "NAME=value behind `heroku config:set`, `--set-env-vars` and their like", "", "with letters and digits in it"
    ),
    "piped-secret": Entry(
        "`echo value` piped into `--password-stdin`, `--with-token`, `sudo -S` and their like; the same with "
        "`<<<` and `<(echo value)`",
        "",
    ),
    "oracle-login": Entry(
        "the password of `sqlplus user/password@name`, `CONNECT user/password@name`, `jdbc:oracle:thin:user/password@`",
        "https://docs.oracle.com/en/database/oracle/oracle-database/19/sqpug/starting-SQL-Plus.html",
        "`connect` only at the beginning of a line, or with a port behind it",
    ),
    "signed-url": Entry(
        "the signature of an address that grants what it names (`X-Amz-Signature`, `sig=` and their like)",
        "https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html",
    ),
    "sql-password": Entry(
        "`CREATE USER ada WITH PASSWORD '...'`, `IDENTIFIED BY '...'`",
        "https://www.postgresql.org/docs/current/sql-createrole.html",
        "MySQL: <https://dev.mysql.com/doc/refman/8.4/en/create-user.html>",
    ),
    "basic-auth": Entry(
        "the second of `auth=(\"ada\", \"...\")`, `HTTPBasicAuth(\"ada\", \"...\")` and their like",
        "https://requests.readthedocs.io/en/latest/user/authentication/",
    ),
    "stored-key": Entry(
        "`auth` of a registry's login in JSON and YAML, `.dockerconfigjson`; the private members of a JSON Web Key",
        "https://www.rfc-editor.org/rfc/rfc7518#section-6",
    ),
    "told-secret": Entry(
        "prose: the password is ..., API key: ...",
        "",
        "8 characters and more with letters and digits; no path, number or code",
    ),
    "cookie": Entry(
        "the first pair of `Set-Cookie`, any of `Cookie` that is a session's or 16 and more, session cookies "
        "of a command "
        "line, the last column of a file of cookies",
        "https://www.rfc-editor.org/rfc/rfc6265",
    ),
    "secret-value": Entry(
        "the value of a NAME that holds password, secret, token, credential or a kind of key: environment files, "
        "shells, JSON, YAML, XML, code, query strings",
        "",
        "the name stays; references (`$NAME`, `os.environ`), placeholders, paths, words and values "
        "under 8 characters stay",
    ),
    "pgpass": Entry(
        "the last field of a `.pgpass`: host:port:database:user:password",
        "https://www.postgresql.org/docs/current/libpq-pgpass.html",
        "with a port of PostgreSQL, or `*` for it",
    ),
    "kubernetes-secret": Entry(
        "the members of `data` and `stringData` in a manifest of the kind Secret, in YAML and JSON",
        "https://kubernetes.io/docs/concepts/configuration/secret/",
    ),
    "password-hash": Entry(
        "`$1$` `$5$` `$6$` `$7$` `$y$` `$apr1$` `$2y$` `$argon2id$` `$scrypt$`, `pbkdf2_sha256$`, `{SSHA}` and "
        "what follows",
        "https://man7.org/linux/man-pages/man5/crypt.5.html",
        "plain digests stay",
    ),
}  # fmt: skip
