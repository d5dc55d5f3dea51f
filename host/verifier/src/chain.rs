//! Classification and ordering: each execution's chain, replayed.
//!
//! An entry finds its execution by the hash of the entry before it, in
//! whichever log, so a fork, a second reservation or a missing link shows. What
//! an attempt was told is computed again from the state that the entries before
//! it give, by the component that the entry names.

use std::collections::HashMap;

use countersign_canon::{Classification, Digest, Presented, Round};
use countersign_evidence::{Agent, Classified, Draft, Entry, Kind, RefusalCode, RoundSays};

use crate::claim::Claim;
use crate::component::Components;
use crate::findings::{Findings, Place};
use crate::state::{Progress, State, StatedBy};

/// All executions of a bundle.
pub(crate) struct Chains<'i> {
    components: &'i Components,
    executions: Vec<Execution>,
    /// The last entry of each execution.
    tips: HashMap<[u8; 32], usize>,
    /// Who reserved which identifier.
    reserved: HashMap<(Agent, Box<str>), usize>,
    /// Entries whose predecessor has not been seen yet, by its hash.
    waiting: HashMap<[u8; 32], Vec<(Place, Entry)>>,
    classified: u64,
    linked: u64,
    aliases: bool,
}

struct Execution {
    progress: Progress,
    first: Place,
    next_seq: u64,
    key: Option<(Agent, Box<str>)>,
}

/// How outcomes stand in a bundle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) by_gateway: u64,
    pub(crate) by_operator: u64,
    pub(crate) open: u64,
}

impl<'i> Chains<'i> {
    pub(crate) fn new(components: &'i Components) -> Self {
        Self {
            components,
            executions: Vec::new(),
            tips: HashMap::new(),
            reserved: HashMap::new(),
            waiting: HashMap::new(),
            classified: 0,
            linked: 0,
            aliases: false,
        }
    }

