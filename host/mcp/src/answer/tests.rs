//! What an answer is with its receipt, without it, and where it is none.

use countersign_canon::{Document, Limits};

use super::*;

fn result(text: &str, kind: ResultType) -> Result<(String, Verdict, usize), Malformed> {
    let whole = format!(" {{ \"result\" : {text} }}");
    let document = Document::read(whole.as_bytes(), Limits::STANDARD).unwrap();
    let answer = Answer::result(document.root().get("result").unwrap(), kind, true)?;
    let (verdict, removed) = (answer.verdict().clone(), answer.removed());
    Ok((
        String::from_utf8(answer.with_receipt(b"{}")).unwrap(),
        verdict,
        removed,
    ))
}

#[test]
fn a_result_keeps_every_byte_and_gains_a_receipt() {
    for (sent, given) in [
        ("{}", r#"{"_meta":{"countersign.dev/receipt":{}}}"#),
        (
            r#"{ "content" : [ {"n": 1.0, "m":-0, "x":1e400} ], "isError":false }"#,
            r#"{ "content" : [ {"n": 1.0, "m":-0, "x":1e400} ], "isError":false ,"_meta":{"countersign.dev/receipt":{}}}"#,
        ),
        (
            r#"{"_meta": {"k" : 123456789012345678901234567890} ,"content":[]}"#,
            r#"{"_meta": {"k":123456789012345678901234567890,"countersign.dev/receipt":{}} ,"content":[]}"#,
        ),
        (
            r#"{"_meta":{"k":1.0,"l":[],"m":""}}"#,
            r#"{"_meta":{"k":1.0,"l":[],"m":"","countersign.dev/receipt":{}}}"#,
        ),
        (
            r#"{"_meta":{},"a":1}"#,
            r#"{"_meta":{"countersign.dev/receipt":{}},"a":1}"#,
        ),
        (r#"{"_meta":null,"a":1}"#, r#"{"_meta":null,"a":1}"#),
    ] {
        let (text, verdict, removed) = result(sent, ResultType::AsIs).unwrap();
        assert_eq!(text, given);
        assert_eq!((verdict, removed), (Verdict::Succeeded, 0));
    }
}

#[test]
fn without_its_receipt_an_answer_is_what_the_upstream_sent() {
    for (sent, kind, given) in [
        ("{}", ResultType::AsIs, "{}"),
        ("{}", ResultType::Stated, r#"{"resultType":"complete"}"#),
        (r#"{"a":1.0}"#, ResultType::AsIs, r#"{"a":1.0}"#),
        (
            r#"{"a":1.0}"#,
            ResultType::Stated,
            r#"{"a":1.0,"resultType":"complete"}"#,
        ),
        (
            r#"{"_meta":{"k":1},"a":2}"#,
            ResultType::AsIs,
            r#"{"_meta":{"k":1},"a":2}"#,
        ),
        (
            r#"{"_meta":{},"a":2}"#,
            ResultType::AsIs,
            r#"{"_meta":{},"a":2}"#,
        ),
        (
            r#"{"_meta":{"countersign.dev/x":1}}"#,
            ResultType::AsIs,
            r#"{"_meta":{}}"#,
        ),
        (
            r#"{"_meta":null}"#,
            ResultType::Stated,
            r#"{"_meta":null,"resultType":"complete"}"#,
        ),
    ] {
        let document = Document::read(sent.as_bytes(), Limits::STANDARD).unwrap();
        let answer = Answer::result(document.root(), kind, false).unwrap();
        assert_eq!(answer.added(), kind == ResultType::Stated, "{sent}");
        assert_eq!((answer.is_error(), answer.number()), (false, None));
        assert_eq!(
            String::from_utf8(answer.without_receipt()).unwrap(),
            given,
            "{sent}"
        );
    }
}

#[test]
fn an_error_is_told_apart_with_its_number() {
    for (sent, number) in [
        (r#"{"code":-32602,"message":"m"}"#, Some(-32_602)),
        (r#"{"code":1.5,"message":"m"}"#, None),
        (r#"{"message":"m"}"#, None),
    ] {
        let document = Document::read(sent.as_bytes(), Limits::STANDARD).unwrap();
        let answer = Answer::error(document.root()).unwrap();
        assert_eq!(answer.number(), number, "{sent}");
        assert_eq!((answer.is_error(), answer.added()), (true, false));
    }
}

#[test]
fn a_receipt_that_an_upstream_forged_is_gone_however_its_name_is_spelled() {
    let forged =
        r#"{"_meta":{"countersign.dev/receipt":{"x":1},"k":1,"\u0063ountersign.dev/x":2}}"#;
    let (text, _, removed) = result(forged, ResultType::AsIs).unwrap();
    assert_eq!(text, r#"{"_meta":{"k":1,"countersign.dev/receipt":{}}}"#);
    assert_eq!(removed, 2);
}

#[test]
fn a_revision_that_requires_a_result_type_is_given_one() {
    let (text, ..) = result(r#"{"content":[]}"#, ResultType::Stated).unwrap();
    assert_eq!(
        text,
        r#"{"content":[],"_meta":{"countersign.dev/receipt":{}},"resultType":"complete"}"#
    );
    let (text, ..) = result(r#"{"resultType":"complete"}"#, ResultType::Stated).unwrap();
    assert_eq!(text.matches("resultType").count(), 1);
}

#[test]
fn what_is_no_tool_result_is_malformed() {
    for (text, verdict) in [
        (r#"{"isError":true}"#, Some(Verdict::ToolError)),
        (r#"{"isError":null}"#, Some(Verdict::Succeeded)),
        (
            r#"{"resultType":"input_required","requestState":"s"}"#,
            Some(Verdict::InputRequired {
                request_state: Some("s".to_owned()),
            }),
        ),
        (r#"{"resultType":"task"}"#, None),
        (r#"{"resultType":1}"#, None),
        (r#"{"isError":"true"}"#, None),
        (r#"{"resultType":"input_required","requestState":7}"#, None),
        (r#"{"_meta":[]}"#, None),
        ("[]", None),
        ("null", None),
    ] {
        let got = result(text, ResultType::AsIs)
            .ok()
            .map(|(_, verdict, _)| verdict);
        assert_eq!(got, verdict, "{text}");
    }
}

#[test]
fn where_no_rounds_are_spoken_nobody_asks_for_one() {
    let text = r#"{"resultType":"input_required"}"#;
    let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
    for rounds in [true, false] {
        let read = Answer::result(document.root(), ResultType::AsIs, rounds);
        assert_eq!(read.is_ok(), rounds);
    }
}

#[test]
fn an_error_takes_the_receipt_into_its_data_where_that_is_possible() {
    for (sent, given) in [
        (
            r#"{"code":-32000,"message":"no"}"#,
            r#"{"code":-32000,"message":"no","data":{"countersign.dev/receipt":{}}}"#,
        ),
        (
            r#"{"code":1,"data":{"countersign.dev/receipt":1,"k":1.0},"message":"no"}"#,
            r#"{"code":1,"data":{"k":1.0,"countersign.dev/receipt":{}},"message":"no"}"#,
        ),
        (
            r#"{"code":1,"message":"no","data":"text"}"#,
            r#"{"code":1,"message":"no","data":"text"}"#,
        ),
    ] {
        let document = Document::read(sent.as_bytes(), Limits::STANDARD).unwrap();
        let answer = Answer::error(document.root()).unwrap();
        assert_eq!(
            String::from_utf8(answer.with_receipt(b"{}")).unwrap(),
            given
        );
    }
}
