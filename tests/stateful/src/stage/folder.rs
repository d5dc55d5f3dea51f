//! What a gateway is configured with: two agents, two servers, a lock, policies
//! that a number names, answers that are kept.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::plan::{AGENTS, Server};

/// By which the agents are known; the last one by nobody.
pub(crate) const TOKENS: [&str; 3] = ["csgn_alice", "csgn_bob", "csgn_nobody"];

/// The policies of a number.
pub(crate) fn policies(number: u8) -> &'static str {
    match number {
        0 => "@id(\"all\") permit (principal, action, resource);\n",
        1 => {
            "@id(\"all\") permit (principal, action, resource);\n@id(\"not-bob\") forbid (principal, action, resource) when { principal.subject == \"bob\" };\n"
        }
        2 => {
            "@id(\"all\") permit (principal, action, resource);\n@id(\"no-rounds\") forbid (principal, action, resource == Server::\"rounds\");\n"
        }
        _ => "permit (principal, action, resource) when {",
    }
}

/// Puts the policies of a number into their folder.
pub(crate) fn policies_into(folder: &Path, number: u8) {
    fs::write(folder.join("policies/default.cedar"), policies(number)).unwrap();
}

/// A new folder, configured.
pub(super) fn prepare(folder: &Path, upstream: &str) {
    fs::create_dir_all(folder.join("policies")).unwrap();
    policies_into(folder, 0);
    let mut tokens = String::new();
    for (subject, token) in AGENTS.iter().zip(TOKENS) {
        let hash = countersign_canon::Digest::of(&[token.as_bytes()]);
        let _ = write!(
            tokens,
            "[[agent]]\nsubject = {subject:?}\ntoken = \"{hash}\"\nadded = \"\"\n"
        );
    }
    fs::write(folder.join("tokens.toml"), tokens).unwrap();
    configure(folder, upstream, "exact@1.0.0");
}

/// Writes the configuration.
pub(super) fn configure(folder: &Path, upstream: &str, profile: &str) {
    let cache = cache();
    let mut text = format!(
        "listen = \"127.0.0.1:0\"\n\
         [identity]\nmode = \"tokens\"\ntokens = \"tokens.toml\"\n\
         [policy]\nfolder = \"policies\"\n\
         [catalog]\nfile = \"catalog.json\"\npoll_ms = 86400000\n\
         [executions]\nretain_answers = 600\n\
         [limits]\nrequests_per_second = 100000\nburst = 100000\n\
         [profile]\ndefault = {profile:?}\ncache = {cache:?}\n"
    );
    for server in Server::ALL {
        let (name, revision) = match server {
            Server::Rounds => ("rounds", "2026-07-28"),
            Server::Tasks => ("tasks", "2025-11-25"),
        };
        let _ = write!(
            text,
            "[[server]]\nname = {name:?}\nurl = \"{upstream}/{name}\"\nrevision = {revision:?}\n\
             methods = [\"resources/*\"]\n"
        );
    }
    fs::write(folder.join("countersign.toml"), text).unwrap();
}

/// Compiled components are shared by all gateways of this build.
pub(crate) fn cache() -> PathBuf {
    countersign_tests::target().join("tests-profile-cache")
}

/// A folder for a gateway: in memory, where the system has a place for that,
/// since nothing here asks what a loss of power leaves.
pub(super) fn temporary() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = tempfile::Builder::new()
        .prefix("countersign-")
        .tempdir_in(memory);
    made.unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Copies what a killed process leaves: every file as it is now, without sockets
/// and without the index of the WAL, which is in memory. The anchor comes first:
/// it may be older than the database and never newer. Where a file takes another
/// name meanwhile, everything is copied once more.
pub(super) fn copy(from: &Path, to: &Path) {
    while !copied(from, to) {}
}

/// Whether nothing was gone by its turn.
fn copied(from: &Path, to: &Path) -> bool {
    fs::create_dir_all(to).unwrap();
    // Some folders are to be their owner's alone.
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    let mut entries: Vec<_> = fs::read_dir(from).unwrap().flatten().collect();
    let anchors = |name: &OsStr| name.to_string_lossy().contains("anchor");
    entries.sort_by_key(|entry| !anchors(&entry.file_name()));
    let mut whole = true;
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&path, &to.join(name));
        } else if kind.is_file() && !name.to_string_lossy().ends_with("-shm") {
            match fs::copy(path, to.join(name)) {
                Err(error) if error.kind() == ErrorKind::NotFound => whole = false,
                copied => drop(copied.unwrap()),
            }
        }
    }
    whole
}
