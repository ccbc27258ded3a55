"""Secrets on command lines and in short assignments go, and what stands around them stays."""

from __future__ import annotations

import pytest

from keepthread import redact
from keepthread.redact.exposed import exposed
from tests.redact.samples import letters

KEY = letters(40)

# text in front, secret, text behind
GIVEN = [
    ("mysql -uroot -p", "Zx9qLm2P", " -e 'select 1'"),
    ("mysql --host x -p'", "Zx9qLm2P", "'"),
    ("mysql -u root --password=", "Zx9qLm2P", " db"),
    ("mariadb-dump -u root -p", "Zx9qLm2P", " db"),
    ("mongodump --host h -p ", "Zx9qLm2P", " --out d"),
    ("mongosh -u a -p ", "Zx9qLm2P", ""),
    ("redis-cli -h h -a ", "Zx9qLm2P", " ping"),
    ("psql --password ", "Zx9qLm2P", " db"),
    ("PGPASSWORD=", "s3cr3t", " psql -h db"),
    ("MYSQL_PWD=", "s3cr", " mysql"),
    ("sshpass -p ", "Zx9qLm2P", " ssh h"),
    ("sshpass -p '", "Zx9qLm2P", "' ssh h"),
    ("cqlsh h -u a -p ", "Zx9qLm2P", ""),
    ("sqlcmd -S h -U sa -P ", "Zx9qLm2P", " -i f"),
    ("ldapsearch -D cn=a -w ", "Zx9qLm2P", " -b x"),
    ("smbclient //h/s -U bob%", "Zx9qLm2P", " -c ls"),
    ("keytool -list -storepass ", "Zx9qLm2P", " -keystore k"),
    ("7z x -p", "Zx9qLm2P", " a.7z"),
    ("unzip -P ", "Zx9qLm2P", " a.zip"),
    ("aws configure set aws_secret_access_key ", KEY, " --profile x"),
    ("aws configure set profile.dev.aws_session_token ", KEY, ""),
    ("git config --global github.token ", KEY, ""),
    ("git config --file f x.password '", "Zx9qLm2P", "'"),
    ("npm config set //registry.example.org/:_authToken ", KEY, ""),
    ("npm config set _auth ", "dXNlcjpwYXNz", ""),
    ("yarn config set npmAuthToken ", KEY, ""),
    ("poetry config pypi-token.pypi ", KEY, ""),
    ("composer config github-oauth.token ", KEY, ""),
    ("composer config http-basic.repo.org bob ", "Zx9qLm2P", ""),
    ("heroku config:set MAIL_KEY1=", KEY, " -a app"),
    ("heroku config:set NODE_ENV=production STRIPE=", KEY, ""),
    ("netlify env:set API_TOKEN ", KEY, ""),
    ("vault kv put secret/x value=", letters(20), ""),
    ("vault kv put -mount=secret x user=bob pw=", "correct-horse", " ttl=30m"),
    ("vault write auth/x secret_id=", letters(20), ""),
    ("kubectl -n x create secret generic y --from-literal=a=", "hunter22", " --dry-run"),
    ("fly secrets set A=", "hunter22", ""),
    ("gh secret set NAME --body ", letters(20), ""),
    ("gh secret set NAME -b'", letters(20), "' --repo o/r"),
    ("az keyvault secret set --name n --value ", letters(20), ""),
    ("echo ", letters(20), " | docker login -u bob --password-stdin"),
    ("echo -n '", letters(20), "' | docker login --password-stdin"),
    ("printf '%s' ", letters(20), " | gh auth login --with-token"),
    ("echo ", "hunter2", " | sudo -S ls"),
    ("echo '", "bob:hunter2", "' | chpasswd"),
    ("docker login --password-stdin <<< ", letters(20), ""),
    ("openssl enc -aes-256-cbc -k ", "Zx9qLm2P", " -in x"),
    ("openssl rsa -passin pass:", "Zx9qLm2P", " -in k"),
    ("htpasswd -b f user ", "Zx9qLm2P", ""),
    ("htpasswd -nbB user ", "Zx9qLm2P", ""),
    ("https://s3.example.net/x?X-Amz-Signature=", "0a1b2c3d4e5f6789" * 4, "&X-Amz-Date=1"),
    ("https://x.blob.core.windows.net/c?sv=2022&sig=", letters(40) + "%3D", "&se=1"),
    ("DB_PASSWORD=", "hunter2", "\nPORT=1"),
    ("DB_PASSWORD=", "root", "\nPORT=1"),
    ("SECRET=", "ab1!", ""),
    ("password: ", "s3cr3t", "\nport: 1"),
    ("password: '", "s3cr", "'"),
    ('{"api_token": "', "a1b2c", '"}'),
    ("setx API_TOKEN ", letters(20), ""),
    ("set -gx API_TOKEN ", letters(20), "; run"),
    ("setenv DB_PASSWORD '", "Zx9qLm2P", "'"),
    ("chpasswd <<< '", "bob:hunter2", "'"),
    ("wrangler secret put X <<< ", letters(20), ""),
    ("restic -p <(echo ", "Zx9qLm2P", ") snapshots"),
    ("rsync --password-file=<(printf '", "Zx9qLm2P", "') a b"),
    ("aws ssm put-parameter --name n --value ", letters(20), " --type SecureString"),
    ("aws secretsmanager create-secret --name n --secret-string ", letters(20), ""),
    ("ConvertTo-SecureString -String \"", "Zx9qLm2P", '" -AsPlainText'),
    ("unrar x -p", "Zx9qLm2P", " a.rar"),
    ("twine upload -u __token__ -p ", letters(20), " dist"),
    ("oc login -u ada -p ", "Zx9qLm2P", ""),
    ("useradd -m -p ", "Zx9qLm2P", " ada"),
    ("ssh-keygen -t ed25519 -N '", "Zx9qLm2P", "' -f k"),
    ("security add-generic-password -a a -s s -w ", "Zx9qLm2P", ""),
    ("vault login ", letters(20), ""),
    ("cargo login ", letters(20), ""),
    ("openssl passwd -6 '", "Zx9qLm2P", "'"),
    ("lftp -u ada,", "Zx9qLm2P", " host"),
    ("mc alias set m http://h ACCESS ", letters(20), ""),
    ("net user ada ", "Zx9qLm2P", " /add"),
    ("xfreerdp /u:a /p:", "Zx9qLm2P", " /v:h"),
    ("influx -password ", "Zx9qLm2P", ""),
    ("jarsigner -storepass '", "Zx9qLm2P", "' x.jar"),
]  # fmt: skip
HARMLESS = [
    "mysql -u root -p mydb < dump.sql",
    "mysql -h h -P 3306 db",
    "redis-cli -h h ping",
    "mkdir -p src/new && mongod --port 27017",
    "git config user.name 'Bob' && git config user.email a@b.org",
    "git config credential.helper store",
    "git config --global core.editor vim",
    "npm config set registry https://registry.example.org/",
    "npm config get //registry.example.org/:_authToken",
    "aws configure set region eu-central-1",
    "aws configure set credential_source Environment",
    "heroku config:set NODE_ENV=production LOG_LEVEL=debug",
    "vault kv get secret/x",
    "vault kv put secret/x value=$VALUE",
    "vault kv put secret/x value=@file.json",
    "gh secret list",
    "gh secret set NAME --body \"$TOKEN\"",
    "echo $PASSWORD | docker login --password-stdin",
    "cat token.txt | docker login --password-stdin",
    "echo done | tee log",
    "echo 'starting' | logger",
    "openssl req -x509 -keyout key.pem -out cert.pem",
    "openssl enc -k $PASS -in x",
    "htpasswd -c /etc/x user",
    "unzip -o a.zip && zip -r out.zip src",
    "config: secret store in src/config/secrets.py",
    "see the config token docs page",
    "sign=1&sig=abc&signature=def",
    "if token1 == token2: pass",
    "MAX_TOKENS=4096",
    "token: str, secret: bool",
    "password: abcd",
    "token: int8",
    "tokens: 31k",
    "PASS: 3/4",
    "SECRET=xxxx",
    "PASSWORD=****",
]  # fmt: skip


