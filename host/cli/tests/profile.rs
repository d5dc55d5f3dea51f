//! What `countersign profile sign` does with a signature that is there.

#![allow(clippy::unwrap_used, reason = "a test says what fails by failing")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const COMPONENT: &str = "decimal@1.0.0.wasm";

struct Workshop(tempfile::TempDir);

impl Workshop {
    fn new() -> Self {
        let workshop = Self(tempfile::tempdir().unwrap());
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/profiles");
        fs::copy(from.join(COMPONENT), workshop.path(COMPONENT)).unwrap();
        for name in ["a", "b"] {
            let key = format!("{name}.example/profiles");
            let output = format!("{name}.key");
            assert!(workshop.run(&["key", &key, "-o", &output]).status.success());
        }
        workshop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("profile")
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }
}

#[test]
fn a_signature_that_is_there_stays_unless_it_is_to_be_replaced() {
    let workshop = Workshop::new();
    let signature = workshop.path("decimal@1.0.0.wasm.sig");
    let beside = ["sign", COMPONENT, "--key", "a.key"];
    assert!(workshop.run(&beside).status.success());
    let first = fs::read_to_string(&signature).unwrap();
    let output = ["-o", "decimal@1.0.0.wasm.sig"];
    for more in [&[][..], &output[..]] {
        let again = workshop.run(&[&["sign", COMPONENT, "--key", "b.key"], more].concat());
        let said = String::from_utf8(again.stderr).unwrap();
        assert_eq!(again.status.code(), Some(2), "{said}");
        assert!(said.contains("profile-signature-exists"), "{said}");
        assert_eq!(fs::read_to_string(&signature).unwrap(), first);
    }
    let replaced = workshop.run(&["sign", COMPONENT, "--key", "b.key", "--replace"]);
    assert!(replaced.status.success());
    let second = fs::read_to_string(&signature).unwrap();
    assert!(second.contains("b.example/profiles") && second != first);
    // The standard output is never there already.
    for _ in 0..2 {
        let shown = workshop.run(&["sign", COMPONENT, "--key", "b.key", "-o", "-"]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.starts_with(&second), "{shown}");
    }
    let left = fs::read_dir(workshop.0.path()).unwrap().count();
    assert_eq!(left, 4, "a component, two keys and a signature");
}
