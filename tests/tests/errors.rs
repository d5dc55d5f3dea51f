//! Every stable code has a page, and every page is of a code.
//!
//! Codes are taken from the crates' own lists where there is one, and from the
//! text of the function that writes them where there is none.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use countersign_canon::Code as Admission;
use countersign_engine::{Fault, Problem};
use countersign_evidence::profile_signature::SignatureProblem;
use countersign_ledger::{BackupError, LedgerError};
use countersign_policy::{BundleError, ProblemCode, RefusalCode};

const HEADINGS: [&str; 4] = [
    "## What happened",
    "## What is known",
    "## What to do",
    "## Which `execution_id` is safe",
];

/// Files whose `code` or `as_str` is a plain table of codes.
const TABLES: [&str; 6] = [
    "host/mcp/src/code/mod.rs",
    "host/ledger/src/error.rs",
    "host/engine/src/load_error.rs",
    "host/kit/src/error.rs",
    "host/gateway/src/upstream/request.rs",
    "guest/canon/src/refusal.rs",
];

/// Files that hold `const CODE`.
const SINGLE: [&str; 8] = [
    "host/cli/src/commands/profile/sign.rs",
    "host/catalog/src/lock.rs",
    "host/schema/src/lib.rs",
    "host/gateway/src/operator/api.rs",
    "host/gateway/src/config/error.rs",
    "host/engine/src/cache/mod.rs",
    "host/engine/src/fault.rs",
    "host/policy/src/bundle.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The texts of the arms of a table's `fn as_str` and `fn code`.
fn table(source: &str) -> Vec<String> {
    let mut codes = Vec::new();
    let mut inside = false;
    for line in source.lines() {
        if line.contains("fn ") {
            inside = line.contains("fn as_str(") || line.contains("fn code(");
        }
        let text = line
            .split_once("=> \"")
            .and_then(|(_, rest)| rest.strip_suffix("\","));
        codes.extend(text.filter(|_| inside).map(str::to_owned));
    }
    codes
}

fn codes() -> BTreeSet<String> {
    let mut codes: BTreeSet<String> = ["not-an-action", "reload-refused"]
        .map(str::to_owned)
        .into();
    codes.extend(Admission::ALL.map(|code| code.as_str().to_owned()));
    codes.extend(Problem::CODES.map(str::to_owned));
    codes.extend(SignatureProblem::CODES.map(str::to_owned));
    codes.extend(LedgerError::CODES.map(str::to_owned));
    codes.extend(ProblemCode::ALL.map(|code| code.as_str().to_owned()));
    codes.extend(RefusalCode::ALL.map(|code| code.as_str().to_owned()));
    codes.extend([Fault::CODE, BundleError::CODE, BackupError::CODE].map(str::to_owned));
    for name in TABLES {
        let found = table(&read(name));
        assert!(found.len() > 5, "{name}: {found:?}");
        codes.extend(found);
    }
    for name in SINGLE {
        let source = read(name);
        let code = source
            .lines()
            .find_map(|line| line.split_once("const CODE: &'static str = \""));
        let (_, rest) = code.unwrap_or_else(|| panic!("{name} has no code"));
        codes.insert(rest.trim_end_matches("\";").to_owned());
    }
    codes
}

fn pages() -> BTreeSet<String> {
    std::fs::read_dir(root().join("docs/errors"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()))
        .filter(|name| name != "README")
        .collect()
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let (codes, pages) = (codes(), pages());
    let missing: Vec<_> = codes.difference(&pages).collect();
    let stale: Vec<_> = pages.difference(&codes).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "missing: {missing:?}; of no code: {stale:?}"
    );
}

#[test]
fn every_page_says_what_happened_what_is_known_what_to_do_and_which_id_is_safe() {
    for code in pages() {
        let text = read(&format!("docs/errors/{code}.md"));
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
        let title = format!("# `{code}`");
        let mut expected = vec![title.as_str()];
        expected.extend(HEADINGS);
        assert_eq!(headings, expected, "{code}");
        for part in text.split("\n## ").skip(1) {
            let body = part.split_once('\n').unwrap().1.trim();
            assert!(body.ends_with(['.', ')']), "{code}: {body}");
        }
        assert!(!text.to_lowercase().contains("exactly once"), "{code}");
    }
}

#[test]
fn the_index_lists_every_page_once_and_no_link_leads_nowhere() {
    let index = read("docs/errors/README.md");
    for code in pages() {
        assert_eq!(
            index.matches(&format!("| [`{code}`]({code}.md) |")).count(),
            1,
            "{code}"
        );
    }
    for name in pages().into_iter().chain(["README".to_owned()]) {
        let text = read(&format!("docs/errors/{name}.md"));
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            assert!(
                root().join("docs/errors").join(target).exists(),
                "{name}: {target}"
            );
        }
    }
}
