//! The reference: what callers may be told, in the words of
//! `docs/spec/executions.md` §2–3 and §6, and of nothing in the ledger.
//!
//! It knows no fence, no incarnation, no transaction and no entry: only where
//! each execution stands, and that a permit for one round exists once.

use std::collections::BTreeMap;

use countersign_canon::Outcome;

use crate::sequence::{Asks, Word};

/// An execution: an agent, and its identifier or, without one, its call.
pub type Key = (&'static str, String);

#[derive(Clone, Debug, PartialEq)]
pub enum Stands {
    Running,
    Asked,
    Task,
    Blocked,
    Over(Outcome),
}

#[derive(Clone, Debug)]
pub struct Known {
    pub identified: bool,
    pub action: &'static str,
    pub tool: &'static str,
    pub stands: Stands,
    pub answered: Vec<&'static str>,
    /// The state that the upstream issued last.
    pub issued: Option<&'static str>,
    /// Bytes of an earlier round have left.
    pub touched: bool,
    /// An answer came, of whatever kind.
    pub heard: bool,
    /// Its permit was given by the process that runs now.
    pub owner_lives: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Reference {
    pub known: BTreeMap<Key, Known>,
    /// How often each round was permitted.
    pub permits: BTreeMap<(Key, usize), usize>,
    pub late: usize,
    /// A fault of the reference itself, to see that it would be found.
    pub lies: bool,
}

impl Reference {
    /// What an attempt is told.
    pub fn told(&self, asks: &Asks) -> &'static str {
        let Some(id) = asks.id else {
            let foreign = asks.round.and_then(|(_, state)| state);
            return match foreign {
                Some(state) if !self.issued_to(asks.agent, state) => "request-state-unknown",
                _ => "fresh",
            };
        };
        let Some(known) = self.known.get(&(asks.agent, id.to_owned())) else {
            return match asks.round {
                Some(_) => "continuation-mismatch",
                None => "fresh",
            };
        };
        if known.action != asks.action || (known.tool != asks.tool && !self.lies) {
            return "collision";
        }
        match (&known.stands, asks.round) {
            (Stands::Over(_), _) => "replay",
            (Stands::Blocked, _) => "blocked",
            (_, Some((what, _))) if known.answered.contains(&what) => "round-replay",
            (Stands::Asked, None) => "round-replay",
            (Stands::Asked, Some((_, state))) if known.issued == state => "continuation",
            (Stands::Asked, Some(_)) => "continuation-mismatch",
            (Stands::Running | Stands::Task, _) => "in-flight",
        }
    }

    fn issued_to(&self, agent: &str, state: &str) -> bool {
        let mut all = self.known.iter();
        all.any(|(key, known)| key.0 == agent && known.issued == Some(state))
    }

    /// Whether the caller may try the same work under a new identifier.
    pub fn safe(&self, key: &Key, told: &str) -> bool {
        let known = self.known.get(key);
        told == "fresh"
            || known.is_some_and(|known| {
                known.stands == Stands::Over(Outcome::NotAttempted) && !known.heard
            })
    }

    /// Whether the answer of the awaited round is given again.
    pub fn gives_again(&self, key: &Key, asks: &Asks, told: &str) -> bool {
        let Some(known) = self.known.get(key) else {
            return false;
        };
        let asked_by = known.answered.last().copied();
        told == "round-replay"
            && known.stands == Stands::Asked
            && asks.round.map(|(what, _)| what) == asked_by
    }

    /// An attempt got the permit.
    pub fn permitted(&mut self, key: &Key, asks: &Asks) {
        let known = self.known.entry(key.clone()).or_insert_with(|| Known {
            identified: asks.id.is_some(),
            action: asks.action,
            tool: asks.tool,
            stands: Stands::Running,
            answered: Vec::new(),
            issued: None,
            touched: false,
            heard: false,
            owner_lives: true,
        });
        known.stands = Stands::Running;
        known.owner_lives = true;
        if known.identified {
            known.answered.extend(asks.round.map(|(what, _)| what));
        }
        let round = known.answered.len();
        *self.permits.entry((key.clone(), round)).or_default() += 1;
    }

    /// Where an execution stands after its owner's word.
    pub fn settled(&mut self, key: &Key, sent: bool, word: Word) {
        let Some(known) = self.known.get_mut(key) else {
            return;
        };
        let nothing_left = !sent && !known.touched;
        known.heard |= !matches!(word, Word::Dropped | Word::NotSent | Word::Unanswered);
        known.stands = match word {
            Word::Dropped | Word::NotSent if nothing_left => Stands::Over(Outcome::NotAttempted),
            Word::Dropped | Word::NotSent | Word::Unanswered => {
                Stands::Over(Outcome::OutcomeUnknown)
            }
            Word::Succeeded => Stands::Over(Outcome::Succeeded),
            Word::ToolError => Stands::Over(Outcome::ToolError),
            Word::Asked(issued) => {
                known.issued = issued;
                known.touched = true;
                match known.identified {
                    true => Stands::Asked,
                    false => Stands::Over(Outcome::Succeeded),
                }
            }
            Word::Task => Stands::Task,
        };
    }

    /// What a restart makes of it.
    pub fn restarted(&mut self) {
        for known in self.known.values_mut() {
            known.owner_lives = false;
            if known.stands == Stands::Running {
                known.stands = match known.identified {
                    true => Stands::Blocked,
                    false => Stands::Over(Outcome::OutcomeUnknown),
                };
            }
        }
    }

    /// Where an execution stands after an operator's resolution, if that may be.
    pub fn resolved(&self, key: &Key, outcome: Outcome) -> Option<Stands> {
        let known = self.known.get(key)?;
        let heard = known.heard || !known.answered.is_empty();
        if outcome == Outcome::NotAttempted && (known.owner_lives || heard) {
            return None;
        }
        match &known.stands {
            Stands::Blocked => Some(Stands::Over(outcome)),
            Stands::Over(_) => Some(known.stands.clone()),
            _ => None,
        }
    }

    /// Where an execution stands after its round is abandoned, if that may be.
    pub fn abandoned(&self, key: &Key) -> Option<Stands> {
        let known = self.known.get(key)?;
        (known.stands == Stands::Asked).then_some(Stands::Over(Outcome::OutcomeUnknown))
    }

    /// Where an execution stands after its task was seen, or, with an outcome,
    /// came to its end, if that may be.
    pub fn task(&self, key: &Key, ended: Option<Outcome>) -> Option<Stands> {
        let known = self.known.get(key)?;
        if known.stands != Stands::Task || ended == Some(Outcome::NotAttempted) {
            return None;
        }
        Some(ended.map_or(Stands::Task, Stands::Over))
    }
}
