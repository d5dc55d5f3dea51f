//! The prompts, one of which asks its client first.

use rmcp::{
    ErrorData,
    model::{GetPromptRequestParams, GetPromptResponse},
};
use serde_json::{Value, json};

use crate::{rounds, server::made, tools::PNG};

/// All of them, as they are listed.
pub(crate) fn all() -> Value {
    json!([
        { "name": "test_simple_prompt", "description": "A simple prompt." },
        {
            "name": "test_prompt_with_arguments", "description": "A prompt with two arguments.",
            "arguments": [
                { "name": "arg1", "description": "First test argument", "required": true },
                { "name": "arg2", "description": "Second test argument", "required": true },
            ],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt with a resource in it.",
            "arguments": [
                { "name": "resourceUri", "description": "What to embed", "required": true },
            ],
        },
        { "name": "test_prompt_with_image", "description": "A prompt with an image in it." },
        { "name": "test_input_required_result_prompt", "description": "A prompt that asks first." },
    ])
}

/// One of them, filled in.
pub(crate) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let arguments = request.arguments.as_ref();
        arguments
            .and_then(|all| all.get(name)?.as_str())
            .unwrap_or_default()
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(&format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({ "type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }}),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
            text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let answers = request.input_responses.as_ref();
            let Some(context) = answers.and_then(|answers| answers.get("user_context")) else {
                let question =
                    rounds::form("What context should the prompt use?", "context", "string");
                let asked = json!({ "user_context": question });
                return rounds::asking(&asked, None).map(GetPromptResponse::InputRequired);
            };
            let context = context["content"]["context"].as_str().unwrap_or_default();
            vec![text(&format!("Use this context: {context}"))]
        }
        name => {
            let message = format!("no prompt is named {name}");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let messages: Vec<Value> = contents
        .into_iter()
        .map(|content| json!({ "role": "user", "content": content }))
        .collect();
    made(json!({ "resultType": "complete", "messages": messages })).map(GetPromptResponse::Complete)
}
