//! Attempts by name, what is said to them, and how they are settled.

use countersign_canon::Classification;
use countersign_evidence::{CallId, Draft, Kind, Time};
use countersign_ledger::{
    Answer, Answered, Attempt, Epochs, Ledger, Refused, Reserved, Settlement, Token, Verdict,
};

use super::{agent, code, digest, execution_id};

/// One attempt, described by name.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub call: String,
    pub agent: &'a str,
    pub id: Option<&'a str>,
    pub action: &'a str,
    pub tool: &'a str,
    pub profile: &'a str,
    pub round: Option<(&'a str, Option<&'a str>)>,
    pub earlier: Option<Classification>,
    pub epochs: Epochs,
}

pub fn call<'a>(call: impl Into<String>, id: Option<&'a str>) -> Call<'a> {
    Call {
        call: call.into(),
        agent: "alice",
        id,
        action: "transfer 5",
        tool: "transfer",
        profile: "exact@1.0.0",
        round: None,
        earlier: id.map(|_| Classification::Fresh),
        epochs: Epochs::default(),
    }
}

impl Call<'_> {
    pub fn draft(&self) -> Draft {
        let mut draft = Draft::new(Kind::Admission, Time::from_micros(0));
        draft.agent = Some(agent(self.agent));
        draft.call_id = Some(CallId::new(&self.call).unwrap());
        draft.execution_id = self.id.map(execution_id);
        draft.profile = Some(self.profile.into());
        draft.component = Some(digest("component"));
        draft.binding = Some(digest(self.action));
        draft.server = Some("bank".parse().unwrap());
        draft.server_digest = Some(digest("https://bank.example"));
        draft.tool = Some(self.tool.into());
        if let Some((continuation, state)) = self.round {
            draft.continuation = Some(digest(continuation));
            draft.request_state_presented = state.map(digest);
        }
        draft
    }

    pub fn attempt(&self) -> Attempt {
        Attempt::new(self.draft(), self.earlier, self.epochs).unwrap()
    }
}

pub fn reserved(verdict: Verdict) -> Reserved {
    match verdict {
        Verdict::Reserved(reserved) => *reserved,
        other => panic!("not reserved: {other:?}"),
    }
}

pub fn refused(verdict: Verdict) -> Refused {
    match verdict {
        Verdict::Refused(refused) => *refused,
        other => panic!("not refused: {other:?}"),
    }
}

pub fn reserve(ledger: &Ledger, call: &Call<'_>) -> Token {
    reserved(ledger.reserve(call.attempt()).wait().unwrap()).token
}

pub fn answer(text: &str) -> Answer {
    Answer {
        digest: digest(text),
        bytes: text.len() as u64,
    }
}

pub fn succeeded() -> Settlement {
    Settlement::Answered {
        with: Answered::Succeeded,
        answer: answer("done"),
    }
}

pub fn not_sent() -> Settlement {
    Settlement::NotSent {
        reason: code("upstream-unreachable"),
    }
}

pub fn unanswered() -> Settlement {
    Settlement::Unanswered {
        reason: code("upstream-timeout"),
        received: false,
    }
}
