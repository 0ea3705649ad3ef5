import base64
import json
import string
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthorg_tui.core.redaction import RULES, RedactionTally, redact_text, redact_value
from tests.core.proportion import takes_time_in_proportion
from tests.soak import points
from tests.tables import rows

# Planted secrets are put together here, so that no scanner takes this file for a leak.
_LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zZ"
_LONG = (_LETTERS * 4)[:100]
_KEY_BODY = "\n".join(_LONG[i : i + 64] for i in range(0, 64, 16))


def _block(kind: str, body: str) -> str:
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----\n"


PLANTED: dict[str, tuple[str, str]] = {
    "aws access key": ("AK" + "IAQ7Z2M5X8N4B6V1C3", "AK" + "IAQ7Z2M5X8N4B6V1C3"),
    "aws secret": (f"aws_secret_access_key = {_LONG[:40]}", _LONG[:40]),
    "aws configure": (f"aws configure set aws_secret_access_key {_LONG[:40]}", _LONG[:40]),
    "netrc": ("machine x.example login ada password lovelace1843", "lovelace1843"),
    "mysql flag": ("mysql -u root -plovelace1843 tides", "lovelace1843"),
    "aws pair": ("AK" + f"IAQ7Z2M5X8N4B6V1C3,{_LONG[:40]}", _LONG[:40]),
    "google api key": ("AI" + "za" + _LONG[:35], "AI" + "za" + _LONG[:35]),
    "google service account": (
        json.dumps({"private_key": _block("", _KEY_BODY)}),
        _KEY_BODY.split("\n")[1],
    ),
    "azure connection": (f"DefaultEndpointsProtocol=https;AccountKey={_LONG[:86]}==", _LONG[:86]),
    "azure sas": (f"https://x.blob.example/c?sv=2024&sig={_LONG[:43]}%3D", _LONG[:43]),
    "github": ("gh" + "p_" + _LONG[:36], "p_" + _LONG[:36]),
    "github fine-grained": ("github" + "_pat_" + _LONG[:60], "_pat_" + _LONG[:60]),
    "gitlab": ("glp" + "at-" + _LONG[:20], "at-" + _LONG[:20]),
    "slack": ("xox" + "b-123456789012-" + _LONG[:24], _LONG[:24]),
    "slack webhook": ("https://hooks.slack.com/services/T00/B00/" + _LONG[:24], _LONG[:24]),
    "npm": ("np" + "m_" + _LONG[:36], "m_" + _LONG[:36]),
    "npmrc": (f"//registry.example/:_authToken={_LONG[:30]}", _LONG[:30]),
    "pypi": ("pyp" + "i-" + _LONG[:80], "i-" + _LONG[:80]),
    "stripe": ("sk_" + "live_" + _LONG[:24], "live_" + _LONG[:24]),
    "openai": ("sk" + "-proj-" + _LONG[:48], "-proj-" + _LONG[:48]),
    "anthropic": ("sk" + "-ant-api03-" + _LONG[:90], "-ant-api03-" + _LONG[:90]),
    "hugging face": ("h" + "f_" + _LONG[:34], "f_" + _LONG[:34]),
    "jwt": ("ey" + f"J{_LONG[:30]}.{_LONG[:60]}.{_LONG[:43]}", _LONG[:60]),
    "bearer": (f"Authorization: Bearer {_LONG[:32]}", _LONG[:32]),
    "basic": (
        "Authorization: Basic " + base64.b64encode(b"ada:lovelace1").decode(),
        "YWRhOmxvdmVsYWNlMQ==",
    ),
    "curl user": ("curl -u ada:lovelace1843 https://x.example/", "lovelace1843"),
    "url password": ("postgres://ada:lovelace1843@db.example:5432/tides", "lovelace1843"),
    "url password with slash": ("redis://:love/lace1843@cache.example:6379/0", "love/lace1843"),
    "url token": (f"https://{_LONG[:40]}@git.example/x", _LONG[:40]),
    "connection string": ("Server=db;User Id=ada;Password=lovelace;Encrypt=yes", "lovelace"),
    "connection words": ("password=lovelace host=db.example dbname=tides", "lovelace"),
    "env line": ("DATABASE_PASSWORD=lovelace1843", "lovelace1843"),
    "env export": (f"export X_TOKEN='{_LONG[:20]}'", _LONG[:20]),
    "env word": ("APP_SECRET=correcthorsebattery", "correcthorsebattery"),
    "json member": (f'{{"api_key": "{_LONG[:20]}"}}', _LONG[:20]),
    "escaped json": (f'{{\\"clientSecret\\": \\"{_LONG[:20]}\\"}}', _LONG[:20]),
    "yaml": (f"  auth_token: {_LONG[:24]}", _LONG[:24]),
    "yaml password": ("password: hunter22", "hunter22"),
    "flag": (f"deploy --api-key {_LONG[:24]} --now", _LONG[:24]),
    "pem": (
        f"-----BEGIN RSA PRIVATE KEY-----\n{_KEY_BODY}\n-----END RSA PRIVATE KEY-----",
        _KEY_BODY.split("\n")[2],
    ),
    "pem escaped": (
        f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{_KEY_BODY}\\n-----END OPENSSH PRIVATE KEY-----",
        _KEY_BODY.split("\n")[2],
    ),
    "pem without end": (f"-----BEGIN EC PRIVATE KEY-----\n{_KEY_BODY}", _KEY_BODY.split("\n")[2]),
    "pem tail": (f"{_KEY_BODY}\n-----END RSA PRIVATE KEY-----", _KEY_BODY.split("\n")[2]),
    "pem numbered": (
        _block("RSA ", f"     2→{_LONG[:64]}"),
        _LONG[:64],
    ),
}

