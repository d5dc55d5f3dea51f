//! All the tools of one server, and the digest over them.

use std::collections::BTreeMap;

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Digest, Document, Limits, write};

use crate::text::LIMITS;
use crate::{Descriptor, MalformedDescriptor};

const PREIMAGE: &str = "countersign.catalog.v1\n";

/// What one server offers, or was approved to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    name: String,
    server: Digest,
    tools: BTreeMap<String, Descriptor>,
}

/// A text that is no offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MalformedOffer(&'static str);

impl From<MalformedDescriptor> for MalformedOffer {
    fn from(malformed: MalformedDescriptor) -> Self {
        Self(malformed.0)
    }
}

impl Offer {
    /// The offer of the server with that name, at the place with that digest.
    /// Which of two descriptions of one name would hold is anybody's guess, so
    /// such a name is offered by neither; two equal ones are one.
    #[must_use]
    pub fn new(name: &str, server: Digest, tools: impl IntoIterator<Item = Descriptor>) -> Self {
        let mut offered: BTreeMap<String, Option<Descriptor>> = BTreeMap::new();
        for tool in tools {
            let found = offered.get(tool.name());
            let kept = match found {
                Some(Some(first)) if *first == tool => continue,
                Some(_) => None,
                None => Some(tool.clone()),
            };
            offered.insert(tool.name().to_owned(), kept);
        }
        Self {
            name: name.to_owned(),
            server,
            tools: offered
                .into_iter()
                .filter_map(|(name, tool)| Some((name, tool?)))
                .collect(),
        }
    }

    /// The operator's name of the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The digest of the server's URL or command.
    #[must_use]
    pub const fn server(&self) -> Digest {
        self.server
    }

    /// The tool of exactly that name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Descriptor> {
        self.tools.get(name)
    }

    /// All tools, in the byte order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Descriptor> {
        self.tools.values()
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// SHA-256 of the line `countersign.catalog.v1`, a line with the server's
    /// name, one with its digest, and one for each tool: the digest of its
    /// canonical description, a space and its name as a JSON string, in the
    /// byte order of the names.
    #[must_use]
    pub fn checkpoint(&self) -> Digest {
        let mut preimage = PREIMAGE.as_bytes().to_vec();
        preimage.extend_from_slice(self.name.as_bytes());
        preimage.push(b'\n');
        preimage.extend_from_slice(self.server.as_str().as_bytes());
        preimage.push(b'\n');
        for tool in self.tools.values() {
            preimage.extend_from_slice(tool.digest().as_str().as_bytes());
            preimage.push(b' ');
            write::string(&mut preimage, tool.name());
            preimage.push(b'\n');
        }
        Digest::of(&[&preimage])
    }

    /// The offer as one canonical JSON text, as exports carry it.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = b"{\"name\":".to_vec();
        write::string(&mut out, &self.name);
        out.extend_from_slice(b",\"server\":");
        write::string(&mut out, self.server.as_str());
        out.extend_from_slice(b",\"tools\":[");
        for (index, tool) in self.tools.values().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(tool.text());
        }
        out.extend_from_slice(b"]}");
        out
    }

    /// Reads what [`Offer::to_json`] wrote.
    ///
    /// # Errors
    /// [`MalformedOffer`] for any other text.
    pub fn from_json(text: &[u8]) -> Result<Self, MalformedOffer> {
        let document =
            Document::read(text, LIMITS).map_err(|_| MalformedOffer("the offer is no JSON"))?;
        let root = document.root();
        if root.kind() != Kind::Object || root.count() != 3 {
            return Err(MalformedOffer("the offer has other members"));
        }
        let name = root.get("name").and_then(Item::text);
        let server = root
            .get("server")
            .and_then(|digest| digest.text()?.parse().ok());
        let tools = root
            .get("tools")
            .filter(|tools| tools.kind() == Kind::Array);
        let (Some(name), Some(server), Some(tools)) = (name, server, tools) else {
            return Err(MalformedOffer("the offer lacks a member"));
        };
        let tools = tools
            .children()
            .map(Descriptor::of)
            .collect::<Result<Vec<_>, _>>()?;
        let offer = Self::new(&name, server, tools);
        if offer.to_json() == text {
            Ok(offer)
        } else {
            Err(MalformedOffer("the offer is not in canonical form"))
        }
    }
}

