//! One message before the component that is certified.
//!
//! Every answer is asked of an instance that nothing ran in before, as a
//! gateway does, and again of one that has answered everything so far, which
//! must make no difference; now and then of one that is compiled otherwise.

use countersign_canon::{
    Admitted, Digest, Interpretation, Limits, Numbers, ProfileId, Refusal, View, envelop,
    interpret, preimage,
};
use countersign_engine::{Fault, FaultKind, Interpreted, Profile, Rule, Warm, fuel_for_bytes};

use crate::check::Check;
use crate::consumers::{Consumers, Treatment};
use crate::difference;
use crate::finding::Finding;
use crate::generate::FAMILY;
use crate::{foreign, oracle};

/// How many messages share one that is also asked of plainly compiled code, and
/// one whose action is also tried with foreign bytes around it. It shares no
/// divisor with the size of a family, so that every member of one has its turn.
const SELDOM: u64 = 7;
const _: () =
    assert!(!FAMILY.is_multiple_of(SELDOM) && SELDOM % 2 == 1 && FAMILY.is_power_of_two());

/// The component, in the ways in which it is run.
pub(crate) struct Subject<'s> {
    profile: &'s Profile,
    plain: &'s Profile,
    consumers: &'s Consumers,
    used: Option<Warm<'s>>,
    exact: ProfileId,
    asked: u64,
    /// How many messages were asked of plainly compiled code, and how many
    /// actions were tried with foreign bytes around them.
    plainly: u64,
    foreign: u64,
    /// The most fuel that a call used, of what a host gives, in parts of a
    /// thousand.
    pub(crate) fuel_per_mille: u64,
}

/// What a message came to.
pub(crate) enum Came {
    /// Refused, as it must be or as the profile may.
    Refused(Refusal),
    /// Admitted, and no call.
    NotACall,
    /// A call.
    Bound(Box<Bound>),
}

/// A call that was admitted, with all that it led to.
pub(crate) struct Bound {
    pub(crate) action: Vec<u8>,
    /// What the component says that the binding is.
    pub(crate) binding: Digest,
    /// What was done with it.
    pub(crate) treatment: Treatment,
    /// The message's own meaning, whatever the profile made of it.
    pub(crate) meaning: View,
    /// The same, canonical with every number as written.
    pub(crate) as_written: Vec<u8>,
    /// What is wrong with the binding itself, to be said where no pair of
    /// messages shows it better.
    pub(crate) recipe: Option<Finding>,
}

impl<'s> Subject<'s> {
    pub(crate) fn new(profile: &'s Profile, plain: &'s Profile, consumers: &'s Consumers) -> Self {
        Self {
            profile,
            plain,
            consumers,
            used: None,
            // INVARIANT: it is written as identifiers are.
            exact: "exact@1.0.0"
                .parse()
                .unwrap_or_else(|_| profile.id().clone()),
            asked: 0,
            plainly: 0,
            foreign: 0,
            fuel_per_mille: 0,
        }
    }

    /// The limits that the component states.
    pub(crate) fn limits(&self) -> Limits {
        self.profile.limits()
    }

    /// Everything that is checked of one message.
    pub(crate) fn message(&mut self, message: &[u8]) -> Result<Came, Finding> {
        self.asked += 1;
        let expected = oracle::expected(self.profile.limits(), message);
        let said = self.admit(message)?;
        let refusal = said.as_ref().err().cloned();
        let Some((must, call)) = oracle::compare(expected, said, message)? else {
            return Ok(refusal.map_or(Came::NotACall, Came::Refused));
        };
        let action = call.action;
        let meaning = self.as_written(&must.action).map_err(|refusal| {
            Finding::new(Check::CanonicalForm, format!("no action: {refusal}")).shown_by([message])
        })?;
        let read = self.as_written(&action).map_err(|refusal| {
            let reason = format!(
                "its action `{}` is not canonical: {refusal}",
                shown(&action)
            );
            Finding::new(Check::CanonicalForm, reason).shown_by([message])
        })?;
        let read_view = view(read.view, message)?;
        let meaning_view = view(meaning.view, message)?;
        if let Some(difference) = difference::between(&meaning_view, &read_view) {
            return Err(self.separation(message, &must.action, &action, &difference));
        }
        self.idempotent(message, &action)?;
        let (said, recipe) = self.interpret(message, &action)?;
        if said.view.nodes() != read_view.nodes() || said.tool != read.tool {
            let reason = match difference::between(&read_view, &said.view) {
                Some(other) => {
                    let [is, seen] = other.there;
                    format!(
                        "`{}` of its action is {is}, and {seen} in its view",
                        other.pointer
                    )
                }
                None => "a number of its view is spelled otherwise than in its action".into(),
            };
            return Err(Finding::new(Check::View, reason).shown_by([message]));
        }
        if self.asked.is_multiple_of(SELDOM) {
            self.foreign += 1;
            self.foreign(message, &action)?;
        }
        let treatment = self.consumers.treat(&action, &said.tool, &said.view);
        Ok(Came::Bound(Box::new(Bound {
            action,
            binding: said.binding,
            treatment,
            meaning: meaning_view,
            as_written: must.action,
            recipe,
        })))
    }

