//! Tools that ask by `input_required`, in the revision that has rounds.
//!
//! A state is a text and a check over it, so that one that was changed on its
//! way is noticed. It is no secret: this server only shows that states travel.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, InputRequiredResult},
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use crate::{server::made, tools::said};

/// An elicitation with one required member.
pub(crate) fn form(message: &str, member: &str, kind: &str) -> Value {
    json!({ "method": "elicitation/create", "params": {
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": { member: { "type": kind } },
            "required": [member],
        },
    }})
}

fn sampling(text: &str, tokens: u32) -> Value {
    json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
        "maxTokens": tokens,
    }})
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

/// The result that asks for another round.
pub(crate) fn asking(asked: &Value, state: Option<&str>) -> Result<InputRequiredResult, ErrorData> {
    let mut result = json!({ "resultType": "input_required", "inputRequests": asked });
    if let Some(state) = state {
        result["requestState"] = json!(sealed(state));
    }
    made(result)
}

fn sealed(state: &str) -> String {
    let mut hasher = DefaultHasher::new();
    ("conformance", state).hash(&mut hasher);
    format!("{state}.{:016x}", hasher.finish())
}

/// The state that was issued; an error where it was changed.
fn opened(request: &CallToolRequestParams) -> Result<Option<&str>, ErrorData> {
    let Some(state) = request.request_state.as_deref() else {
        return Ok(None);
    };
    let (text, _) = state.rsplit_once('.').unwrap_or_default();
    if sealed(text) == state {
        Ok(Some(text))
    } else {
        Err(ErrorData::invalid_params(
            "the request state was changed",
            None,
        ))
    }
}

/// The tools of this room, by name.
pub(crate) const NAMES: [&str; 9] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
];

/// Calls one of [`NAMES`].
pub(crate) fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let state = opened(request)?;
    let answers = request.input_responses.as_ref();
    let answer = |key: &str| {
        answers
            .and_then(|all| all.get(key))
            .filter(|it| it.is_object())
    };
    let content = |key: &str, member: &str| answer(key)?["content"].get(member).cloned();
    let ask = |asked: Value, state| asking(&asked, state).map(CallToolResponse::InputRequired);
    let name = form("What is your name?", "name", "string");
    match request.name.as_ref() {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            match content("user_name", "name").and_then(|name| name.as_str().map(str::to_owned)) {
                Some(name) => said(&format!("Hello, {name}!")),
                None => ask(json!({ "user_name": name }), None),
            }
        }
        "test_input_required_result_sampling" => match answer("capital_question") {
            Some(answer) => said(&format!("The model said: {}", answer["content"]["text"])),
            None => ask(
                json!({ "capital_question": sampling("What is the capital of France?", 100) }),
                None,
            ),
        },
        "test_input_required_result_list_roots" => match answer("client_roots") {
            Some(answer) => said(&format!("Your roots: {}", answer["roots"])),
            None => ask(json!({ "client_roots": roots() }), None),
        },
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => match (answer("confirm"), state) {
            (Some(_), Some(_)) => said("state-ok"),
            _ => ask(
                json!({ "confirm": form("Please confirm", "ok", "boolean") }),
                Some("confirming"),
            ),
        },
        "test_input_required_result_multiple_inputs" => {
            let all = ["user_name", "greeting", "client_roots"].map(answer);
            if state.is_some() && all.iter().all(Option::is_some) {
                return said("All inputs arrived.");
            }
            let asked = json!({
                "user_name": name,
                "greeting": sampling("Generate a greeting", 50),
                "client_roots": roots(),
            });
            ask(asked, Some("several"))
        }
        "test_input_required_result_multi_round" => match state {
            Some("first") if answer("step1").is_some() => ask(
                json!({ "step2": form("Step 2: What is your favorite color?", "color", "string") }),
                Some("second"),
            ),
            Some("second") if answer("step2").is_some() => said("Both steps are done."),
            _ => ask(
                json!({ "step1": form("Step 1: What is your name?", "name", "string") }),
                Some("first"),
            ),
        },
        _ => {
            let capabilities = serde_json::to_value(context.client_capabilities());
            let capabilities = capabilities.unwrap_or_default();
            let mut asked = Map::new();
            let questions = [
                ("elicitation", name),
                ("sampling", sampling("Say hello", 50)),
                ("roots", roots()),
            ];
            for (capability, question) in questions {
                if capabilities[capability].is_object() {
                    asked.insert(format!("by_{capability}"), question);
                }
            }
            if asked.is_empty() || answers.is_some() {
                return said("Nothing more is asked.");
            }
            ask(Value::Object(asked), None)
        }
    }
}
