//! Arguments and schemas for the tests.
#![allow(dead_code, missing_docs, unreachable_pub)]

use countersign_canon::{Limits, Numbers, View, document::Document, interpret};
use countersign_schema::InputSchema;

pub fn view(arguments: Option<&str>) -> View {
    let arguments = arguments.map_or(String::new(), |text| format!("\"arguments\":{text},"));
    let action = format!(r#"{{{arguments}"method":"tools/call","name":"t"}}"#);
    let action = Document::read(action.as_bytes(), Limits::STANDARD)
        .unwrap()
        .root()
        .canonical();
    let profile = "exact@1.0.0".parse().unwrap();
    View::new(
        interpret(&profile, Numbers::AsWritten, &action)
            .unwrap()
            .view,
    )
    .unwrap()
}

pub fn schema(text: &str) -> InputSchema {
    InputSchema::compile(Some(text.as_bytes())).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub fn takes(schema: &InputSchema, arguments: &str) -> bool {
    schema.check(&view(Some(arguments))).is_ok()
}
