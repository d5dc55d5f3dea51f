//! The bundle's reader: what it opens another reader of the same container sees
//! alike, and no byte of it is free; and each record in a bundle is written
//! back as the bytes that it was read from.

use std::io::{Cursor, Read as _};

use countersign_canon::{Document, Limits};
use countersign_evidence::bundle::{Bundle, Consistency, Lines, Opening, Proof};
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::{Entry, Receipt};
use sha2::{Digest as _, Sha256};

use crate::choices::Choices;
use crate::verifier;

/// One member of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// An input is a file, as it stands; or, where its first byte says so, members
/// that are put into a container here, one record, or an honest bundle, or a line
/// of one, and what is then broken in it.
pub(crate) fn run(data: &[u8]) {
    match data.split_first() {
        Some((0xFF, rest)) => opened(&composed(rest)),
        Some((0xFE, rest)) => record(rest),
        Some((0xFD, rest)) => {
            let mut choices = Choices::new(rest);
            let mut file = verifier::honest(&mut choices).0.to_vec();
            broken(&mut file, &mut choices);
            opened(&file);
        }
        Some((0xFC, rest)) => {
            let mut choices = Choices::new(rest);
            let members = verifier::honest(&mut choices).1;
            let member = choices.pick(members);
            let lines: Vec<&[u8]> = member.content.split(|byte| *byte == b'\n').collect();
            let mut line = match member.name.ends_with(".jsonl") {
                true => choices.pick(&lines).to_vec(),
                false => member.content.clone(),
            };
            broken(&mut line, &mut choices);
            record(&line);
        }
        _ => opened(data),
    }
}

/// Puts other bytes into some, with the rest of the decisions.
fn broken(bytes: &mut Vec<u8>, choices: &mut Choices<'_>) {
    while !choices.is_empty() {
        let from = choices.below(bytes.len() + 1);
        let to = (from + choices.below(9)).min(bytes.len());
        bytes.splice(from..to, choices.bytes(8).iter().copied());
    }
}

const NAMES: [&str; 14] = [
    "manifest.json",
    "entries/000001.jsonl",
    "entries/000002.jsonl",
    "proofs/000001.jsonl",
    "salts/000001.jsonl",
    "checkpoints/000001.txt",
    "checkpoints/1000000.txt",
    "profiles/exact@1.0.0.wasm",
    "profiles/exact.wasm",
    "policies/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/main.cedar",
    "catalogs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.json",
    "entries/1.jsonl",
    "other/a",
    "a/../b",
];

const MANIFEST: &[u8] =
    br#"{"exported":null,"filter":null,"format":"countersign.bundle.v1","logs":[]}"#;

fn composed(data: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(data);
    let mut members = Vec::new();
    if choices.flag() {
        members.push(Member {
            name: NAMES[0].into(),
            content: MANIFEST.to_vec(),
        });
    }
    for _ in 0..choices.below(8) {
        let name = *choices.pick(&NAMES);
        members.push(Member {
            name: name.into(),
            content: choices.bytes(200).to_vec(),
        });
    }
    let mut file = archive(&members);
    for _ in 0..choices.below(3) {
        let at = choices.below(file.len());
        file[at] ^= choices.byte();
    }
    file
}

