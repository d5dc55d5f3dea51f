//! Every chore of the project, one command each and one file each.
//!
//! `cargo xtask help` lists them; the list is generated from this file and
//! guarded by a golden file. A chore says what it starts, where it keeps its
//! files (always under the build folder) and what to install when a tool is
//! missing. Nothing here is part of the product.

mod bench;
mod chore;
mod crash;
mod demo;
mod evidence;
mod fuzz;
mod guest;
mod interop;
mod nextest;
mod steps;
mod test;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Every chore of the project, one command each.
///
/// Each chore says what it runs and what it installs, keeps its files under
/// target/, and needs no network except to install.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    Demo(demo::Arguments),
    Test(test::Arguments),
    Guest(guest::Arguments),
    Bench(bench::Arguments),
    Crash(crash::Arguments),
    Fuzz(fuzz::Arguments),
    Interop(interop::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Demo(arguments) => demo::run(&arguments),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::Guest(arguments) => guest::run(&arguments),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Crash(arguments) => crash::run(&arguments),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
        Chore::Interop(arguments) => interop::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clap::CommandFactory as _;

    /// The help of the whole and of each chore, as one text.
    fn help() -> String {
        let mut command = super::Arguments::command();
        command.build();
        let mut text = command.render_long_help().to_string();
        for chore in command
            .get_subcommands_mut()
            .filter(|chore| chore.get_name() != "help")
        {
            let name = chore.get_name().to_owned();
            write!(
                text,
                "\n---- cargo xtask {name}\n\n{}",
                chore.render_long_help()
            )
            .unwrap();
        }
        text
    }

    #[test]
    fn the_help_is_the_golden_file() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/help.txt");
        let told = help();
        let kept = std::fs::read_to_string(golden).unwrap_or_default();
        if told != kept {
            let seen = crate::workspace::target().join("xtask-help.txt");
            std::fs::write(&seen, &told).unwrap();
            panic!(
                "the help changed: compare {golden} with {} and copy it over",
                seen.display()
            );
        }
    }
}
