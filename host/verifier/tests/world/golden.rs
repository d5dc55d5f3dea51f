//! Files that say what is expected to the byte.
//!
//! With `COUNTERSIGN_GOLDEN=write` in the environment they are written anew; the
//! difference is then for a reviewer to see.

use std::path::Path;

pub fn compare(name: &str, found: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    #[allow(
        clippy::disallowed_methods,
        reason = "a switch for whoever changes what is said"
    )]
    if std::env::var_os("COUNTERSIGN_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read(&path).unwrap();
    let (found, expected) = (
        String::from_utf8_lossy(found),
        String::from_utf8_lossy(&expected),
    );
    assert_eq!(found, expected, "{name}");
}
