//! Entries read and hashed by several threads, and given on in their order.
//!
//! What an entry is on its own (its form, its bytes, its hash) no other entry
//! decides, so threads share that work in batches. Everything else depends on
//! the order and stays with the caller. At most a few batches are in memory.

use std::io::{Read, Seek};
use std::sync::mpsc::sync_channel;
use std::thread;

use countersign_evidence::bundle::{BundleError, Lines};
use countersign_evidence::{Entry, MalformedEntry};

/// Lines in a batch.
const LINES: usize = 256;
/// Batches that wait for one thread.
const AHEAD: usize = 2;

type Parsed = Result<Entry, MalformedEntry>;

/// Gives every line's entry to `take`, in the order of the file.
pub(crate) fn each<R: Read + Seek>(
    lines: &mut Lines<'_, R>,
    threads: usize,
    mut take: impl FnMut(Parsed),
) -> Result<(), BundleError> {
    if threads < 2 {
        while let Some(line) = lines.next()? {
            take(Entry::parse(line));
        }
        return Ok(());
    }
    thread::scope(|scope| {
        let worker = |_| {
            let (batches, taken) = sync_channel::<Batch>(AHEAD);
            let (answer, parsed) = sync_channel::<Vec<Parsed>>(AHEAD);
            scope.spawn(move || {
                for batch in taken {
                    if answer.send(batch.parse()).is_err() {
                        return;
                    }
                }
            });
            (batches, parsed)
        };
        let workers: Vec<_> = (0..threads).map(worker).collect();
        // Batches go round, so that the next one is always the next thread's.
        let (mut given, mut back) = (workers.iter().cycle(), workers.iter().cycle());
        let mut out = 0;
        let mut more = true;
        while more || out > 0 {
            while more && out < threads * AHEAD {
                let Some(batch) = Batch::next(lines)? else {
                    more = false;
                    break;
                };
                // A thread that is gone has panicked, which the scope reports.
                let Some(Ok(())) = given.next().map(|(batches, _)| batches.send(batch)) else {
                    return Ok(());
                };
                out += 1;
            }
            if out > 0 {
                let Some(Ok(parsed)) = back.next().map(|(_, parsed)| parsed.recv()) else {
                    return Ok(());
                };
                parsed.into_iter().for_each(&mut take);
                out -= 1;
            }
        }
        Ok(())
    })
}

/// Some lines, one after the other.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    fn next<R: Read + Seek>(lines: &mut Lines<'_, R>) -> Result<Option<Self>, BundleError> {
        let mut batch = Self::default();
        while batch.ends.len() < LINES
            && let Some(line) = lines.next()?
        {
            batch.bytes.extend_from_slice(line);
            batch.ends.push(batch.bytes.len());
        }
        Ok((!batch.ends.is_empty()).then_some(batch))
    }

    fn parse(&self) -> Vec<Parsed> {
        let mut from = 0;
        let parse = |end: &usize| {
            let line = self.bytes.get(from..*end).unwrap_or_default();
            from = *end;
            Entry::parse(line)
        };
        self.ends.iter().map(parse).collect()
    }
}