    /// What an action means as it is written.
    fn as_written(&self, action: &[u8]) -> Result<Interpretation, Refusal> {
        interpret(&self.exact, Numbers::AsWritten, action)
    }

    /// How consumers treat what a message itself asks for.
    pub(crate) fn treatment_of(&self, as_written: &[u8]) -> Option<Treatment> {
        let read = self.as_written(as_written).ok()?;
        let view = View::new(read.view).ok()?;
        Some(self.consumers.treat(as_written, &read.tool, &view))
    }

    /// The action asks for something else than the message, so the message that
    /// asks for the action shares its binding.
    fn separation(
        &self,
        message: &[u8],
        as_written: &[u8],
        action: &[u8],
        difference: &difference::Difference,
    ) -> Finding {
        let [asked, bound] = &difference.there;
        let pointer = &difference.pointer;
        let reason = format!(
            "`{pointer}` is {asked} in one and {bound} in the other, and they have one binding"
        );
        let other = envelop(action).unwrap_or_default();
        let seen = match (self.treatment_of(as_written), self.treatment_of(action)) {
            (Some(one), Some(other)) => one.against(&other),
            _ => None,
        };
        Finding::new(Check::Separation, reason)
            .shown_by([message, &other])
            .seen_by(seen)
    }

    fn idempotent(&mut self, message: &[u8], action: &[u8]) -> Result<(), Finding> {
        let differs =
            |reason: String| Err(Finding::new(Check::Idempotence, reason).shown_by([message]));
        let Ok(again) = envelop(action) else {
            return differs("no message asks for its action".into());
        };
        match self.admit(&again)? {
            Ok(Admitted::Call(call)) if call.action == action => Ok(()),
            Ok(Admitted::Call(call)) => differs(format!(
                "its action `{}` asks for `{}`",
                shown(action),
                shown(&call.action)
            )),
            Ok(_) => differs("what its action asks for is no call".into()),
            Err(refusal) => differs(format!(
                "its action `{}` asks for what is refused as {refusal}",
                shown(action)
            )),
        }
    }

    fn foreign(&mut self, message: &[u8], action: &[u8]) -> Result<(), Finding> {
        for bytes in foreign::near(action) {
            // A call's own action may happen to look like a variant of it.
            if self.as_written(&bytes).is_ok() {
                continue;
            }
            let mut fresh = self.fresh(self.profile, message)?;
            let said = fresh
                .interpret(&bytes)
                .map_err(|fault| at_fault(&fault, message))?;
            if said.0.is_ok() {
                let reason = format!("it interprets `{}`, which is no action", shown(&bytes));
                return Err(Finding::new(Check::ForeignBytes, reason).shown_by([message]));
            }
        }
        Ok(())
    }

    fn admit(&mut self, message: &[u8]) -> Result<Result<Admitted, Refusal>, Finding> {
        let ask = |warm: &mut Warm<'_>| warm.admit(message);
        self.asked_everywhere(message, message.len(), "admit", ask)
    }

    fn interpret(
        &mut self,
        message: &[u8],
        action: &[u8],
    ) -> Result<(Interpreted, Option<Finding>), Finding> {
        let ask = |warm: &mut Warm<'_>| warm.interpret(action);
        let said = self.asked_everywhere(message, action.len(), "interpret", ask)?;
        let said = said.map_err(|refusal| {
            let reason = format!("it refuses its own action `{}` as {refusal}", shown(action));
            Finding::new(Check::Idempotence, reason).shown_by([message])
        })?;
        let prescribed = preimage::binding(self.profile.id(), action);
        let recipe = (said.binding != prescribed).then(|| {
            let reason = format!(
                "the binding of `{}` is {} and it says {}",
                shown(action),
                prescribed,
                said.binding
            );
            Finding::new(Check::DigestRecipe, reason).shown_by([message])
        });
        Ok((said, recipe))
    }

