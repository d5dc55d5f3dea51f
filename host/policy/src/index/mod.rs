//! Which policies of a slice are evaluated for a request.
//!
//! Rules for one agent, one account or one path begin by comparing a text, and
//! nearly all of them are about another one: they are found by that text
//! instead of being evaluated. Cedar still decides, with a set of those that are
//! left; what is left out would have been false, and could not have failed
//! (`requirement`).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use cedar_policy::PolicySet;

use crate::Request;
use crate::budget::Budget;
use crate::facts::Fact;
use crate::keys::Keys;
use crate::policy::Policy;
use crate::reads::Reads;

/// Policies in all of the sets that one index keeps, those that stand in
/// several counted as often. What would be beyond it takes the place of the
/// others.
const MOST_KEPT: usize = 16_384;

/// So few policies are worth choosing from however many are left. Of more, a
/// choice of over half is not worth keeping.
const FEW: usize = 64;

/// Policies that are evaluated together, and what they read.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) policies: PolicySet,
    pub(crate) keys: Keys,
    pub(crate) arguments: Reads,
}

/// Every policy of a slice, by what it requires first. It names them by their
/// places in the set that it was made for.
#[derive(Debug)]
pub(crate) struct Index {
    /// All of them.
    whole: Arc<Part>,
    /// How many these are.
    count: usize,
    /// The places, in their policy set, of those that are always evaluated.
    always: Vec<usize>,
    questions: Vec<Question>,
    kept: RwLock<Kept>,
    /// What it takes of the budget, without the sets that it keeps.
    weight: usize,
    budget: Arc<Budget>,
}

/// A fact of which some of the policies require something.
#[derive(Debug)]
struct Question {
    fact: Fact,
    /// The places of all of them.
    askers: Vec<usize>,
    /// Where a value stands in the sets.
    values: BTreeMap<Box<str>, usize>,
    /// The places of those that ask for the same value.
    sets: Vec<Vec<usize>>,
}

/// What a request says to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// Nothing: every asker is evaluated.
    Missing,
    /// Something that nobody asks for.
    Other,
    /// The value of that set.
    Value(usize),
}

/// Sets that were made, by the answers that they are for.
#[derive(Debug, Default)]
struct Kept {
    parts: BTreeMap<Box<[Answer]>, Arc<Part>>,
    policies: usize,
    /// What they take of the budget.
    weight: usize,
}

impl Part {
    /// None where Cedar refuses to hold the policies, which it did not at load.
    pub(crate) fn new<'p>(policies: impl Iterator<Item = &'p Policy> + Clone) -> Option<Self> {
        let keys = Keys::new(policies.clone().flat_map(|policy| &policy.mentions.keys));
        let mut arguments = Reads::default();
        for policy in policies.clone() {
            arguments.join(&policy.mentions.arguments);
        }
        let cedar = policies.map(|policy| policy.cedar.clone());
        Some(Self {
            policies: PolicySet::from_policies(cedar).ok()?,
            keys,
            arguments,
        })
    }
}

impl Index {
    /// Of those policies of a set that belong to a slice. None where there is no
    /// room, or where Cedar refuses to hold them, which it did not at load.
    pub(crate) fn with_room(
        policies: &[Policy],
        belongs: impl Fn(&Policy) -> bool,
        budget: &Arc<Budget>,
    ) -> Option<Self> {
        let left = budget.slices.left();
        // An empty one costs something as well.
        let mut weight = 1024_usize;
        for policy in policies.iter().filter(|policy| belongs(policy)) {
            weight = weight.saturating_add(policy.weight());
            if weight > left {
                return None;
            }
        }
        if !budget.slices.take(weight) {
            return None;
        }
        let made = Self::new(policies, belongs, weight, budget);
        if made.is_none() {
            budget.slices.give(weight);
        }
        made
    }

    /// Of all policies of a set, whatever room there is: it is made once. None
    /// where Cedar refuses to hold them, which it did not at load.
    pub(crate) fn of_all(policies: &[Policy], budget: &Arc<Budget>) -> Option<Self> {
        Self::new(policies, |_| true, 0, budget)
    }

