"""Secrets that are known by their own shape: tokens of vendors, keys, hashes of passwords.

Shapes that are a prefix and random characters are data, ``secret_shapes.tsv``; others are here.
"""

import re
from pathlib import Path

from synthorg_tui.core.redaction_rules import AFTER_ESCAPE, EDGE, QUOTE, Rule, shape_pattern

_BASE64_EDGE = rf"(?:(?<![A-Za-z0-9+/])|{AFTER_ESCAPE})"
_DASHED_EDGE = rf"(?:(?<![A-Za-z0-9_-])|{AFTER_ESCAPE})"
_EDGES = {"word": EDGE, "dashed": _DASHED_EDGE, "base64": _BASE64_EDGE, "mixed": _DASHED_EDGE}
_END = r"(?![A-Za-z0-9])"
SHAPES = Path(__file__).with_name("secret_shapes.tsv")
"""A line a token: name, kind, where one may begin, shapes, a look-alike, where documented."""


def _is_base32_random(value: str) -> bool:
    return sum(char.isdigit() for char in value) >= 3 and len(set(value)) >= 12


def _has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value)


def _by_shape(line: str) -> Rule:
    """Return the rule of one line of the data file; all its shapes begin alike."""
    name, kind, begins, shapes, *_ = line.split("\t")
    leading = re.match(r"\{\w(\d+)\}", shapes)
    anchors = {re.sub(r"^\{\w+\}", "", shape).partition("{")[0]: None for shape in shapes.split()}
    return Rule(
        name,
        name if kind == "-" else kind,
        tuple(anchors),
        rf"{_EDGES[begins]}(?:{'|'.join(map(shape_pattern, shapes.split()))})",
        before=int(leading[1]) if leading else 0,
        accept=_has_digit if begins == "mixed" else None,
        starts=()
        if leading
        else tuple(re.findall(r"^[A-Za-z0-9]+\*?", f"{anchor}*")[0] for anchor in anchors),
    )


_SHAPED = tuple(
    _by_shape(line)
    for line in SHAPES.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)

_OTHERS: tuple[Rule, ...] = (
    Rule(
        "azure-key",
        "azure-key",
        ("AccountKey=", "SharedAccessKey=", "accountkey=", "sharedaccesskey="),
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/%]{20,}+=*+)",
        1,
        starts=("acco", "shar"),
    ),
    Rule(
        "azure-sas",
        "azure-sas",
        ("sig=",),
        r"(?<=[?&;])sig=([A-Za-z0-9%+/=_-]{20,}+)",
        1,
        starts=("sig",),
    ),
    Rule(
        "azure-secret",
        "azure-secret",
        ("8Q~",),
        rf"(?:(?<![\w~.-])|{AFTER_ESCAPE})[A-Za-z0-9_~.-]{{3}}8Q~[A-Za-z0-9_~.-]{{31,34}}",
        before=3,
    ),
    Rule(
        "slack-webhook",
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{10,}+)",
        1,
        starts=("hook",),
    ),
    Rule(
        "telegram-token", "telegram-token", (":AA",), r"(?<=\d{8}):(AA[A-Za-z0-9_-]{33})" + _END, 1
    ),
    Rule(
        "discord-token",
        "discord-token",
        (".",),
        r"\.(?=[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27})(?:"
        + "|".join(rf"(?<=(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9_-]{{{n}}}\.)" for n in range(23, 28))
        + "|"
        + "|".join(rf"(?<=\\[nrt][MNO][A-Za-z0-9_-]{{{n}}}\.)" for n in range(23, 28))
        + r")([A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}+)",
        1,
        floats=True,
    ),
    Rule(
        "discord-webhook",
        "discord-webhook",
        ("/api/webhooks/",),
        r"/api/webhooks/\d{15,21}/([A-Za-z0-9_-]{40,}+)",
        1,
        starts=("webh",),
    ),
    Rule(
        "ngrok-token",
        "ngrok-token",
        ("_",),
        r"2(?:(?<![A-Za-z0-9].)|(?<=\\[nrt].))[A-Za-z0-9]{26}_[A-Za-z0-9]{19,}+",
        floats=True,
    ),
    Rule(
        "facebook-token",
        "facebook-token",
        ("EAA",),
        rf"{_BASE64_EDGE}EAA[A-Za-z0-9]{{60,}}+(?![+/=])",
        starts=("eaa*",),
    ),
    Rule(
        "bcrypt",
        "password-hash",
        ("$2",),
        r"\$2[abxy]\\{0,2}\${1,2}\d\d\\{0,2}\${1,2}([./A-Za-z0-9]{53})",
        1,
        starts=("2a", "2b", "2y", "2x"),
    ),
    Rule(
        "jwt",
        "jwt",
        ("eyJ",),
        rf"{EDGE}eyJ[A-Za-z0-9_-]{{8,4000}}+\.[A-Za-z0-9_-]{{8,}}+(?:\.[A-Za-z0-9_-]*+){{1,3}}",
        starts=("eyj*",),
    ),
)

LABELLED: tuple[Rule, ...] = (
    Rule(
        "aws-pair",
        "aws-secret-key",
        ("AKIA", "ASIA"),
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[\s,:;\"'=|]{1,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        1,
        starts=("akia", "asia"),
    ),
    Rule(
        "aws-secret-key",
        "aws-secret-key",
        ("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"),
        r"(?i:ecret_?access_?key)[\s\"'=:,]{1,6}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        1,
        starts=("secr", "awss"),
    ),
    Rule(
        "access-token-variable",
        "secret",
        ("_PAT",),
        rf"_PAT{QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}?([A-Za-z0-9_-]{{20,}}+)",
        1,
        accept=_has_digit,
        starts=("pat",),
    ),
    Rule(
        "npmrc-token",
        "npm-token",
        ("_authToken",),
        r"_authToken\s{0,4}=\s{0,4}[\"']?([^\s\"'\[$]{8,}+)",
        1,
        starts=("auth",),
    ),
    Rule(
        "cargo-login",
        "crates-token",
        ("cargo login",),
        rf"cargo login(?: --registry[ =]\S{{1,80}}| --)?[ \t]{{1,4}}{QUOTE}?([A-Za-z0-9]{{20,}}+)",
        1,
        starts=("carg",),
    ),
    Rule(
        "putty-key",
        "private-key",
        ("Private-Lines:",),
        r"Private-Lines: ?\d{1,4}("
        r"(?:[^P]|P(?!rivate-MAC)){20,12000}+(?=Private-MAC)"
        r"|(?:[\s|>+-]*+(?:\\+[nr]|\d{1,6}→)*+[ \t+]*+[A-Za-z0-9+/]{20,64}={0,2}){1,200}+)",
        1,
        starts=("priv",),
    ),
    Rule(
        "kube-key",
        "private-key",
        ("client-key-data",),
        rf"client-key-data{QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}?([A-Za-z0-9+/]{{16,20000}}+={{0,2}})",
        1,
        starts=("clie",),
    ),
    Rule(
        "azure-devops-base32",
        "azure-devops-token",
        ("evops", "evOps", "EVOPS", "zure", "ZURE", "PAT"),
        r"[a-z2-7](?:(?<![A-Za-z0-9].)|(?<=\\[nrt].))[a-z2-7]{51}(?![A-Za-z0-9])",
        accept=_is_base32_random,
        floats=True,
        starts=("azur", "devo", "pat"),
    ),
)
"""Keys behind a word that says what they are, with white space or a quote between."""

TOKENS: tuple[Rule, ...] = (*_SHAPED, *_OTHERS)
"""Tokens that are known by themselves, one word each."""
