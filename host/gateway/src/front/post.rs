//! One POST, from its headers to whoever answers it.
//!
//! 1. who is calling, and may they call so often;
//! 2. the body, whole and as it arrived;
//! 3. admit;
//! 4. what was admitted goes on in `received`.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use countersign_canon::{Admitted, Code, Id, Refusal};
use countersign_evidence::{Draft, Kind, RefusalCode};
use countersign_identity::Principal;
use countersign_ledger::InForce;
use countersign_mcp::{ErrorCode, Headers, Problem};
use http::{HeaderMap, StatusCode};

use super::accept::Accepts;
use super::received::{Received, id_at, took};
use super::{body, caller, respond};
use crate::identity;
use crate::pipeline::{Arrival, Other, admit::admit, read_otherwise};
use crate::pipeline::{fault, ledger_problem, overloaded, unread, unread_because};
use crate::state::Gateway;
use crate::telemetry::Stage;

pub(super) async fn post(
    gateway: Arc<Gateway>,
    server: Option<&str>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let presented = identity::Request::of(&head.method, &head.uri, &head.headers, &head.extensions);
    let principal = match caller::authenticate(&gateway, presented).await {
        Ok(principal) => principal,
        Err(refused) => return *refused,
    };
    if let Some(refused) = caller::draining(&gateway, &principal.agent) {
        return refused;
    }
    let standing = gateway.identities.standing(&presented, &principal);
    let arrival = match arrive(&gateway, principal, server).await {
        Ok(arrival) => arrival,
        Err(refused) => return refused,
    };
    let accepts = Accepts::read(&head.headers);
    let early = if accepts.nothing() {
        Some(ErrorCode::NotAcceptable)
    } else if !body::is_plain_json(&head.headers) {
        Some(ErrorCode::UnsupportedMediaType)
    } else {
        None
    };
    if let Some(code) = early {
        return respond::reply(unread(&gateway, &arrival, code).await.reply(None));
    }
    if let Some(refused) = leaves_too_much(&gateway, &arrival).await {
        return refused;
    }
    let room = gateway.bodies.room(&arrival.agent);
    let message = match body::read(body, room, gateway.body_timeout).await {
        Ok(message) => message,
        Err(problem) => {
            // Nobody knows its id yet, so its client is told by the status.
            let status = match problem.code() {
                ErrorCode::NotAdmitted(Code::Limit) => Some(StatusCode::PAYLOAD_TOO_LARGE),
                ErrorCode::Overloaded => Some(StatusCode::SERVICE_UNAVAILABLE),
                _ => None,
            };
            let refused = unread_because(&gateway, &arrival, *problem).await;
            let mut reply = refused.reply(None);
            reply.status = status.unwrap_or(reply.status);
            return respond::reply(reply);
        }
    };
    // While it was on its way, others that had begun to arrive were answered.
    if let Some(refused) = leaves_too_much(&gateway, &arrival).await {
        return refused;
    }
    let begun = gateway.environment.monotonic();
    let admitted = admit(&gateway.profiles.rooms, &arrival.profile, &message).await;
    took(&gateway, Stage::Admit, begun);
    let (admitted, reader, refused) = match admitted {
        Ok(Ok(admitted)) => (admitted, arrival.profile.clone(), None),
        Ok(Err(refusal)) => {
            let problem = match read_otherwise(&gateway, &arrival, &message).await {
                // Its execution was recorded under a profile that carries more.
                Ok(Some(Other { profile, call })) => Ok((profile, call)),
                Ok(None) => Err(Problem::not_admitted(refusal.clone())),
                Err(error) => Err(ledger_problem(&error)),
            };
            match problem {
                Ok((profile, call)) => (Admitted::Call(call), profile, Some(refusal)),
                Err(problem) => {
                    let id = id_of(&refusal, &message);
                    let refused = unread_because(&gateway, &arrival, problem).await;
                    return respond::reply(refused.reply(id.as_ref()));
                }
            }
        }
        Err(said) => return respond::reply(fault(&gateway, &arrival, &said).await.reply(None)),
    };
    let received = Received {
        gateway,
        arrival,
        accepts,
        standing,
        message,
        reader,
        refused,
        traceparent: header_of(&head.headers, "traceparent"),
    };
    received
        .dispatch(Headers::read(&head.headers), admitted)
        .await
}

/// Refuses what comes of an agent whose clients leave too many answers where they
/// are.
async fn leaves_too_much(gateway: &Gateway, arrival: &Arrival) -> Option<Response> {
    if !gateway.untaken.account(&arrival.agent).is_full() {
        return None;
    }
    let refused = unread_because(gateway, arrival, overloaded()).await;
    let mut reply = refused.reply(None);
    reply.status = StatusCode::SERVICE_UNAVAILABLE;
    Some(respond::reply(reply))
}

/// Names the attempt and finds its server.
async fn arrive(
    gateway: &Gateway,
    principal: Principal,
    server: Option<&str>,
) -> Result<Arrival, Response> {
    let Principal { agent, facts, .. } = principal;
    let Ok(call_id) = gateway.environment.call_id() else {
        return Err(respond::problem(&Problem::new(ErrorCode::Internal)));
    };
    let at = gateway.environment.now();
    let Some(server) = gateway.server(server).map(Arc::clone) else {
        let mut draft = Draft::new(Kind::Refusal, at);
        draft.call_id = Some(call_id);
        draft.agent = Some(agent.clone());
        draft.represented_user = facts.represented_user;
        draft.authority = facts.authority;
        draft.refusal = RefusalCode::new(ErrorCode::UnknownServer.as_str()).ok();
        if gateway
            .ledger
            .append(draft, InForce::Unchanged)
            .await
            .is_err()
        {
            gateway.suppress(&agent, ErrorCode::UnknownServer, at);
        }
        return Err(respond::problem(&Problem::new(ErrorCode::UnknownServer)));
    };
    Ok(Arrival {
        call_id,
        agent,
        facts,
        server,
        profile: gateway.profiles.default(),
        session: None,
        revision: None,
        at,
    })
}

/// The id of a message that is a request but not admitted: known where the
/// envelope was read, so that the client can tell which request was refused.
fn id_of(refusal: &Refusal, message: &[u8]) -> Option<Id> {
    if refusal.code <= Code::Envelope {
        return None;
    }
    id_at(message, "id")
}

/// A header that is there once.
fn header_of(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok().map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_there_twice_says_nothing() {
        for (values, said) in [(&[][..], None), (&["a"], Some("a")), (&["a", "a"], None)] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("traceparent", value.parse().unwrap());
            }
            assert_eq!(header_of(&headers, "traceparent").as_deref(), said);
        }
    }
}
