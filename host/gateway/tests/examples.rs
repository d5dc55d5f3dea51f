//! Every configuration that the docs show is one that the gateway takes.

use std::path::Path;

use countersign_gateway::config::Config;

/// The fenced blocks of a page in one language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[test]
fn the_configurations_on_the_operators_pages_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["docs/operators.md", "docs/operators/postgresql.md"] {
        let page = std::fs::read_to_string(root.join(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let shown = blocks(&page, "toml");
        assert!(!shown.is_empty(), "{name} shows no configuration");
        for text in shown {
            let path = folder.path().join("countersign.toml");
            std::fs::write(&path, text).unwrap();
            if let Err(error) = Config::read(&path) {
                panic!("{error}\n{text}");
            }
        }
    }
}
