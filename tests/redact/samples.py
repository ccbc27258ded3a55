"""Secrets of every known form, put together at run time so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
import itertools
import json


def letters(count: int, alphabet: str = "a1B2c3D4e5F6g7H8") -> str:
    """Return `count` characters that go through `alphabet` again and again."""
    return "".join(itertools.islice(itertools.cycle(alphabet), count))


HEX = "0a1b2c3d4e5f6789"
UPPER = "A1B2C3D4E5F6G7H8"


def part(value: dict) -> str:
    """Return a part of a JSON Web Token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


JWT = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': '42'})}.{letters(43)}"

# rule name, secret
FORMED = [
    *[("github-token", f"gh{kind}_" + letters(36)) for kind in "pousr"],
    ("github-token", "ghp_" + "a" * 36),
    ("github-pat", "github_" + "pat_" + letters(22) + "_" + letters(59)),
    ("gitlab-token", "glp" + "at-" + letters(20)),
    ("gitlab-token", "gld" + "t-" + letters(20)),
    ("aws-access-key", "AKI" + "A" + letters(16, UPPER)),
    ("aws-access-key", "ASI" + "A" + letters(16, UPPER)),
    ("google-api-key", "AI" + "za" + letters(35)),
    ("google-oauth", "ya2" + "9." + letters(60)),
    ("google-oauth", "GOC" + "SPX-" + letters(28)),
    ("slack-token", "xox" + "b-123456789012-1234567890123-" + letters(24)),
    ("slack-token", "xox" + "p-" + letters(30)),
    ("slack-token", "xa" + "pp-1-A0123-" + letters(30)),
    ("slack-token", "xox" + "e.xoxp-1-" + letters(40)),
    ("stripe-key", "sk_" + "live_" + letters(24)),
    ("stripe-key", "rk_" + "live_" + letters(24)),
    ("stripe-key", "sk_" + "test_" + letters(99)),
    ("webhook-secret", "whs" + "ec_" + letters(32)),
    ("anthropic-key", "sk-a" + "nt-api03-" + letters(93) + "AA"),
    ("anthropic-key", "sk-a" + "nt-admin01-" + letters(93)),
    ("anthropic-key", "sk-a" + "nt-oat01-" + letters(90)),
    ("openrouter-key", "sk-o" + "r-v1-" + letters(64, HEX)),
    ("openai-key", "sk-p" + "roj-" + letters(74) + "T3Blb" + "kFJ" + letters(74)),
    ("openai-key", "sk-" + letters(20) + "T3Blb" + "kFJ" + letters(20)),
    ("api-key", "sk-" + letters(32, HEX)),
    ("groq-key", "gs" + "k_" + letters(52)),
    ("xai-key", "xa" + "i-" + letters(80)),
    ("huggingface-token", "h" + "f_" + letters(34)),
    ("perplexity-key", "ppl" + "x-" + letters(48)),
    ("replicate-token", "r" + "8_" + letters(37)),
    ("npm-token", "np" + "m_" + letters(36)),
    ("pypi-token", "pyp" + "i-AgEIcHlwaS5vcmc" + letters(80)),
    ("docker-token", "dckr_" + "pat_" + letters(27)),
    ("rubygems-key", "rubygems" + "_" + letters(48, HEX)),
    ("crates-token", "ci" + "o" + letters(32)),
    ("sendgrid-key", "S" + "G." + letters(22) + "." + letters(43)),
    ("digitalocean-token", "dop" + "_v1_" + letters(64, HEX)),
    ("databricks-token", "dap" + "i" + letters(32, HEX)),
    ("vault-token", "hv" + "s." + letters(95)),
    ("terraform-token", letters(14) + ".atlas" + "v1." + letters(67)),
    ("1password-token", "ops" + "_eyJ" + letters(300)),
    ("age-key", "AGE-SECRET" + "-KEY-1" + letters(58, UPPER)),
    ("supabase-token", "sb" + "p_" + letters(40, HEX)),
    ("telegram-token", "123456789" + ":AA" + letters(33)),
    ("azure-secret", "abc8" + "Q~" + letters(34)),
    ("pulumi-token", "pul" + "-" + letters(40, HEX)),
    ("doppler-token", "dp" + ".pt." + letters(43)),
    ("planetscale-token", "pscale" + "_tkn_" + letters(43)),
    ("linear-key", "lin" + "_api_" + letters(40)),
    ("postman-key", "PMA" + "K-" + letters(24, HEX) + "-" + letters(34, HEX)),
    ("grafana-token", "gls" + "a_" + letters(32) + "_" + letters(8, HEX)),
    ("sentry-token", "sntry" + "u_" + letters(64, HEX)),
    ("shopify-token", "shp" + "at_" + letters(32, HEX)),
    ("figma-token", "fig" + "d_" + letters(43)),
    ("notion-token", "nt" + "n_" + letters(46)),
    ("tailscale-key", "tsk" + "ey-auth-" + letters(12) + "-" + letters(32)),
    ("atlassian-token", "ATAT" + "T3" + letters(180)),
    ("newrelic-key", "NRA" + "K-" + letters(27, UPPER)),
    ("jwt", JWT),
]

