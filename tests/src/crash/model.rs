//! The reference model of one execution: what may become of it, and what an
//! attempt at it may be told.
//!
//! It is written from `docs/spec/executions.md` alone and shares nothing with
//! the ledger. It looks at an execution from outside: by what was asked for,
//! never by digests.

use super::plan::Round;

/// Where an execution stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Somebody runs it.
    Running,
    /// The upstream has asked, with this state.
    Awaiting(Option<String>),
    /// Its owner is gone.
    Blocked,
    /// It has an outcome.
    Settled,
}

/// One execution, as the model knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// What its owner asked for.
    pub action: i64,
    /// Where it stands.
    pub standing: Standing,
    /// The attempt that runs it, or ran it last.
    pub owner: String,
    /// The rounds that were claimed.
    pub claimed: Vec<Round>,
}

/// What an attempt is (§3), in the order in which the table asks.
#[must_use]
pub fn classify(known: Option<&Execution>, action: i64, round: Option<&Round>) -> &'static str {
    let Some(known) = known else {
        return match round {
            None => "fresh",
            Some(_) => "continuation-mismatch",
        };
    };
    if known.action != action {
        return "collision";
    }
    match (&known.standing, round) {
        (Standing::Settled, _) => "replay",
        (Standing::Blocked, _) => "blocked",
        (_, Some(round)) if known.claimed.contains(round) => "round-replay",
        (Standing::Awaiting(_), None) => "round-replay",
        (Standing::Awaiting(issued), Some(round)) if *issued == round.state => "continuation",
        (Standing::Awaiting(_), Some(_)) => "continuation-mismatch",
        (Standing::Running, _) => "in-flight",
    }
}

/// An event of the log that the model is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'e> {
    /// An attempt reserved it.
    Reserved {
        /// By which attempt.
        by: &'e str,
        /// Asking for what.
        action: i64,
    },
    /// The upstream asked, with this state.
    Asked(Option<String>),
    /// An attempt claimed the round.
    Claimed {
        /// By which attempt.
        by: &'e str,
        /// With what.
        round: Round,
    },
    /// It has an outcome.
    Settled,
    /// Its owner is gone.
    Blocked,
    /// An operator stated an outcome.
    Resolved,
}

/// What the event makes of an execution.
///
/// # Errors
///
/// Where that may not happen.
pub fn step(known: Option<Execution>, event: Event<'_>) -> Result<Execution, String> {
    let Some(mut known) = known else {
        return match event {
            Event::Reserved { by, action } => Ok(Execution {
                action,
                standing: Standing::Running,
                owner: by.to_owned(),
                claimed: Vec::new(),
            }),
            other => Err(format!("{other:?} of an execution that was never reserved")),
        };
    };
    known.standing = match (&known.standing, event) {
        (Standing::Running, Event::Asked(state)) => Standing::Awaiting(state),
        (Standing::Awaiting(issued), Event::Claimed { by, round })
            if *issued == round.state && !known.claimed.contains(&round) =>
        {
            by.clone_into(&mut known.owner);
            known.claimed.push(round);
            Standing::Running
        }
        (Standing::Running | Standing::Awaiting(_), Event::Settled) => Standing::Settled,
        (Standing::Running, Event::Blocked) => Standing::Blocked,
        (Standing::Blocked | Standing::Settled, Event::Resolved) => Standing::Settled,
        (standing, event) => return Err(format!("{event:?} of an execution that is {standing:?}")),
    };
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_asked_in_the_order_of_the_specification() {
        let round = |state: &str| Round {
            state: Some(state.to_owned()),
            answer: 1,
        };
        let known = |standing, claimed| Execution {
            action: 1,
            standing,
            owner: "c".to_owned(),
            claimed,
        };
        let asked = || Standing::Awaiting(Some("s".to_owned()));
        for (known, action, round, expected) in [
            (None, 1, None, "fresh"),
            (None, 1, Some(round("s")), "continuation-mismatch"),
            (Some(known(Standing::Settled, vec![])), 2, None, "collision"),
            (Some(known(Standing::Settled, vec![])), 1, None, "replay"),
            (
                Some(known(Standing::Blocked, vec![])),
                1,
                Some(round("s")),
                "blocked",
            ),
            (
                Some(known(Standing::Running, vec![round("s")])),
                1,
                Some(round("s")),
                "round-replay",
            ),
            (
                Some(known(Standing::Running, vec![])),
                1,
                Some(round("s")),
                "in-flight",
            ),
            (Some(known(asked(), vec![])), 1, None, "round-replay"),
            (
                Some(known(asked(), vec![])),
                1,
                Some(round("s")),
                "continuation",
            ),
            (
                Some(known(asked(), vec![])),
                1,
                Some(round("t")),
                "continuation-mismatch",
            ),
        ] {
            assert_eq!(classify(known.as_ref(), action, round.as_ref()), expected);
        }
    }
}
