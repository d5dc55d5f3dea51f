//! Between the library's types and those of the component's interface.
//!
//! Texts and byte strings are moved, never copied.

use alloc::string::String;
use alloc::vec::Vec;

use countersign_canon as canon;

use crate::bindings::exports::countersign::admission::profile as wit;

pub(crate) fn admitted(admitted: canon::Admitted) -> wit::Admitted {
    match admitted {
        canon::Admitted::Call(call) => wit::Admitted::Call(wit::Call {
            id: id(call.id),
            action: call.action,
            execution_id: call.execution_id,
            workflow_id: call.workflow_id,
            client: call.client,
            continuation: call.continuation.map(|round| wit::Continuation {
                canonical: round.canonical,
                request_state: round.request_state,
            }),
            transport: call.transport,
        }),
        canon::Admitted::Request(request) => wit::Admitted::Request(wit::Request {
            id: id(request.id),
            method: request.method,
            params: request.params,
        }),
        canon::Admitted::Notification(canon::Notification { method, params }) => {
            wit::Admitted::Notification(wit::Notification { method, params })
        }
        canon::Admitted::Reply(reply) => wit::Admitted::Reply(wit::Reply {
            id: id(reply.id),
            answer: reply.answer,
        }),
    }
}

fn id(id: canon::Id) -> wit::Id {
    match id {
        canon::Id::Number(number) => wit::Id::Number(number),
        canon::Id::Text(text) => wit::Id::Text(text),
    }
}

pub(crate) fn refusal(refusal: canon::Refusal) -> wit::Refusal {
    let canon::Refusal {
        code: which,
        pointer,
        offset,
    } = refusal;
    wit::Refusal {
        code: code(which),
        pointer,
        offset,
    }
}

pub(crate) fn code(code: canon::Code) -> wit::Code {
    match code {
        canon::Code::Encoding => wit::Code::Encoding,
        canon::Code::Syntax => wit::Code::Syntax,
        canon::Code::Surrogate => wit::Code::Surrogate,
        canon::Code::DuplicateMember => wit::Code::DuplicateMember,
        canon::Code::Limit => wit::Code::Limit,
        canon::Code::Envelope => wit::Code::Envelope,
        canon::Code::Params => wit::Code::Params,
        canon::Code::Correlation => wit::Code::Correlation,
        canon::Code::Number => wit::Code::Number,
        canon::Code::Value => wit::Code::Value,
    }
}

pub(crate) fn interpretation(interpretation: canon::Interpretation) -> wit::Interpretation {
    wit::Interpretation {
        binding: interpretation.binding.as_str().into(),
        tool: interpretation.tool,
        // Collected into the room of the list that it comes from.
        view: interpretation.view.into_iter().map(node).collect(),
    }
}

fn node(node: canon::Node) -> wit::Node {
    let value = match node.value {
        canon::Value::Null => wit::Value::Null,
        canon::Value::Boolean(value) => wit::Value::Boolean(value),
        canon::Value::Integer(value) => wit::Value::Integer(value),
        canon::Value::Number(lexeme) => wit::Value::Number(lexeme),
        canon::Value::Text(text) => wit::Value::Text(text),
        canon::Value::Array(count) => wit::Value::Array(count),
        canon::Value::Object(count) => wit::Value::Object(count),
    };
    wit::Node {
        name: node.name,
        value,
    }
}

pub(crate) fn classify(
    presented: &wit::Presented,
    recorded: Option<&wit::Recorded>,
) -> wit::Classification {
    let round = presented.round.as_ref().map(|round| canon::Round {
        continuation: &round.continuation,
        request_state: round.request_state.as_deref(),
    });
    let presented = canon::Presented {
        profile: &presented.profile,
        binding: &presented.binding,
        target: &presented.target,
        round,
    };
    let claimed = recorded
        .map(|recorded| recorded.claimed.as_slice())
        .unwrap_or_default();
    let claimed: Vec<&str> = claimed.iter().map(String::as_str).collect();
    let recorded = recorded.map(|recorded| canon::Recorded {
        profile: &recorded.profile,
        binding: &recorded.binding,
        target: &recorded.target,
        state: state(&recorded.state),
        claimed: &claimed,
    });
    classification(canon::classify(&presented, recorded.as_ref()))
}

fn state(state: &wit::State) -> canon::RecordedState<'_> {
    match state {
        wit::State::InFlight => canon::RecordedState::InFlight,
        wit::State::AwaitingInput(issued) => canon::RecordedState::AwaitingInput(issued.as_deref()),
        wit::State::TaskOpen => canon::RecordedState::TaskOpen,
        wit::State::Settled(outcome) => canon::RecordedState::Settled(match outcome {
            wit::Outcome::Succeeded => canon::Outcome::Succeeded,
            wit::Outcome::ToolError => canon::Outcome::ToolError,
            wit::Outcome::UpstreamError => canon::Outcome::UpstreamError,
            wit::Outcome::NotAttempted => canon::Outcome::NotAttempted,
            wit::Outcome::OutcomeUnknown => canon::Outcome::OutcomeUnknown,
        }),
        wit::State::Blocked => canon::RecordedState::Blocked,
    }
}

fn classification(classification: canon::Classification) -> wit::Classification {
    match classification {
        canon::Classification::Fresh => wit::Classification::Fresh,
        canon::Classification::InFlight => wit::Classification::InFlight,
        canon::Classification::Continuation => wit::Classification::Continuation,
        canon::Classification::ContinuationMismatch => wit::Classification::ContinuationMismatch,
        canon::Classification::RoundReplay => wit::Classification::RoundReplay,
        canon::Classification::Replay(outcome) => wit::Classification::Replay(match outcome {
            canon::Outcome::Succeeded => wit::Outcome::Succeeded,
            canon::Outcome::ToolError => wit::Outcome::ToolError,
            canon::Outcome::UpstreamError => wit::Outcome::UpstreamError,
            canon::Outcome::NotAttempted => wit::Outcome::NotAttempted,
            canon::Outcome::OutcomeUnknown => wit::Outcome::OutcomeUnknown,
        }),
        canon::Classification::Blocked => wit::Classification::Blocked,
        canon::Classification::Collision(difference) => {
            let mut flags = wit::Difference::empty();
            if difference.binding {
                flags = flags | wit::Difference::BINDING;
            }
            if difference.target {
                flags = flags | wit::Difference::TARGET;
            }
            wit::Classification::Collision(flags)
        }
        canon::Classification::Incomparable => wit::Classification::Incomparable,
    }
}
