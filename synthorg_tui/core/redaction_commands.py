"""Secrets that are known by what they are given to: a header, an address, a command."""

import re

from synthorg_tui.core.redaction_rules import (
    AFTER_ESCAPE,
    ARGUMENT,
    QUOTE,
    Rule,
    holds_cookie,
    is_password,
)

_DSN = r"(?i:host|server|data source|user id|uid|user|dbname|database)\s?="
"""A word of a connection string; next to it even a plain word is a password."""

_REST = r"[^\n|;&]"
"""What may stand between a command and its option."""


def _is_in_address(value: str) -> bool:
    """In addresses of documentation a word stands for a password."""
    return is_password(value) and value not in ("pass", "pw", "pwd", "tiger")


_HEADERS: tuple[Rule, ...] = (
    Rule(
        "bearer",
        "auth-header",
        ("earer", "EARER"),
        r"(?i:earer)[\"']?\s{1,4}[\"']?((?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/-]{16,}+=*+)",
        1,
        starts=("bear",),
    ),
    Rule(
        "basic",
        "auth-header",
        ("uthorization", "UTHORIZATION"),
        r"(?i:uthorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?basic) {1,4}([A-Za-z0-9+/]{6,}+=*+)",
        1,
        starts=("auth",),
    ),
    Rule(
        "authorization",
        "auth-header",
        ("uthorization", "UTHORIZATION"),
        r"(?i:uthorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?i:token|apikey|bearer) {1,4})?"
        r"((?=[^\s\d\"']{0,200}\d)[A-Za-z0-9._~+/-]{16,}+=*+)",
        1,
        starts=("auth",),
    ),
    Rule(
        "cookie-header",
        "cookie",
        ("ookie", "OOKIE"),
        rf"(?i:ookie){QUOTE}?[ \t]{{0,4}}[:=][ \t]{{0,4}}{QUOTE}?"
        r"((?=[A-Za-z0-9_.-]{1,80}=)[^\r\n\"'`\\<>{}$]{8,4096}+)",
        1,
        accept=holds_cookie,
        starts=("cook",),
    ),
    Rule(
        "cookie-option",
        "cookie",
        ("--cookie",),
        rf"--cookie[ =]{ARGUMENT}",
        "value",
        accept=holds_cookie,
        starts=("cook",),
    ),
    Rule(
        "curl-cookie",
        "cookie",
        ("curl",),
        rf"curl\b{_REST}{{0,200}}?\s-b[ =]?{ARGUMENT}",
        "value",
        accept=holds_cookie,
        starts=("curl",),
    ),
    Rule(
        "url-token",
        "url-password",
        ("://",),
        r"(?<=[a-zA-Z0-9])://([A-Za-z0-9_-]{24,}+)(?::x-oauth-basic|:)?@",
        1,
    ),
    Rule(
        "url-password",
        "url-password",
        ("://",),
        r"(?<=[a-zA-Z0-9])://[^\s:/@\"'<>\[\]]{0,128}:"
        r"((?!\[REDACTED:|\d{2,5}/)(?!\$|\*{3}|<|\{)[^\s@/\"'<>]{1,256}(?:/[^\s@/\"'<>]{0,128})?)@",
        1,
        accept=_is_in_address,
    ),
    Rule(
        "otp-secret",
        "otp-secret",
        ("otpauth://",),
        r"otpauth://[^\s\"'<>]{1,200}?[?&]secret=([A-Za-z2-7]{16,}+=*+)",
        1,
        starts=("otpa",),
    ),
)

_PGPASS = (
    r"(?:(?<=[A-Za-z0-9*]):\d{4,5}|(?:(?<=localhost)|(?<=[\s\"'n]\*)|(?<=^\*)):\*)"
    r":[A-Za-z0-9*_.-]{1,63}:[A-Za-z0-9*_.-]{1,63}:([^\s:\"'`\\]{4,128})(?=\s|$|\\n|[\"'`])"
)


def _option(name: str, anchors: tuple[str, ...], command: str, option: str) -> Rule:
    """Return the rule of a command that takes a password with an option."""
    pattern = rf"(?:(?<![\w-])|{AFTER_ESCAPE}){command}{_REST}{{0,200}}?\s{option}{ARGUMENT}"
    starts = tuple(re.split(r"\W", anchor)[0] for anchor in anchors)
    return Rule(name, "password", anchors, pattern, "value", accept=is_password, starts=starts)