    /// Takes the next entry of the bundle.
    pub(crate) fn entry(&mut self, entry: &Entry, place: &Place, findings: &mut Findings) {
        self.aliases |= entry.said().kind == Kind::Alias;
        let Some(link) = entry.link() else {
            self.unlinked(entry, place, findings);
            return;
        };
        self.linked = self.linked.saturating_add(1);
        let Some(previous) = link.execution_previous else {
            self.begin(entry, place, findings);
            return;
        };
        match self.tips.remove(&previous.to_bytes()) {
            Some(index) => self.follow(index, entry, place, findings),
            None => {
                let waiting = self.waiting.entry(previous.to_bytes()).or_default();
                waiting.push((place.clone(), entry.clone()));
            }
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
        self.check_class(None, said, place, findings);
        let earlier = key(said).and_then(|key| self.reserved.get(&key).copied());
        let earlier = earlier.and_then(|index| self.executions.get(index));
        let fresh = [
            Some(Classification::Fresh),
            Some(Classification::ContinuationMismatch),
        ];
        let said_fresh = said
            .classification
            .is_some_and(|c| fresh.contains(&verdict(c)));
        if said_fresh && earlier.is_some_and(|earlier| same_log(&earlier.first, place)) {
            findings.contradict(Claim::Classification, Some(place), || {
                "nothing was recorded under its identifier, it says; an earlier entry did"
                    .to_owned()
            });
        }
    }

    /// The first entry of an execution.
    fn begin(&mut self, entry: &Entry, place: &Place, findings: &mut Findings) {
        let said = entry.said();
        let progress = match Progress::reserved(said) {
            Ok(progress) => progress,
            Err(reason) => {
                findings.contradict(Claim::Ordering, Some(place), || reason.to_owned());
                return;
            }
        };
        self.check_class(None, said, place, findings);
        let index = self.executions.len();
        let key = key(said);
        if let Some(key) = &key
            && let Some(other) = self.reserved.insert(key.clone(), index)
        {
            let first = self
                .executions
                .get(other)
                .map(|other| other.first.to_string());
            findings.contradict(Claim::Ordering, Some(place), || {
                format!(
                    "its identifier was reserved before, at {}",
                    first.unwrap_or_default()
                )
            });
        }
        let first = place.clone();
        self.executions.push(Execution {
            progress,
            first,
            next_seq: 1,
            key,
        });
        self.advance(index, entry.hash(), findings);
    }

    /// A later entry of an execution.
    fn follow(&mut self, index: usize, entry: &Entry, place: &Place, findings: &mut Findings) {
        let said = entry.said();
        let Some(execution) = self.executions.get(index) else {
            return;
        };
        let seq = entry.link().map(|link| link.execution_seq);
        if seq != Some(execution.next_seq) {
            findings.contradict(Claim::Ordering, Some(place), || {
                format!(
                    "it should be number {} of its execution",
                    execution.next_seq
                )
            });
        }
        if execution.key != key(said) && execution.key.is_some() && !self.aliases {
            findings.contradict(Claim::Ordering, Some(place), || {
                "it stands on the execution of another agent or identifier".to_owned()
            });
        }
        let progress = execution.progress.clone();
        self.check_class(Some(&progress), said, place, findings);
        if matches!(said.kind, Kind::Other(_)) {
            findings.leave_open(Claim::Ordering, Some(place), || {
                format!("what a `{}` does to an execution is not known", said.kind)
            });
        }
        if let Some(execution) = self.executions.get_mut(index) {
            if let Err(reason) = execution.progress.apply(said) {
                findings.contradict(Claim::Ordering, Some(place), || reason.to_owned());
            }
            execution.next_seq = execution.next_seq.saturating_add(1);
        }
        self.advance(index, entry.hash(), findings);
    }

    /// Makes an entry the last one of its execution, and takes up what waited
    /// for it.
    fn advance(&mut self, index: usize, hash: Digest, findings: &mut Findings) {
        let hash = hash.to_bytes();
        self.tips.insert(hash, index);
        let Some(waiting) = self.waiting.remove(&hash) else {
            return;
        };
        for (place, entry) in waiting {
            match self.tips.remove(&hash) {
                Some(index) => self.follow(index, &entry, &place, findings),
                None => fork(&place, findings),
            }
        }
    }

    /// Computes again what an attempt was told, and compares.
    fn check_class(
        &mut self,
        before: Option<&Progress>,
        said: &Draft,
        place: &Place,
        findings: &mut Findings,
    ) {
        let granted = granted(said);
        let attempt = matches!(said.kind, Kind::Admission | Kind::Refusal | Kind::Round);
        let identified = said.execution_id.is_some();
        if let Err(reason) = check_code(said) {
            findings.contradict(Claim::Classification, Some(place), || reason);
        }
        let Some(classified) = said.classification else {
            if granted && identified {
                findings.contradict(Claim::Classification, Some(place), || {
                    "it was permitted without a classification".to_owned()
                });
            } else if said.kind == Kind::Refusal && identified && presented(said).is_some() {
                findings.leave_open(Claim::Classification, Some(place), || {
                    "it was bound and refused without a classification".to_owned()
                });
            }
            return;
        };
        if !attempt || !identified {
            findings.contradict(Claim::Classification, Some(place), || {
                "it has a classification and is no attempt with an execution id".to_owned()
            });
            return;
        }
        let Some(found) = verdict(classified) else {
            self.not_admissible(before, said, place, findings);
            return;
        };
        let allowed = match found {
            Classification::Fresh => said.kind != Kind::Round,
            Classification::Continuation => said.kind != Kind::Admission,
            _ => said.kind == Kind::Refusal,
        };
        if !allowed {
            findings.contradict(Claim::Classification, Some(place), || {
                format!("`{classified}` is not what permits a `{}`", said.kind)
            });
        }
        self.rerun(before, said, found, place, findings);
    }

    /// Runs the component on the same question.
    fn rerun(
        &mut self,
        before: Option<&Progress>,
        said: &Draft,
        found: Classification,
        place: &Place,
        findings: &mut Findings,
    ) {
        let Some(question) = presented(said) else {
            findings.contradict(Claim::Classification, Some(place), || {
                "it was classified without a profile, a binding or a target".to_owned()
            });
            return;
        };
        let asked = question.ask();
        if before.is_some_and(|before| before.state == State::Unknown) {
            findings.leave_open(Claim::Classification, Some(place), || {
                "the state of its execution is not known".to_owned()
            });
            return;
        }
        let table = with(before, |recorded| {
            countersign_canon::classify(&asked, recorded)
        });
        if table != found {
            findings.contradict(Claim::Classification, Some(place), || {
                format!(
                    "it was told `{}`, and is `{}`",
                    Classified::from(found),
                    Classified::from(table)
                )
            });
            return;
        }
        let component = said
            .component
            .and_then(|digest| self.components.find(question.profile, digest));
        let Some(component) = component else {
            let named = said
                .component
                .map_or_else(|| "none".to_owned(), |digest| digest.to_string());
            findings.leave_open(Claim::Classification, Some(place), || {
                format!(
                    "its component `{}` ({named}) is not one that you approved",
                    question.profile
                )
            });
            return;
        };
        match with(before, |recorded| component.classify(&asked, recorded)) {
            Ok(verdict) if verdict == found => self.classified = self.classified.saturating_add(1),
            Ok(verdict) => findings.contradict(Claim::Classification, Some(place), || {
                format!("its component says `{}`", Classified::from(verdict))
            }),
            Err(fault) => findings.leave_open(Claim::Classification, Some(place), || fault),
        }
    }

    /// A collision that the host found is not for `classify` to say.
    fn not_admissible(
        &self,
        before: Option<&Progress>,
        said: &Draft,
        place: &Place,
        findings: &mut Findings,
    ) {
        let recorded =
            before.is_some_and(|before| said.profile.as_deref() == Some(&before.profile));
        if recorded && said.binding.is_none() && said.kind == Kind::Refusal {
            findings.leave_open(Claim::Classification, Some(place), || {
                "the recorded profile is said to refuse it, which only the request can show"
                    .to_owned()
            });
        } else {
            findings.contradict(Claim::Classification, Some(place), || {
                "it is said not to be admissible under a recorded profile, and none fits".to_owned()
            });
        }
    }

    /// Says what holds once all entries are in. `whole` where nothing was
    /// left out, so that every predecessor must be there.
    pub(crate) fn finish(self, whole: bool, findings: &mut Findings) -> Tally {
        for (place, _) in self.waiting.into_values().flatten() {
            if whole {
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
        let classified = self.classified;
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

fn fork(place: &Place, findings: &mut Findings) {
    findings.contradict(Claim::Ordering, Some(place), || {
        "it does not follow the last entry of its execution".to_owned()
    });
}

fn same_log(first: &Place, place: &Place) -> bool {
    first.log_id == place.log_id && first.sequence < place.sequence
}

/// Whether an entry permits its attempt to invoke.
pub(crate) fn granted(said: &Draft) -> bool {
    let claims = said
        .round
        .is_some_and(|round| round.says == RoundSays::Claimed);
    said.kind == Kind::Admission || (said.kind == Kind::Round && claims)
}

/// Whether the code of a refusal fits its verdict: where the verdict refuses,
/// the code is the verdict's word.
fn check_code(said: &Draft) -> Result<(), String> {
    let code = said.refusal.as_ref().map(RefusalCode::as_str);
    let word = said.classification.map(Classified::as_str);
    let refuses = word.is_some_and(|word| word != "fresh" && word != "continuation");
    match (&said.kind, code) {
        (Kind::Refusal, None) => Err("a refusal has no code".to_owned()),
        (Kind::Refusal, Some(code)) if refuses && word != Some(code) => Err(format!(
            "it is `{}` and was refused with `{code}`",
            word.unwrap_or_default()
        )),
        (_, Some(code)) if granted(said) => {
            Err(format!("it was permitted and refused with `{code}`"))
        }
        _ if said.round.is_some() != (said.kind == Kind::Round) => {
            Err("only a round has a number, and each has one".to_owned())
        }
        // What the recorded profile refuses has no continuation to digest.
        _ if said.classification == Some(Classified::NotAdmissible) => Ok(()),
        _ if said.request_state_presented.is_some() && said.continuation.is_none() => {
            Err("it presents a state and is no continuation".to_owned())
        }
        _ => Ok(()),
    }
}

/// The row that an entry is about: its agent with the identifier or, where there
/// is none, with the call. No identifier holds a space.
fn key(said: &Draft) -> Option<(Agent, Box<str>)> {
    let name = match (&said.execution_id, &said.call_id) {
        (Some(id), _) => id.as_str().into(),
        (None, Some(call)) => format!("call {call}").into(),
        (None, None) => return None,
    };
    Some((said.agent.clone()?, name))
}

fn verdict(classified: Classified) -> Option<Classification> {
    match classified {
        Classified::Verdict(verdict) => Some(verdict),
        Classified::NotAdmissible => None,
    }
}

/// What an attempt brought, as far as its entry says it.
struct Question<'d> {
    profile: &'d str,
    binding: &'d Digest,
    target: String,
    continuation: Option<&'d Digest>,
    request_state: Option<&'d Digest>,
}

impl Question<'_> {
    fn ask(&self) -> Presented<'_> {
        Presented {
            profile: self.profile,
            binding: self.binding.as_str(),
            target: &self.target,
            round: self.continuation.map(|continuation| Round {
                continuation: continuation.as_str(),
                request_state: self.request_state.map(Digest::as_str),
            }),
        }
    }
}

fn presented(said: &Draft) -> Option<Question<'_>> {
    Some(Question {
        profile: said.profile.as_deref()?,
        binding: said.binding.as_ref()?,
        target: said.target()?.to_string(),
        continuation: said.continuation.as_ref(),
        request_state: said.request_state_presented.as_ref(),
    })
}

/// Asks about what is recorded before an attempt, or about nothing.
fn with<T>(
    before: Option<&Progress>,
    ask: impl Fn(Option<&countersign_canon::Recorded<'_>>) -> T,
) -> T {
    match before.and_then(|before| before.recorded(|recorded| ask(Some(recorded)))) {
        Some(answer) => answer,
        None => ask(None),
    }
}
