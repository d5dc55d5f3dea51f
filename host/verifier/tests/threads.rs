//! Entries read by several threads.

use std::io::Cursor;

use countersign_evidence::Kind;
use countersign_verifier::{Inputs, Level, Verdict, verify};

use crate::world::{Export, World};

/// More lines than wait for the threads at any time.
const MANY: usize = 3_500;

#[test]
fn a_report_is_the_same_however_many_threads_read_and_however_many_entries_there_are() {
    let mut world = World::new();
    while world.entries.len() < MANY {
        let draft = world.draft(Kind::Suppressed);
        world.append(draft, None);
    }
    let whole = Export::of(&world);
    for length in [0, 1, 256, 257, MANY] {
        let mut export = whole.clone();
        export.lines.truncate(length);
        // A line that is no entry keeps its number.
        if let Some(line) = export.lines.get_mut(300) {
            line.truncate(9);
        }
        let bundle = export.bundle();
        let report = |threads| {
            let inputs = Inputs {
                threads,
                trusted: world.inputs().trusted,
                ..Inputs::default()
            };
            verify(Cursor::new(&bundle), &inputs).unwrap()
        };
        let alone = report(1);
        assert_eq!(alone.entries, length as u64);
        assert_eq!(alone.verdict(&Level::default()), Verdict::Contradicted);
        let said = "line 301: ";
        assert_eq!(
            length > 300,
            alone.to_text(&Level::default()).contains(said)
        );
        for threads in [0, 2, 3] {
            assert_eq!(
                report(threads),
                alone,
                "{length} entries, {threads} threads"
            );
        }
    }
}
