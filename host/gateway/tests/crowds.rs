//! More agents than a server has processes for.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use http::Method;
use support::stdio::Stdio;
use support::{Gateway, until};

/// Processes of one server, as `docs/operators/limits.md` has it.
const MOST: u8 = 64;

#[tokio::test(flavor = "multi_thread")]
async fn of_more_agents_than_there_are_processes_the_longest_idle_one_makes_room_and_a_busy_one_never()
 {
    let stdio = Stdio::new();
    let servers = stdio.table() + "methods = [\"resources/*\"]\n[limits]\ndrain_ms = 200\n";
    let gateway = Gateway::of_agents(MOST + 2, &servers).await;
    let mut sessions = Vec::new();
    for number in 0..MOST + 2 {
        sessions.push(gateway.agent(number).session().await);
    }
    let most = usize::from(MOST);
    for session in &sessions[..most] {
        assert_eq!(session.call("pay", "{}", None).await.code(), None);
    }
    let alive = stdio.alive();
    assert_eq!(alive.len(), most);
    // The first has a stream of its own open, which its process speaks on.
    let stream = sessions[0].stream(Method::GET, "").await;
    assert_eq!(stream.status, 200);
    let one_more = &sessions[most];
    assert_eq!(one_more.call("pay", "{}", Some("e1")).await.code(), None);
    until("one makes room", || stdio.alive().len() == most).await;
    let now = stdio.alive();
    assert!(now.contains(&alive[0]), "it is in use");
    assert!(!now.contains(&alive[1]), "it was idle for the longest");
    // Whoever made room comes back.
    assert_eq!(sessions[1].call("pay", "{}", None).await.code(), None);
    until("another makes room", || stdio.alive().len() == most).await;

    // All are in use.
    let effects = stdio.noted("effects").len();
    let too_many = sessions.pop().unwrap();
    sessions.truncate(most);
    for session in sessions {
        tokio::spawn(async move { session.call("wait", "{}", None).await });
    }
    until("all wait", || {
        stdio.noted("effects").len() == effects + most
    })
    .await;
    let data = too_many.call("pay", "{}", Some("e2")).await.data();
    assert_eq!(data["code"], "overloaded", "{data}");
    assert_eq!(data["safe_with_new_id"], true, "{data}");
    assert!(data["state"].is_null(), "nothing is reserved: {data}");
    assert!(data["retry_after_ms"].is_number(), "{data}");
    assert_eq!(stdio.noted("effects").len(), effects + most);
    assert_eq!(stdio.alive().len(), most);
    gateway.stop().await;
    assert!(stdio.alive().is_empty());
}
