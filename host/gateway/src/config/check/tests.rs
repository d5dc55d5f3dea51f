//! What of a configuration is refused, and for which reason.

use countersign_mcp::Revision;

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("/etc/countersign"))
}

const OPEN: &str =
    "[identity]\nmode = \"open\"\n[[server]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/mcp\"\n";

const PROCESS: &str = "[identity]\nmode = \"open\"\n[[server]]\nname = \"a\"\ncommand = [\"x\"]\n";

const VENDOR: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

#[test]
fn a_component_is_pinned_by_a_digest_or_by_a_vendors_signature() {
    let config = parse(&format!(
        "{OPEN}[[profile.vendor]]\nkey = \"{VENDOR}\"\nprofiles = [\"b\"]\n\
         [[profile.file]]\npath = \"b@1.0.0.wasm\"\nsignature = \"b.sig\"\n"
    ))
    .unwrap();
    assert_eq!(config.profiles.vendors[0].key.to_string(), VENDOR);
    let file = &config.profiles.files[0];
    assert_eq!(
        file.signature.as_deref(),
        Some(Path::new("/etc/countersign/b.sig"))
    );
}

#[test]
fn a_small_file_gives_a_whole_and_careful_configuration() {
    let config = parse(OPEN).unwrap();
    assert!(config.listen.ip().is_loopback());
    assert_eq!(
        config.store.base,
        Path::new("/etc/countersign/countersign.db")
    );
    assert_eq!(
        config.store.key,
        crate::config::KeyFrom::File("/etc/countersign/countersign.db.key".into())
    );
    assert_eq!(config.profiles.default.as_str(), "exact@1.0.0");
    assert_eq!(config.limits.calls_per_agent, 16);
    assert_eq!(config.required, Required::Never);
    assert_eq!(config.servers[0].revision, Revision::R2025_11_25);
}

#[test]
fn a_key_that_there_is_not_is_refused_with_its_line_and_the_one_that_was_meant() {
    let error = parse(&format!("{OPEN}call_timeout = 5\n")).unwrap_err();
    assert_eq!(error.line(), Some(6));
    assert_eq!(
        error.suggestion(),
        Some("did you mean `call_timeout_ms`?"),
        "{error}"
    );
}

