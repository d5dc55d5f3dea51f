//! Ordering: each execution's chain, followed from entry to entry.
//!
//! An entry finds its execution by the hash of the entry before it, in
//! whichever log, so a fork, a second reservation or a missing link shows. What
//! is kept of an execution does not grow with what its entries say
//! ([`crate::facts`]); what waits for an entry that has not come yet is
//! bounded ([`crate::waiting`]).

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use countersign_evidence::bundle::Opened;
use countersign_evidence::{Entry, Kind, LogId};
use hashbrown::HashTable;

use crate::claim::Claim;
use crate::classification::{Classes, met_nothing};
use crate::component::Components;
use crate::facts::{Key, Raw, Shared};
use crate::findings::{Findings, Place};
use crate::state::{Progress, StatedBy};
use crate::waiting::{Waiting, Waits};

/// All executions of a bundle.
pub(crate) struct Chains<'i> {
    classes: Classes<'i>,
    shared: Shared,
    /// Nothing was left out on purpose.
    whole: bool,
    logs: Vec<LogId>,
    numbers: BTreeMap<LogId, u32>,
    executions: Vec<Execution>,
    hasher: RandomState,
    /// Executions by the hash of their last entry, and by who reserved them
    /// under which name.
    tips: HashTable<u32>,
    reserved: HashTable<u32>,
    waiting: Waiting,
    linked: u64,
    aliases: bool,
}

struct Execution {
    progress: Progress,
    key: Option<Key>,
    tip: Raw,
    next_seq: u64,
    /// Where its first entry stands.
    log: u32,
    first: u64,
}

/// How outcomes stand in a bundle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) by_gateway: u64,
    pub(crate) by_operator: u64,
    pub(crate) open: u64,
}

impl<'i> Chains<'i> {
    pub(crate) fn new(components: &'i Components, whole: bool) -> Self {
        Self {
            classes: Classes::new(components),
            shared: Shared::default(),
            whole,
            logs: Vec::new(),
            numbers: BTreeMap::new(),
            executions: Vec::new(),
            hasher: RandomState::new(),
            tips: HashTable::new(),
            reserved: HashTable::new(),
            waiting: Waiting::default(),
            linked: 0,
            aliases: false,
        }
    }

    /// Takes the next entry of the bundle.
    pub(crate) fn entry(
        &mut self,
        entry: &Entry,
        place: &Place,
        opened: Option<Opened>,
        findings: &mut Findings,
    ) {
        self.aliases |= entry.said().kind == Kind::Alias;
        let Some(link) = entry.link() else {
            self.unlinked(entry, place, findings);
            return;
        };
        self.linked = self.linked.saturating_add(1);
        let index = match link.execution_previous {
            None => self.begin(entry, place, opened, findings),
            Some(previous) => match self.take_tip(&previous.to_bytes()) {
                Some(index) => self.follow(index, entry, place, opened, findings),
                None => return self.waiting.add(entry, place, opened),
            },
        };
        if let Some(index) = index {
            self.resume(index, findings);
        }
    }

    /// An attempt that met no row.
    fn unlinked(&mut self, entry: &Entry, place: &Place, findings: &mut Findings) {
        let said = entry.said();
        if matches!(
            said.kind,
            Kind::Admission | Kind::Terminal | Kind::Round | Kind::Blocked
        ) {
            findings.contradict(Claim::Ordering, Some(place), || {
                format!("a `{}` has no place on an execution", said.kind)
            });
        }
        self.classes.check((None, None), said, place, findings);
        if !met_nothing(said) {
            return;
        }
        if !self.whole {
            findings.leave_open(Claim::Classification, Some(place), || {
                "nothing was recorded under its identifier, it says, and the bundle leaves entries out".to_owned()
            });
        }
        let key = self.shared.key(said);
        let earlier = key.and_then(|key| self.find_reserved(&key));
        if earlier.is_some_and(|earlier| self.before(earlier, place)) {
            findings.contradict(Claim::Classification, Some(place), || {
                "nothing was recorded under its identifier, it says; an earlier entry did"
                    .to_owned()
            });
        }
    }

