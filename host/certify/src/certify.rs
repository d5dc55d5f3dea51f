//! A run: everything that is asked of a component, in order, and the report.
//!
//! 1. it is loaded, and what keeps a gateway from loading it is noted,
//! 2. `classify` is asked every question of the table,
//! 3. it reads families of messages, whose members are held against each other;
//!    the first case that fails ends this, and is made small,
//! 4. where none did, it reads messages at its limits, and messages meant to
//!    exhaust it: what those would show is seldom as easy to see.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use countersign_canon::Digest;
use countersign_engine::{Candidate, Compiled, Engine, EngineError, Fault, Profile};

use crate::check::Check;
use crate::consumers::Consumers;
use crate::counterexample;
use crate::difference;
use crate::finding::Finding;
use crate::generate::{FAMILY, Generator};
use crate::hostile::{self, Hostile};
use crate::report::{Counts, Report};
use crate::subject::{Bound, Came, Subject, at_fault};
use crate::table;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The same seed gives the same messages.
    pub seed: u64,
    /// How many pairs of messages are held against each other.
    pub pairs: u64,
    /// On how many threads, 1 to 127.
    pub jobs: u32,
}

/// How far a run has come: what it does, how much of it is done, of how much.
pub type Progress<'p> = &'p (dyn Fn(&'static str, u64, u64) + Sync);

/// A run that could not be made; nothing is known of the component.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// This machine has no room for the engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The consumers could not be set up.
    #[error("the consumers cannot be set up: {0}")]
    Consumers(String),
}

/// Certifies a component.
///
/// # Errors
/// [`Unusable`] where it could not be tried at all; what is wrong with the
/// component stands in the report.
pub fn certify(component: &[u8], plan: Plan, progress: Progress<'_>) -> Result<Report, Unusable> {
    // A thread holds an instance that it uses and a fresh one, twice over while
    // it makes a counterexample small.
    let slots = plan.jobs.saturating_mul(4).saturating_add(2);
    let served = Engine::for_certification(slots, Compiled::AsServed)?;
    let plain = Engine::for_certification(slots, Compiled::Plainly)?;
    let consumers = Consumers::new().map_err(Unusable::Consumers)?;
    let mut report = Report {
        profile: None,
        component: Digest::of(&[component]),
        limits: None,
        seed: plan.seed,
        pairs: plan.pairs,
        counts: Counts::default(),
        findings: Vec::new(),
    };
    progress("loading", 0, 1);
    let loaded = served.load_candidate(component);
    let plainly = plain.load_candidate(component);
    let (Candidate { profile, problems }, plainly) = match (loaded, plainly) {
        (Ok(candidate), Ok(plainly)) => (candidate, plainly.profile),
        (Err(error), _) | (_, Err(error)) => {
            let reason = format!("{} ({})", error.problem(), error.code());
            report.findings.push(Finding::new(Check::Loading, reason));
            return Ok(report);
        }
    };
    report.profile = Some(profile.id().clone());
    report.limits = Some(profile.limits());
    let noted = problems.iter().map(|error| {
        let reason = format!("{} ({})", error.problem(), error.code());
        Finding::new(Check::Loading, reason)
    });
    let noted: Vec<Finding> = noted.collect();
    report
        .findings
        .extend(classified(&profile, &mut report.counts, progress));
    let run = Run {
        plan,
        generator: Generator::new(plan.seed),
        profile: &profile,
        plain: &plainly,
        consumers: &consumers,
        progress,
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        ended: Mutex::new((Counts::default(), None)),
    };
    let (counts, found) = run.run();
    report.counts.add(&counts);
    match found {
        Some(finding) => report.findings.push(finding),
        None => {
            report.findings.extend(coverage(&counts));
            let mut subject = Subject::new(&profile, &plainly, &consumers);
            let found = exhausted(&mut subject, &mut report.counts, progress);
            report.findings.extend(found);
            let most = report.counts.fuel_per_mille.max(subject.fuel_per_mille);
            report.counts.fuel_per_mille = most;
        }
    }
    // What shows itself in a request is said first.
    report.findings.extend(noted);
    Ok(report)
}

/// Asks every question of the table, each of an instance of its own.
fn classified(profile: &Profile, counts: &mut Counts, progress: Progress<'_>) -> Option<Finding> {
    let questions = table::questions();
    let all = u64::try_from(questions.len()).unwrap_or(u64::MAX);
    for question in questions {
        progress("classifying", counts.classified, all);
        counts.classified += 1;
        let said = profile
            .warm()
            .and_then(|mut warm| warm.verdict(&question.presented, question.recorded.as_ref()));
        match said {
            Ok(said) if said == question.answer => {}
            Ok(said) => {
                let reason = format!(
                    "{}: the table says {:?} and it says {said:?}",
                    question.shown(),
                    question.answer
                );
                return Some(Finding::new(Check::Classification, reason));
            }
            Err(fault) => return Some(nameless(&fault)),
        }
    }
    None
}

fn nameless(fault: &Fault) -> Finding {
    let mut finding = at_fault(fault, b"");
    finding.requests.clear();
    finding
}

/// Reads the messages at the limits and those meant to exhaust it.
fn exhausted(
    subject: &mut Subject<'_>,
    counts: &mut Counts,
    progress: Progress<'_>,
) -> Option<Finding> {
    let limits = subject.limits();
    let small = [hostile::at_limits(limits), hostile::costly()];
    let count = small.iter().map(Vec::len).sum::<usize>() + hostile::FILLING;
    let all = u64::try_from(count).unwrap_or(u64::MAX);
    let messages = small.into_iter().flatten();
    for Hostile { what, message } in messages.chain(hostile::filling(limits)) {
        progress("hostile", counts.hostile, all);
        counts.hostile += 1;
        if let Err(mut finding) = subject.message(&message) {
            finding.reason = format!("{what}: {}", finding.reason);
            return Some(finding);
        }
    }
    None
}

/// A profile that refuses nearly everything was not tried.
fn coverage(counts: &Counts) -> Option<Finding> {
    (counts.calls * 10 < counts.messages).then(|| {
        let reason = format!(
            "it admits {} of {} messages as calls, fewer than a tenth, so that little was tried",
            counts.calls, counts.messages
        );
        Finding::new(Check::Coverage, reason)
    })
}

/// The pairs of one family: each with the first, and the two that differ.
const PAIRS: [(usize, usize); 4] = [(0, 1), (0, 2), (0, 3), (1, 2)];

/// Families after a binding that is not the prescribed digest in which two
/// messages that share one are looked for.
const WAITED: u64 = 250;

struct Run<'r> {
    plan: Plan,
    generator: Generator,
    profile: &'r Profile,
    plain: &'r Profile,
    consumers: &'r Consumers,
    progress: Progress<'r>,
    next: AtomicU64,
    stop: AtomicBool,
    /// What was counted, and the finding of the lowest family.
    ended: Mutex<(Counts, Option<(u64, Finding)>)>,
}