/// A container as the writer writes it, with whatever names.
pub(crate) fn archive(members: &[Member]) -> Vec<u8> {
    let mut out = Vec::new();
    for member in members {
        let mut header = tar::Header::new_ustar();
        if header.set_path(&member.name).is_err() {
            // A name that `tar` would not write.
            let bytes = member.name.as_bytes();
            let length = bytes.len().min(100);
            header.as_old_mut().name[..length].copy_from_slice(&bytes[..length]);
        }
        header.set_size(member.content.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        out.extend(header.as_bytes());
        out.extend(&member.content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1_024, 0);
    out
}

/// The members of a container, as the `tar` crate reads it.
pub(crate) fn members(file: &[u8]) -> Vec<Member> {
    let mut archive = tar::Archive::new(file);
    let entries = archive.entries().expect("a container");
    let member = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.expect("a member");
        let name = String::from_utf8(entry.path_bytes().to_vec()).expect("a name");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("its content");
        Member { name, content }
    };
    entries.map(member).collect()
}

fn opened(file: &[u8]) {
    let Ok(mut bundle) = Bundle::open(Cursor::new(file)) else {
        return;
    };
    let members = members(file);
    assert!(archive(&members) == file, "a byte of the container is free");
    let of = |folder: &str| -> Vec<&Member> {
        let within = |member: &&Member| {
            let unknown = bundle.unknown_members().contains(&member.name);
            member.name.starts_with(folder) && !unknown
        };
        members.iter().filter(within).collect()
    };
    let contents =
        |of: &[&Member]| -> Vec<Vec<u8>> { of.iter().map(|m| m.content.clone()).collect() };
    let (entries, proofs, salts) = (of("entries/"), of("proofs/"), of("salts/"));
    let (entries, proofs, salts) = (contents(&entries), contents(&proofs), contents(&salts));
    let held = |folder, found: Vec<Vec<u8>>| {
        assert_eq!(contents(&of(folder)), found, "in `{folder}`");
    };
    let taken = |found: Vec<&Vec<u8>>| found.into_iter().cloned().collect();
    held(
        "checkpoints/",
        taken(bundle.checkpoints().iter().map(|c| &c.1).collect()),
    );
    held(
        "profiles/",
        taken(bundle.profiles().iter().map(|p| &p.component).collect()),
    );
    held(
        "policies/",
        taken(bundle.policies().iter().map(|p| &p.content).collect()),
    );
    held(
        "catalogs/",
        taken(bundle.catalogs().iter().map(|c| &c.1).collect()),
    );
    assert_eq!(members[0].name, NAMES[0]);
    lines(bundle.entries(), &entries);
    lines(bundle.proofs(), &proofs);
    lines(bundle.openings(), &salts);
}

/// Lines are what stands between line feeds, chunk after chunk.
fn lines(mut found: Lines<'_, Cursor<&[u8]>>, chunks: &[Vec<u8>]) {
    for chunk in chunks {
        let whole = chunk.strip_suffix(b"\n").unwrap_or(chunk);
        if chunk.is_empty() {
            continue;
        }
        for line in whole.split(|byte| *byte == b'\n') {
            assert_eq!(found.next().expect("it is in memory"), Some(line));
        }
    }
    assert_eq!(found.next().expect("it is in memory"), None);
}

/// What is read as a record of a bundle is one way of writing it.
fn record(bytes: &[u8]) {
    if let Ok(entry) = Entry::parse(bytes) {
        assert_eq!(entry.bytes(), bytes);
        hashes(&entry);
    }
    let manifest = |content: &[u8]| {
        let member = Member {
            name: NAMES[0].into(),
            content: content.to_vec(),
        };
        let opened = Bundle::open(Cursor::new(archive(&[member])));
        opened.ok().map(|bundle| bundle.manifest().clone())
    };
    if let Some(read) = manifest(bytes) {
        assert_eq!(manifest(&read.to_json()), Some(read));
    }
    if let Some(proof) = Proof::parse(bytes) {
        assert_eq!(Proof::parse(&proof.to_json()), Some(proof));
    }
    if let Some(proof) = Consistency::parse(bytes) {
        assert_eq!(Consistency::parse(&proof.to_json()), Some(proof));
    }
    if let Some(opening) = Opening::parse(bytes) {
        assert_eq!(Opening::parse(&opening.to_json()), Some(opening));
    }
    if let Ok(receipt) = Receipt::parse(bytes) {
        let again = Receipt::parse(&receipt.to_json()).expect("it reads back");
        assert_eq!(again.to_json(), receipt.to_json());
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(note) = SignedCheckpoint::parse(text)
    {
        assert_eq!(note.note(), text);
        assert!(text.starts_with(note.signed_text()));
    }
}

/// The hash is that of the other members, written canonically.
fn hashes(entry: &Entry) {
    let document = Document::read(entry.bytes(), Limits::STANDARD).expect("an entry is JSON");
    let others = document
        .root()
        .children()
        .filter(|item| item.name() != Some("hash"));
    let member = |item: countersign_canon::document::Item<'_>| {
        let name = serde_json::to_string(item.name().unwrap()).unwrap();
        format!("{name}:{}", String::from_utf8_lossy(item.raw()))
    };
    let others: Vec<String> = others.map(member).collect();
    let hash = Sha256::new_with_prefix([0])
        .chain_update(format!("{{{}}}", others.join(",")))
        .finalize();
    assert_eq!(entry.hash().to_bytes()[..], hash[..]);
}