    /// The first entry of an execution.
    fn begin(
        &mut self,
        entry: &Entry,
        place: &Place,
        opened: Option<Opened>,
        findings: &mut Findings,
    ) -> Option<u32> {
        let said = entry.said();
        let progress = match Progress::reserved(said, &mut self.shared) {
            Ok(progress) => progress,
            Err(reason) => {
                findings.contradict(Claim::Ordering, Some(place), || reason.to_owned());
                return None;
            }
        };
        self.classes
            .check((None, opened.as_ref()), said, place, findings);
        // More executions than this a bundle cannot hold in its members.
        let index = u32::try_from(self.executions.len()).ok()?;
        let key = self.shared.key(said);
        if key.is_none() {
            findings.contradict(Claim::Ordering, Some(place), || {
                "an admission names no agent, or neither an identifier nor a call".to_owned()
            });
        }
        if let Some(key) = &key
            && let Some(other) = self.put_reserved(key, index)
        {
            let first = self.first(other);
            findings.contradict(Claim::Ordering, Some(place), || {
                format!("its identifier was reserved before, at {first}")
            });
        }
        let log = self.log(&place.log_id);
        self.executions.push(Execution {
            progress,
            key,
            tip: entry.hash().to_bytes(),
            next_seq: 1,
            log,
            first: place.sequence,
        });
        self.put_tip(index);
        Some(index)
    }

    /// A later entry of an execution.
    fn follow(
        &mut self,
        index: u32,
        entry: &Entry,
        place: &Place,
        opened: Option<Opened>,
        findings: &mut Findings,
    ) -> Option<u32> {
        let said = entry.said();
        let key = self.shared.key(said);
        let execution = self.executions.get_mut(index as usize)?;
        let seq = entry.link().map(|link| link.execution_seq);
        if seq != Some(execution.next_seq) {
            findings.contradict(Claim::Ordering, Some(place), || {
                format!(
                    "it should be number {} of its execution",
                    execution.next_seq
                )
            });
        }
        if execution.key != key && execution.key.is_some() && !self.aliases {
            findings.contradict(Claim::Ordering, Some(place), || {
                "it stands on the execution of another agent or identifier".to_owned()
            });
        }
        let by = (Some(&execution.progress), opened.as_ref());
        self.classes.check(by, said, place, findings);
        if matches!(said.kind, Kind::Other(_)) {
            findings.leave_open(Claim::Ordering, Some(place), || {
                format!("what a `{}` does to an execution is not known", said.kind)
            });
        }
        if let Err(reason) = execution.progress.apply(said) {
            findings.contradict(Claim::Ordering, Some(place), || reason.to_owned());
        }
        execution.next_seq = execution.next_seq.saturating_add(1);
        execution.tip = entry.hash().to_bytes();
        self.put_tip(index);
        Some(index)
    }

    /// Takes up what waited for the last entry of an execution, and what
    /// waited for that; step by step, however long such a row is.
    fn resume(&mut self, index: u32, findings: &mut Findings) {
        let mut indices = VecDeque::from([index]);
        while let Some(index) = indices.pop_front() {
            let Some(tip) = self.executions.get(index as usize).map(|e| e.tip) else {
                return;
            };
            for waits in self.waiting.take(&tip) {
                let Waits {
                    place,
                    entry,
                    opened,
                } = waits;
                match self.take_tip(&tip) {
                    Some(index) => {
                        indices.extend(self.follow(index, &entry, &place, opened, findings));
                    }
                    None => fork(&place, findings),
                }
            }
        }
    }

    fn take_tip(&mut self, hash: &Raw) -> Option<u32> {
        let executions = &self.executions;
        let is = |index: &u32| {
            executions
                .get(*index as usize)
                .is_some_and(|e| e.tip == *hash)
        };
        let found = self.tips.find_entry(self.hasher.hash_one(hash), is).ok()?;
        Some(found.remove().0)
    }

