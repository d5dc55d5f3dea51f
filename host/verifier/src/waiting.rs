//! Entries of executions that come before the one that they follow.
//!
//! They are kept until it comes, up to a bound. Only [`crate::chain`] calls this.

use std::collections::HashMap;

use countersign_evidence::bundle::Opened;
use countersign_evidence::{Draft, Entry};

use crate::facts::Raw;
use crate::findings::Place;

/// The most bytes of entries that wait for the one before them. A bundle whose
/// logs are merged by time needs a few; one log after the other, as much as
/// was moved between replicas.
const WAITING_BYTES: usize = 64 << 20;

/// Entries whose predecessor has not been seen yet, by its hash.
#[derive(Default)]
pub(crate) struct Waiting {
    entries: HashMap<Raw, Vec<Waits>>,
    bytes: usize,
    overflowed: bool,
}

/// One of them.
pub(crate) struct Waits {
    pub(crate) place: Place,
    pub(crate) entry: Entry,
    pub(crate) opened: Option<Opened>,
}

impl Waits {
    /// A draft weighs some kilobytes besides its texts.
    fn bytes(entry: &Entry) -> usize {
        size_of::<Draft>() + entry.bytes().len() * 2
    }
}

impl Waiting {
    pub(crate) fn add(&mut self, entry: &Entry, place: &Place, opened: Option<Opened>) {
        let Some(link) = entry.link().and_then(|link| link.execution_previous) else {
            return;
        };
        let bytes = self.bytes.saturating_add(Waits::bytes(entry));
        if bytes > WAITING_BYTES {
            self.overflowed = true;
            return;
        }
        self.bytes = bytes;
        let waiting = self.entries.entry(link.to_bytes()).or_default();
        waiting.push(Waits {
            place: place.clone(),
            entry: entry.clone(),
            opened,
        });
    }

    /// What waited for the entry of that hash.
    pub(crate) fn take(&mut self, hash: &Raw) -> Vec<Waits> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let taken = self.entries.remove(hash).unwrap_or_default();
        for waits in &taken {
            self.bytes = self.bytes.saturating_sub(Waits::bytes(&waits.entry));
        }
        taken
    }

    /// Whether some could not be kept.
    pub(crate) const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Where those stand that wait still, in order: a report names the first of
    /// many, the same one each time.
    pub(crate) fn into_places(self) -> Vec<Place> {
        let waiting = self.entries.into_values().flatten();
        let mut places: Vec<Place> = waiting.map(|waits| waits.place).collect();
        places.sort_unstable();
        places
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::Digest;
    use countersign_evidence::{Head, Kind, Link, LogId, Time};

    use super::*;

    #[test]
    fn what_waits_weighs_its_text_twice_and_weighs_nothing_once_it_is_taken() {
        let mut head = Head::new(LogId::new("log.example/1").unwrap());
        let previous = Digest::of(&[b"not seen"]);
        let mut draft = Draft::new(Kind::Refusal, Time::from_micros(0));
        draft.client = Some("x".repeat(100_000));
        let link = Link {
            execution_seq: 1,
            execution_previous: Some(previous),
        };
        let entry = head.append(draft.clone(), Some(link));
        let elsewhere = Link {
            execution_previous: Some(Digest::of(&[b"not seen either"])),
            ..link
        };
        let other = head.append(draft, Some(elsewhere));
        let place = Place::of(&entry);
        let text = entry.bytes().len() * 2;
        let kept = WAITING_BYTES / (text + 16_384)..=WAITING_BYTES / text;
        let mut waiting = Waiting::default();
        for _ in 0..2 {
            waiting.overflowed = false;
            for _ in 0..1_000 {
                waiting.add(&entry, &place, None);
            }
            assert!(waiting.overflowed);
            let taken = waiting.take(&previous.to_bytes());
            assert!(kept.contains(&taken.len()), "{} of {kept:?}", taken.len());
            assert_eq!(waiting.bytes, 0);
        }
        // What waits for another entry weighs on.
        waiting.add(&other, &place, None);
        let weight = waiting.bytes;
        waiting.add(&entry, &place, None);
        assert_eq!(waiting.take(&previous.to_bytes()).len(), 1);
        assert_eq!(waiting.bytes, weight);
    }
}