    fn fresh<'p>(&self, profile: &'p Profile, message: &[u8]) -> Result<Warm<'p>, Finding> {
        profile.warm().map_err(|fault| at_fault(&fault, message))
    }

    /// Asks an instance of its own, the one that is used, and seldom one that
    /// is compiled plainly; they must agree.
    fn asked_everywhere<T: Same>(
        &mut self,
        message: &[u8],
        bytes: usize,
        function: &str,
        ask: impl Fn(&mut Warm<'_>) -> Result<(T, u64), Fault>,
    ) -> Result<T, Finding> {
        let mut fresh = self.fresh(self.profile, message)?;
        let (said, fuel) = ask(&mut fresh).map_err(|fault| at_fault(&fault, message))?;
        let per_mille = fuel.saturating_mul(1_000) / fuel_for_bytes(bytes).max(1);
        self.fuel_per_mille = self.fuel_per_mille.max(per_mille);
        if per_mille > 500 {
            let reason = format!("`{function}` uses more than half of the fuel that a host gives");
            return Err(Finding::new(Check::Robustness, reason).shown_by([message]));
        }
        let otherwise = |how: &str| {
            let reason = format!("`{function}` answers otherwise {how}");
            Finding::new(Check::Determinism, reason).shown_by([message])
        };
        let mut used = match self.used.take() {
            Some(used) => used,
            None => self.fresh(self.profile, message)?,
        };
        let again = ask(&mut used).map_err(|_| otherwise("in an instance that was used before"))?;
        if !again.0.same(&said) {
            return Err(otherwise("in an instance that was used before"));
        }
        self.used = Some(used);
        if self.asked.is_multiple_of(SELDOM) {
            self.plainly += 1;
            let mut plain = self.fresh(self.plain, message)?;
            let again = ask(&mut plain).map_err(|_| otherwise("where it is compiled plainly"))?;
            if !again.0.same(&said) {
                return Err(otherwise("where it is compiled plainly"));
            }
        }
        Ok(said)
    }
}

/// Answers that can be compared.
trait Same {
    fn same(&self, other: &Self) -> bool;
}

impl Same for Result<Admitted, Refusal> {
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Same for Result<Interpreted, Refusal> {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Ok(one), Ok(other)) => {
                one.binding == other.binding
                    && one.tool == other.tool
                    && one.view.nodes() == other.view.nodes()
            }
            (Err(one), Err(other)) => one == other,
            _ => false,
        }
    }
}

fn view(nodes: Vec<countersign_canon::Node>, message: &[u8]) -> Result<View, Finding> {
    View::new(nodes)
        .map_err(|error| Finding::new(Check::View, error.to_string()).shown_by([message]))
}

/// A component that did not answer, or whose answer cannot be believed.
pub(crate) fn at_fault(fault: &Fault, message: &[u8]) -> Finding {
    let check = match fault.kind() {
        FaultKind::Malformed(Rule::View) => Check::View,
        FaultKind::Malformed(Rule::Digest) | FaultKind::BindingDisagrees => Check::DigestRecipe,
        FaultKind::Malformed(Rule::Correlation | Rule::Id) => Check::Parts,
        FaultKind::Malformed(Rule::Refusal) => Check::StrictReading,
        FaultKind::ClassificationDisagrees => Check::Classification,
        _ => Check::Robustness,
    };
    let reason = format!("in `{}` {}", fault.function(), fault.kind());
    Finding::new(check, reason).shown_by([message])
}

/// Bytes as far as one would want to read them.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 160;
    let text = String::from_utf8_lossy(bytes);
    let count = text.chars().count();
    if count <= MOST {
        return text.into_owned();
    }
    let head: String = text.chars().take(MOST).collect();
    format!("{head}… ({} bytes)", bytes.len())
}

#[cfg(test)]
mod tests {
    use countersign_engine::{Compiled, Engine, embedded};

    use super::*;
    use crate::generate::Generator;

    #[test]
    fn every_member_of_a_family_is_asked_of_plain_code_and_tried_with_foreign_bytes() {
        let component = embedded::default().unwrap().bytes();
        let [served, plain] = [Compiled::AsServed, Compiled::Plainly].map(|compiled| {
            let engine = Engine::for_certification(4, compiled).unwrap();
            engine.load_candidate(component).unwrap().profile
        });
        let consumers = Consumers::new().unwrap();
        let mut subject = Subject::new(&served, &plain, &consumers);
        let (generator, mut plainly, mut foreign) = (Generator::new(1), [0; 4], [0; 4]);
        for case in 0..70 * FAMILY {
            let before = (subject.plainly, subject.foreign);
            subject
                .message(&generator.message(case))
                .map_err(|finding| finding.reason)
                .unwrap();
            let member = usize::try_from(case % FAMILY).unwrap();
            plainly[member] += u64::from(subject.plainly > before.0);
            foreign[member] += subject.foreign - before.1;
        }
        assert_eq!(plainly, [10; 4]);
        // Damage leaves few actions.
        let [undamaged @ .., _] = foreign;
        assert!(undamaged.iter().all(|tried| *tried > 2), "{foreign:?}");
    }
}