ORDINARY = [
    "4f51a93c0d370d1205e88be6e9b5f7a86d2c0e1d",  # a git commit
    "commit 4f51a93c0d370d1205e88be6e9b5f7a86d2c0e1d (HEAD -> main)",
    "d41d8cd98f00b204e9800998ecf8427e  notes.txt",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    '{"uuid": "258c7280-ae70-4798-800f-63464d01a85d", "parentUuid": null}',
    '{"usage": {"input_tokens": 3, "cache_read_input_tokens": 142119}}',
    "tokens = tokens[0]; key = sorted(rows, key=lambda row: row[1])",
    "def token(self) -> str: return self._token",
    'primary_key: "id", foreign_key: "session_id"',
    "secret = base64.b64encode(data)",
    "password: str | None = None",
    "git push --set-upstream origin main",
    "https://example.org:8080/path?key=value#part",
    "mailto: ada@example.org, see https://github.com/org/repo@v2",
    "the bearer of this message is authorised; bearer authentication works",
    "PASSWORD=$DB_PASSWORD make run",
    "MONKEY=banana1 SSH_KEY_PATH=/home/ada/.ssh/id_rsa PUBLIC_KEY=abcdef123456",
    "mysql -p tides",
    "API_KEY=<your key here>",
    "toolu_01CLY7LZY81zMjsfM27ZmeTa",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "next_page_token: CAEQAA12345678",
    "cache-key: node-modules-linux-x64-20",
    "/usr/lib/python3.11/site-packages/tokenizers/__init__.py",
    "sk-learn and hf_hub are names",
    "sort -k1,1 --key=2 file",
]


def redacted(text: str) -> str:
    return redact_text(text, RedactionTally())


@rows("name", PLANTED)
def test_a_secret_of_each_kind_vanishes_and_is_counted(name: str) -> None:
    text, secret = PLANTED[name]
    tally = RedactionTally()
    clean = redact_text(text, tally)
    assert secret not in clean
    assert "[REDACTED:" in clean
    assert tally.total >= 1


_CONTEXT = st.text(
    alphabet=string.ascii_letters + string.digits + " .,:;/-_\n\t\"'(){}[]éß→", max_size=80
)


@given(name=st.sampled_from(sorted(PLANTED)), before=_CONTEXT, after=_CONTEXT)
@settings(max_examples=points(120, 400))
def test_a_secret_vanishes_wherever_it_stands(name: str, before: str, after: str) -> None:
    text, secret = PLANTED[name]
    assert secret not in redacted(f"{before}\n{text}\n{after}")


_ONE_LINE = [name for name, (text, _) in PLANTED.items() if "\n" not in text]


@rows("before", ["\\n", "\\\\n", "\\t", "\x1b[32m", "\x1b[1;31m", " ", '"', "("])
@rows("name", _ONE_LINE)
def test_an_escape_before_a_secret_does_not_hide_it(name: str, before: str) -> None:
    text, secret = PLANTED[name]
    assert secret not in redacted(f"x{before}{text}")