# rule name, text in front, secret, text behind: what is in front and behind has to stay
TOLD = [
    ("slack-webhook", "https://hooks.slack" + ".com/services/", "T0123ABCD/B0123ABCD/" + letters(24), " ok"),
    ("discord-webhook", "https://discord.com/api/" + "webhooks/", "123456789012345678/" + letters(68), ""),
    ("twilio-key", "twilio sid: ", "S" + "K" + letters(32, HEX), ""),
    ("url-password", "postgres://u:", "pw", "@h/d"),
    ("url-password", "redis://:", "p4ss", "@cache:6379/0"),
    ("url-password", "https://x-access-token:", "hunter22", "@github.com/a/b.git"),
    ("url-password", "https://", letters(30), "@github.com/a/b.git"),
    ("url-password", "amqp://bob:", "p@ss:w0rd!", "@mq:5672/%2f"),
    ("secret-value", "export FOO_TOKEN=", letters(20), "\necho done"),
    ("secret-value", "FOO_PASSWORD=", "correcthorse", "\nPORT=8080"),
    ("secret-value", "FOO_PASSWORD=", "p@ss;w0rd&1!", "\nPORT=8080"),
    ("secret-value", "$env:API_KEY = '", letters(20), "'"),
    ("secret-value", "set DB_PASSWORD=", letters(12), "\r\n"),
    ("secret-value", "docker run -e STRIPE_KEY=", letters(24), " image:1"),
    ("secret-value", '{"user": "bob", "password": "', "hunter22x", '", "port": 5432}'),
    ("secret-value", '{"password": "', 'quo\\"ted22', '", "port": 5432}'),
    ("secret-value", '{\\"password\\": \\"', "hunter22x", '\\", \\"port\\": 5432}'),
    ("secret-value", "db:\n  password: ", "hunter22x", "\n  port: 5432"),
    ("secret-value", "    12\tapi_token: '", letters(16), "'"),
    ("secret-value", "const apiKey = `", letters(20), "`;"),
    ("secret-value", "token: str = '", letters(20), "'"),
    ("secret-value", "os.environ.setdefault('APP_SECRET', '", letters(20), "')"),
    ("secret-value", "settings['secret_key'] = \"", letters(20) + "$#", '"'),
    ("secret-value", "private-token: ", letters(20), "\nAccept: */*"),
    ("secret-value", "X-Api-Key: ", letters(20), "\nAccept: */*"),
    ("secret-value", "//registry.npmjs.org/:_authToken=", letters(36), "\n"),
    ("secret-value", "aws_secret_access_key = ", letters(40), "\nregion = eu"),
    ("secret-value", "DefaultEndpointsProtocol=https;AccountKey=", letters(86) + "==", ";EndpointSuffix=x"),
    ("secret-value", "Server=db;Password=", "p@ssw,0rd1", ";User=sa"),
    ("secret-value", "https://x.org/?page=2&access_token=", letters(20), "&user=bob"),
    ("secret-value", "<password>", "abc123def", "</password>"),
    ("secret-value", '<add key="ApiKey" value="', letters(20), '"/>'),
    ("secret-value", 'TOKEN="', letters(16) + "\n  " + letters(16), '"\nPORT=1'),
    ("authorization", "Authorization: Bearer ", letters(30), "\nAccept: */*"),
    ("authorization", "Authorization: Basic ", "dXNlcjpwYXNz" + "d29yZA==", ""),
    ("authorization", "curl -H 'Authorization: token ", letters(30), "' https://x"),
    ("authorization", "headers = {'Authorization': 'Bearer ", letters(30), "'}"),
    ("curl-user", "curl -s -u bob:", "hunter2", " https://x.org"),
    ("curl-user", "curl --user 'bob:", "hunter2", "' https://x.org"),
    ("netrc", "machine x.org login bob password ", "hunter2", "\nmachine y"),
    ("netrc", "machine x.org\n  login bob\n  password ", "hunter2", "\n"),
    ("login-password", "docker login -u bob -p ", "hunter2", " registry.org"),
    ("login-password", "sshpass -p ", "hunter2", " ssh bob@h"),
    ("login-password", "mysql -u root -p", "hunter2", " db"),
    ("option", "tool --password ", "hunter22", " --verbose"),
    ("option", "tool --token=", "hunter22", " --verbose"),
    ("option", "tool --db-password '", "hunter22", "' x"),
    ("cookie", "Set-Cookie: session=", letters(24), "; Path=/; HttpOnly"),
    ("cookie", "Cookie: theme=dark; sessionid=", letters(24), "; lang=en"),
    ("cookie", 'curl -b "PHPSESSID=', letters(26), '" https://x'),
]  # fmt: skip

