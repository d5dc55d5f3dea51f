//! How a call is answered: whole, broken, late, or with something said before.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::header;

use super::Shared;

/// How a call is answered. `ID` in a text stands for the request's id.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// A result with this raw JSON.
    Result(String),
    /// This status, content type and raw body.
    Raw(u16, &'static str, Vec<u8>),
    /// The head and the beginning of a body, and then the connection breaks.
    BreakOff,
    /// No answer at all.
    Never,
    /// A result after this long.
    Slow(Duration),
    /// Progress under the gateway's token, and then a result, as events.
    Progress,
    /// A `ping` of the server's own, then the result once it was answered.
    Ping,
    /// This request of the server's own, then a result that holds the reply.
    Ask(String),
    /// These messages as events, then a result.
    Say(Vec<String>),
    /// A result as an event, on a stream that stays open.
    Linger,
    /// A result whose head says that it is encoded.
    Encoded,
    /// A page that never ends.
    Endless,
}

pub(super) async fn call(shared: &Arc<Shared>, behaviour: Behaviour, id: &str) -> Response {
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    match behaviour {
        Behaviour::Result(raw) => json_response(200, &result(&raw)),
        Behaviour::Raw(status, kind, body) => {
            let text = String::from_utf8_lossy(&body).replace("ID", id);
            let body = if std::str::from_utf8(&body).is_ok() {
                text.into_bytes()
            } else {
                body
            };
            response(status, kind, Body::from(body))
        }
        Behaviour::BreakOff => {
            let chunks = Chunks(vec![Err(()), Ok(Bytes::from_static(b"{\"jsonrpc\""))]);
            response(200, "application/json", Body::new(chunks))
        }
        Behaviour::Never => std::future::pending().await,
        Behaviour::Slow(time) => {
            tokio::time::sleep(time).await;
            json_response(200, &result(r#"{"content":[]}"#))
        }
        Behaviour::Progress => {
            let progress = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1.0,"total":2}}}}"#
            );
            let body = format!(
                "id: 0\ndata:\n\ndata: {progress}\n\ndata: {}\n\n",
                result(r#"{"content":[]}"#)
            );
            response(200, "text/event-stream", Body::from(body))
        }
        Behaviour::Ask(request) => asking(
            shared,
            &request.replace("ID", id),
            result(r#"{"content":[]}"#),
        ),
        Behaviour::Say(messages) => {
            let mut body = String::new();
            for message in messages {
                body += &format!("data: {}\n\n", message.replace("ID", id));
            }
            body += &format!("data: {}\n\n", result(r#"{"content":[]}"#));
            response(200, "text/event-stream", Body::from(body))
        }
        Behaviour::Linger => {
            let (sender, receiver) = tokio::sync::mpsc::channel(1);
            let event = format!("data: {}\n\n", result(r#"{"content":[]}"#));
            sender.try_send(Bytes::from(event)).unwrap();
            shared.listeners.lock().unwrap().push(sender);
            response(200, "text/event-stream", Body::new(Stream(receiver)))
        }
        Behaviour::Encoded => {
            let mut response = json_response(200, &result(r#"{"content":[]}"#));
            let gzip = http::HeaderValue::from_static("gzip");
            response
                .headers_mut()
                .insert(header::CONTENT_ENCODING, gzip);
            response
        }
        Behaviour::Endless => {
            let (sender, receiver) = tokio::sync::mpsc::channel(1);
            tokio::spawn(async move {
                while sender
                    .send(Bytes::from_static(&[b'x'; 8_192]))
                    .await
                    .is_ok()
                {}
            });
            response(200, "text/html", Body::new(Stream(receiver)))
        }
        Behaviour::Ping => {
            let ping = "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n";
            let (sender, receiver) = tokio::sync::mpsc::channel(2);
            let last = format!("data: {}\n\n", result("{}"));
            let shared = Arc::clone(shared);
            tokio::spawn(async move {
                sender.send(Bytes::from(ping)).await.unwrap();
                shared.pinged.notified().await;
                sender.send(Bytes::from(last)).await.unwrap();
            });
            response(200, "text/event-stream", Body::new(Stream(receiver)))
        }
    }
}

/// What the server says in the middle of a call, and its result once the reply
/// to it has come.
fn asking(shared: &Arc<Shared>, request: &str, result: String) -> Response {
    let (sender, receiver) = tokio::sync::mpsc::channel(2);
    let shared = Arc::clone(shared);
    let asked = format!("data: {request}\n\n");
    tokio::spawn(async move {
        let _ = sender.send(Bytes::from(asked)).await;
        shared.replied.notified().await;
        let _ = sender
            .send(Bytes::from(format!("data: {result}\n\n")))
            .await;
    });
    response(200, "text/event-stream", Body::new(Stream(receiver)))
}

pub(super) fn json_response(status: u16, body: &str) -> Response {
    response(status, "application/json", Body::from(body.to_owned()))
}

pub(super) fn response(status: u16, kind: &str, body: Body) -> Response {
    let mut builder = http::Response::builder().status(status);
    if !kind.is_empty() {
        builder = builder.header(header::CONTENT_TYPE, kind);
    }
    builder.body(body).unwrap()
}

/// A body of chunks, taken from the end; an error breaks the connection.
struct Chunks(Vec<Result<Bytes, ()>>);

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, std::io::Error>>> {
        let next = self.0.pop();
        std::task::Poll::Ready(next.map(|chunk| {
            chunk
                .map(hyper::body::Frame::data)
                .map_err(|()| std::io::Error::other("broken"))
        }))
    }
}

pub(super) struct Stream(pub(super) tokio::sync::mpsc::Receiver<Bytes>);

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        self.0
            .poll_recv(cx)
            .map(|chunk| chunk.map(|chunk| Ok(hyper::body::Frame::data(chunk))))
    }
}
