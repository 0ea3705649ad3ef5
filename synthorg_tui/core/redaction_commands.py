"""Secrets that are known by what they are given to: a header, an address, a command, a sentence."""

from synthorg_tui.core.redaction_rules import (
    AFTER_ESCAPE,
    ARGUMENT,
    QUOTE,
    Rule,
    holds_cookie,
    is_password,
    is_placeholder,
)
from synthorg_tui.core.text import compiled

_DSN = r"(?i:host|server|data source|user id|uid|user|dbname|database)\s?="
"""A word of a connection string; next to it even a plain word is a password."""

_REST = r"[^\n|;&]"
"""What may stand between a command and its option."""

_SPOKEN_WORD = (
    r"(?i)(?:base|sha|md|utf|aes|rsa|ascii|latin|argon|pbkdf|iso|http|oauth|python|version|step|line"
    r"|field|option|part|arg|var)[-_]?\d.*|v\d[\d.]*|\d{1,5}"
    r"|\d+-?(?:bit|char|byte|word|digit|day|hour|min|sec|th|%|x|k|m)\w*|.*_\d|[a-z_]\w*(?:\.[a-z_]\w*)+"
)


def _is_spoken(value: str) -> bool:
    """In prose only what has more than letters is a password: "the password is wrong" has none."""
    if is_placeholder(value) or compiled(_SPOKEN_WORD).fullmatch(value):
        return False
    return value.isdigit() or compiled(r"[\d@#$%&!*?^~+=]").search(value, 1) is not None


_HEADERS: tuple[Rule, ...] = (
    Rule(
        "bearer",
        "auth-header",
        ("earer ", "EARER "),
        r"(?i:earer) {1,4}((?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/-]{16,}+=*+)",
        1,
    ),
    Rule(
        "basic",
        "auth-header",
        ("uthorization", "UTHORIZATION"),
        r"(?i:uthorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?basic) {1,4}([A-Za-z0-9+/]{6,}+=*+)",
        1,
    ),
    Rule(
        "authorization",
        "auth-header",
        ("uthorization", "UTHORIZATION"),
        r"(?i:uthorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?i:token|apikey|bearer) {1,4})?"
        r"((?=[^\s\d\"']{0,200}\d)[A-Za-z0-9._~+/-]{16,}+=*+)",
        1,
    ),
    Rule(
        "cookie-header",
        "cookie",
        ("ookie", "OOKIE"),
        rf"(?i:ookie){QUOTE}?[ \t]{{0,4}}[:=][ \t]{{0,4}}{QUOTE}?"
        r"((?=[A-Za-z0-9_.-]{1,80}=)[^\r\n\"'`\\<>{}$]{8,4096}+)",
        1,
        accept=holds_cookie,
    ),
    Rule(
        "cookie-option",
        "cookie",
        ("--cookie",),
        rf"--cookie[ =]{ARGUMENT}",
        "value",
        accept=holds_cookie,
    ),
    Rule(
        "curl-cookie",
        "cookie",
        ("curl",),
        rf"curl\b{_REST}{{0,200}}?\s-b[ =]?{ARGUMENT}",
        "value",
        accept=holds_cookie,
    ),
    Rule(
        "url-password",
        "url-password",
        ("://",),
        r"(?<=[a-zA-Z0-9])://[^\s:/@\"'<>\[\]]{0,128}:"
        r"((?!\[REDACTED:|\d{2,5}/)(?!\$|\*{3}|<|\{)[^\s@/\"'<>]{1,256}(?:/[^\s@/\"'<>]{0,128})?)@",
        1,
    ),
    Rule("url-token", "url-password", ("://",), r"(?<=[a-zA-Z0-9])://([A-Za-z0-9_-]{24,}+)@", 1),
)

_PASSWORD_IS = (
    r"(?i:ass(?:word|phrase|wd)(?: (?:for|of|on) [^\s,.;:]{1,40}(?: [\w-]{1,20}){0,2}?)?"
    r"(?: {1,2}(?:is|was|to|are|=)(?: (?:now|still|just|set to|currently))?:?|:|(?<=th password)"
    r"|(?<=use password)|(?<=ing password)) {1,2})"
)
_SPOKEN = r"[^\s\"'`<>(){}\[\],;$\\][^\s\"'`<>(){}\[\],;\\]{2,62}[^\s\"'`<>(){}\[\].,;:!?\\]"
_PGPASS = (
    r"(?:(?<=[A-Za-z0-9*]):\d{4,5}|(?:(?<=localhost)|(?<=[\s\"'n]\*)|(?<=^\*)):\*)"
    r":[A-Za-z0-9*_.-]{1,63}:[A-Za-z0-9*_.-]{1,63}:([^\s:\"'`\\]{4,128})(?=\s|$|\\n|[\"'`])"
)


