//! `countersign config`: as an operator runs it before a restart.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::process::{Command, Output};

fn countersign(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_good_configuration_is_said_to_be_so_and_a_bad_one_where_and_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.toml");
    let good =
        "[identity]\nmode = \"open\"\n[[server]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/\"\n";
    for (text, status, said) in [
        (good.to_owned(), 0, "good: a\n"),
        (format!("{good}call_timeout = 1\n"), 2, "did you mean `call_timeout_ms`?"),
        (good.replace("\"open\"", "\"opne\""), 2, "did you mean `open`?"),
        (good.replace("\"open\"", "[\"open\", \"jwt\"]"), 2, "mode `open` stands alone"),
        (good.replace("\"open\"", "\"jwt\""), 2, "`identity.issuer` is missing"),
        (good.replace("\"open\"", "\"mtls\"\ntrust_domain = \"x\""), 2, "`tls.client_ca`"),
        (good.replace("\"open\"", "\"jwt\"\nresource = \"http://gateway.example\"\n[[identity.issuer]]\nname = \"i\"\njwks_file = \"k\""), 2, "no `https` URL"),
        (good.replace("\"open\"", "\"jwt\"\nresource = \"https://g.example\"\n[[identity.issuer]]\nname = \"i\"\njwks_file = \"k\"\nalgorithms = [\"HS256\"]"), 2, "no asymmetric algorithm"),
        (good.replace("\"open\"", "\"jwt\"\nresource = \"https://g.example\"\n[[identity.issuer]]\nname = \"i\"\njwks_url = \"http://i.example/k\""), 2, "no `https` URL"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let output = countersign(&["config", "check", path.to_str().unwrap()]);
        let all = [output.stdout, output.stderr].concat();
        let all = String::from_utf8(all).unwrap();
        assert_eq!(output.status.code(), Some(status), "{text}: {all}");
        assert!(all.contains(said), "{text}: {all}");
    }
}

#[test]
fn the_schema_refuses_what_is_not_known_at_every_level() {
    let output = countersign(&["config", "schema"]);
    let schema = String::from_utf8(output.stdout).unwrap();
    let objects = schema.matches("\"type\": \"object\"").count();
    let closed = schema.matches("\"additionalProperties\": false").count();
    // The maps of headers, of variables, and of tools are open.
    assert_eq!(objects, closed + 3, "{schema}");
}