/// The limits of one description fit into those of an offer.
const _: () = assert!(LIMITS.depth > Limits::STANDARD.depth);

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(text: &str) -> Descriptor {
        Descriptor::read(text.as_bytes()).unwrap()
    }

    fn offer(tools: &[&str]) -> Offer {
        let tools = tools.iter().map(|text| tool(text));
        Offer::new("ledger", Digest::of(&[b"place"]), tools)
    }

    #[test]
    fn a_name_with_two_descriptions_is_offered_by_neither() {
        let offer = offer(&[
            r#"{"name":"a"}"#,
            r#"{"name":"b"}"#,
            r#"{"name":"a","title":"x"}"#,
            r#"{"name":"b"}"#,
            r#"{"name":"a"}"#,
            r#"{"name":"B"}"#,
        ]);
        let names: Vec<_> = offer.tools().map(Descriptor::name).collect();
        assert_eq!(names, ["B", "b"]);
        assert_eq!((offer.len(), offer.is_empty()), (2, false));
        assert!(Offer::new("ledger", Digest::of(&[b"place"]), []).is_empty());
    }

    #[test]
    fn the_checkpoint_is_of_the_tools_and_of_nothing_about_their_order() {
        let (a, b) = (r#"{"name":"send_email"}"#, r#"{"name":"send__email"}"#);
        assert_eq!(offer(&[a, b]).checkpoint(), offer(&[b, a]).checkpoint());
        assert_ne!(offer(&[a, b]).checkpoint(), offer(&[a]).checkpoint());
        let elsewhere = Offer::new("ledger", Digest::of(&[b"other"]), [tool(a)]);
        assert_ne!(elsewhere.checkpoint(), offer(&[a]).checkpoint());
        let other = Offer::new("ledger2", Digest::of(&[b"place"]), [tool(a)]);
        assert_ne!(other.checkpoint(), offer(&[a]).checkpoint());
        assert_ne!(offer(&[a]).checkpoint(), offer(&[b]).checkpoint());
    }

    #[test]
    fn the_checkpoint_is_over_the_lines_that_the_specification_names() {
        let (a, b) = (tool(r#"{"name":"a\"b"}"#), tool(r#"{"name":"B"}"#));
        let place = Digest::of(&[b"place"]);
        let lines = format!(
            "countersign.catalog.v1\nledger\n{place}\n{} \"B\"\n{} \"a\\\"b\"\n",
            b.digest(),
            a.digest(),
        );
        let offer = Offer::new("ledger", place, [a, b]);
        assert_eq!(offer.checkpoint(), Digest::of(&[lines.as_bytes()]));
    }

    #[test]
    fn an_offer_reads_back_and_in_no_other_spelling() {
        let offer = offer(&[
            r#"{"name":"a","inputSchema":{"maximum":1e400}}"#,
            r#"{"name":"é"}"#,
        ]);
        let text = offer.to_json();
        assert_eq!(Offer::from_json(&text).unwrap(), offer);
        let spaced = String::from_utf8(text)
            .unwrap()
            .replace(",\"tools\"", ", \"tools\"");
        assert!(Offer::from_json(spaced.as_bytes()).is_err());
        for text in [
            "{}",
            "[1,2,3]",
            r#"{"more":1,"name":"a","server":"b","tools":[]}"#,
        ] {
            let said = Offer::from_json(text.as_bytes()).unwrap_err();
            assert_eq!(said.0, "the offer has other members", "{text}");
        }
    }
}