    fn put_tip(&mut self, index: u32) {
        let (hasher, executions) = (&self.hasher, &self.executions);
        let hash = |index: &u32| {
            let tip = executions.get(*index as usize).map(|e| &e.tip);
            hasher.hash_one(tip.unwrap_or(&[0; 32]))
        };
        self.tips.insert_unique(hash(&index), index, hash);
    }

    fn find_reserved(&self, key: &Key) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let is = |index: &u32| key_of(&self.executions, *index) == Some(key);
        self.reserved.find(hash, is).copied()
    }

    /// Remembers who reserved an identifier last; gives who did before.
    fn put_reserved(&mut self, key: &Key, index: u32) -> Option<u32> {
        let (hasher, executions) = (&self.hasher, &self.executions);
        let is = |other: &u32| key_of(executions, *other) == Some(key);
        let hash = hasher.hash_one(key);
        if let Some(known) = self.reserved.find_mut(hash, is) {
            return Some(std::mem::replace(known, index));
        }
        let again = |other: &u32| hasher.hash_one(key_of(executions, *other).unwrap_or(key));
        self.reserved.insert_unique(hash, index, again);
        None
    }

    /// Where the first entry of an execution stands, in words.
    fn first(&self, index: u32) -> String {
        let execution = self.executions.get(index as usize);
        let log = execution.and_then(|execution| self.logs.get(execution.log as usize));
        match (execution, log) {
            (Some(execution), Some(log)) => format!("{log}#{}", execution.first),
            _ => String::new(),
        }
    }

    /// Whether an execution began before `place` in the same log.
    fn before(&self, index: u32, place: &Place) -> bool {
        let execution = self.executions.get(index as usize);
        execution.is_some_and(|execution| {
            self.logs.get(execution.log as usize) == Some(&place.log_id)
                && execution.first < place.sequence
        })
    }

    /// The number of a log.
    fn log(&mut self, id: &LogId) -> u32 {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let number = u32::try_from(self.logs.len()).unwrap_or(u32::MAX);
        self.logs.push(id.clone());
        self.numbers.insert(id.clone(), number);
        number
    }

    /// Says what holds once all entries are in. Where nothing was left out,
    /// every predecessor must be there.
    pub(crate) fn finish(self, findings: &mut Findings) -> Tally {
        if self.waiting.overflowed() {
            for claim in [Claim::Ordering, Claim::Classification] {
                findings.leave_open(claim, None, || {
                    "more entries wait for one before them than are kept".to_owned()
                });
            }
        }
        let kept_all = !self.waiting.overflowed();
        for place in self.waiting.into_places() {
            if self.whole && kept_all {
                fork(&place, findings);
            } else {
                for claim in [Claim::Ordering, Claim::Classification] {
                    findings.leave_open(claim, Some(&place), || {
                        "the entry before it on its execution is not in the bundle".to_owned()
                    });
                }
            }
        }
        if self.aliases {
            findings.leave_open(Claim::Ordering, None, || {
                "workloads were moved to other identities, which is not followed".to_owned()
            });
        }
        let executions = self.executions.len();
        let classified = self.classes.classified();
        findings.show(
            Claim::Classification,
            format!("{classified} attempts classified again, the same"),
        );
        let linked = self.linked;
        findings.show(Claim::Ordering, format!("{executions} executions in {linked} entries, each reserved once, settled at most once, nothing invoked after"));
        let mut tally = Tally::default();
        for execution in &self.executions {
            match execution.progress.stated_by {
                Some(StatedBy::Gateway) => tally.by_gateway += 1,
                Some(StatedBy::Operator) => tally.by_operator += 1,
                None => tally.open += 1,
            }
        }
        tally
    }
}

fn key_of(executions: &[Execution], index: u32) -> Option<&Key> {
    executions.get(index as usize)?.key.as_ref()
}

fn fork(place: &Place, findings: &mut Findings) {
    findings.contradict(Claim::Ordering, Some(place), || {
        "it does not follow the last entry of its execution".to_owned()
    });
}