def _option(name: str, anchors: tuple[str, ...], command: str, option: str) -> Rule:
    """Return the rule of a command that takes a password with an option."""
    pattern = rf"(?:(?<![\w-])|{AFTER_ESCAPE}){command}{_REST}{{0,200}}?\s{option}{ARGUMENT}"
    return Rule(name, "password", anchors, pattern, "value", accept=is_password)


_COMMANDS: tuple[Rule, ...] = (
    Rule(
        "dsn-password",
        "password",
        ("assword=", "PASSWORD=", "wd=", "PWD="),
        _DSN + r"[^\n]{0,80}?[;\s](?i:password|pwd)=([^\s;\"',()&\[$]{3,128})(?=[;\s\"']|$)",
        1,
        floats=True,
    ),
    Rule(
        "password-dsn",
        "password",
        ("assword=", "ASSWORD=", "wd=", "WD="),
        r"(?i:password|assword|pwd|wd)=([^\s;\"',()&\[$]{3,128})(?=[;\s][^\n]{0,80}?" + _DSN + ")",
        1,
    ),
    Rule(
        "netrc",
        "password",
        ("login ",),
        r"\blogin\s{1,4}\S{1,80}\s{1,4}password\s{1,4}([^\s\[]\S{2,127})",
        1,
    ),
    Rule("pgpass", "password", (":543", ":643", ":*:"), _PGPASS, 1, accept=is_password),
    Rule(
        "mysql-option",
        "password",
        ("mysql", "mariadb"),
        rf"(?:mysql|mariadb)\w{{0,10}}\b{_REST}{{0,80}}?\s-p(?=\S){ARGUMENT}",
        "value",
        accept=is_password,
    ),
    Rule(
        "curl-user",
        "password",
        ("curl",),
        rf"curl\b{_REST}{{0,200}}?\s(?:-u|--user)[ =]?[\"']?"
        r"[^\s:\"'$]{1,64}:([^\s\"'\[$]{3,200})",
        1,
    ),
    _option(
        "registry-login",
        ("docker", "podman", "helm", "nerdctl", "buildah", "skopeo", "oras"),
        r"(?:docker|podman|helm registry|nerdctl|buildah|skopeo|oras) login\b",
        r"-p[ =]?",
    ),
    _option("sshpass", ("sshpass",), r"sshpass\b", r"-p ?"),
    _option("redis-option", ("redis-cli",), r"redis-cli\b", "-a ?"),
    _option("az-login", ("az ",), r"az (?:login|acr|sql|postgres|mysql)\b", r"-p[ =]?"),
    _option("mongo-option", ("mongo",), r"mongo(?:sh|dump|restore|import|export)?\b", r"-p[ =]?"),
    _option("sqlcmd-option", ("sqlcmd", "bcp "), r"(?:sqlcmd|bcp)\b", r"-P ?"),
    _option("ldap-option", ("ldap",), r"ldap\w{3,8}\b", r"-w ?"),
    _option("openssl-option", ("openssl",), r"openssl\b", r"-pass(?:in|out)?[ =]pass:"),
    Rule(
        "piped-password",
        "password",
        ("echo ", "printf "),
        rf"(?:echo|printf)(?: -[neE]{{1,3}})? {{1,4}}{ARGUMENT}{QUOTE}?\s{{0,4}}\|\s{{0,4}}"
        rf"(?:sudo\b{_REST}{{0,60}}?\s(?:-\w{{0,4}}S|--stdin)\b|{_REST}{{1,120}}?--(?:password-)?stdin\b"
        rf"|(?:sudo )?chpasswd\b|su\b|kinit\b)",
        "value",
        accept=is_password,
    ),
    Rule(
        "sudo-here-string",
        "password",
        ("sudo ",),
        rf"sudo\b{_REST}{{0,60}}?\s-\w{{0,4}}S\b[^\n]{{0,80}}?<<<\s{{0,2}}{ARGUMENT}",
        "value",
        accept=is_password,
    ),
    Rule(
        "spoken-password",
        "password",
        ("assword", "assphrase", "ASSWORD"),
        rf"{_PASSWORD_IS}({_SPOKEN})",
        1,
        accept=_is_spoken,
    ),
    Rule(
        "spoken-quoted-password",
        "password",
        ("assword", "assphrase", "ASSWORD"),
        r"(?i:ass(?:word|phrase)(?: for [^\s,.;:]{1,40})?"
        r" (?:is|was)(?: now)?:?) {1,2}(?P<quote>\\*[\"'`])([^\s\"'`\\]{4,64})(?P=quote)",
        2,
        accept=is_password,
    ),
)

COMMANDS: tuple[Rule, ...] = (*_HEADERS, *_COMMANDS)
