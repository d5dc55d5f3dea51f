//! docs/performance.md, made of what the sections said.

use std::{collections::BTreeMap, fs, path::Path};

use super::{SECTIONS, Section};
use crate::{chore::Outcome, workspace};

const HEAD: &str = "\
# Performance

`cargo xtask bench` writes this page: it builds what is measured, measures each figure beside its reference in the same
run, in turns, so that both see the same machine, and says whether the goal is met. Compare ratios, not figures of two
machines. Memory is what the kernel counts as resident.

How many instructions a call takes, stage by stage, is held against a budget by `cargo xtask bench budget`, without a clock.

";

/// What stands before sections that were not part of the run.
const APART: &str = "Measured apart, since it takes long.";

/// Writes the page: what was kept in `said`, and of other sections what stands
/// there already.
pub(super) fn write(said: &Path) -> Outcome {
    let page = workspace::root().join("docs/performance.md");
    let old = fs::read_to_string(&page).unwrap_or_default();
    let new = |section: &Section| {
        let text = fs::read_to_string(said.join(format!("{}.md", section.name)));
        text.ok()
    };
    fs::write(page, assembled(&old, new))?;
    Ok(())
}

fn assembled(old: &str, new: impl Fn(&Section) -> Option<String>) -> String {
    let before = sections(old);
    let mut page = String::from(HEAD);
    for section in &SECTIONS {
        let text = new(section).or_else(|| before.get(section.heading).cloned());
        let text = match text {
            Some(text) if section.large && !text.contains(APART) => apart(&text),
            Some(text) => text,
            None => continue,
        };
        page.push_str(text.trim_end());
        page.push_str("\n\n");
    }
    format!("{}\n", page.trim_end())
}

fn apart(text: &str) -> String {
    match text.split_once("\n\n") {
        Some((heading, rest)) => format!("{heading}\n\n{APART}\n\n{rest}"),
        None => text.to_owned(),
    }
}

/// The sections of a page by their headings.
fn sections(page: &str) -> BTreeMap<&str, String> {
    let mut found = BTreeMap::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("## ") {
        let text = after.split("\n## ").next().unwrap_or_default();
        let heading = text.lines().next().unwrap_or_default();
        found.insert(heading, format!("## {text}"));
        rest = after.get(text.len()..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_takes_the_place_of_what_stood_there_and_the_rest_stays() {
        let old = "# Performance\n\nx\n\n## The log\n\nold\n\n## A large ledger\n\nlarge\n";
        let page = assembled(old, |section| match section.name {
            "log" => Some("## The log\n\nnew\n\n".into()),
            "machine" => Some("## The machine\n\nit\n\n".into()),
            _ => None,
        });
        let rest = page.strip_prefix(HEAD).unwrap();
        let expected = "## The machine\n\nit\n\n## The log\n\nnew\n\n## A large ledger\n\nMeasured apart, since it takes long.\n\nlarge\n";
        assert_eq!(rest, expected);
        assert_eq!(assembled(&page, |_| None), page, "nothing is added twice");
    }
}