BODY = ["MIIEowIBAAKCAQEA" + letters(48), letters(64), letters(64), letters(30) + "=="]


def pem(kind: str = "RSA ", end: str = "") -> list[str]:
    """Return the lines of a private key."""
    return [
        f"-----BEGIN {kind}PRIVATE " + f"KEY{end}-----",
        *BODY,
        f"-----END {kind}PRIVATE KEY{end}-----",
    ]


HARMLESS = [
    "",
    "x",
    "d41d8cd98f00b204e9800998ecf8427e",
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "11111111-1111-4111-8111-111111111111",
    '"integrity": "sha512-' + letters(86, "aB3/c+D5") + '=="',
    "data:image/png;base64," + letters(400, "aB3/c+D5"),
    "/home/dev/proj/src/secret_service/token_store.py",
    "C:\\Users\\dev\\token\\file1.txt",
    "git@github.com:owner/repo.git",
    "https://github.com/owner/repo/pull/42",
    "http://localhost:8080/x@2x.png",
    "ssh://git@host:2222/a.git",
    "max_tokens: 40000, input_tokens=31000, total_tokens = 1234567890",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased1')",
    "token = response.json()['token1']",
    "password = os.environ['DB_PASSWORD_1']",
    "const key1 = process.env.API_KEY_1;",
    'api_key = "${API_KEY_1}"',
    "password: {{ vault_password_1 }}",
    "export FOO_TOKEN=<your-token-1>",
    "export FOO_TOKEN=$(pass show foo1)",
    "export FOO_TOKEN=xxxxxxxxxxxxxxxx1",
    "PASSWORD=changeme123",
    "PASSWORD=********",
    "def f(token: str, password: str | None = None) -> dict[str, int]:",
    "  privateKey: Uint8Array,",
    "if token1 == token2: pass",
    "    --- PASS: TestFormatSize/50_chars (0.00s)",
    "passed: 12, failed: 3, pass: 120",
    "author: Jane99 Doe99",
    "CACHE_KEY=user_profile_12",
    "PRIMARY_KEY=customer_id1",
    "token_url: https://auth.example.org/token1",
    "SECRET_NAME=my-app-secret-1",
    "SSH_AUTH_SOCK=/run/user/1000/ssh1",
    "PWD=/home/dev/project1",
    "Bearer authentication is used here",
    "the password is stored in the keychain; the token expires",
    "sk-loading-indicator-spinner sk-circle-fade",
    "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpb",
    "eyJ2ZXJzaW9uIjozfQ.eyJ2ZXJzaW9uIjozfQ.abcdefghijkl",
    "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "ghp_" + "x" * 36,
    'if line == "-----BEGIN RSA PRIVATE KEY-----":\n    start()\n'
    'elif line == "-----END RSA PRIVATE KEY-----":\n    stop()',
    "SKIP: sg.example.org is down, SG.a.b",
    "uses npm_config_registry and hf_hub_download and gho_st",
    "docker run -p 8080:80 image",
    "chown -R 1000:1000 . && curl https://x.org:8443/a",
]
