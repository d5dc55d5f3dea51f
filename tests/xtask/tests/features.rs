//! A feature may add something and never take anything away: whoever builds
//! with all of them gets a gateway that writes its log and waits for the disk.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder with that ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

/// The places in a source that a feature, or the lack of one, decides.
fn decided_by_features(source: &str) -> Vec<&str> {
    let code = source.lines().map(str::trim);
    let code = code.filter(|line| !line.starts_with("//"));
    code.filter(|line| line.contains("cfg") && line.contains("feature = "))
        .collect()
}

#[test]
fn no_feature_leaves_anything_out_of_what_ships() {
    let mut sources = Vec::new();
    files(&root().join("host"), ".rs", &mut sources);
    assert!(sources.len() > 100);
    for path in sources {
        let source = fs::read_to_string(&path).unwrap();
        let found = decided_by_features(&source);
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

#[test]
fn what_a_benchmark_leaves_out_is_in_this_build() {
    let left_out =
        cfg!(countersign_bench = "without-log") || cfg!(countersign_bench = "without-durability");
    assert!(!left_out, "no tests are for such a build");
    assert_eq!(
        decided_by_features("// cfg(feature = \"a\")\n if cfg!(not(feature = \"b\")) {\n"),
        ["if cfg!(not(feature = \"b\")) {"]
    );
}