@rows("name", PLANTED)
def test_a_secret_in_json_inside_json_vanishes(name: str) -> None:
    text, secret = PLANTED[name]
    inner = json.dumps({"cmd": f"cat > .env <<EOF\n{text}\nEOF"})
    for nested in (inner, json.dumps({"arguments": inner})):
        assert secret not in redacted(nested)


@given(name=st.sampled_from(sorted(PLANTED)), before=_CONTEXT, after=_CONTEXT)
@settings(max_examples=points(100, 300))
def test_redacting_twice_changes_nothing(name: str, before: str, after: str) -> None:
    once = redacted(f"{before} {PLANTED[name][0]} {after}")
    assert redacted(once) == once


@rows("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redacted(text) == text


@given(
    st.one_of(
        st.binary(min_size=20, max_size=20).map(bytes.hex),
        st.binary(min_size=32, max_size=32).map(bytes.hex),
        st.uuids().map(str),
        st.lists(
            st.text(string.ascii_lowercase + string.digits + "_-", min_size=1, max_size=12),
            min_size=1,
            max_size=6,
        ).map(lambda parts: "/" + "/".join(parts)),
    )
)
def test_hashes_ids_and_paths_survive(text: str) -> None:
    for line in (text, f"see {text} for more", f'{{"id": "{text}", "cwd": "{text}"}}'):
        assert redacted(line) == line


@given(st.text(max_size=300))
def test_any_text_is_redacted_once_and_for_all(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


def test_a_secret_is_found_in_strings_and_keys_of_a_record() -> None:
    token = PLANTED["github"][0]
    record = {"a": [{"text": f"see {token}"}], token: 1, "n": 3, "ok": True, "none": None}
    tally = RedactionTally()
    clean = redact_value(record, tally, raw=json.dumps(record))
    assert token not in json.dumps(clean)
    assert tally.total == 2


def test_a_member_named_like_a_secret_loses_its_value() -> None:
    clean = redact_value({"apiKey": _LONG[:20], "password": "hunter22"}, RedactionTally())
    assert clean == {"apiKey": "[REDACTED:secret]", "password": "[REDACTED:password]"}


def test_a_key_block_over_several_lines_of_a_list_vanishes() -> None:
    lines = ["+-----BEGIN PRIVATE KEY-----", f"+{_LONG[:64]}", "+-----END PRIVATE KEY-----", "+x"]
    clean = json.dumps(redact_value({"lines": lines}, RedactionTally()))
    assert _LONG[:64] not in clean
    assert "+x" in clean


def test_a_secret_written_with_json_escapes_vanishes() -> None:
    token = PLANTED["github"][0]
    raw = '{"text": "' + "".join(f"\\u{ord(char):04x}" for char in token) + '"}'
    clean = redact_value(json.loads(raw), RedactionTally(), raw=raw)
    assert token not in json.dumps(clean)


_SHORT = points(4_000, 30_000)
"""Characters of the hostile text that eight times as long a one is compared with."""


@pytest.mark.soak
@rows(
    "text",
    [
        "a" * 1_000_000,
        "://" * 300_000,
        "A" * 500_000 + "=",
        "token=" * 150_000,
        "-----BEGIN PRIVATE KEY-----" * 30_000,
        "eyJ" * 300_000,
        "Bearer " * 120_000,
        "curl -u " * 100_000,
        'password": "' * 80_000,
        (uuid.UUID(int=7).hex + " ") * 30_000,
        "AKIA" + "/" * 900_000,
        "host=x pwd=" * 80_000,
        "pwd=abc host" * 80_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_takes_time_in_proportion_to_its_length(text: str) -> None:
    assert takes_time_in_proportion(redacted, text[:_SHORT], text[: 8 * _SHORT])


_ANCHORS = sorted({anchor for rule in RULES for anchor in rule.anchors})


@given(
    texts=st.lists(
        st.sampled_from(sorted(PLANTED.values(), key=str)).map(str) | st.sampled_from(_ANCHORS),
        max_size=6,
    ),
    between=st.text(max_size=12),
)
def test_rules_chosen_for_a_whole_record_find_what_all_rules_find(
    texts: list[str], between: str
) -> None:
    record = {f"note{number}": f"{between} {text} {between}" for number, text in enumerate(texts)}
    raw = json.dumps(record, ensure_ascii=False)
    chosen, every = RedactionTally(), RedactionTally()
    assert redact_value(record, chosen, raw=raw) == redact_value(record, every)
    assert chosen.kinds == every.kinds
