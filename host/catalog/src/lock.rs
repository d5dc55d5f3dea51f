//! The lock: the file of what was approved, which a person reviews as a diff.
//!
//! ```json
//! {
//!   "format": "countersign.catalog.v1",
//!   "servers": {
//!     "ledger": {
//!       "checkpoint": "sha256:…",
//!       "server": "sha256:…",
//!       "tools": {
//!         "balance": {
//!           "digest": "sha256:…",
//!           "tool": { … as the server describes it … }
//!         }
//!       }
//!     }
//!   }
//! }
//! ```
//!
//! Every digest is computed again when the file is read, so that an edit by
//! hand is not taken for an approval. Members are sorted and the text is the
//! same for the same approvals.

use std::collections::BTreeMap;

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Digest, Document, write};

use crate::text::{LIMITS, line, pretty, shown};
use crate::{Descriptor, Offer};

/// The format's name.
const FORMAT: &str = "countersign.catalog.v1";

/// Everything that was approved, by the server's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    servers: BTreeMap<String, Offer>,
}

/// A file that is no lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It is not JSON.
    #[error("the lock is no JSON: {0}")]
    NotJson(countersign_canon::Refusal),
    /// It is of another format.
    #[error("the lock is not of the format `{FORMAT}`")]
    Format,
    /// A part of it is not of its form.
    #[error("in the lock `{0}` is not of its form")]
    Malformed(String),
    /// A digest is not that of what stands beside it.
    #[error("in the lock the digest of `{0}` is not that of what stands there: it was edited")]
    Edited(String),
}

impl LockError {
    /// The stable code of every one of these.
    pub const CODE: &'static str = "catalog-lock";
}

impl Lock {
    /// What was approved for a server.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&Offer> {
        self.servers.get(name)
    }

    /// Every server's, by name.
    pub fn servers(&self) -> impl Iterator<Item = &Offer> {
        self.servers.values()
    }

    /// Approves an offer in place of what was approved for that server.
    pub fn approve(&mut self, offer: Offer) {
        self.servers.insert(offer.name().to_owned(), offer);
    }

    /// Reads a lock.
    ///
    /// # Errors
    /// [`LockError`], also where a digest does not fit.
    pub fn read(text: &[u8]) -> Result<Self, LockError> {
        let document = Document::read(text, LIMITS).map_err(LockError::NotJson)?;
        let root = document.root();
        if !root
            .get("format")
            .is_some_and(|format| format.is_text(FORMAT))
        {
            return Err(LockError::Format);
        }
        let servers = members(root, 2)
            .and_then(|()| object(root.get("servers")?))
            .ok_or_else(|| LockError::Malformed("servers".to_owned()))?;
        let mut lock = Self::default();
        for server in servers {
            let name = server.name().unwrap_or_default();
            let offer = offer(name, server)?;
            lock.servers.insert(name.to_owned(), offer);
        }
        Ok(lock)
    }

    /// The file's text.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = b"{\n  \"format\": ".to_vec();
        write::string(&mut out, FORMAT);
        out.extend_from_slice(b",\n  \"servers\": {");
        for (index, offer) in self.servers.values().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_server(&mut out, offer);
        }
        if !self.servers.is_empty() {
            line(&mut out, 1);
        }
        out.extend_from_slice(b"}\n}\n");
        match String::from_utf8(out) {
            Ok(text) => shown(&text).into_bytes(),
            // INVARIANT: all of it was text.
            Err(error) => error.into_bytes(),
        }
    }
}

fn write_server(out: &mut Vec<u8>, offer: &Offer) {
    let member = |out: &mut Vec<u8>, indent, name: &str, value: &str| {
        line(out, indent);
        write::string(out, name);
        out.extend_from_slice(b": ");
        write::string(out, value);
        out.push(b',');
    };
    line(out, 2);
    write::string(out, offer.name());
    out.extend_from_slice(b": {");
    member(out, 3, "checkpoint", offer.checkpoint().as_str());
    member(out, 3, "server", offer.server().as_str());
    line(out, 3);
    out.extend_from_slice(b"\"tools\": {");
    for (index, tool) in offer.tools().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        line(out, 4);
        write::string(out, tool.name());
        out.extend_from_slice(b": {");
        member(out, 5, "digest", tool.digest().as_str());
        line(out, 5);
        out.extend_from_slice(b"\"tool\": ");
        // INVARIANT: a descriptor holds JSON.
        if let Ok(document) = Document::read(tool.text(), LIMITS) {
            pretty(out, document.root(), 5);
        }
        line(out, 4);
        out.push(b'}');
    }
    if !offer.is_empty() {
        line(out, 3);
    }
    out.push(b'}');
    line(out, 2);
    out.push(b'}');
}

