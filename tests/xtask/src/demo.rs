//! `cargo xtask demo`: the gateway in front of a real MCP server, chapter by
//! chapter.
//!
//! `stage` starts and kills the processes, `http` sends one message, `page`
//! lays out what is told, and `story` is the chapters. What happens on screen
//! is what happened: every answer is the gateway's own, every count is read
//! from the ledger server's journal, and a chapter whose facts are not as told
//! fails the demo. A test runs it with `--once`.

mod http;
mod page;
mod stage;
mod story;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::{
    chore::{Failure, Outcome},
    nextest, workspace,
};

/// A gateway in front of a real MCP server: retry, mutation, denial, kill, proof
///
/// Builds and starts a ledger server, whose payments are lines of a file, and a
/// gateway in front of it, with the embedded store, the profile exact@1.0.0 and
/// the policies of policies/demo. Walks through a call, its retry, a mutated
/// retry, 1 against 1.0, a denial, a kill -9 in the middle of a call, an export
/// and its offline verification, and says what happened and why. Then leaves
/// the gateway running for a client of yours until Ctrl-C. Everything is on
/// loopback; the files are in target/demo, new with each run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Stop after the last chapter
    #[arg(long)]
    pub(crate) once: bool,
}

/// Whether Ctrl-C was pressed.
#[derive(Debug, Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Takes over Ctrl-C; a second one ends the demo at once.
    fn on_interrupt() -> Outcome<Self> {
        let pressed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&pressed))?;
            signal_hook::flag::register(signal, Arc::clone(&pressed))?;
        }
        Ok(Self(pressed))
    }

    /// Fails once Ctrl-C was pressed.
    pub(crate) fn check(&self) -> Outcome {
        if self.pressed() {
            Err(Failure::new("stopped before the last chapter"))
        } else {
            Ok(())
        }
    }

    fn pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = Stop::on_interrupt()?;
    println!("Building the gateway and the ledger server; the first time takes some minutes.");
    nextest::binaries()?;
    let folder = workspace::target().join("demo");
    let mut stage = stage::Stage::set(&folder, stop.clone())?;
    story::tell(&mut stage)?;
    if !arguments.once {
        story::hand_over(&stage);
        while !stop.pressed() {
            stage.still_runs()?;
            std::thread::sleep(Duration::from_millis(100));
        }
        println!();
    }
    stage.strike()
}
