//! The same requests, to the same server, directly and through the gateway: the
//! results are equal byte for byte, but for what the gateway documents that it
//! adds (`docs/spec/protocol.md` §1 and §6).
//!
//! What it adds: a receipt in the `_meta` of a tool's result or in the `data` of
//! its error. `tools/list` is the gateway's own answer, so there the
//! descriptions alone are compared.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

use countersign_canon::{Document, Limits};
use countersign_tests::{Client, Revision, conformance::ConformanceServer};

const RECEIPT: &str = "countersign.dev/receipt";

/// Each request: method, what `Mcp-Name` says, and the members of `params`.
const CORPUS: [(&str, Option<&str>, &str); 25] = [
    ("tools/list", None, ""),
    (
        "tools/call",
        Some("test_simple_text"),
        r#""name":"test_simple_text""#,
    ),
    (
        "tools/call",
        Some("test_simple_text"),
        r#""name":"test_simple_text","arguments":{}"#,
    ),
    (
        "tools/call",
        Some("test_simple_text"),
        r#""name":"test_simple_text","arguments":{"n":1.0,"m":-0}"#,
    ),
    (
        "tools/call",
        Some("test_image_content"),
        r#""name":"test_image_content","arguments":{}"#,
    ),
    (
        "tools/call",
        Some("test_audio_content"),
        r#""name":"test_audio_content","arguments":{}"#,
    ),
    (
        "tools/call",
        Some("test_embedded_resource"),
        r#""name":"test_embedded_resource","arguments":{}"#,
    ),
    (
        "tools/call",
        Some("test_multiple_content_types"),
        r#""name":"test_multiple_content_types","arguments":{}"#,
    ),
    (
        "tools/call",
        Some("test_error_handling"),
        r#""name":"test_error_handling","arguments":{}"#,
    ),
    (
        "tools/call",
        Some("test_tool_with_progress"),
        r#""name":"test_tool_with_progress","arguments":{}"#,
    ),
    (
        "tools/call",
        Some("json_schema_2020_12_tool"),
        r#""name":"json_schema_2020_12_tool","arguments":{"name":"a","phone":"1"}"#,
    ),
    ("resources/list", None, ""),
    ("resources/templates/list", None, ""),
    (
        "resources/read",
        Some("test://static-text"),
        r#""uri":"test://static-text""#,
    ),
    (
        "resources/read",
        Some("test://static-binary"),
        r#""uri":"test://static-binary""#,
    ),
    (
        "resources/read",
        Some("test://template/7/data"),
        r#""uri":"test://template/7/data""#,
    ),
    (
        "resources/read",
        Some("test://nothing"),
        r#""uri":"test://nothing""#,
    ),
    ("prompts/list", None, ""),
    (
        "prompts/get",
        Some("test_simple_prompt"),
        r#""name":"test_simple_prompt""#,
    ),
    (
        "prompts/get",
        Some("test_prompt_with_arguments"),
        r#""name":"test_prompt_with_arguments","arguments":{"arg1":"é","arg2":"\u00e9"}"#,
    ),
    (
        "prompts/get",
        Some("test_prompt_with_embedded_resource"),
        r#""name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://a"}"#,
    ),
    (
        "prompts/get",
        Some("test_prompt_with_image"),
        r#""name":"test_prompt_with_image""#,
    ),
    ("prompts/get", Some("nobody"), r#""name":"nobody""#),
    (
        "completion/complete",
        None,
        r#""ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"pa"}"#,
    ),
    (
        "completion/complete",
        None,
        r#""ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"x"}"#,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_the_same_byte_for_byte_directly_and_through_the_gateway() {
    let server = ConformanceServer::start().await;
    for revision in Revision::ALL {
        let gateway = server.gateway(revision).await;
        let direct = Client::connect(server.url(), revision, None).await;
        let through = gateway.client(revision).await;
        for (method, name, params) in CORPUS {
            let case = format!("{} {method} {params}", revision.text());
            let expected = ask(&direct, revision, method, name, params).await;
            let got = ask(&through, revision, method, name, params).await;
            assert_eq!(without_receipt(&got), expected, "{case}");
        }
    }
}

/// The result or the error object, as it was written; of a list of tools the
/// list.
async fn ask(
    client: &Client,
    revision: Revision,
    method: &str,
    name: Option<&str>,
    params: &str,
) -> String {
    let meta = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#,
        revision.text()
    );
    let members: Vec<&str> = match revision.has_sessions() {
        true => vec![params],
        false => vec![params, &meta],
    };
    let members: Vec<&str> = members
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{}}}}}"#,
        members.join(",")
    );
    let answer = client.post_as(method, name, message.as_bytes()).await;
    let document = Document::read(answer.text().as_bytes(), Limits::STANDARD).unwrap();
    let root = document.root();
    let said = root.get("result").or_else(|| root.get("error"));
    let said = said.unwrap_or_else(|| panic!("no answer to {message}: {answer:?}"));
    let said = match method {
        "tools/list" => said.get("tools").unwrap(),
        _ => said,
    };
    String::from_utf8(said.raw().to_vec()).unwrap()
}

/// Takes away the receipt, and what was added to hold it.
fn without_receipt(text: &str) -> String {
    let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
    for holder in ["_meta", "data"] {
        let Some(held) = document.root().get(holder) else {
            continue;
        };
        let Some(receipt) = held.get(RECEIPT) else {
            continue;
        };
        let (name, value) = match held.count() {
            1 => (holder, held),
            _ => (RECEIPT, receipt),
        };
        // Whatever is added comes last in its object.
        let added = format!(",\"{name}\":{}", String::from_utf8_lossy(value.raw()));
        assert_eq!(text.matches(&added).count(), 1, "{text}");
        return text.replace(&added, "");
    }
    text.to_owned()
}
