//! What tools ask of a client in the middle of a call, in revisions with
//! sessions.

use rmcp::{
    ErrorData, RoleServer,
    model::{CustomRequest, ServerRequest},
    service::RequestContext,
};
use serde_json::{Value, json};

/// Asks and waits; the answer as JSON.
pub(crate) async fn ask(
    context: &RequestContext<RoleServer>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorData> {
    let request = ServerRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    let answer = context.peer.send_request(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    serde_json::to_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// The schema that `test_elicitation` asks by.
pub(crate) fn user() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

/// A schema with a default for each primitive type.
pub(crate) fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "User name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User age", "default": 30 },
            "score": { "type": "number", "description": "User score", "default": 95.5 },
            "status": {
                "type": "string", "description": "User status",
                "enum": ["active", "inactive", "pending"], "default": "active",
            },
            "verified": { "type": "boolean", "description": "Verified", "default": true },
        },
        "required": [],
    })
}

/// A schema with every form of an enumeration.
pub(crate) fn enumerations() -> Value {
    let titled = |third: &str| {
        let option = |value: &str, title: String| json!({ "const": value, "title": title });
        json!([
            option("value1", format!("First {third}")),
            option("value2", format!("Second {third}")),
            option("value3", format!("Third {third}")),
        ])
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
            },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
        },
        "required": [],
    })
}
