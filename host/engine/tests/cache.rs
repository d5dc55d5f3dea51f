//! Compiled code is kept, and believed only while it is the owner's alone.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use common::{MESSAGE, Stub};
use countersign_engine::{CacheSettings, Engine, Settings, Warning};

fn random(bytes: &mut [u8]) -> bool {
    bytes.fill(7);
    true
}

fn engine(folder: &Path, random: fn(&mut [u8]) -> bool) -> Engine {
    let cache = Some(CacheSettings {
        folder: folder.to_path_buf(),
        random,
    });
    Engine::new(&Settings { slots: 1, cache }).unwrap()
}

/// Loads the stub with a cache in `folder`, and gives what it warns of.
fn load(folder: &Path) -> Vec<Warning> {
    let stub = Stub::default();
    let profile = engine(folder, random)
        .load(&stub.component(), Some(&stub.pin()))
        .unwrap();
    assert!(profile.admit(MESSAGE).unwrap().is_ok());
    profile.warnings().to_vec()
}

fn code(folder: &Path) -> PathBuf {
    let mut found = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    found
        .find(|path| {
            path.extension()
                .is_some_and(|extension| extension == "code")
        })
        .unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_was_compiled_once_is_read_back() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("a/b");
    assert!(load(&folder).is_empty());
    assert_eq!(
        (
            mode(&folder),
            mode(&folder.join("key")),
            mode(&code(&folder))
        ),
        (0o700, 0o600, 0o600)
    );
    let (written, bytes) = (
        fs::metadata(code(&folder)).unwrap().modified().unwrap(),
        fs::read(code(&folder)).unwrap(),
    );
    assert!(load(&folder).is_empty());
    assert_eq!(
        fs::metadata(code(&folder)).unwrap().modified().unwrap(),
        written
    );
    assert_eq!(fs::read(code(&folder)).unwrap(), bytes);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no drafts stay");
}

#[test]
fn code_that_was_changed_in_any_byte_is_compiled_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    load(&folder);
    let sound = fs::read(code(&folder)).unwrap();
    for index in [0, 31, 32, sound.len() / 2, sound.len() - 1] {
        let mut forged = sound.clone();
        forged[index] ^= 1;
        fs::write(code(&folder), &forged).unwrap();
        assert_eq!(load(&folder), [Warning::Tag], "byte {index}");
        assert_eq!(fs::read(code(&folder)).unwrap(), sound, "it is made again");
    }
    fs::write(code(&folder), b"short").unwrap();
    assert_eq!(load(&folder), [Warning::Tag]);
}

#[test]
fn code_of_another_key_or_another_component_is_compiled_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    load(&folder);
    fs::write(folder.join("key"), [8; 64]).unwrap();
    assert_eq!(load(&folder), [Warning::Tag]);
    // The same key, and the file of one component under the name of another.
    let stub = Stub {
        id: "other@1.0.0",
        ..Stub::default()
    };
    let mine = code(&folder);
    let load_other = || {
        engine(&folder, random)
            .load(&stub.component(), Some(&stub.pin()))
            .unwrap()
    };
    load_other();
    let theirs = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            *path != mine
                && path
                    .extension()
                    .is_some_and(|extension| extension == "code")
        });
    fs::copy(mine, theirs.unwrap()).unwrap();
    assert_eq!(load_other().warnings(), [Warning::Tag]);
}

#[test]
fn a_folder_key_or_file_that_others_may_use_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    load(&folder);
    for path in [folder.clone(), folder.join("key"), code(&folder)] {
        let before = mode(&path);
        set_mode(&path, before | 0o040);
        let warnings = load(&folder);
        assert!(
            warnings.contains(&Warning::Shared(path.display().to_string())),
            "{warnings:?}"
        );
        set_mode(&path, before);
        load(&folder);
        assert!(load(&folder).is_empty());
    }
}

#[test]
fn a_link_in_the_folder_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    load(&folder);
    let elsewhere = home.path().join("elsewhere");
    fs::rename(code(&folder), &elsewhere).unwrap();
    let name = {
        load(&folder);
        code(&folder)
    };
    fs::remove_file(&name).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &name).unwrap();
    assert!(matches!(load(&folder).as_slice(), [Warning::Unusable(..)]));
    let linked = home.path().join("linked");
    std::os::unix::fs::symlink(&folder, &linked).unwrap();
    assert!(load(&linked).contains(&Warning::Shared(linked.display().to_string())));
}

#[test]
fn without_randomness_there_is_no_cache_and_profiles_load() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let stub = Stub::default();
    let profile = engine(&folder, |_| false)
        .load(&stub.component(), None)
        .unwrap();
    assert!(profile.warnings().contains(&Warning::NoRandomness));
}

#[test]
fn what_a_stranger_sent_is_never_kept() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let stub = Stub::default();
    engine(&folder, random)
        .load_foreign(&stub.component(), Some(&stub.pin()))
        .unwrap();
    assert!(!folder.exists());
}

#[test]
fn a_component_that_fails_a_check_is_never_kept() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let stub = Stub {
        vectors: vec![true, true],
        ..Stub::default()
    };
    engine(&folder, random)
        .load(&stub.component(), None)
        .unwrap_err();
    let kept = fs::read_dir(&folder).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .extension()
            .is_some_and(|extension| extension == "code")
    });
    assert_eq!(kept.count(), 0);
}
