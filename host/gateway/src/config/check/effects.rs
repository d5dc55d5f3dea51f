//! What could never have an effect, or not the one that it says, is refused.

use super::*;

const SERVER: &str = "[[server]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/mcp\"\n";
const OPEN: &str = "mode = \"open\"";
const TOKENS: &str = "mode = \"tokens\"\ntokens = \"t\"";
const JWT: &str = "mode = \"jwt\"\nresource = \"https://g.example\"";
const BOTH: &str = "mode = [\"tokens\", \"jwt\"]\ntokens = \"t\"\nresource = \"https://g.example\"";
const FILE: &str = "jwks_file = \"k\"";
const URL: &str = "jwks_url = \"https://i.example/k\"";

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("/etc/c")).map_err(|error| error.to_string())
}

/// What is said of a configuration; nothing where it is taken.
fn said(identity: &str, issuer: &str, more: &str) -> String {
    let issuer = match issuer {
        "" => String::new(),
        issuer => format!("[[identity.issuer]]\nname = \"https://i.example\"\n{issuer}\n"),
    };
    let (top, more) = match more.strip_prefix("top: ") {
        Some(top) => (top, ""),
        None => ("", more),
    };
    let text = format!("{top}\n[identity]\n{identity}\n{issuer}{more}\n{SERVER}");
    parse(&text).err().unwrap_or_default()
}

fn alias(from: &str, to: &str) -> String {
    format!("[[identity.alias]]\nfrom = {{ {from} }}\nto = {{ {to} }}")
}

#[test]
fn what_is_configured_has_an_effect_or_is_refused() {
    let with = |base: &str, more: &str| format!("{base}\n{more}");
    let server = |more: &str| format!("[[server]]\nname = \"b\"\nurl = \"https://h/\"\n{more}");
    let proofs = |key: &str| format!("[identity.proofs]\n{key}");
    for (identity, issuer, more, expected) in [
        // The same things where they have an effect.
        (with(JWT, "bound_only = true\nscopes = [\"s\"]"), FILE, proofs("nonces = true"), ""),
        (JWT.into(), "jwks_url = \"https://i.example/k\"\nrefresh_s = 10\nkeep_s = 10", String::new(), ""),
        (OPEN.into(), "", "top: hosts = [\"g.example\", \"[::1]\"]\norigins = [\"https://a.example\", \"http://b.example:81\"]".into(), ""),
        (OPEN.into(), "", server("headers = { authorization = \"Basic x\" }"), ""),
        (OPEN.into(), "", "[telemetry]\ntraces_url = \"http://127.0.0.1:1/\"\nservice = \"s\"".into(), ""),
        (OPEN.into(), "", "[limits]\ndrain_ms = 0".into(), ""),
        // Identity.
        (with(OPEN, "bound_only = true"), "", String::new(), "`identity.bound_only` means nothing"),
        (with(TOKENS, "bound_only = true"), "", String::new(), "`identity.bound_only` means nothing"),
        (with(BOTH, "bound_only = true"), FILE, String::new(), "contradict each other"),
        (with(TOKENS, "scopes = [\"s\"]"), "", String::new(), "`identity.scopes` means nothing"),
        (TOKENS.into(), "", proofs("nonces = true"), "`identity.proofs` means nothing"),
        (TOKENS.into(), "", proofs("age_s = 60"), "`identity.proofs` means nothing"),
        (OPEN.into(), "", proofs("skew_s = 0"), "`identity.proofs` means nothing"),
        (OPEN.into(), "", proofs("algorithms = [\"ES256\"]"), "`identity.proofs` means nothing"),
        (JWT.into(), "jwks_file = \"k\"\nrefresh_s = 60", String::new(), "`refresh_s` belongs to a `jwks_url`"),
        (JWT.into(), "jwks_file = \"k\"\nkeep_s = 60", String::new(), "`keep_s` belongs to a `jwks_url`"),
        (JWT.into(), "jwks_url = \"https://i.example/k\"\nrefresh_s = 9", String::new(), "`refresh_s` is less than 10"),
        (JWT.into(), "jwks_url = \"https://i.example/k\"\nkeep_s = 0", String::new(), "`keep_s` is 0, less than"),
        (JWT.into(), "jwks_url = \"https://i.example/k\"\nkeep_s = 299", String::new(), "`refresh_s`, which is 300"),
        (JWT.into(), "jwks_url = \"https://i.example/k\"\nrefresh_s = 11\nkeep_s = 10", String::new(), "`refresh_s`, which is 11"),
        (JWT.into(), "jwks_url = \"https://i.example/k\"\nrefresh_s = 86401", String::new(), "`keep_s` is 86400, less than"),
        (JWT.into(), "jwks_url = \"https://u:p@i.example/k\"", String::new(), "`jwks_url` holds credentials"),
        // Hosts and origins.
        (OPEN.into(), "", "top: hosts = [\"g.example:443\"]".into(), "write `g.example`, without"),
        (OPEN.into(), "", "top: hosts = [\"https://g.example\"]".into(), "write `g.example`, without"),
        (OPEN.into(), "", "top: hosts = [\"g.example/\"]".into(), "write `g.example`, without"),
        (OPEN.into(), "", "top: hosts = [\"\"]".into(), "is no host alone"),
        (OPEN.into(), "", "top: origins = [\"https://a.example/\"]".into(), "write `https://a.example`,"),
        (OPEN.into(), "", "top: origins = [\"https://A.example\"]".into(), "write `https://a.example`,"),
        (OPEN.into(), "", "top: origins = [\"https://a.example/x\"]".into(), "write `https://a.example`,"),
        (OPEN.into(), "", "top: origins = [\"a.example\"]".into(), "is no origin"),
        // Servers and the rest.
        (OPEN.into(), "", server("bearer_token_file = \"t\"\nheaders = { Authorization = \"x\" }"), "both `bearer_token_file`"),
        (OPEN.into(), "", server("call_timeout_ms = 0"), "`call_timeout_ms` is 0"),
        (OPEN.into(), "", server("connect_timeout_ms = 0"), "`connect_timeout_ms` is 0"),
        (OPEN.into(), "", "[limits]\nhead_timeout_ms = 0".into(), "`limits.head_timeout_ms` is 0"),
        (OPEN.into(), "", "[limits]\nbody_timeout_ms = 0".into(), "`limits.body_timeout_ms` is 0"),
        (OPEN.into(), "", "[limits]\ntask_timeout_ms = 0".into(), "`limits.task_timeout_ms` is 0"),
        (OPEN.into(), "", "[telemetry]\ntraces_ca_file = \"c\"".into(), "`telemetry.traces_ca_file` means nothing"),
        (OPEN.into(), "", "[telemetry]\nservice = \"s\"".into(), "`telemetry.service` means nothing"),
        (OPEN.into(), "", "[telemetry]\ntraces_url = \"http://u:p@127.0.0.1/\"".into(), "holds credentials"),
    ] {
        let said = said(&identity, issuer, &more);
        let good = if expected.is_empty() { said.is_empty() } else { said.contains(expected) };
        assert!(good, "{identity}\n{issuer}\n{more}\n-> {said}");
        assert!(!said.contains("u:p"), "{said}");
    }
}

