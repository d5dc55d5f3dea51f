//! `cargo xtask fuzz`: bytes of every sort before every reader.

mod corpus;
mod engine;
mod mutants;

use std::time::Duration;

pub(crate) use mutants::sample;

use crate::{
    chore::{self, Failure, Outcome},
    tools,
};

/// Bytes of every sort before every reader, with an engine that sees what they reach
///
/// A target is one reader of bytes from outside, with what must be true of it
/// (tests/fuzz/src). The engine is libFuzzer, and needs a C++ compiler: everything
/// is compiled anew under target/fuzz, the project's own crates so that it sees
/// what an input reaches and is compared with. What leads somewhere new is kept
/// there; what violates a property is written to tests/fuzz/found, named, and
/// makes the chore fail. The tests run every kept input, and mutations of them
/// from a fixed seed, without the engine.
///
/// `messages` is another one: seeded messages before native code, the
/// components and the Python reference of tests/reference, which must agree.
///
/// `--mutants` is the other way round: small changes of the code, one at a time,
/// each of which a test must see. It is done with cargo-mutants, which is installed
/// under target/tools.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What is tried; `all` is each in turn but for `messages`
    #[arg(value_enum, required_unless_present = "mutants")]
    target: Option<Target>,
    /// How long each target is tried, in minutes
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Instead, take into tests/fuzz/corpus the few of the kept inputs that
    /// reach what all of them reach
    #[arg(long)]
    minimize: bool,
    /// Of `messages`: the same seed gives the same messages
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of `messages`: how many
    #[arg(long, default_value_t = 1_000_000)]
    cases: u64,
    /// Of `messages`: how many threads, each with a Python process
    #[arg(long, default_value_t = 2)]
    jobs: u32,
    /// Instead, change the code of a subject in every small way, and name the
    /// changes that no test sees and tests/mutants.md does not explain
    #[arg(long, value_enum, value_name = "SUBJECT", conflicts_with = "target")]
    mutants: Option<mutants::Subject>,
    /// Of `--mutants`: only this part of them, like `3/20`
    #[arg(long, value_name = "K/N", requires = "mutants")]
    shard: Option<String>,
}

/// What there is to try; the names are those of tests/fuzz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Target {
    /// The strict reader of messages
    Reader,
    /// The canonical writer
    Writer,
    /// Admission, interpretation, and what goes upstream
    Envelope,
    /// The codec of event streams
    Sse,
    /// The headers of a request
    Headers,
    /// The reader of bundles and their records
    Bundle,
    /// The verifier, before bundles that were changed
    Verifier,
    /// The configuration
    Config,
    /// Each of them
    All,
    /// Whole messages before every reader that there is
    Messages,
}

impl Target {
    /// Those that the engine tries.
    const BY_ENGINE: [Self; 8] = [
        Self::Reader,
        Self::Writer,
        Self::Envelope,
        Self::Sse,
        Self::Headers,
        Self::Bundle,
        Self::Verifier,
        Self::Config,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Envelope => "envelope",
            Self::Sse => "sse",
            Self::Headers => "headers",
            Self::Bundle => "bundle",
            Self::Verifier => "verifier",
            Self::Config => "config",
            Self::All => "all",
            Self::Messages => "messages",
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if let Some(subject) = arguments.mutants {
        return mutants::run(subject, arguments.shard.as_deref());
    }
    let targets = match arguments.target {
        Some(Target::Messages) => return messages(arguments),
        None | Some(Target::All) => Target::BY_ENGINE.to_vec(),
        Some(one) => vec![one],
    };
    let engine = engine::build()?;
    let mut failed = Vec::new();
    for target in targets {
        let name = target.name();
        if arguments.minimize {
            corpus::minimize(&engine, name)?;
            continue;
        }
        let time = Duration::from_secs(arguments.minutes.saturating_mul(60));
        if !engine::explore(&engine, name, time)? {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "something was found in {}: see above, mend it, and keep the file in tests/fuzz/found",
        failed.join(", ")
    )))
}

fn messages(arguments: &Arguments) -> Outcome {
    tools::python()?;
    let fuzz = ["run", "--quiet", "--workspace", "--bin", "fuzz", "--"];
    let mut command = chore::command("cargo", fuzz);
    command.args(["--seed", &arguments.seed.to_string()]);
    command.args(["--cases", &arguments.cases.to_string()]);
    chore::run(command.args(["--jobs", &arguments.jobs.to_string()]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Target, corpus};

    #[test]
    fn there_are_inputs_for_exactly_the_targets_of_the_engine() {
        let kept = std::fs::read_dir(corpus::root().join("corpus")).unwrap();
        let kept: BTreeSet<String> = kept
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let known = Target::BY_ENGINE.map(|target| target.name().to_owned());
        assert_eq!(kept, BTreeSet::from(known));
    }
}
