//! Classification: what each attempt was told, computed again.
//!
//! The question is put together from the attempt's own entry and from the
//! state that the entries before it give. The component that the entry names
//! answers it, in one instance for all questions: a wrong answer would have to
//! be wrong here and at the gateway in the same way, and the finite table is
//! computed natively besides.
//!
//! Blinded values are compared as they stand, since one salt serves an
//! execution. The component is asked about what a salt opened, or not at all.

use countersign_canon::{Classification, Digest, Presented, Recorded, Round};
use countersign_evidence::bundle::Opened;
use countersign_evidence::{Blinding, Classified, Draft, Kind, RefusalCode, RoundSays};

use crate::claim::Claim;
use crate::component::{Classifier, Components};
use crate::findings::{Findings, Place};
use crate::state::{Progress, State};

/// The components that answer, and how often they agreed.
pub(crate) struct Classes<'i> {
    components: &'i Components,
    /// One for each component of `components`, made when it is first asked.
    classifiers: Vec<Option<Box<dyn Classifier + 'i>>>,
    classified: u64,
}

impl<'i> Classes<'i> {
    pub(crate) fn new(components: &'i Components) -> Self {
        Self {
            components,
            classifiers: (0..components.len()).map(|_| None).collect(),
            classified: 0,
        }
    }

    /// Computes again what an attempt was told, and compares; `by` is its
    /// execution before it, and what opens it.
    pub(crate) fn check(
        &mut self,
        by: (Option<&Progress>, Option<&Opened>),
        said: &Draft,
        place: &Place,
        findings: &mut Findings,
    ) {
        let (before, opened) = by;
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
            not_admissible(before, said, place, findings);
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
        self.rerun((before, opened), said, found, place, findings);
    }

    /// Runs the component on the same question.
    fn rerun(
        &mut self,
        (before, opened): (Option<&Progress>, Option<&Opened>),
        said: &Draft,
        found: Classification,
        place: &Place,
        findings: &mut Findings,
    ) {
        if said.blind == Blinding::Withheld {
            findings.leave_open(Claim::Classification, Some(place), || {
                "it met no row, and what it brought is left out".to_owned()
            });
            return;
        }
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
        let table = with(before, None, |recorded| {
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
        let known = match said.blind {
            Blinding::Plain => None,
            _ => match opened.and_then(|opened| opened.binding) {
                Some(binding) => Some(binding),
                None => {
                    findings.leave_open(Claim::Classification, Some(place), || {
                        "it is blinded, and no salt opens it".to_owned()
                    });
                    return;
                }
            },
        };
        // Another action than was admitted has no known binding: its blinded
        // form is as different from the admitted one.
        let own = before.is_none_or(|before| before.is_bound(question.binding));
        let asked = Presented {
            binding: match &known {
                Some(binding) if own => binding.as_str(),
                _ => asked.binding,
            },
            ..asked
        };
        let Some(classifier) = self.classifier(question.profile, said.component) else {
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
        match with(before, known, |recorded| {
            classifier.classify(&asked, recorded)
        }) {
            Ok(verdict) if verdict == found => self.classified = self.classified.saturating_add(1),
            Ok(verdict) => findings.contradict(Claim::Classification, Some(place), || {
                format!("its component says `{}`", Classified::from(verdict))
            }),
            Err(fault) => findings.leave_open(Claim::Classification, Some(place), || fault),
        }
    }

    fn classifier(
        &mut self,
        profile: &str,
        component: Option<Digest>,
    ) -> Option<&mut (dyn Classifier + 'i)> {
        let (at, component) = self.components.position(profile, component?)?;
        let classifier = self.classifiers.get_mut(at)?;
        Some(&mut **classifier.get_or_insert_with(|| component.classifier()))
    }

    /// How many attempts were classified again.
    pub(crate) fn classified(&self) -> u64 {
        self.classified
    }
}

/// A collision that the host found is not for `classify` to say.
fn not_admissible(before: Option<&Progress>, said: &Draft, place: &Place, findings: &mut Findings) {
    let recorded =
        before.is_some_and(|before| said.profile.as_deref() == Some(&before.facts.profile));
    if recorded && said.binding.is_none() && said.kind == Kind::Refusal {
        findings.leave_open(Claim::Classification, Some(place), || {
            "the recorded profile is said to refuse it, which only the request can show".to_owned()
        });
    } else {
        findings.contradict(Claim::Classification, Some(place), || {
            "it is said not to be admissible under a recorded profile, and none fits".to_owned()
        });
    }
}

/// Whether an entry permits its attempt to invoke.
pub(crate) fn granted(said: &Draft) -> bool {
    let claims = said
        .round
        .is_some_and(|round| round.says == RoundSays::Claimed);
    said.kind == Kind::Admission || (said.kind == Kind::Round && claims)
}

/// Whether an entry says that it met nothing recorded.
pub(crate) fn met_nothing(said: &Draft) -> bool {
    let nothing = [
        Some(Classification::Fresh),
        Some(Classification::ContinuationMismatch),
    ];
    said.classification
        .is_some_and(|classified| nothing.contains(&verdict(classified)))
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
        _ if said.blind == Blinding::Withheld => Ok(()),
        _ if said.request_state_presented.is_some() && said.continuation.is_none() => {
            Err("it presents a state and is no continuation".to_owned())
        }
        _ => Ok(()),
    }
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
    binding: Option<Digest>,
    mut ask: impl FnMut(Option<&Recorded<'_>>) -> T,
) -> T {
    match before.and_then(|before| before.recorded(binding, |recorded| ask(Some(recorded)))) {
        Some(answer) => answer,
        None => ask(None),
    }
}