impl Run<'_> {
    fn run(self) -> (Counts, Option<Finding>) {
        std::thread::scope(|scope| {
            for _ in 0..self.plan.jobs.max(1) {
                scope.spawn(|| self.work());
            }
        });
        let (counts, found) = self
            .ended
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        (counts, found.map(|(_, finding)| finding))
    }

    fn work(&self) {
        let each = u64::try_from(PAIRS.len()).unwrap_or(1);
        let families = self.plan.pairs.div_ceil(each);
        let mut subject = Subject::new(self.profile, self.plain, self.consumers);
        let mut counts = Counts::default();
        let mut found = None;
        while !self.stop.load(Ordering::Relaxed) {
            let family = self.next.fetch_add(1, Ordering::Relaxed);
            if family >= families {
                break;
            }
            if family.is_multiple_of(64) {
                (self.progress)("pairs", family * each, self.plan.pairs);
            }
            let wrong = self.family(&mut subject, &mut counts, family).err();
            let known = found.as_ref().map(|(first, _)| *first);
            found = match (wrong, found) {
                (Some(new), Some((first, old))) if is_weak(&new) => Some((first, old)),
                (Some(new), _) => Some((family, new)),
                (None, old) => old,
            };
            let waits = known.unwrap_or(family) + WAITED > family;
            if found
                .as_ref()
                .is_some_and(|(_, finding)| !is_weak(finding) || !waits)
            {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        counts.fuel_per_mille = subject.fuel_per_mille;
        let found = found.map(|(family, finding)| (family, self.smallest(finding)));
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.0.add(&counts);
        // Threads end in any order; the report is the one of the first case.
        let rank = |(family, finding): &(u64, Finding)| (is_weak(finding), *family);
        ended.1 = match (ended.1.take(), found) {
            (Some(known), Some(new)) if rank(&new) < rank(&known) => Some(new),
            (known, new) => known.or(new),
        };
    }

    fn family(
        &self,
        subject: &mut Subject<'_>,
        counts: &mut Counts,
        family: u64,
    ) -> Result<(), Finding> {
        let mut came: Vec<Option<Box<Bound>>> = Vec::new();
        for case in family * FAMILY..(family + 1) * FAMILY {
            let message = self.generator.message(case);
            counts.messages += 1;
            match subject.message(&message) {
                Ok(Came::Bound(bound)) => {
                    counts.calls += 1;
                    came.push(Some(bound));
                }
                Ok(Came::NotACall) => {
                    counts.others += 1;
                    came.push(None);
                }
                Ok(Came::Refused(refusal)) => {
                    *counts.refused.entry(refusal.code.as_str()).or_default() += 1;
                    came.push(None);
                }
                Err(finding) => return Err(finding.in_case(case)),
            }
        }
        for (one, other) in PAIRS {
            let (Some(Some(one)), Some(Some(other))) = (came.get(one), came.get(other)) else {
                counts.not_compared += 1;
                continue;
            };
            compare(subject, counts, one, other)
                .map_err(|finding| finding.in_case(family * FAMILY))?;
        }
        match came.into_iter().flatten().find_map(|bound| bound.recipe) {
            Some(finding) => Err(finding.in_case(family * FAMILY)),
            None => Ok(()),
        }
    }

    /// The same finding of smaller messages.
    fn smallest(&self, finding: Finding) -> Finding {
        let subject = || Subject::new(self.profile, self.plain, self.consumers);
        // Of a smaller message something else may be wrong as well.
        let (check, like) = (finding.check, kind(&finding));
        let again = |message: &[u8]| {
            subject()
                .message(message)
                .err()
                .filter(|new| new.check == check && kind(new) == like)
        };
        let pair_again = |[one, other]: [&[u8]; 2]| {
            let mut subject = subject();
            let (Ok(Came::Bound(one)), Ok(Came::Bound(other))) =
                (subject.message(one), subject.message(other))
            else {
                return None;
            };
            let counts = &mut Counts::default();
            compare(&subject, counts, &one, &other)
                .err()
                .filter(|new| new.check == check)
        };
        let recipe_again = |message: &[u8]| match subject().message(message) {
            Ok(Came::Bound(bound)) => bound.recipe,
            _ => None,
        };
        let smaller = match finding.requests.as_slice() {
            [one, other] if again(one).is_none() => {
                let [one, other] =
                    counterexample::pair([one, other], |pair| pair_again(pair).is_some());
                pair_again([&one, &other])
            }
            [one] if check == Check::DigestRecipe => {
                let small = counterexample::message(one, |message| recipe_again(message).is_some());
                recipe_again(&small)
            }
            [one, ..] => {
                let small = counterexample::message(one, |message| again(message).is_some());
                again(&small)
            }
            [] => None,
        };
        let case = finding.case;
        Finding {
            case,
            ..smaller.unwrap_or(finding)
        }
    }
}

/// That a binding is not the prescribed digest shows in the first call already;
/// two messages that share one show more.
fn is_weak(finding: &Finding) -> bool {
    finding.check == Check::DigestRecipe
}

/// The words with which a reason begins, without what it quotes.
fn kind(finding: &Finding) -> String {
    let words = finding.reason.split(' ');
    let plain = words.filter(|word| !word.contains(['`', '"', '(', ':', '…']));
    plain.take(7).collect::<Vec<_>>().join(" ")
}

/// Holds two calls against each other, in both directions.
fn compare(
    subject: &Subject<'_>,
    counts: &mut Counts,
    one: &Bound,
    other: &Bound,
) -> Result<(), Finding> {
    let asks = |bound: &Bound| countersign_canon::envelop(&bound.as_written).unwrap_or_default();
    let shown = |finding: Finding| finding.shown_by([&asks(one), &asks(other)]);
    if one.binding != other.binding {
        if one.action == other.action {
            let reason = "they have one action and two bindings";
            return Err(shown(Finding::new(Check::DigestRecipe, reason)));
        }
        match one.treatment.against(&other.treatment) {
            Some(_) => counts.told_apart += 1,
            None => counts.finer += 1,
        }
        return Ok(());
    }
    if let Some(difference) = difference::between(&one.meaning, &other.meaning) {
        let [left, right] = &difference.there;
        let pointer = &difference.pointer;
        let reason = format!(
            "`{pointer}` is {left} in one and {right} in the other, and they have one binding"
        );
        let treated = [one, other].map(|bound| subject.treatment_of(&bound.as_written));
        let seen = match &treated {
            [Some(one), Some(other)] => one.against(other),
            _ => None,
        };
        return Err(shown(Finding::new(Check::Separation, reason).seen_by(seen)));
    }
    if let Some(seen) = one.treatment.against(&other.treatment) {
        let reason = "they have one binding and are treated differently";
        return Err(shown(
            Finding::new(Check::Adequacy, reason).seen_by(Some(seen)),
        ));
    }
    counts.equal += 1;
    Ok(())
}