fn offer(name: &str, item: Item<'_>) -> Result<Offer, LockError> {
    let malformed = || LockError::Malformed(name.to_owned());
    members(item, 3).ok_or_else(malformed)?;
    let server = digest(item, "server").ok_or_else(malformed)?;
    let checkpoint = digest(item, "checkpoint").ok_or_else(malformed)?;
    let tools = item.get("tools").and_then(object).ok_or_else(malformed)?;
    let mut read = Vec::new();
    for tool in tools {
        let path = || format!("{name}/{}", tool.name().unwrap_or_default());
        let malformed = || LockError::Malformed(path());
        members(tool, 2).ok_or_else(malformed)?;
        let expected = digest(tool, "digest").ok_or_else(malformed)?;
        let described = tool.get("tool").ok_or_else(malformed)?;
        let descriptor = Descriptor::of(described).map_err(|_| malformed())?;
        if Some(descriptor.name()) != tool.name() || descriptor.digest() != expected {
            return Err(LockError::Edited(path()));
        }
        read.push(descriptor);
    }
    let offer = Offer::new(name, server, read);
    if offer.checkpoint() == checkpoint {
        Ok(offer)
    } else {
        Err(LockError::Edited(name.to_owned()))
    }
}

fn members(item: Item<'_>, count: usize) -> Option<()> {
    (item.kind() == Kind::Object && item.count() == count).then_some(())
}

fn object<'d>(item: Item<'d>) -> Option<impl Iterator<Item = Item<'d>> + use<'d>> {
    (item.kind() == Kind::Object).then(|| item.children())
}

