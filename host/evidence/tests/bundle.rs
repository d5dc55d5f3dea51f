//! Bundles: written streaming, read strictly, safe against hostile files.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a test says what fails by failing"
)]

use std::io::Cursor;

use countersign_canon::Digest;
use countersign_evidence::bundle::{
    Bundle, BundleError, Filter, FilterBy, LogExtent, Manifest, Proof, Writer,
};
use countersign_evidence::{Draft, Head, Kind, LogId, Time};

fn log_id() -> LogId {
    LogId::new("log.example/1").unwrap()
}

fn manifest() -> Manifest {
    Manifest {
        exported: Some(Time::from_micros(9)),
        logs: vec![LogExtent {
            log_id: log_id(),
            size: 3,
            key: Some("key".into()),
        }],
        filter: Some(Filter {
            by: FilterBy::Execution,
            value: "ü".into(),
        }),
    }
}

fn bundle() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &manifest()).unwrap();
    let mut head = Head::new(log_id());
    for number in 0..3 {
        let mut draft = Draft::new(Kind::Refusal, Time::from_micros(number));
        draft.profile = Some("exact@1.0.0".into());
        draft.component = Some(Digest::of(&[b"wasm"]));
        draft.policy_digest = Some(Digest::of(&[b"policy"]));
        writer.entry(&head.append(draft, None)).unwrap();
    }
    assert_eq!(writer.named().profiles.len(), 1);
    assert_eq!(writer.named().policies.len(), 1);
    writer.checkpoint("note\n").unwrap();
    writer
        .profile(&"exact@1.0.0".parse().unwrap(), b"wasm")
        .unwrap();
    writer
        .policy(Digest::of(&[b"policy"]), "deep/default.cedar", b"permit")
        .unwrap();
    writer
        .proof(&Proof {
            log_id: log_id(),
            sequence: 1,
            size: 3,
            path: vec![[1; 32], [2; 32]],
        })
        .unwrap();
    writer.finish().unwrap()
}

fn open(bytes: &[u8]) -> Result<Bundle<Cursor<&[u8]>>, BundleError> {
    Bundle::open(Cursor::new(bytes))
}

#[test]
fn what_was_written_is_read_back() {
    let bytes = bundle();
    let mut bundle = open(&bytes).unwrap();
    assert_eq!(bundle.manifest(), &manifest());
    assert_eq!(
        bundle.checkpoints(),
        [("checkpoints/000001.txt".to_owned(), b"note\n".to_vec())]
    );
    assert_eq!(bundle.profiles()[0].digest, Digest::of(&[b"wasm"]));
    assert_eq!(bundle.policies()[0].path, "deep/default.cedar");
    assert_eq!(bundle.policies()[0].set, Digest::of(&[b"policy"]));
    assert!(bundle.unknown_members().is_empty());
    for _ in 0..2 {
        let mut lines = bundle.entries();
        let mut count = 0;
        while let Some(line) = lines.next().unwrap() {
            let entry = countersign_evidence::Entry::parse(line).unwrap();
            assert_eq!(entry.sequence(), count);
            count += 1;
        }
        assert_eq!(count, 3);
    }
    let mut proofs = bundle.proofs();
    let proof = Proof::parse(proofs.next().unwrap().unwrap()).unwrap();
    assert_eq!((proof.sequence, proof.path.len()), (1, 2));
    assert!(proofs.next().unwrap().is_none());
}

#[test]
fn equal_content_gives_equal_bytes() {
    assert_eq!(bundle(), bundle());
}

#[test]
fn other_software_unpacks_a_bundle() {
    let bytes = bundle();
    let mut archive = tar::Archive::new(bytes.as_slice());
    let names: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    let policy = Digest::of(&[b"policy"])
        .as_str()
        .replace("sha256:", "policies/");
    assert_eq!(
        names,
        [
            "manifest.json",
            "checkpoints/000001.txt",
            "profiles/exact@1.0.0.wasm",
            &format!("{policy}/deep/default.cedar"),
            "entries/000001.jsonl",
            "proofs/000001.jsonl",
        ]
    );
}

#[test]
fn a_long_log_is_written_in_chunks_that_a_reader_takes_one_by_one() {
    let mut writer = Writer::new(Vec::new(), &manifest()).unwrap();
    let mut head = Head::new(log_id());
    for number in 0..4_000 {
        writer
            .entry(&head.append(Draft::new(Kind::Refusal, Time::from_micros(number)), None))
            .unwrap();
    }
    let bytes = writer.finish().unwrap();
    let mut bundle = open(&bytes).unwrap();
    let mut lines = bundle.entries();
    let mut count = 0;
    while lines.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 4_000);
    assert!(
        bytes
            .windows(20)
            .any(|window| window == b"entries/000002.jsonl")
    );
}

