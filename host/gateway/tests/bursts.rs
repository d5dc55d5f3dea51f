//! Processes that say a great deal, of one request or of one that they have not
//! read yet.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::time::Duration;

use serde_json::json;
use support::relaying::ask;
use support::stdio::Stdio;
use support::{Gateway, PERMIT_ALL, client, until};

const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID,"progress":1,"message":"FILL"}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"_meta":{"x":"FILL"}}}"#;

/// A notification of another kind that says of which request it is.
fn tagged(method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"uri":"test://a","data":"FILL","_meta":{{"io.modelcontextprotocol/subscriptionId":ID}}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_never_lost_to_what_was_said_before_it() {
    let stdio = Stdio::new();
    let gateway = Gateway::start_with(&stdio.table(), PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let notes = [
        PROGRESS.to_owned(),
        tagged("notifications/resources/updated"),
        tagged("notifications/message"),
    ];
    let mut calls = 0;
    for (times, fill) in [
        (0, 0),
        (1, 0),
        (255, 0),
        (256, 0),
        (257, 0),
        (5_000, 0),
        (300, 20_000),
        (3, 10_000_000),
    ] {
        for note in &notes {
            let why = format!("{times} of {fill} bytes: {note}");
            calls += 1;
            let arguments = json!({
                "text": format!("{note}\n"), "times": times, "fill": fill,
                "after": format!("{}\n", RESULT.replace("FILL", "")),
            });
            let call = ask(
                "tools/call",
                &format!(
                    r#""name":"say","arguments":{arguments},"_meta":{{"progressToken":"p","countersign.dev/execution_id":"e{calls}"}}"#
                ),
            );
            let answer = session.post(call).await;
            assert!(
                answer.json()["result"]["content"].is_array(),
                "{why}: {}",
                answer.json()
            );
        }
    }
    assert_eq!(stdio.noted("processes").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_says_of_a_request_that_it_does_not_read_is_not_kept() {
    for line in [PROGRESS, RESULT] {
        let stdio = Stdio::new();
        let gateway = Gateway::start_with(&stdio.table(), PERMIT_ALL, "").await;
        let session = gateway.client().session().await;
        let text = line.replace("ID", "NEXT") + "\n";
        let flood = json!({
            "when": "next", "text": text, "times": 40, "fill": 10_000_000, "then": "stuck",
            "after": format!("{}\n", RESULT.replace("FILL", "")),
        });
        let asking = session.clone();
        let flooding = tokio::spawn(async move {
            let message = client::call(1, "say", &flood.to_string(), Some("e1"));
            asking.post(message).await.code()
        });
        until("it was asked", || stdio.noted("effects").len() == 1).await;
        let before = resident();
        // More than waits in a pipe.
        let long = json!({"x": "x".repeat(300_000)}).to_string();
        let calling = session.clone();
        let called = tokio::spawn(async move {
            let message = client::call(2, "pay", &long, Some("e2"));
            calling.post(message).await.code()
        });
        for _ in 0..6_000 {
            if !stdio.noted("done").is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!stdio.noted("done").is_empty(), "{line}");
        let kept = resident().saturating_sub(before);
        assert!(kept < 150 << 20, "{kept} bytes of 400 million: {line}");
        assert!(!called.is_finished(), "it is still being written: {line}");
        stdio.set("over");
        assert_eq!(flooding.await.unwrap(), None, "{line}");
        assert_eq!(called.await.unwrap(), None, "{line}");
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn that_tools_have_changed_is_looked_into_whichever_request_it_is_told_of() {
    let stdio = Stdio::new();
    let gateway = Gateway::start_with(&stdio.table(), PERMIT_ALL, "").await;
    let session = gateway.client().session().await;
    let lists = || {
        let lines = stdio.noted("lines");
        let lists = lines.iter().filter(|line| line.contains("\"tools/list\""));
        lists.count()
    };
    assert_eq!(session.call("pay", "{}", None).await.code(), None);
    let tagged = tagged("notifications/tools/list_changed");
    let untagged = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for note in [untagged, &tagged, &tagged.replace("ID", "987654")] {
        let before = lists();
        assert_eq!(session.call("pay", "{}", None).await.code(), None);
        assert_eq!(lists(), before, "nothing was told: {note}");
        let after = format!("{}\n", RESULT.replace("FILL", ""));
        let arguments = json!({"text": format!("{note}\n"), "after": after}).to_string();
        assert_eq!(session.call("say", &arguments, None).await.code(), None);
        assert_eq!(session.call("pay", "{}", None).await.code(), None);
        assert_eq!(lists(), before + 1, "{note}");
    }
}

/// How much memory this process takes, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib: usize = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kib << 10
}
