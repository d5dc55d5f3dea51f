//! What the documentation tells people to type is what this command takes.
//!
//! In a block of code a line is a whole command, and has to be one. In running
//! text, where a command may only be named, what is there has to be right: each
//! subcommand and option exists, and something may be missing.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use crate::commands::Countersign;

/// A command line, and whether it may be a part of one.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    words: Vec<String>,
    partial: bool,
}

/// Every page that somebody reads to use the command.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![
        root.join("README.md"),
        root.join("host/kit/template/README.md"),
    ];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|name| name == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The command lines of a page.
fn lines(page: &str) -> Vec<Line> {
    let (mut found, mut text) = (Vec::new(), String::new());
    let mut rows = page.lines();
    while let Some(row) = rows.next() {
        if !row.trim_start().starts_with("```") {
            text.push_str(row);
            text.push('\n');
            continue;
        }
        let ends = |row: &&str| !row.trim_start().starts_with("```");
        let block: Vec<&str> = rows.by_ref().take_while(ends).collect();
        let whole = block.join("\n").replace("\\\n", " ");
        // Where there is a prompt, what stands without one was printed.
        let prompt = |row: &&str| row.starts_with("$ ");
        let prompted = whole.lines().any(|row| prompt(&row));
        for row in whole.lines().filter(|row| !prompted || prompt(row)) {
            found.extend(commands(row).map(|words| Line {
                words,
                partial: false,
            }));
        }
    }
    for span in text.split('`').skip(1).step_by(2) {
        found.extend(commands(span).map(|words| Line {
            words,
            partial: true,
        }));
    }
    found
}

/// The commands of ours in a row of shell, each with its words.
fn commands(row: &str) -> impl Iterator<Item = Vec<String>> {
    let mut commands = vec![Vec::new()];
    for word in words(row) {
        match word.as_str() {
            "|" | "&&" | "||" | ";" => commands.push(Vec::new()),
            _ => commands.last_mut().unwrap().push(word),
        }
    }
    commands.into_iter().filter_map(|words| {
        let before = |word: &String| ["$", "sudo", "exec"].contains(&word.as_str());
        let words: Vec<_> = words.into_iter().skip_while(before).collect();
        let (program, rest) = words.split_first()?;
        let program = program.rsplit(['=', '/']).next()?;
        let ours = program == "countersign" && !rest.is_empty();
        let redirected = |word: &&String| !word.starts_with(['>', '<', '#']) && *word != "2>";
        let rest = rest.iter().take_while(redirected).cloned();
        ours.then(|| rest.collect())
    })
}

/// The words of a row, without their quotes.
fn words(row: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for letter in row.chars() {
        let word = words.last_mut().unwrap();
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => quote = Some(letter),
            (letter, None) if letter.is_whitespace() => words.push(String::new()),
            (';', None) => words.extend([";".to_owned(), String::new()]),
            (letter, _) => word.push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Why the command does not take a line.
fn misfit(line: &Line) -> Option<String> {
    let words = std::iter::once("countersign").chain(line.words.iter().map(String::as_str));
    let error = Countersign::command().try_get_matches_from(words).err()?;
    let missing = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
        // An option that is only named has no value.
        ErrorKind::InvalidValue => {
            let last = line.words.last();
            last.is_some_and(|word| word.starts_with('-'))
        }
        _ => false,
    };
    (!missing || !line.partial).then(|| error.to_string())
}

#[test]
fn every_command_line_of_the_documentation_is_one() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in pages() {
        for line in lines(&fs::read_to_string(&path).unwrap()) {
            seen += 1;
            if let Some(why) = misfit(&line) {
                let Line { words, .. } = line;
                wrong.push(format!("{}: {words:?}\n{why}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 50, "only {seen} were found");
}

#[test]
fn a_line_that_the_command_does_not_take_is_found_wherever_it_stands() {
    for (page, found, wrong) in [
        (
            "```console\n$ countersign profile list\ncountersign says\n```",
            1,
            0,
        ),
        ("```console\n$ countersign profile lists\n```", 1, 1),
        (
            "```sh\ncountersign verify a.tar \\\n  --nothing x\n```",
            1,
            1,
        ),
        ("```sh\ncat a | countersign bind - # as it is\n```", 1, 0),
        ("```ini\nExecStart=/usr/bin/countersign serve\n```", 1, 0),
        ("```ini\nExecStart=/usr/bin/countersign serve -x\n```", 1, 1),
        ("```text\ncountersign.profile-signature.v1\n```", 0, 0),
        ("a `countersign` command, `countersign profile\nsign`", 1, 0),
        (
            "`countersign profile sing` and `countersign verify --since`",
            2,
            1,
        ),
        ("`countersign profile sign --force`", 1, 1),
    ] {
        let lines = lines(page);
        let misfits = lines.iter().filter_map(misfit).count();
        assert_eq!((lines.len(), misfits), (found, wrong), "{page}: {lines:?}");
    }
}