#[test]
fn an_alias_names_who_can_authenticate_and_who_could() {
    let jwt = "method = \"jwt\", issuer = \"https://i.example\", subject = \"a\"";
    let token = "method = \"token\", subject = \"b\"";
    for (identity, from, to, expected) in [
        (JWT, jwt, token, ""),
        (BOTH, token, jwt, ""),
        (
            JWT,
            jwt,
            "method = \"jwt\", issuer = \"https://old.example\", subject = \"b\"",
            "",
        ),
        (JWT, jwt, "method = \"open\", subject = \"anonymous\"", ""),
        (
            JWT,
            "method = \"jwtt\", issuer = \"https://i.example\", subject = \"a\"",
            token,
            "did you mean `jwt`?",
        ),
        (
            JWT,
            jwt,
            "method = \"tokens\", subject = \"b\"",
            "did you mean `token`?",
        ),
        (
            BOTH,
            "method = \"tokens\", subject = \"b\"",
            jwt,
            "did you mean `token`?",
        ),
        (
            JWT,
            "method = \"kerberos\", subject = \"a\"",
            token,
            "one of token, jwt, mtls, open",
        ),
        (
            JWT,
            "method = \"jwt\", issuer = \"https://i.exampel\", subject = \"a\"",
            token,
            "did you mean `https://i.example`?",
        ),
        (
            JWT,
            "method = \"jwt\", subject = \"a\"",
            token,
            "do not go together",
        ),
        (
            JWT,
            jwt,
            "method = \"token\", issuer = \"x\", subject = \"b\"",
            "do not go together",
        ),
        (
            JWT,
            jwt,
            "method = \"mtls\", subject = \"b\"",
            "do not go together",
        ),
        (JWT, token, jwt, "without mode `tokens`"),
        (
            JWT,
            "method = \"mtls\", issuer = \"example.org\", subject = \"/a\"",
            token,
            "without mode `mtls`",
        ),
    ] {
        let said = said(identity, URL, &alias(from, to));
        let good = if expected.is_empty() {
            said.is_empty()
        } else {
            said.contains(expected)
        };
        assert!(good, "{from} -> {to}: {said}");
    }
}
