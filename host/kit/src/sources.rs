//! What a scaffold is made of, as it was when this program was built: the
//! crates that every profile stands on, the contract, and the templates.

/// Files of this repository under their paths in it.
macro_rules! sources {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../", $path)))),*]
    };
}

/// What is taken along as it is. `guest/` becomes `countersign/`.
pub(crate) const TAKEN: &[(&str, &str)] = sources![
    "LICENSE"
    "wit/admission.wit"
    "guest/canon/Cargo.toml"
    "guest/canon/src/admit.rs"
    "guest/canon/src/call.rs"
    "guest/canon/src/classification.rs"
    "guest/canon/src/cursor.rs"
    "guest/canon/src/digest.rs"
    "guest/canon/src/document.rs"
    "guest/canon/src/earliest.rs"
    "guest/canon/src/fault.rs"
    "guest/canon/src/interpret.rs"
    "guest/canon/src/lib.rs"
    "guest/canon/src/limits.rs"
    "guest/canon/src/message.rs"
    "guest/canon/src/number.rs"
    "guest/canon/src/order.rs"
    "guest/canon/src/pointer.rs"
    "guest/canon/src/preimage.rs"
    "guest/canon/src/profile_id.rs"
    "guest/canon/src/read.rs"
    "guest/canon/src/refusal.rs"
    "guest/canon/src/string.rs"
    "guest/canon/src/verdict.rs"
    "guest/canon/src/view.rs"
    "guest/canon/src/write.rs"
    "guest/component/Cargo.toml"
    "guest/component/src/arena.rs"
    "guest/component/src/bindings.rs"
    "guest/component/src/convert.rs"
    "guest/component/src/description.rs"
    "guest/component/src/lib.rs"
    "guest/component/src/memory.rs"
    "guest/component/src/reading.rs"
];

/// The guest workspace's lockfile, from which a scaffold's is made.
pub(crate) const LOCK: &str = include_str!("../../../guest/Cargo.lock");

/// What a vendor changes, with `{{…}}` where the profile's own words go.
pub(crate) const TEMPLATES: &[(&str, &str)] = &[
    (".gitignore", include_str!("../template/gitignore")),
    ("Cargo.toml", include_str!("../template/Cargo.toml.in")),
    ("README.md", include_str!("../template/README.md")),
    ("src/lib.rs", include_str!("../template/src/lib.rs.in")),
    (
        "src/spelling.rs",
        include_str!("../template/src/spelling.rs.in"),
    ),
    (
        "src/vectors.rs",
        include_str!("../template/src/vectors.rs.in"),
    ),
    (
        "tests/component.rs",
        include_str!("../template/tests/component.rs.in"),
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_source_of_the_crates_that_are_taken_along_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut there = BTreeSet::from(["LICENSE".to_owned(), "wit/admission.wit".to_owned()]);
        for part in ["guest/canon", "guest/component"] {
            there.insert(format!("{part}/Cargo.toml"));
            for entry in std::fs::read_dir(root.join(part).join("src")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                there.insert(format!("{part}/src/{name}"));
            }
        }
        let taken: BTreeSet<String> = TAKEN.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(taken, there);
    }

    #[test]
    fn a_scaffold_builds_with_the_settings_of_the_released_profiles() {
        let read = |text: &str| text.parse::<toml::Table>().unwrap();
        let guest = read(include_str!("../../../guest/Cargo.toml"));
        let template = include_str!("../template/Cargo.toml.in");
        let ours = read(&template.replace("{{name}}", "n"));
        assert_eq!(ours["profile"], guest["profile"]);
        let part = |table: &toml::Table, name: &str| table["workspace"][name].clone();
        assert_eq!(part(&ours, "lints"), part(&guest, "lints"));
        assert_eq!(part(&ours, "package"), part(&guest, "package"));
        for (name, dependency) in part(&guest, "dependencies").as_table().unwrap() {
            let own = &part(&ours, "dependencies")[name];
            match dependency.get("path").and_then(toml::Value::as_str) {
                Some(path) => {
                    assert_eq!(own["path"].as_str().unwrap(), format!("countersign/{path}"));
                }
                None => assert_eq!(own, dependency),
            }
        }
    }
}