@pytest.mark.parametrize("before, secret, after", GIVEN, ids=range(len(GIVEN)))
def test_a_secret_on_a_command_line_goes(before, secret, after):
    marked = redact.text(before + secret + after)

    assert secret not in marked.replace(before, "", 1)
    assert marked.startswith(before)
    assert marked.endswith(after)
    assert redact.text(marked) == marked


@pytest.mark.parametrize("text", HARMLESS)
def test_a_command_without_a_secret_stays(text):
    assert redact.text(text) == text


@pytest.mark.parametrize("before, secret, after", GIVEN, ids=range(len(GIVEN)))
def test_what_a_command_gives_away_is_known_where_it_stands_alone(before, secret, after):
    mixed = any(c.isdigit() for c in secret) and any(c.isalpha() for c in secret)
    if len(secret) >= 6 and mixed:
        assert secret in exposed([f"first\n{before}{secret}{after}\nlast"])


def test_random_letters_are_known_elsewhere_too_and_words_are_not():
    jumbled = "KRVitGoPZrpulRBPSggM"

    found = exposed([f"echo {jumbled} | docker login --password-stdin", "DB_PASSWORD=correcthorse"])

    assert found == [jumbled]


@pytest.mark.parametrize(
    "text",
    [
        f"kind: Secret\ndata:\n  conn: {KEY}\n",
        f"data:\n  conn: {KEY}\nkind: Secret\n",
        f"machine x.org\n  login bob\n  password {KEY}\n",
        f"db:\n  password: |\n    {KEY}\n  port: 1\n",
        f"secret key\nRW{letters(90)}{KEY}\n",
        f"db:5432:tides:ada:{KEY}\n",
        f"ada:{KEY}@db.example:5432/tides",
        f"impdp system/{KEY}@pdb1 directory=x",
        f"CONNECT scott/{KEY}@orcl",
        f"<password>\n {KEY}\n</password>",
        f'name="password"\r\n\r\n{KEY}\r\n--',
        f"x.org\tTRUE\t/\tTRUE\t0\tSID\t{KEY}\n",
    ],
)
def test_what_only_the_form_of_a_file_gives_away_is_known_where_it_stands_alone(text):
    assert any(value.endswith(KEY) for value in exposed(["first", text]))
