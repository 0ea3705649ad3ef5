"""Secrets that are known by their own shape: tokens of vendors, keys, hashes of passwords.

One rule a shape, in the order in which they are looked for.
"""

from synthorg_tui.core.redaction_rules import AFTER_ESCAPE, EDGE, QUOTE, Rule

_DASHED_EDGE = rf"(?:(?<![A-Za-z0-9_-])|{AFTER_ESCAPE})"
_BASE64_EDGE = rf"(?:(?<![A-Za-z0-9+/])|{AFTER_ESCAPE})"
_END = r"(?![A-Za-z0-9])"


def _is_base32_random(value: str) -> bool:
    return sum(char.isdigit() for char in value) >= 3 and len(set(value)) >= 12


def _has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value)


def _token(
    kind: str, prefixes: tuple[str, ...], body: str, *, name: str = "", edge: str = EDGE
) -> Rule:
    """Return the rule of a vendor's token: one of the prefixes, and what follows it."""
    starts = "|".join(prefix.replace(".", r"\.") for prefix in prefixes)
    return Rule(name or kind, kind, prefixes, rf"{edge}(?:{starts}){body}")


_SIXTEEN = r"[A-Za-z0-9_.-]{16,}+"

_CLOUDS: tuple[Rule, ...] = (
    _token("aws-access-key", ("AKIA", "ASIA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("bedrock-key", ("ABSK",), r"[A-Za-z0-9+/]{80,}+={0,2}", edge=_BASE64_EDGE),
    _token("google-api-key", ("AIza",), r"[A-Za-z0-9_-]{35}"),
    _token("google-oauth", ("GOCSPX-", "ya29."), r"[A-Za-z0-9_-]{20,}+"),
    Rule(
        "azure-key",
        "azure-key",
        ("AccountKey=", "SharedAccessKey=", "accountkey=", "sharedaccesskey="),
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/%]{20,}+=*+)",
        1,
    ),
    Rule("azure-sas", "azure-sas", ("sig=",), r"(?<=[?&;])sig=([A-Za-z0-9%+/=_-]{20,}+)", 1),
    Rule(
        "azure-secret",
        "azure-secret",
        ("8Q~",),
        rf"(?:(?<![\w~.-])|{AFTER_ESCAPE})[A-Za-z0-9_~.-]{{3}}8Q~[A-Za-z0-9_~.-]{{31,34}}",
        before=3,
    ),
    Rule(
        "azure-devops",
        "azure-devops-token",
        ("AZDO",),
        rf"{EDGE}[A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}(?![A-Za-z0-9])",
        before=76,
    ),
    _token("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{64}"),
    _token("fly-token", ("fm1r_", "fm1a_", "fm2_", "fo1_"), r"[A-Za-z0-9+/=_-]{40,}+"),
    _token("netlify-token", ("nfp_", "nfo_", "nfc_", "nfb_", "nfu_"), r"[A-Za-z0-9_-]{36,}+"),
    _token("databricks-token", ("dapi",), r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _token("supabase-key", ("sbp_", "sb_secret_"), r"(?:[a-f0-9]{40}|(?<=secret_)[\w-]{20,}+)"),
    _token(
        "planetscale-token",
        ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
        r"[A-Za-z0-9_.=-]{32,}+",
    ),
    _token("vault-token", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{24,}+"),
    Rule(
        "terraform-token",
        "terraform-token",
        (".atlasv1.",),
        rf"{EDGE}[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}+",
        before=14,
    ),
    _token("pulumi-token", ("pul-",), r"[a-f0-9]{40}" + _END, edge=_DASHED_EDGE),
    _token(
        "doppler-token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"(?:(?<=st\.)[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}" + _END,
    ),
)

_MODELS: tuple[Rule, ...] = (
    _token("anthropic-key", ("sk-ant-",), r"[A-Za-z0-9_-]{16,}+"),
    _token(
        "openai-key",
        ("sk-",),
        r"(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}+|[A-Za-z0-9]{32,}+)",
    ),
    _token("huggingface-token", ("hf_",), r"[A-Za-z0-9]{30,}+"),
    _token("groq-key", ("gsk_",), r"[A-Za-z0-9]{40,}+"),
    _token("xai-key", ("xai-",), r"[A-Za-z0-9]{60,}+"),
    _token("perplexity-key", ("pplx-",), r"[A-Za-z0-9]{40,}+"),
    _token("replicate-token", ("r8_",), r"[A-Za-z0-9]{36,}+"),
    _token("nvidia-key", ("nvapi-",), r"[A-Za-z0-9_-]{50,}+"),
)

_FORGES: tuple[Rule, ...] = (
    _token("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{20,}+"),
    _token("github-token", ("github_pat_",), r"[A-Za-z0-9_]{20,}+", name="github-fine-grained"),
    _token(
        "gitlab-token",
        (
            *("glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glft-", "glsoat-"),
            *("glagent-", "glimt-", "glffct-", "gloas-", "glwt-"),
        ),
        _SIXTEEN,
    ),
    _token("bitbucket-password", ("ATBB",), r"[A-Za-z0-9]{32}" + _END),
    _token("atlassian-token", ("ATATT3", "ATCTT3"), r"[A-Za-z0-9_=-]{60,}+"),
    _token("npm-token", ("npm_",), r"[A-Za-z0-9]{30,}+"),
    _token("pypi-token", ("pypi-",), r"[A-Za-z0-9_-]{40,}+"),
    _token("rubygems-key", ("rubygems_",), r"[a-f0-9]{48}"),
    _token("crates-token", ("cio",), r"[A-Za-z0-9]{32}" + _END),
    _token("docker-token", ("dckr_pat_", "dckr_oat_"), r"[A-Za-z0-9_-]{20,}+"),
    _token("sentry-token", ("sntrys_", "sntryu_"), r"[A-Za-z0-9_=+/-]{40,}+"),
    _token("grafana-token", ("glsa_",), r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _token("grafana-token", ("glc_", "eyJrIjoi"), r"[A-Za-z0-9+/]{40,}+={0,2}", name="grafana-key"),
    _token(
        "newrelic-key",
        ("NRAK-", "NRII-", "NRRA-", "NRIQ-"),
        r"[A-Za-z0-9_-]{20,}+",
        edge=_DASHED_EDGE,
    ),
    Rule(
        "newrelic-license",
        "newrelic-key",
        ("NRAL",),
        rf"{EDGE}[a-fux0-9]{{32}}[a-fF0-9]{{4}}NRAL(?![A-Za-z0-9])",
        before=36,
    ),
    _token("postman-key", ("PMAK-",), r"[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("linear-key", ("lin_api_", "lin_oauth_"), r"[A-Za-z0-9]{32,}+"),
    _token(
        "notion-token",
        ("ntn_", "secret_"),
        r"(?:(?<=ntn_)[A-Za-z0-9]{40,}+|[A-Za-z0-9]{43})" + _END,
    ),
    _token("figma-token", ("figd_", "figo_", "figu_", "figr_"), r"[A-Za-z0-9_-]{36,}+"),
    _token("airtable-token", ("pat",), r"[A-Za-z0-9]{14}\.[a-f0-9]{64}" + _END),
)

_CHAT: tuple[Rule, ...] = (
    _token("slack-token", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-"), r"[A-Za-z0-9.-]{10,}+"),
    _token("slack-token", ("xoxe-", "xoxe.", "xapp-"), r"[A-Za-z0-9.-]{10,}+", name="slack-app"),
    Rule(
        "slack-webhook",
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{10,}+)",
        1,
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
    ),
    _token("twilio-key", ("SK",), r"[a-f0-9]{32}" + _END),
    _token("sendgrid-key", ("SG.",), r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,}+"),
    _token("mailgun-key", ("key-",), r"[a-f0-9]{32}" + _END, edge=_DASHED_EDGE),
    Rule(
        "mailchimp-key",
        "mailchimp-key",
        ("-us",),
        rf"{EDGE}[a-f0-9]{{32}}-us\d{{1,2}}(?![A-Za-z0-9])",
        before=32,
    ),
)

_SHOPS: tuple[Rule, ...] = (
    _token("stripe-key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{16,}+"),
    _token("stripe-key", ("whsec_",), r"[A-Za-z0-9+/=]{24,}+", name="stripe-webhook"),
    _token("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[A-Fa-f0-9]{32}"),
    _token("square-token", ("sq0atp-", "sq0csp-"), r"[A-Za-z0-9_-]{22,}+"),
    _token(
        "square-token",
        ("EAAA",),
        r"[A-Za-z0-9_-]{60}" + _END,
        name="square-access",
        edge=_BASE64_EDGE,
    ),
    _token("facebook-token", ("EAA",), r"[A-Za-z0-9]{60,}+(?![+/=])", edge=_BASE64_EDGE),
)

_KEYS: tuple[Rule, ...] = (
    _token("age-key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{50,}+"),
    Rule(
        "bcrypt",
        "password-hash",
        ("$2",),
        r"\$2[abxy]\\{0,2}\${1,2}\d\d\\{0,2}\${1,2}([./A-Za-z0-9]{53})",
        1,
    ),
    _token("onepassword-token", ("ops_eyJ",), r"[A-Za-z0-9+/=_-]{100,}+"),
    _token(
        "onepassword-key",
        ("A3-",),
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}" + _END,
        edge=_DASHED_EDGE,
    ),
    _token(
        "jwt", ("eyJ",), r"[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,3}"
    ),
)

LABELLED: tuple[Rule, ...] = (
    Rule(
        "aws-pair",
        "aws-secret-key",
        ("AKIA", "ASIA"),
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[\s,:;\"'=|]{1,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        1,
    ),
    Rule(
        "aws-secret-key",
        "aws-secret-key",
        ("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"),
        r"(?i:ecret_?access_?key)[\s\"'=:,]{1,6}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        1,
    ),
    Rule(
        "access-token-variable",
        "secret",
        ("_PAT",),
        rf"_PAT{QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}?([A-Za-z0-9_-]{{20,}}+)",
        1,
        accept=_has_digit,
    ),
    Rule(
        "npmrc-token",
        "npm-token",
        ("_authToken",),
        r"_authToken\s{0,4}=\s{0,4}[\"']?([^\s\"'\[$]{8,}+)",
        1,
    ),
    Rule(
        "cargo-login",
        "crates-token",
        ("cargo login",),
        rf"cargo login(?: --registry[ =]\S{{1,80}}| --)?[ \t]{{1,4}}{QUOTE}?([A-Za-z0-9]{{20,}}+)",
        1,
    ),
    Rule(
        "putty-key",
        "private-key",
        ("Private-Lines:",),
        r"Private-Lines: ?\d{1,4}("
        r"(?:[^P]|P(?!rivate-MAC)){20,12000}+(?=Private-MAC)"
        r"|(?:[\s|>+-]*+(?:\\+[nr]|\d{1,6}→)*+[ \t+]*+[A-Za-z0-9+/]{20,64}={0,2}){1,200}+)",
        1,
    ),
    Rule(
        "kube-key",
        "private-key",
        ("client-key-data",),
        rf"client-key-data{QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}?([A-Za-z0-9+/]{{16,20000}}+={{0,2}})",
        1,
    ),
    Rule(
        "azure-devops-base32",
        "azure-devops-token",
        ("evops", "evOps", "EVOPS", "zure", "ZURE", "PAT"),
        r"[a-z2-7](?:(?<![A-Za-z0-9].)|(?<=\\[nrt].))[a-z2-7]{51}(?![A-Za-z0-9])",
        accept=_is_base32_random,
        floats=True,
    ),
)
"""Keys behind a word that says what they are, with white space or a quote between."""

TOKENS: tuple[Rule, ...] = (*_CLOUDS, *_MODELS, *_FORGES, *_CHAT, *_SHOPS, *_KEYS)
"""Tokens that are known by themselves: one word of at least ``SHORTEST_TOKEN`` characters each."""

SHORTEST_TOKEN = 20
WORDS = rf"[A-Za-z0-9_.+/=~:%$\\-]{{{SHORTEST_TOKEN},}}+"
"""What may be a token; looking for anchors in these words alone saves most of the time."""
