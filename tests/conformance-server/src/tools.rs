//! The tools: what they are called, what they take, and what they do.

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, ErrorCode, ProgressNotificationParam,
        ServerNotification,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::{
    asked::{self, ask},
    rounds,
    server::{Changed, Server, made},
};

/// One red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound of no length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// Between two steps of a tool that takes its time.
const STEP: Duration = Duration::from_millis(50);

/// All of them, as they are listed.
pub(crate) fn all() -> Vec<Value> {
    let nothing = json!({ "type": "object", "properties": {} });
    let text = |argument: &str| {
        json!({
            "type": "object",
            "properties": { argument: { "type": "string" } },
            "required": [argument],
        })
    };
    let region = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "query": { "type": "string" },
        },
        "required": ["region"],
    });
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_logging_tool",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
    ];
    let taking = [
        ("test_sampling", text("prompt")),
        ("test_elicitation", text("message")),
        ("test_headers", region),
        ("json_schema_2020_12_tool", schema_2020_12()),
    ];
    let all = plain.into_iter().chain(rounds::NAMES);
    all.map(|name| (name, nothing.clone()))
        .chain(taking)
        .map(|(name, schema)| {
            json!({ "name": name, "description": described(name), "inputSchema": schema })
        })
        .collect()
}

fn described(name: &str) -> String {
    format!("Does what the conformance suite asks of `{name}`.")
}

/// An input schema with the vocabulary of JSON Schema 2020-12.
fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"],
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// A whole result with these blocks.
fn blocks(content: &Value) -> Result<CallToolResponse, ErrorData> {
    made(json!({ "resultType": "complete", "content": content })).map(CallToolResponse::Complete)
}

/// A whole result that says one thing.
pub(crate) fn said(text: &str) -> Result<CallToolResponse, ErrorData> {
    blocks(&json!([{ "type": "text", "text": text }]))
}

/// Calls one of them.
pub(crate) async fn call(
    server: &Server,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let argument = |name: &str| {
        let arguments = request.arguments.as_ref();
        arguments
            .and_then(|all| all.get(name)?.as_str())
            .unwrap_or_default()
    };
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    match request.name.as_ref() {
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => blocks(&json!([image])),
        "test_audio_content" => {
            blocks(&json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]))
        }
        "test_embedded_resource" => blocks(&json!([{ "type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        }}])),
        "test_multiple_content_types" => blocks(&json!([
            { "type": "text", "text": "Multiple content types test:" },
            image,
            { "type": "resource", "resource": {
                "uri": "test://mixed-content-resource", "mimeType": "application/json",
                "text": r#"{"test":"data","value":123}"#,
            }},
        ])),
        "test_error_handling" => made(json!({
            "resultType": "complete", "isError": true,
            "content": [{
                "type": "text", "text": "This tool intentionally returns an error for testing",
            }],
        }))
        .map(CallToolResponse::Complete),
        "test_tool_with_logging" => with_logging(context).await,
        "test_logging_tool" => {
            if context.meta.log_level().is_some() {
                log(context, "Logging tool called").await?;
            }
            said("Logged where that was asked for.")
        }
        "test_tool_with_progress" => with_progress(context).await,
        "test_sampling" => {
            let params = json!({
                "messages": [{
                    "role": "user", "content": { "type": "text", "text": argument("prompt") },
                }],
                "maxTokens": 100,
            });
            let answer = ask(context, "sampling/createMessage", params).await?;
            let text = answer["content"]["text"].as_str().unwrap_or_default();
            said(&format!("LLM response: {text}"))
        }
        "test_elicitation" => {
            let params = json!({
                "message": argument("message"), "requestedSchema": asked::user(),
            });
            let answer = ask(context, "elicitation/create", params).await?;
            said(&format!("User response: {answer}"))
        }
        "test_elicitation_sep1034_defaults" => elicit(context, asked::defaults()).await,
        "test_elicitation_sep1330_enums" => elicit(context, asked::enumerations()).await,
        "test_missing_capability" => {
            let sampling = context
                .client_capabilities()
                .is_some_and(|capabilities| capabilities.sampling.is_some());
            if sampling {
                return said("The client can be asked to sample.");
            }
            Err(ErrorData::new(
                ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
                "this tool needs a client that samples",
                Some(json!({ "requiredCapabilities": { "sampling": {} } })),
            ))
        }
        "test_trigger_tool_change" => {
            server.change(Changed::Tools);
            said("The list of tools is said to have changed.")
        }
        "test_trigger_prompt_change" => {
            server.change(Changed::Prompts);
            said("The list of prompts is said to have changed.")
        }
        "test_headers" => said(&format!("The region is {}.", argument("region"))),
        "json_schema_2020_12_tool" => said("The schema is what matters here."),
        name if rounds::NAMES.contains(&name) => rounds::call(&request, context),
        name => Err(ErrorData::invalid_params(
            format!("no tool is named {name}"),
            None,
        )),
    }
}

async fn elicit(
    context: &RequestContext<RoleServer>,
    schema: Value,
) -> Result<CallToolResponse, ErrorData> {
    let params = json!({ "message": "Please fill in the form.", "requestedSchema": schema });
    let answer = ask(context, "elicitation/create", params).await?;
    let action = answer["action"].as_str().unwrap_or_default();
    let content = &answer["content"];
    said(&format!(
        "Elicitation completed: action={action}, content={content}"
    ))
}

async fn log(context: &RequestContext<RoleServer>, text: &str) -> Result<(), ErrorData> {
    let note: ServerNotification = made(json!({
        "method": "notifications/message", "params": { "level": "info", "data": text },
    }))?;
    let sent = context.peer.send_notification(note).await;
    sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn with_logging(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    log(context, "Tool execution started").await?;
    tokio::time::sleep(STEP).await;
    log(context, "Tool processing data").await?;
    tokio::time::sleep(STEP).await;
    log(context, "Tool execution completed").await?;
    said("The tool logged three messages.")
}

async fn with_progress(
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let note = ProgressNotificationParam::new(token, progress).with_total(100.0);
            let sent = context.peer.notify_progress(note).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
        tokio::time::sleep(STEP).await;
    }
    said("The tool reported its progress.")
}
