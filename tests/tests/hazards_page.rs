//! `docs/hazards.md` names a test for each hazard, and each of them exists.

use std::path::Path;

#[test]
fn every_hazard_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/hazards.md")).expect("the page");
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let last = row.trim_end_matches(" |").rsplit(" | ").next();
        let words: Vec<&str> = last.unwrap_or_default().split('`').collect();
        let [_, file, _, test, _] = words.as_slice() else {
            panic!("a row without a file and a test: {row}");
        };
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(
            text.contains(&format!("fn {test}(")),
            "{file} has no `{test}`"
        );
        named += 1;
    }
    assert!(named >= 30, "{named}");
}