fn digest(item: Item<'_>, name: &str) -> Option<Digest> {
    item.get(name)?.text()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        let tools = [
            r#"{"name":"send_email","inputSchema":{"type":"object","properties":{"n":{"maximum":1e400}}},"annotations":{}}"#,
            r#"{"name":"send__email"}"#,
            r#"{"name":"Send_email","title":"line\nend é"}"#,
        ];
        let tools = tools.map(|text| Descriptor::read(text.as_bytes()).unwrap());
        let mut lock = Lock::default();
        lock.approve(Offer::new("mail", Digest::of(&[b"m"]), tools));
        lock.approve(Offer::new("empty", Digest::of(&[b"e"]), []));
        lock
    }

    #[test]
    fn a_lock_reads_back_and_is_written_the_same_again() {
        let text = lock().write();
        let read = Lock::read(&text).unwrap();
        assert_eq!(read, lock());
        assert_eq!(read.write(), text);
        assert!(
            String::from_utf8(text)
                .unwrap()
                .contains("\"maximum\": 1e400")
        );
        assert_eq!(
            Lock::read(&Lock::default().write()).unwrap(),
            Lock::default()
        );
    }

    #[test]
    fn nothing_in_the_file_is_hidden_from_who_reads_it() {
        let all: Vec<char> = ('\0'..=char::MAX).filter(|c| crate::hidden(*c)).collect();
        assert!(all.len() > 4_000);
        let mut lock = Lock::default();
        for part in all.chunks(500) {
            let part: String = part.iter().collect();
            let mut tool = b"{\"name\":\"t\",\"description\":".to_vec();
            write::string(&mut tool, &part);
            tool.extend_from_slice(b",\"inputSchema\":{\"properties\":{");
            write::string(&mut tool, &part);
            tool.extend_from_slice(b":{}}}}");
            let tool = Descriptor::read(&tool).unwrap();
            lock.approve(Offer::new("mail", Digest::of(&[b"m"]), [tool]));
            let text = lock.write();
            assert_eq!(Lock::read(&text).unwrap(), lock);
            let text = String::from_utf8(text).unwrap();
            let found = text.chars().find(|c| crate::hidden(*c) && *c != '\n');
            assert_eq!(found, None);
        }
        // As JSON has it: two escapes for what UTF-16 has two units for.
        let tool = "{\"name\":\"t\",\"title\":\"a\u{202e}b\u{e0041}\"}";
        lock.approve(Offer::new(
            "mail",
            Digest::of(&[b"m"]),
            [Descriptor::read(tool.as_bytes()).unwrap()],
        ));
        let text = String::from_utf8(lock.write()).unwrap();
        assert!(text.contains("\"a\\u202eb\\udb40\\udc41\""), "{text}");
    }

    #[test]
    fn each_servers_approval_is_found_under_its_name() {
        let lock = lock();
        let names: Vec<&str> = lock.servers().map(Offer::name).collect();
        assert_eq!(names, ["empty", "mail"]);
        for (name, tools) in [("empty", Some(0)), ("mail", Some(3)), ("Mail", None)] {
            assert_eq!(lock.server(name).map(Offer::len), tools, "{name}");
        }
    }

    /// What people compare before they approve.
    #[test]
    fn the_file_has_a_line_for_each_member() {
        let schema = r#"{"enum":[1,[],{}],"required":[],"type":"object"}"#;
        let tool = format!(r#"{{"inputSchema":{schema},"name":"pay"}}"#);
        let tool = Descriptor::read(tool.as_bytes()).unwrap();
        let (paying, empty) = (Digest::of(&[b"m"]), Digest::of(&[b"e"]));
        let mut lock = Lock::default();
        assert_eq!(
            String::from_utf8(lock.write()).unwrap(),
            "{\n  \"format\": \"countersign.catalog.v1\",\n  \"servers\": {}\n}\n"
        );
        lock.approve(Offer::new("bank", paying, [tool.clone()]));
        lock.approve(Offer::new("none", empty, []));
        let checkpoint = |name: &str| lock.server(name).unwrap().checkpoint();
        let expected = format!(
            r#"{{
  "format": "countersign.catalog.v1",
  "servers": {{
    "bank": {{
      "checkpoint": "{}",
      "server": "{paying}",
      "tools": {{
        "pay": {{
          "digest": "{}",
          "tool": {{
            "inputSchema": {{
              "enum": [
                1,
                [],
                {{}}
              ],
              "required": [],
              "type": "object"
            }},
            "name": "pay"
          }}
        }}
      }}
    }},
    "none": {{
      "checkpoint": "{}",
      "server": "{empty}",
      "tools": {{}}
    }}
  }}
}}
"#,
            checkpoint("bank"),
            tool.digest(),
            checkpoint("none"),
        );
        assert_eq!(String::from_utf8(lock.write()).unwrap(), expected);
    }

    #[test]
    fn an_edit_by_hand_is_no_approval() {
        let text = String::from_utf8(lock().write()).unwrap();
        for (from, to) in [
            ("1e400", "1e401"),
            ("\"title\": \"line", "\"title\": \"Line"),
            ("\"Send_email\": {", "\"SEND_email\": {"),
            (Digest::of(&[b"m"]).as_str(), Digest::of(&[b"x"]).as_str()),
            ("\"mail\": {", "\"post\": {"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text);
            assert!(
                matches!(Lock::read(edited.as_bytes()), Err(LockError::Edited(_))),
                "{from}: {:?}",
                Lock::read(edited.as_bytes())
            );
        }
        // The digest of a tool alone.
        let tool = Descriptor::read(br#"{"name":"send__email"}"#).unwrap();
        let other = Digest::of(&[b"x"]);
        let edited = text.replacen(tool.digest().as_str(), other.as_str(), 1);
        assert_ne!(edited, text);
        let read = Lock::read(edited.as_bytes());
        assert!(matches!(read, Err(LockError::Edited(_))), "{read:?}");
        // White space is nobody's approval and nobody's edit.
        let spaced = text.replace("\n", "\n ");
        assert_eq!(Lock::read(spaced.as_bytes()).unwrap(), lock());
    }

    #[test]
    fn what_is_no_lock_is_said_to_be_none() {
        for text in [
            "",
            "{}",
            r#"{"format":"countersign.catalog.v2","servers":{}}"#,
            r#"{"format":"countersign.catalog.v1"}"#,
            r#"{"format":"countersign.catalog.v1","servers":[]}"#,
            r#"{"format":"countersign.catalog.v1","servers":{"a":{}}}"#,
        ] {
            assert!(Lock::read(text.as_bytes()).is_err(), "{text}");
        }
        // Nothing stands beside what it knows, in any of its objects.
        let text = String::from_utf8(lock().write()).unwrap();
        for before in ["\"format\"", "\"checkpoint\"", "\"digest\""] {
            let more = text.replacen(before, &format!("\"more\": 1,\n{before}"), 1);
            assert_ne!(more, text);
            let read = Lock::read(more.as_bytes());
            assert!(
                matches!(read, Err(LockError::Malformed(_))),
                "{before}: {read:?}"
            );
        }
    }
}