#[test]
fn a_bundle_that_is_cut_anywhere_is_refused() {
    let bytes = bundle();
    for cut in (0..bytes.len())
        .step_by(97)
        .chain([bytes.len() - 1, bytes.len() - 512])
    {
        assert!(open(&bytes[..cut]).is_err(), "cut after {cut} bytes");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(matches!(open(&longer), Err(BundleError::Trailing)));
}

#[test]
fn nothing_stands_between_members() {
    let bytes = bundle();
    let manifest: u64 =
        u64::from_str_radix(std::str::from_utf8(&bytes[124..135]).unwrap(), 8).unwrap();
    let end = 512 + usize::try_from(manifest).unwrap();
    let next = end.next_multiple_of(512);
    assert!(end < next, "there is a place for it");
    for at in [end, end + 1, next - 1] {
        let mut hidden = bytes.clone();
        hidden[at] = b'x';
        let said = open(&hidden);
        assert!(
            matches!(said, Err(BundleError::Padding(from)) if from == end as u64),
            "{at}: {said:?}"
        );
    }
}

/// Replaces the header of the first member by another one.
fn with_header(change: impl FnOnce(&mut tar::Header)) -> Vec<u8> {
    let mut bytes = bundle();
    let mut header = tar::Header::from_byte_slice(&bytes[..512]).clone();
    change(&mut header);
    header.set_cksum();
    bytes[..512].copy_from_slice(header.as_bytes());
    bytes
}

#[test]
fn only_the_headers_that_are_written_are_read() {
    type Change = fn(&mut tar::Header);
    let changes: [(&str, Change); 8] = [
        ("a mode", |header| header.set_mode(0o755)),
        ("an owner", |header| header.set_uid(1)),
        ("a time", |header| header.set_mtime(1)),
        ("a link", |header| {
            header.set_entry_type(tar::EntryType::Symlink);
        }),
        ("an extension", |header| {
            header.set_entry_type(tar::EntryType::XHeader);
        }),
        ("a long name", |header| {
            header.set_entry_type(tar::EntryType::GNULongName);
        }),
        ("a size in base 256", |header| header.set_size(1 << 40)),
        ("a path upwards", |header| {
            header.as_mut_bytes()[..4].copy_from_slice(b"../x");
        }),
    ];
    for (what, change) in changes {
        assert!(open(&with_header(change)).is_err(), "{what}");
    }
}

#[test]
fn sizes_meant_to_exhaust_memory_are_refused_before_anything_is_read() {
    let huge = |name: &str, bytes: u64| {
        let mut file = Writer::new(Vec::new(), &manifest())
            .unwrap()
            .finish()
            .unwrap();
        file.truncate(file.len() - 1024);
        let mut header = tar::Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_size(bytes);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        file.extend_from_slice(header.as_bytes());
        file
    };
    // A size that the file does not have.
    assert!(matches!(
        open(&huge("entries/000001.jsonl", 8 << 30)),
        Err(BundleError::Cut(_))
    ));
    // A size that it has, sparsely.
    for name in [
        "entries/000001.jsonl",
        "checkpoints/000001.txt",
        "profiles/a@1.0.0.wasm",
    ] {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &huge(name, 4 << 30)).unwrap();
        let at = file.metadata().unwrap().len();
        file.set_len(at + (4 << 30) + 1024).unwrap();
        let error = Bundle::open(file).unwrap_err();
        assert!(
            matches!(error, BundleError::TooLarge { .. }),
            "{name}: {error}"
        );
    }
}

#[test]
fn unknown_members_are_told_and_a_name_is_given_once() {
    let mut bytes = bundle();
    let end = bytes.split_off(bytes.len() - 1024);
    let member = bytes[..1024].to_vec();
    let mut twice = bytes.clone();
    twice.extend_from_slice(&member);
    twice.extend_from_slice(&end);
    assert!(matches!(open(&twice), Err(BundleError::Twice(name)) if name == "manifest.json"));
    let mut unknown = bytes;
    let mut header = tar::Header::new_ustar();
    header.set_path("notes/x.txt").unwrap();
    header.set_size(5);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    unknown.extend_from_slice(header.as_bytes());
    unknown.extend_from_slice(b"hello");
    unknown.extend_from_slice(&[0; 507]);
    unknown.extend_from_slice(&end);
    assert_eq!(open(&unknown).unwrap().unknown_members(), ["notes/x.txt"]);
}

#[test]
fn a_file_that_is_no_bundle_is_refused() {
    for bytes in [&b""[..], b"hello", &[0; 1024], &[0xff; 4096]] {
        assert!(open(bytes).is_err());
    }
    let bytes = bundle();
    let changed = String::from_utf8_lossy(&bytes[..1024]).replace("bundle.v1", "bundle.v2");
    let mut other = changed.into_bytes();
    other.extend_from_slice(&bytes[1024..]);
    assert!(matches!(open(&other), Err(BundleError::Manifest)));
}

/// Whatever is written can be read again: what no reader would hold is left out.
#[test]
fn what_a_reader_would_not_hold_is_left_out_and_the_rest_reads_back() {
    const MIB: usize = 1 << 20;
    type Add = fn(&mut Writer<Vec<u8>>);
    let cases: [(&str, Add, u64); 5] = [
        (
            "another component of one profile",
            |writer| {
                for component in [b"one", b"two"] {
                    let id = "exact@1.0.0".parse().unwrap();
                    writer.profile(&id, component).unwrap();
                }
            },
            1,
        ),
        (
            "a file that is too large",
            |writer| {
                let set = Digest::of(&[b"set"]);
                writer.policy(set, "a.cedar", &vec![b' '; 5 * MIB]).unwrap();
                writer.policy(set, "b.cedar", b"permit").unwrap();
            },
            1,
        ),
        (
            "a note that is too large",
            |writer| writer.checkpoint(&"x".repeat(17 << 10)).unwrap(),
            1,
        ),
        (
            "too much in all",
            |writer| {
                for number in 0..5_u8 {
                    let checkpoint = Digest::of(&[&[number]]);
                    writer.catalog(checkpoint, &vec![b' '; 30 * MIB]).unwrap();
                }
            },
            1,
        ),
        (
            "too many",
            |writer| {
                for _ in 0..16_390 {
                    writer.checkpoint("note\n").unwrap();
                }
            },
            6,
        ),
    ];
    for (what, add, left_out) in cases {
        let mut writer = Writer::new(Vec::new(), &manifest()).unwrap();
        add(&mut writer);
        assert_eq!(writer.left_out(), left_out, "{what}");
        let bundle = Bundle::open(Cursor::new(writer.finish().unwrap()));
        assert!(bundle.is_ok(), "{what}: {:?}", bundle.err());
    }
}
