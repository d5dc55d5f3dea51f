//! Messages: what each is, what it is refused for, and where its parts go.
//! Each row is one sentence of `docs/spec/action-binding.md` §1 to §3.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so"
)]

use countersign_canon::{Admitted, Call, Code, Id, Numbers, Reply, admit, envelop};

type Fault<'a> = (Code, &'a str);

#[track_caller]
fn refused_by(numbers: Numbers, message: &str, (code, pointer): Fault<'_>) {
    let refusal = admit(numbers, message.as_bytes()).expect_err(message);
    let said = (
        refusal.code,
        refusal.pointer.as_str(),
        refusal.offset as usize,
    );
    assert_eq!(said, (code, pointer, message.len()), "{message}");
}

#[track_caller]
fn refused(message: &str, fault: Fault<'_>) {
    refused_by(Numbers::AsWritten, message, fault);
}

fn with_params(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

#[track_caller]
fn call(params: &str) -> Call {
    match admit(Numbers::AsWritten, with_params(params).as_bytes()) {
        Ok(Admitted::Call(call)) => call,
        other => panic!("{params}: {other:?}"),
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

use Code::{Correlation, Envelope, Number, Params};

#[test]
fn an_envelope_is_one_json_rpc_2_0_message_and_nothing_else() {
    for (message, pointer) in [
        ("[]", ""),
        ("null", ""),
        (r#""x""#, ""),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, ""),
        ("{}", ""),
        (r#"{"id":1,"method":"ping"}"#, ""),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "/jsonrpc"),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "/jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "/method"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            "/params",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
            "/params",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","Params":{}}"#,
            "/Params",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            "/result",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","x":{}}"#, "/x"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "/id"),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, "/id"),
        (r#"{"jsonrpc":"2.0","id":1e0,"method":"ping"}"#, "/id"),
        (r#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#, "/id"),
        (
            r#"{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}"#,
            "/id",
        ),
        (
            r#"{"jsonrpc":"2.0","id":-9007199254740992,"method":"ping"}"#,
            "/id",
        ),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "/id"),
        (
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"n"}}"#,
            "",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"tools\/call","params":{}}"#,
            "",
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, ""),
        (r#"{"jsonrpc":"2.0","id":1}"#, ""),
        (r#"{"jsonrpc":"2.0","id":1,"params":{}}"#, ""),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
            "/error",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{},"result":1}"#,
            "/result",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":"x"}"#, "/error"),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"Error":{}}"#,
            "/Error",
        ),
        // Of several faults, that whose value begins first.
        (r#"{"x":1,"id":null,"method":"ping"}"#, ""),
        (r#"{"jsonrpc":"2.0","x":1,"id":null,"method":"ping"}"#, "/x"),
        (
            r#"{"jsonrpc":"2.0","id":null,"x":1,"method":"ping"}"#,
            "/id",
        ),
    ] {
        refused(message, (Envelope, pointer));
    }
    let id = |bytes: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#,
            "é".repeat(bytes / 2)
        )
    };
    assert!(admit(Numbers::AsWritten, id(256).as_bytes()).is_ok());
    refused(&id(258), (Envelope, "/id"));
}

#[test]
fn other_messages_keep_their_content_with_every_number_as_written() {
    for numbers in [Numbers::AsWritten, Numbers::SafeIntegers] {
        let read = |message: &str| admit(numbers, message.as_bytes()).unwrap();
        let Admitted::Request(request) = read(
            r#" {"method":"tools\/list","params":{"b":1.50,"a":[ ]},"id":"\u0061","jsonrpc":"2.0"} "#,
        ) else {
            panic!("a request")
        };
        assert_eq!(request.id, Id::Text("a".into()));
        assert_eq!(request.method, "tools/list");
        assert_eq!(text(&request.params.unwrap()), r#"{"a":[],"b":1.50}"#);
        let Admitted::Notification(note) = read(r#"{"jsonrpc":"2.0","method":"n/x"}"#) else {
            panic!("a notification")
        };
        assert_eq!((note.method.as_str(), note.params), ("n/x", None));
        let reply = |answer| {
            Admitted::Reply(Reply {
                id: Id::Number(-9_007_199_254_740_991),
                answer,
            })
        };
        let head = r#"{"jsonrpc":"2.0","id":-9007199254740991"#;
        assert_eq!(
            read(&format!(r#"{head},"result":null}}"#)),
            reply(Ok(b"null".to_vec()))
        );
        assert_eq!(
            read(&format!(r#"{head},"error":{{"x":1e0}}}}"#)),
            reply(Err(br#"{"x":1e0}"#.to_vec()))
        );
    }
}

#[test]
fn the_parameters_of_a_call_are_those_that_are_named() {
    refused(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        (Params, ""),
    );
    let long = format!(r#"{{"name":"{}"}}"#, "é".repeat(129));
    for (params, pointer) in [
        ("{}", "/params"),
        (r#"{"arguments":{}}"#, "/params"),
        (r#"{"name":null}"#, "/params/name"),
        (r#"{"name":""}"#, "/params/name"),
        (long.as_str(), "/params/name"),
        (r#"{"Name":"n"}"#, "/params"),
        (r#"{"Name":"n","name":"n"}"#, "/params/Name"),
        (r#"{"name":"n","arguments":null}"#, "/params/arguments"),
        (r#"{"name":"n","arguments":[]}"#, "/params/arguments"),
        (r#"{"name":"n","task":1}"#, "/params/task"),
        (r#"{"name":"n","_meta":"x"}"#, "/params/_meta"),
        (r#"{"name":"n","_meta":[1]}"#, "/params/_meta"),
        (r#"{"name":"n","_cmcp":[1]}"#, "/params/_cmcp"),
        (
            r#"{"name":"n","_cmcp":{"data_class":"x"}}"#,
            "/params/_cmcp/data_class",
        ),
        (
            r#"{"name":"n","_meta":{"countersign.dev/x":1}}"#,
            "/params/_meta/countersign.dev~1x",
        ),
        (
            r#"{"name":"n","_meta":{"countersign.dev/":1}}"#,
            "/params/_meta/countersign.dev~1",
        ),
        (
            r#"{"name":"n","inputResponses":[]}"#,
            "/params/inputResponses",
        ),
        (r#"{"name":"n","requestState":{}}"#, "/params/requestState"),
        (r#"{"name":"n","x":1}"#, "/params/x"),
        (r#"{"y":1,"name":"","x":1}"#, "/params/y"),
        (r#"{"y":1}"#, "/params"),
    ] {
        refused(&with_params(params), (Params, pointer));
    }
    call(&format!(r#"{{"name":"{}"}}"#, "😀".repeat(128)));
    call(r#"{"name":"n","_meta":{},"_cmcp":{}}"#);
    // Other methods have no such rules.
    for method in ["tools/Call", "tools/call ", "prompts/get"] {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"x":1}}}}"#);
        assert!(matches!(
            admit(Numbers::AsWritten, message.as_bytes()),
            Ok(Admitted::Request(_))
        ));
    }
}

#[test]
fn a_correlation_is_visible_ascii_and_the_same_in_both_places() {
    let long = format!(
        r#"{{"name":"n","_cmcp":{{"workflow_id":"{}"}}}}"#,
        "a".repeat(201)
    );
    for (params, pointer) in [
        (
            r#"{"name":"n","_cmcp":{"execution_id":""}}"#,
            "/params/_cmcp/execution_id",
        ),
        (
            r#"{"name":"n","_cmcp":{"execution_id":null}}"#,
            "/params/_cmcp/execution_id",
        ),
        (
            r#"{"name":"n","_cmcp":{"execution_id":1}}"#,
            "/params/_cmcp/execution_id",
        ),
        (
            r#"{"name":"n","_cmcp":{"execution_id":"a b"}}"#,
            "/params/_cmcp/execution_id",
        ),
        (
            r#"{"name":"n","_cmcp":{"workflow_id":"é"}}"#,
            "/params/_cmcp/workflow_id",
        ),
        (long.as_str(), "/params/_cmcp/workflow_id"),
        (
            r#"{"name":"n","_meta":{"countersign.dev/execution_id":"\u007f"}}"#,
            "/params/_meta/countersign.dev~1execution_id",
        ),
        (
            r#"{"name":"n","_cmcp":{"execution_id":"a"},"_meta":{"countersign.dev/execution_id":"b"}}"#,
            "/params/_meta/countersign.dev~1execution_id",
        ),
        (
            r#"{"name":"n","_meta":{"countersign.dev/execution_id":"b"},"_cmcp":{"execution_id":"a"}}"#,
            "/params/_cmcp/execution_id",
        ),
        // Of several faults, that whose value begins first.
        (
            r#"{"_meta":{"countersign.dev/workflow_id":1},"name":"n","_cmcp":{"execution_id":1}}"#,
            "/params/_meta/countersign.dev~1workflow_id",
        ),
        (
            r#"{"_meta":{"countersign.dev/workflow_id":1},"name":"n","_cmcp":{"workflow_id":"w"}}"#,
            "/params/_meta/countersign.dev~1workflow_id",
        ),
    ] {
        refused(&with_params(params), (Correlation, pointer));
    }
    let same = call(
        r#"{"name":"n","_cmcp":{"execution_id":"e","workflow_id":"!~"},"_meta":{"countersign.dev/execution_id":"\u0065"}}"#,
    );
    assert_eq!(same.execution_id.as_deref(), Some("e"));
    assert_eq!(same.workflow_id.as_deref(), Some("!~"));
    assert_eq!(text(&same.action), r#"{"method":"tools/call","name":"n"}"#);
    let long = call(&format!(
        r#"{{"name":"n","_cmcp":{{"execution_id":"{}"}}}}"#,
        "a".repeat(200)
    ));
    assert_eq!(long.execution_id.unwrap().len(), 200);
}

#[test]
fn a_number_that_the_profile_cannot_carry_is_refused_in_the_action_only() {
    let safe = Numbers::SafeIntegers;
    for lexeme in [
        "1.0",
        "1e0",
        "-0",
        "0.5",
        "9007199254740992",
        "-9007199254740992",
        "1e400",
    ] {
        let message = with_params(&format!(
            r#"{{"name":"n","arguments":{{"a":[0,{lexeme}]}}}}"#
        ));
        refused_by(safe, &message, (Number, "/params/arguments/a/1"));
        assert!(admit(Numbers::AsWritten, message.as_bytes()).is_ok());
    }
    for lexeme in ["0", "-1", "9007199254740991", "-9007199254740991"] {
        let message = with_params(&format!(r#"{{"name":"n","arguments":{{"a":{lexeme}}}}}"#));
        assert!(admit(safe, message.as_bytes()).is_ok());
    }
    for (params, pointer) in [
        (
            r#"{"task":{"t":1.5},"name":"n","arguments":{"a":1.5}}"#,
            "/params/task/t",
        ),
        (
            r#"{"arguments":{"a":1.5},"name":"n","task":{"t":1.5}}"#,
            "/params/arguments/a",
        ),
        (
            r#"{"name":"n","_meta":{"progressToken":1.5,"x":{"y":1.5}}}"#,
            "/params/_meta/x/y",
        ),
        (
            r#"{"name":"n","_meta":{"io.modelcontextprotocol/x":1.5}}"#,
            "/params/_meta/io.modelcontextprotocol~1x",
        ),
    ] {
        refused_by(safe, &with_params(params), (Number, pointer));
    }
    let elsewhere = with_params(
        r#"{"name":"n","inputResponses":{"a":1.5},"_meta":{"progressToken":1.5,"traceparent":1.5,"baggage":1.5,"io.modelcontextprotocol/logLevel":1.5}}"#,
    );
    assert!(admit(safe, elsewhere.as_bytes()).is_ok());
}

#[test]
fn each_part_of_a_call_goes_to_exactly_one_place() {
    let call = call(
        r#"{
        "requestState": "s\u0061", "inputResponses": {"b": 1.0, "a": [ ]},
        "_meta": {
            "traceparent": [1.0], "progressToken": "p", "tracestate": "t", "baggage": {},
            "io.modelcontextprotocol/protocolVersion": "v", "io.modelcontextprotocol/other": 1,
            "io.modelcontextprotocol/clientInfo": {"b": 1, "a": 2.0},
            "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/logLevel": "d",
            "ProgressToken": 1, "vendor/x": "\u00e9", "countersign.dev/workflow_id": "w"
        },
        "arguments": {"to": "b", "amount": 5e3, "\u0061": null}, "name": "n",
        "task": {"ttl": 60.0}
    }"#,
    );
    assert_eq!(
        text(&call.action),
        r#"{"_meta":{"ProgressToken":1,"io.modelcontextprotocol/other":1,"vendor/x":"é"},"arguments":{"a":null,"amount":5e3,"to":"b"},"method":"tools/call","name":"n","task":{"ttl":60.0}}"#
    );
    assert_eq!(
        text(&call.client),
        r#"{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"a":2.0,"b":1},"io.modelcontextprotocol/logLevel":"d","io.modelcontextprotocol/protocolVersion":"v"}"#
    );
    assert_eq!(
        text(&call.transport),
        r#"{"progressToken":"p","traceparent":[1.0]}"#
    );
    let round = call.continuation.unwrap();
    assert_eq!(
        text(&round.canonical),
        r#"{"inputResponses":{"a":[],"b":1.0},"requestState":"sa"}"#
    );
    assert_eq!(round.request_state.as_deref(), Some("sa"));
    assert_eq!(
        (call.execution_id, call.workflow_id.as_deref()),
        (None, Some("w"))
    );
}

#[test]
fn what_is_absent_stays_absent() {
    let bare = call(r#"{"name":"n"}"#);
    assert_eq!(text(&bare.action), r#"{"method":"tools/call","name":"n"}"#);
    assert_eq!((text(&bare.client), text(&bare.transport)), ("{}", "{}"));
    assert_eq!(
        (bare.continuation, bare.execution_id, bare.workflow_id),
        (None, None, None)
    );
    let empty = call(r#"{"name":"n","arguments":{},"task":{},"_meta":{"progressToken":null}}"#);
    assert_eq!(
        text(&empty.action),
        r#"{"arguments":{},"method":"tools/call","name":"n","task":{}}"#
    );
    assert_eq!(text(&empty.transport), r#"{"progressToken":null}"#);
    let state = call(r#"{"name":"n","requestState":""}"#)
        .continuation
        .unwrap();
    assert_eq!(
        (text(&state.canonical), state.request_state.as_deref()),
        (r#"{"requestState":""}"#, Some(""))
    );
    let responses = call(r#"{"name":"n","inputResponses":{}}"#)
        .continuation
        .unwrap();
    assert_eq!(
        (text(&responses.canonical), responses.request_state),
        (r#"{"inputResponses":{}}"#, None)
    );
}

#[test]
fn the_envelope_of_an_action_asks_for_that_action() {
    let call = call(r#"{"task":{},"name":"n","_meta":{"x":1.0},"arguments":{"b":1,"a":"\n"}}"#);
    let message = envelop(&call.action).unwrap();
    let Ok(Admitted::Call(again)) = admit(Numbers::AsWritten, &message) else {
        panic!("a call")
    };
    assert_eq!(again.action, call.action);
    assert_eq!(again.id, Id::Number(0));
    assert!(envelop(b"{}").is_err());
}
