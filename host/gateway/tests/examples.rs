//! Every configuration that the docs show is one that the gateway takes.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use countersign_gateway::config::Config;

/// The fenced blocks of a page in one language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

/// Every page below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_configuration_in_the_docs_is_taken() {
    let mut found = vec![root().join("README.md")];
    pages(&root().join("docs"), &mut found);
    let mut seen = 0;
    for page in found {
        let text = std::fs::read_to_string(&page).unwrap();
        for shown in blocks(&text, "toml") {
            // Other files are TOML, too; what has a server is a configuration.
            if !shown.contains("[[server]]") {
                continue;
            }
            seen += 1;
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("countersign.toml");
            std::fs::write(&path, shown).unwrap();
            if let Err(error) = Config::read(&path) {
                panic!("{}: {error}\n{shown}", page.display());
            }
        }
    }
    assert!(seen >= 6, "the pages show {seen} configurations");
}

#[test]
fn the_published_schema_is_the_one_that_the_types_have() {
    let path = root().join("docs/countersign.schema.json");
    let schema = countersign_gateway::config::schema();
    #[allow(clippy::disallowed_methods, reason = "how a golden file is renewed")]
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &schema).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == schema,
        "run this test with UPDATE_SCHEMA=1, and look at the difference"
    );
}
