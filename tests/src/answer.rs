//! An HTTP answer to an MCP message, as bytes and as what they say.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// One whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as it arrived.
    pub body: Bytes,
}

impl Answer {
    /// The text of the JSON-RPC message in it: the whole body of a JSON
    /// answer, the last event's data of an SSE one.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn text(&self) -> &str {
        let body = std::str::from_utf8(&self.body).expect("an answer is text");
        let kind = self
            .headers
            .get("content-type")
            .map(|kind| kind.to_str().unwrap_or_default());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
            let told = events.map(str::trim).rfind(|data| !data.is_empty());
            return told.unwrap_or_else(|| panic!("no event in {body:?}"));
        }
        body
    }

    /// The JSON-RPC message, read.
    ///
    /// # Panics
    ///
    /// When it is no JSON.
    #[must_use]
    pub fn message(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The `result`.
    ///
    /// # Panics
    ///
    /// When the answer is an error.
    #[must_use]
    pub fn result(&self) -> Value {
        let message = self.message();
        message
            .get("result")
            .cloned()
            .unwrap_or_else(|| panic!("no result: {message}"))
    }

    /// The `error`.
    ///
    /// # Panics
    ///
    /// When the answer is a result.
    #[must_use]
    pub fn error(&self) -> Value {
        let message = self.message();
        message
            .get("error")
            .cloned()
            .unwrap_or_else(|| panic!("no error: {message}"))
    }

    /// The stable text code of one of the gateway's own refusals.
    ///
    /// # Panics
    ///
    /// When the answer is no refusal with a code.
    #[must_use]
    pub fn code(&self) -> String {
        let error = self.error();
        let code = error["data"]["code"].as_str();
        code.unwrap_or_else(|| panic!("no code: {error}"))
            .to_owned()
    }

    /// What it came to, in one word: `ok`, `tool-error`, or the code.
    #[must_use]
    pub fn verdict(&self) -> String {
        let message = self.message();
        match message.get("result") {
            Some(result) if result["isError"] == true => "tool-error".to_owned(),
            Some(_) => "ok".to_owned(),
            None => self.code(),
        }
    }
}
