//! The help of every command is an interface; changing it is a visible diff.
//!
//! `UPDATE_HELP=1 cargo nextest run -p countersign help` writes the files anew.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};

use crate::commands::Countersign;

#[test]
fn the_help_of_every_command_is_the_one_that_is_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("help");
    #[expect(clippy::disallowed_methods, reason = "a switch of this test alone")]
    let update = std::env::var_os("UPDATE_HELP").is_some();
    let mut found = Vec::new();
    collect(
        "countersign",
        &Countersign::command().term_width(80),
        &mut found,
    );
    for (name, help) in &found {
        let path = folder.join(format!("{}.txt", name.replace(' ', "-")));
        if update {
            fs::write(&path, help).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            help,
            &written,
            "`{name} --help` is not `{}`",
            path.display()
        );
    }
    assert_eq!(
        fs::read_dir(folder).unwrap().count(),
        found.len(),
        "a file of no command"
    );
}

fn collect(name: &str, command: &Command, found: &mut Vec<(String, String)>) {
    let mut shown = command.clone().bin_name(name);
    found.push((name.into(), shown.render_long_help().to_string()));
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" {
            collect(
                &format!("{name} {}", inner.get_name()),
                &inner.clone().term_width(80),
                found,
            );
        }
    }
}
