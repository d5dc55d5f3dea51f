//! The resources and the template.

use rmcp::{ErrorData, model::ReadResourceResponse};
use serde_json::{Value, json};

use crate::{server::made, tools::PNG};

/// The direct resources, as they are listed.
pub(crate) fn all() -> Value {
    json!([
        {
            "uri": "test://static-text", "name": "Static text",
            "description": "A text that never changes.", "mimeType": "text/plain",
        },
        {
            "uri": "test://static-binary", "name": "Static binary",
            "description": "An image that never changes.", "mimeType": "image/png",
        },
        {
            "uri": "test://watched-resource", "name": "Watched",
            "description": "A text to subscribe to.", "mimeType": "text/plain",
        },
    ])
}

/// The templates, as they are listed.
pub(crate) fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data", "name": "Template",
        "description": "Data for an id.", "mimeType": "application/json",
    }])
}

/// What a URI holds.
pub(crate) fn read(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let id = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri, id) {
        ("test://static-text", _) => json!({
            "uri": uri, "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }),
        ("test://static-binary", _) => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        ("test://watched-resource", _) => json!({
            "uri": uri, "mimeType": "text/plain", "text": "Watched resource content",
        }),
        (_, Some(id)) => {
            let data = json!({
                "id": id, "templateTest": true, "data": format!("Data for ID: {id}"),
            });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
        _ => {
            let data = json!({ "uri": uri });
            return Err(ErrorData::invalid_params("Resource not found", Some(data)));
        }
    };
    let whole = json!({
        "resultType": "complete", "contents": [contents], "ttlMs": 0, "cacheScope": "private",
    });
    made(whole).map(ReadResourceResponse::Complete)
}