_COMMANDS: tuple[Rule, ...] = (
    Rule(
        "dsn-password",
        "password",
        ("assword=", "PASSWORD=", "wd=", "PWD="),
        _DSN + r"[^\n]{0,80}?[;\s](?i:password|pwd)=([^\s;\"',()&\[$]{3,128})(?=[;\s\"']|$)",
        1,
        floats=True,
        starts=("pass*", "pwd"),
    ),
    Rule(
        "password-dsn",
        "password",
        ("assword=", "ASSWORD=", "wd=", "WD="),
        r"(?i:password|assword|pwd|wd)=([^\s;\"',()&\[$]{3,128})(?=[;\s][^\n]{0,80}?" + _DSN + ")",
        1,
        starts=("pass*", "pwd"),
    ),
    Rule(
        "netrc",
        "password",
        ("login ",),
        r"\blogin\s{1,4}\S{1,80}\s{1,4}password\s{1,4}([^\s\[]\S{2,127})",
        1,
        starts=("logi",),
    ),
    Rule("pgpass", "password", (":543", ":643", ":*:"), _PGPASS, 1, accept=is_password),
    Rule(
        "mysql-option",
        "password",
        ("mysql", "mariadb"),
        rf"(?:mysql|mariadb)\w{{0,10}}\b{_REST}{{0,80}}?\s-p(?=\S){ARGUMENT}",
        "value",
        accept=is_password,
        starts=("mysq", "mari"),
    ),
    Rule(
        "curl-user",
        "password",
        ("curl",),
        rf"curl\b{_REST}{{0,200}}?\s(?:-u|--user)[ =]?[\"']?"
        r"[^\s:\"'$]{1,64}:([^\s\"'\[$]{3,200})",
        1,
        starts=("curl",),
    ),
    _option(
        "registry-login",
        ("docker", "podman", "helm", "nerdctl", "buildah", "skopeo", "oras"),
        r"(?:docker|podman|helm registry|nerdctl|buildah|skopeo|oras) login\b",
        r"-p[ =]?",
    ),
    _option("htpasswd", ("htpasswd",), r"htpasswd -\w*b\w*(?: \S+){2}", ""),
    _option(
        "secure-string", ("ConvertTo-SecureString",), r"ConvertTo-SecureString\b", r"(?:-String )?"
    ),
    _option("gh-secret", ("gh secret",), r"gh secret set\b", r"(?:--body|-b)[ =]?"),
    _option("ssh-keygen", ("ssh-keygen",), r"ssh-keygen\b", r"-[NP] ?"),
    _option("zip-option", ("zip ", "unzip "), r"(?:un)?zip\b", r"-P ?"),
    _option("7z-option", ("7z",), r"7z[a-z]? [axetlu]\b", r"-p"),
    _option("smb-option", ("smbclient", "rpcclient"), r"(?:smb|rpc)client\b", r"-U ?[^\s%]+%"),
    _option("net-user", ("net user",), r"net user \S+(?= )", ""),
    _option("vault-login", ("vault login",), r"vault login(?= )", ""),
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
        starts=("echo", "prin"),
    ),
    Rule(
        "sudo-here-string",
        "password",
        ("sudo ",),
        rf"sudo\b{_REST}{{0,60}}?\s-\w{{0,4}}S\b[^\n]{{0,80}}?<<<\s{{0,2}}{ARGUMENT}",
        "value",
        accept=is_password,
        starts=("sudo",),
    ),
    Rule(
        "sql-identified",
        "password",
        ("DENTIFIED", "dentified"),
        rf"(?i:dentified(?: with [\w\"'`]{{1,40}})? (?:by|as)(?: password)?) "
        rf"(?=[\\\"']|\S*\d){ARGUMENT}",
        "value",
        accept=is_password,
        starts=("iden",),
    ),
    Rule(
        "seed-phrase",
        "seed-phrase",
        ("phrase", "Phrase", "nemonic", "seed"),
        r"(?:[Pp]hrase|nemonic|seed(?: words)?)[^A-Za-z0-9\n]{0,8}(?:is[ :]{1,2})?[\"'`*]{0,3}"
        r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![A-Za-z])",
        1,
        starts=("phra", "mnem", "seed"),
    ),
)

COMMANDS: tuple[Rule, ...] = (*_HEADERS, *_COMMANDS)
