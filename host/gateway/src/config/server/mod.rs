//! One upstream, as an operator configures it.
//!
//! `check` reads it from the shape of the file.

pub(super) mod check;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::ServerName;
use countersign_mcp::Revision;
use countersign_mcp::asks::Permitted;
use countersign_mcp::methods::Passed;
use http::{HeaderName, HeaderValue, Uri};
use rustls::pki_types::CertificateDer;

/// One upstream.
#[derive(Clone, Debug)]
pub struct Server {
    /// The operator's name, `[a-z0-9][a-z0-9-]{0,62}`.
    pub name: ServerName,
    /// How it is reached.
    pub transport: Transport,
    /// The revision that the gateway speaks with it.
    pub revision: Revision,
    /// How long a call may take from its first byte to its answer.
    pub call_timeout: Duration,
    /// How long connecting, or starting, and greeting may take.
    pub connect_timeout: Duration,
    /// When it counts as away, and when it is tried again.
    pub patience: Patience,
    /// Whether the attempt's `call_id` is told to it.
    pub send_call_id: bool,
    /// Methods beside those of tools that pass to it.
    pub passed: Passed,
    /// What it may ask of its clients.
    pub permitted: Permitted,
    /// By tool, what becomes of a call whose client goes away, in revisions in
    /// which that is a cancel.
    pub on_disconnect: BTreeMap<String, OnDisconnect>,
}

/// How much failure of an upstream is borne before a byte of a call, and how
/// long it is left alone then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Failures in a row to connect, start or greet after which it counts as
    /// away; at least 1.
    pub failures: u32,
    /// How long it is left alone the first time, and a process of its that
    /// ended the second time; doubled each further time.
    pub first: Duration,
    /// And at most this long.
    pub longest: Duration,
}

/// What becomes of a call whose client goes away, in revisions in which that is
/// a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisconnect {
    /// The upstream's stream is closed: at worst the outcome is not known. The
    /// default of tools that claim to be read-only.
    Forward,
    /// It ends and settles, and its answer is kept. The default of all others.
    Finish,
}

/// How an upstream is reached.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Streamable HTTP.
    Http {
        /// `http` or `https`, with a host.
        url: Uri,
        /// Headers that each request carries, credentials among them. Marked
        /// sensitive, so that they are never shown.
        headers: Vec<(HeaderName, HeaderValue)>,
        /// The certificates that its own must go back to; none for those that
        /// the system trusts.
        roots: Option<Vec<CertificateDer<'static>>>,
    },
    /// A process of our own, over its standard input and output.
    Stdio {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables beside the few that it inherits.
        environment: Vec<(String, Secret)>,
        /// Where it runs.
        folder: Option<PathBuf>,
    },
}

/// A text that may be a secret, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(not shown)")
    }
}

impl Secret {
    /// The text; for the one who needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Server {
    /// The digest of where calls go: of the URL, or of the program and its
    /// arguments, each ended by a NUL. Credentials and variables are not in it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match &self.transport {
            Transport::Http { url, .. } => Digest::of(&[b"http\0", url.to_string().as_bytes()]),
            Transport::Stdio {
                program, arguments, ..
            } => {
                let mut text = Vec::new();
                for part in std::iter::once(program).chain(arguments) {
                    text.extend_from_slice(part.as_bytes());
                    text.push(0);
                }
                Digest::of(&[b"stdio\0", &text])
            }
        }
    }
}