    fn new(
        policies: &[Policy],
        belongs: impl Fn(&Policy) -> bool,
        weight: usize,
        budget: &Arc<Budget>,
    ) -> Option<Self> {
        let mut always = Vec::new();
        let mut questions: BTreeMap<&Fact, Question> = BTreeMap::new();
        for (place, policy) in policies.iter().enumerate() {
            if !belongs(policy) {
                continue;
            }
            let Some(required) = &policy.requires else {
                always.push(place);
                continue;
            };
            let question = questions.entry(&required.fact).or_insert_with(|| Question {
                fact: required.fact.clone(),
                askers: Vec::new(),
                values: BTreeMap::new(),
                sets: Vec::new(),
            });
            question.askers.push(place);
            for value in &required.values {
                question.ask(value, place);
            }
        }
        let whole = Part::new(policies.iter().filter(|policy| belongs(policy)))?;
        Some(Self {
            count: whole.policies.num_of_policies(),
            whole: Arc::new(whole),
            always,
            questions: questions.into_values().collect(),
            kept: RwLock::default(),
            weight,
            budget: Arc::clone(budget),
        })
    }

    /// With every policy of the slice.
    #[cfg(test)]
    pub(crate) fn whole(&self) -> &Part {
        &self.whole
    }

    /// Every policy that may apply to a request, and as few others as can be
    /// told.
    pub(crate) fn part(&self, policies: &[Policy], request: &Request<'_>) -> Arc<Part> {
        if self.questions.is_empty() {
            return Arc::clone(&self.whole);
        }
        let answers: Box<[Answer]> = self
            .questions
            .iter()
            .map(|question| question.answer(request))
            .collect();
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = kept.parts.get(&answers) {
            return Arc::clone(part);
        }
        drop(kept);
        self.make(policies, answers)
    }

    fn make(&self, policies: &[Policy], answers: Box<[Answer]>) -> Arc<Part> {
        let mut places = self.always.clone();
        for (question, answer) in self.questions.iter().zip(&answers) {
            places.extend(question.askers_for(*answer));
        }
        // As they stand in their files.
        places.sort_unstable();
        let heavy = self.count > FEW && places.len() > self.count / 2;
        if heavy || places.len() >= MOST_KEPT {
            return Arc::clone(&self.whole);
        }
        // Made without the lock, for which others would wait.
        let chosen = places.iter().filter_map(|place| policies.get(*place));
        let Some(part) = Part::new(chosen.clone()).map(Arc::new) else {
            return Arc::clone(&self.whole);
        };
        // An empty set costs something as well.
        let weight = chosen.map(Policy::weight).fold(1024, usize::saturating_add);
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        self.keep(&mut kept, answers, &part, places.len() + 1, weight);
        part
    }

    /// Keeps a set, in the place of all others where there is no room beside
    /// them: whoever comes with ever new answers takes no more than others do.
    fn keep(
        &self,
        kept: &mut Kept,
        answers: Box<[Answer]>,
        part: &Arc<Part>,
        policies: usize,
        weight: usize,
    ) {
        if kept.parts.contains_key(&answers) {
            return;
        }
        if kept.policies.saturating_add(policies) > MOST_KEPT {
            self.forget(kept);
        }
        let purse = &self.budget.kept;
        if !purse.take(weight) {
            self.forget(kept);
            if !purse.take(weight) {
                return;
            }
        }
        kept.policies = kept.policies.saturating_add(policies);
        kept.weight = kept.weight.saturating_add(weight);
        kept.parts.insert(answers, Arc::clone(part));
    }

    fn forget(&self, kept: &mut Kept) {
        self.budget.kept.give(kept.weight);
        *kept = Kept::default();
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.budget.kept.give(kept.weight);
        self.budget.slices.give(self.weight);
    }
}

impl Question {
    fn ask(&mut self, value: &str, place: usize) {
        let next = self.sets.len();
        let set = *self.values.entry(value.into()).or_insert(next);
        match self.sets.get_mut(set) {
            Some(places) => places.push(place),
            None => self.sets.push(vec![place]),
        }
    }

    fn answer(&self, request: &Request<'_>) -> Answer {
        let Some(text) = self.fact.text(request) else {
            return Answer::Missing;
        };
        let set = self.values.get(&*text);
        set.map_or(Answer::Other, |set| Answer::Value(*set))
    }

    fn askers_for(&self, answer: Answer) -> &[usize] {
        match answer {
            Answer::Missing => &self.askers,
            Answer::Other => &[],
            Answer::Value(set) => self.sets.get(set).map_or(&[], Vec::as_slice),
        }
    }
}

#[cfg(test)]
mod tests;
