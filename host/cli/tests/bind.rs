//! `bind`, `explain` and `profile`, as somebody at a shell meets them.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":5000}}}"#;
const BINDING: &str = "sha256:ec07bacf773369eca8b72865949d5c5d6f3b7993e4358cb9407b7b3154b2a592";
const ECHO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;

fn countersign(home: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = command(home, arguments).spawn().unwrap();
    // A command that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command
        .args(arguments)
        .env("XDG_CACHE_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn home() -> &'static Path {
    static HOME: std::sync::LazyLock<tempfile::TempDir> =
        std::sync::LazyLock::new(|| tempfile::tempdir().unwrap());
    HOME.path()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn bind_prints_the_binding() {
    let output = countersign(home(), &["bind"], ECHO);
    assert_eq!(text(&output.stdout), format!("{BINDING}\n"));
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    let file = home().join("message.json");
    std::fs::write(&file, ECHO).unwrap();
    let output = countersign(home(), &["bind", file.to_str().unwrap()], "");
    assert_eq!(text(&output.stdout), format!("{BINDING}\n"));
}

#[test]
fn bind_canonical_prints_the_action_and_nothing_else() {
    let output = countersign(home(), &["bind", "--canonical", "-"], CALL);
    assert_eq!(
        text(&output.stdout),
        r#"{"arguments":{"amount":5000},"method":"tools/call","name":"pay"}"#
    );
}

#[test]
fn bind_json_says_what_the_message_carries() {
    let message = ECHO.replace(r#""name""#, r#""_cmcp":{"execution_id":"e-1"},"name""#);
    let output = countersign(
        home(),
        &["bind", "--json", "--profile", "jcs-integer@1.0.0"],
        &message,
    );
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["profile"], "jcs-integer@1.0.0");
    assert_eq!(printed["execution_id"], "e-1");
    assert_eq!(printed["tool"], "echo");
    assert_eq!(
        printed["action"],
        r#"{"method":"tools/call","name":"echo"}"#
    );
}

#[test]
fn a_refusal_goes_to_the_standard_error_with_status_3() {
    for (name, arguments, message, said) in [
        (
            "a duplicate",
            &["bind"][..],
            r#"{"id":1,"id":1}"#,
            "refused: duplicate-member at byte",
        ),
        (
            "a number that the profile does not carry",
            &["bind", "--profile", "jcs-integer@1.0.0"],
            &CALL.replace("5000", "5e3"),
            "`/params/arguments/amount`",
        ),
        (
            "no call",
            &["bind"],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "refused: not-an-action",
        ),
        ("as JSON", &["bind", "--json"], "{", r#""code":"syntax""#),
    ] {
        let output = countersign(home(), arguments, message);
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        assert!(
            text(&output.stderr).contains(said),
            "{name}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_profile_that_is_not_there_is_named_with_status_4() {
    let output = countersign(home(), &["bind", "--profile", "exact@9.0.0"], ECHO);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        text(&output.stderr).contains("exact@9.0.0")
            && text(&output.stderr).contains("profile list")
    );
    let output = countersign(home(), &["bind", "--profile", "exact"], ECHO);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("NAME@MAJOR.MINOR.PATCH"));
}

#[test]
fn a_file_that_is_not_there_is_named_with_status_2() {
    let output = countersign(home(), &["bind", "/nonexistent/file"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/nonexistent/file"));
}

#[test]
fn batch_answers_each_line_before_the_next_is_sent() {
    let mut child = command(home(), &["bind", "--batch"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let slash = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a\"b":{"x":1,"x":2}}}}"#;
    for (line, answer) in [
        (
            format!("one\t{}", STANDARD.encode(ECHO)),
            format!("one\t{BINDING}"),
        ),
        (
            format!("two words\t{}", STANDARD.encode("x")),
            "two words\tERR syntax \"\"".into(),
        ),
        (
            format!("3\t{}", STANDARD.encode(slash)),
            r#"3	ERR duplicate-member "/params/arguments/a\"b""#.into(),
        ),
        (
            format!(
                "4\t{}",
                STANDARD.encode(r#"{"jsonrpc":"2.0","method":"x"}"#)
            ),
            "4\tERR not-an-action \"\"".into(),
        ),
        ("5\t%%%".into(), "5\tERR malformed-line \"\"".into()),
        ("6".into(), "6\tERR malformed-line \"\"".into()),
        (
            format!("7\t{}\r", STANDARD.encode(ECHO)),
            format!("7\t{BINDING}"),
        ),
        (
            format!("8\t{}", "A".repeat(15 << 20)),
            "8\tERR limit \"\"".into(),
        ),
        (
            format!("9\t{}", STANDARD.encode(ECHO)),
            format!("9\t{BINDING}"),
        ),
    ] {
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
        let mut said = String::new();
        output.read_line(&mut said).unwrap();
        assert_eq!(said, format!("{answer}\n"));
    }
    write!(input, "last\t{}", STANDARD.encode(ECHO)).unwrap();
    drop(input);
    let mut said = String::new();
    output.read_line(&mut said).unwrap();
    assert_eq!(said, format!("last\t{BINDING}\n"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn explain_says_where_two_messages_differ_and_how() {
    let put = |name: &str, text: &str| {
        let path = home().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let a = put("a.json", CALL);
    let same = put(
        "same.json",
        &CALL
            .replace(r#""id":1"#, r#""id":"other""#)
            .replace("pay", "p\\u0061y"),
    );
    let output = countersign(home(), &["explain", &a, &same], "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("A and B bind equal\nsha256:"));
    let b = put("b.json", &CALL.replace("5000", r#"5000.0,"to":["x"]"#));
    let output = countersign(home(), &["explain", &a, &b], "");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.starts_with("A and B do not bind equal\n"), "{said}");
    assert!(
        said.contains("/arguments/amount: the number 5000 in A, the number 5000.0 in B\n"),
        "{said}"
    );
    assert!(
        said.contains("/arguments/to: nothing in A, an array of 1 in B\n"),
        "{said}"
    );
    let refused = put("refused.json", "{");
    let output = countersign(home(), &["explain", &a, &refused], "");
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).starts_with("B is refused: syntax"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn profiles_are_listed_and_inspected() {
    let output = countersign(home(), &["profile", "list"], "");
    let listed = text(&output.stdout);
    assert!(
        listed.contains("exact@1.0.0") && listed.contains("jcs-integer@1.0.0"),
        "{listed}"
    );
    assert_eq!(listed.matches("(default)").count(), 1);
    let released = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../guest/released/exact@1.0.0.wasm"
    );
    let output = countersign(home(), &["profile", "inspect", released], "");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for line in [
        "name       exact",
        "version    1.0.0",
        "world      countersign:admission@1.0.0",
        "imports    none",
        "limits     10485760 bytes a message",
    ] {
        assert!(said.contains(&format!("{line}\n")), "{said}");
    }
    assert!(said.contains("self-test  passed, "), "{said}");
    let broken = home().join("broken.wasm");
    std::fs::write(&broken, "no component").unwrap();
    let output = countersign(
        home(),
        &["profile", "inspect", broken.to_str().unwrap()],
        "",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("(profile-instructions)"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn verify_never_gives_a_verdict_on_what_it_cannot_use() {
    let file = home().join("no-bundle");
    std::fs::write(&file, "no bundle").unwrap();
    let file = file.to_str().unwrap();
    for (name, arguments) in [
        (
            "a file that is not there",
            &["verify", "/nonexistent/bundle"][..],
        ),
        ("a file that is no bundle", &["verify", file]),
        (
            "a claim that there is not",
            &["verify", file, "--fail-under", "truth"],
        ),
        (
            "an option that there is not",
            &["verify", file, "--nonsense"],
        ),
        ("a key that is none", &["verify", file, "--trust", "a+b+c"]),
    ] {
        let output = countersign(home(), arguments, "");
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{name}"
        );
    }
}
