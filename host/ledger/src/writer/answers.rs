//! What a group answers, once it is durable. Only here do tokens come about.

use std::sync::Arc;

use super::Writer;
use crate::attempt::{Epochs, Position, Reserved, Verdict};
use crate::error::LedgerError;
use crate::execution::Execution;
use crate::plan::AttemptAnswer;
use crate::request::{Reply, Request};
use crate::settlement::Settled;
use crate::store::Store;
use crate::token::Token;

/// What was decided for one request, to be said once it is durable.
pub(super) enum Said {
    Attempt(Result<AttemptAnswer, LedgerError>),
    Settle(Box<Result<Settled, LedgerError>>),
    Append(Result<(Position, Epochs), LedgerError>),
    Act(Box<Result<Execution, LedgerError>>),
    Checkpoint,
}

impl<S: Store> Writer<S> {
    pub(super) fn answer_all(&mut self, requests: Vec<Request>, said: Vec<Said>) {
        for (request, said) in requests.into_iter().zip(said) {
            match (request, said) {
                (Request::Attempt { reply, .. }, Said::Attempt(answer)) => {
                    send(reply, answer.map(|answer| self.verdict(answer)));
                }
                (
                    Request::Settle {
                        reply: Some(reply), ..
                    },
                    Said::Settle(answer),
                ) => {
                    send(reply, *answer);
                }
                (
                    Request::Append { reply, .. } | Request::AcceptRollback { reply, .. },
                    Said::Append(answer),
                ) => send(reply, answer),
                (Request::Act { reply, .. }, Said::Act(answer)) => send(reply, *answer),
                (Request::Checkpoint { reply }, _) => {
                    self.cut_checkpoint();
                    let whole = self.connected && !self.anchor_failed;
                    let size = whole.then_some(self.signed.size());
                    send(reply, size.ok_or(LedgerError::Unavailable));
                }
                // A settlement that nobody waits for.
                _ => {}
            }
        }
    }

    fn verdict(&self, answer: AttemptAnswer) -> Verdict {
        match answer {
            AttemptAnswer::Reserved {
                permit,
                entry,
                classification,
            } => {
                let lease = Arc::clone(self.store.lease());
                let token = Token::new(permit, Arc::clone(&self.queue), lease);
                Verdict::Reserved(Box::new(Reserved {
                    token,
                    entry,
                    classification,
                }))
            }
            AttemptAnswer::Refused(refused) => Verdict::Refused(refused),
            AttemptAnswer::DecideAgain(again) => Verdict::DecideAgain(again),
        }
    }
}

/// Whoever asked may be gone. A token that cannot be given is dropped, and so
/// settles its execution.
pub(super) fn send<T>(reply: Reply<T>, answer: Result<T, LedgerError>) {
    drop(reply.send(answer));
}

/// Turns a request away.
pub(crate) fn refuse(request: Request, error: &LedgerError) {
    match request {
        Request::Attempt { reply, .. } => send(reply, Err(error.clone())),
        Request::Settle {
            reply: Some(reply), ..
        } => send(reply, Err(LedgerError::Settlement)),
        Request::Settle { reply: None, .. } => {}
        Request::Append { reply, .. } | Request::AcceptRollback { reply, .. } => {
            send(reply, Err(error.clone()));
        }
        Request::Act { reply, .. } => send(reply, Err(error.clone())),
        Request::Checkpoint { reply } => send(reply, Err(error.clone())),
    }
}