#[test]
fn what_would_be_unsafe_or_mean_nothing_is_refused() {
    for (why, said, text) in [
        (
            "open mode beyond loopback",
            "loopback only",
            format!("listen = \"0.0.0.0:1\"\n{OPEN}"),
        ),
        (
            "no identity",
            "missing field `identity`",
            "[[server]]\nname = \"a\"\nurl = \"http://h/\"\n".to_owned(),
        ),
        (
            "no server",
            "no server is configured",
            "[identity]\nmode = \"open\"\n".to_owned(),
        ),
        (
            "tokens without a file",
            "`identity.tokens` is missing",
            OPEN.replace("\"open\"", "\"tokens\""),
        ),
        (
            "a name with a slash",
            "`a/b` is no name",
            OPEN.replace("\"a\"", "\"a/b\""),
        ),
        (
            "a name in upper case",
            "`A` is no name",
            OPEN.replace("\"a\"", "\"A\""),
        ),
        (
            "a name that begins with a hyphen",
            "`-a` is no name",
            OPEN.replace("\"a\"", "\"-a\""),
        ),
        (
            "credentials in a URL",
            "holds credentials",
            OPEN.replace("127.0.0.1:1", "u:p@127.0.0.1:1"),
        ),
        (
            "another scheme",
            "no http or https URL",
            OPEN.replace("http:", "ftp:"),
        ),
        (
            "two servers of one name",
            "two servers are named `a`",
            format!("{OPEN}[[server]]\nname = \"a\"\nurl = \"http://h/\"\n"),
        ),
        (
            "both transports",
            "both `url` and `command`",
            format!("{OPEN}command = [\"x\"]\n"),
        ),
        (
            "a variable without a command",
            "belong to a `command`",
            format!("{OPEN}env = {{ A = \"b\" }}\n"),
        ),
        (
            "a header of the gateway's",
            "is the gateway's own to set",
            format!("{OPEN}headers = {{ Mcp-Name = \"b\" }}\n"),
        ),
        (
            "a limit of nothing",
            "`limits.calls` is 0",
            format!("{OPEN}[limits]\ncalls = 0\n"),
        ),
        (
            "a certificate without TLS",
            "means nothing without TLS",
            format!("{OPEN}ca_file = \"ca.pem\"\n"),
        ),
        (
            "a certificate that is not there",
            "cannot be read",
            format!("{}ca_file = \"ca.pem\"\n", OPEN.replace("http:", "https:")),
        ),
        (
            "a method that does not pass",
            "no method that can be passed on",
            format!("{OPEN}methods = [\"tools/call\"]\n"),
        ),
        (
            "something that no server asks",
            "nothing that a server asks",
            format!("{OPEN}client_requests = [\"ping\"]\n"),
        ),
        (
            "no failure at all",
            "`unavailable_after` is 0",
            format!("{OPEN}unavailable_after = 0\n"),
        ),
        (
            "no pause between attempts",
            "`retry_ms` is less than 10",
            format!("{OPEN}retry_ms = 0\n"),
        ),
        (
            "a longest pause that is shorter than the first",
            "is less than `retry_ms`",
            format!("{OPEN}retry_ms = 2000\nlongest_retry_ms = 1000\n"),
        ),
        (
            "a component that nothing pins",
            "neither a `digest` nor a `signature`",
            format!("{OPEN}[[profile.file]]\npath = \"a@1.0.0.wasm\"\n"),
        ),
        (
            "a vendor without a key",
            "`profile.vendor.key`",
            format!("{OPEN}[[profile.vendor]]\nkey = \"a\"\nprofiles = [\"b\"]\n"),
        ),
        (
            "a vendor who may sign for nothing",
            "names no profile",
            format!("{OPEN}[[profile.vendor]]\nkey = \"{VENDOR}\"\nprofiles = []\n"),
        ),
        (
            "a vendor of one version",
            "names no profile",
            format!("{OPEN}[[profile.vendor]]\nkey = \"{VENDOR}\"\nprofiles = [\"b@1.0.0\"]\n"),
        ),
        (
            "an unknown revision",
            "2031-01-01",
            format!("{OPEN}revision = \"2031-01-01\"\n"),
        ),
        (
            "a header for a process",
            "belong to a `url`",
            format!("{PROCESS}headers = {{ X = \"b\" }}\n"),
        ),
        (
            "a token for a process",
            "belong to a `url`",
            format!("{PROCESS}bearer_token_file = \"token\"\n"),
        ),
        (
            "a certificate for a process",
            "belong to a `url`",
            format!("{PROCESS}ca_file = \"ca.pem\"\n"),
        ),
        (
            "a folder without a command",
            "belong to a `command`",
            format!("{OPEN}folder = \"x\"\n"),
        ),
        (
            "drift from nothing",
            "means nothing without `catalog.file`",
            format!("{OPEN}[catalog]\non_drift = \"record\"\n"),
        ),
        (
            "no pause between polls",
            "`catalog.poll_ms` is less than 100",
            format!("{OPEN}[catalog]\npoll_ms = 99\n"),
        ),
        (
            "a rate of nothing",
            "`limits.burst` is 0",
            format!("{OPEN}[limits]\nburst = 0\n"),
        ),
        (
            "traces that go nowhere",
            "no http or https URL with a host",
            format!("{OPEN}[telemetry]\ntraces_url = \"ftp://127.0.0.1/x\"\n"),
        ),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains(said), "{why}: {error}");
    }
}

#[test]
fn a_file_of_certificates_holds_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, "# none yet\n").unwrap();
    let error = certificates(&path, "ca_file").unwrap_err();
    assert!(error.message().contains("holds no certificate"), "{error}");
}

#[test]
fn secrets_are_never_shown() {
    let text = OPEN.to_owned()
        + "headers = { Authorization = \"hunter2\" }\n[[server]]\nname = \"b\"\ncommand = [\"x\"]\nenv = { KEY = \"hunter3\" }\n";
    let shown = format!("{:?}", parse(&text).unwrap());
    assert!(!shown.contains("hunter"), "{shown}");
    let broken = text.replace("env =", "env = 7 #");
    assert!(!parse(&broken).unwrap_err().to_string().contains("hunter"));
}

#[test]
fn an_upstream_is_known_by_where_it_is_and_not_by_its_credentials() {
    let digest = |text: &str| parse(text).unwrap().servers[0].digest();
    let with_header = format!("{OPEN}headers = {{ Authorization = \"x\" }}\n");
    assert_eq!(digest(OPEN), digest(&with_header));
    assert_ne!(digest(OPEN), digest(&OPEN.replace("/mcp", "/mcp2")));
}
