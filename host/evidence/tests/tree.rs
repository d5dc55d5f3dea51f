//! The Merkle tree: RFC 9162's roots and proofs, checked against the reference
//! vectors of Certificate Transparency and against an independent crate.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a test says what fails by failing"
)]

use countersign_evidence::proof::{Collector, verify_consistency, verify_inclusion};
use countersign_evidence::tree::{Frontier, Hash, empty_root, leaf_hash};
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use sha2::Sha256;

/// The leaves and the roots over the first 0 to 8 of them that the
/// Certificate Transparency implementations share.
const LEAVES: [&str; 8] = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
];
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// A generator that anyone can replay: SplitMix64.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[test]
fn roots_are_those_that_certificate_transparency_publishes() {
    let mut tree = Frontier::new();
    assert_eq!(hex(&empty_root()), ROOTS[0]);
    assert_eq!(tree.root(), empty_root());
    for (leaf, root) in LEAVES.iter().zip(&ROOTS[1..]) {
        tree.append(leaf_hash(&unhex(leaf)));
        assert_eq!(hex(&tree.root()), **root, "after {} leaves", tree.size());
    }
}

#[test]
fn a_frontier_goes_on_from_its_stored_parts() {
    let mut tree = Frontier::new();
    for number in 0..100_u64 {
        let again = Frontier::from_parts(tree.size(), tree.peaks().to_vec()).unwrap();
        assert_eq!(again.root(), tree.root());
        tree.append(leaf_hash(&number.to_be_bytes()));
    }
    assert_eq!(Frontier::from_parts(3, vec![[0; 32]]), None);
}

/// One log of `size` leaves, in all three forms.
struct Log {
    leaves: Vec<Hash>,
    theirs: MemoryBackedTree<Sha256, Vec<u8>>,
    roots: Vec<Hash>,
}

fn log(size: u64) -> Log {
    let mut tree = Frontier::new();
    let mut log = Log {
        leaves: Vec::new(),
        theirs: MemoryBackedTree::new(),
        roots: vec![tree.root()],
    };
    for number in 0..size {
        let bytes = number.to_be_bytes().to_vec();
        tree.append(leaf_hash(&bytes));
        log.leaves.push(leaf_hash(&bytes));
        log.roots.push(tree.root());
        log.theirs.push(bytes);
    }
    log
}

fn collector(log: &Log, inclusion: &[u64], consistency: &[u64]) -> Collector {
    let mut collector = Collector::new(log.leaves.len() as u64);
    inclusion
        .iter()
        .for_each(|index| collector.want_inclusion(*index));
    consistency
        .iter()
        .for_each(|old| collector.want_consistency(*old));
    log.leaves.iter().for_each(|leaf| collector.leaf(*leaf));
    collector
}

#[test]
fn proofs_are_byte_for_byte_those_of_an_independent_tree_and_verify() {
    for size in (1..=70).chain([127, 128, 129, 255, 257]) {
        let log = log(size);
        let root = *log.roots.last().unwrap();
        assert_eq!(root.as_slice(), log.theirs.root().as_bytes().as_slice());
        let all: Vec<u64> = (0..size).collect();
        let olds: Vec<u64> = (1..=size).collect();
        let ours = collector(&log, &all, &olds);
        for index in all {
            let path = ours.inclusion(index).unwrap();
            let theirs = log.theirs.prove_inclusion(usize::try_from(index).unwrap());
            assert_eq!(path.concat(), theirs.as_bytes(), "leaf {index} of {size}");
            assert!(verify_inclusion(
                &log.leaves[index as usize],
                index,
                size,
                &path,
                &root
            ));
        }
        for old in olds {
            let path = ours.consistency(old).unwrap();
            let theirs = log
                .theirs
                .prove_consistency(usize::try_from(size - old).unwrap());
            assert_eq!(path.concat(), theirs.as_bytes(), "{old} of {size}");
            let old_root = &log.roots[old as usize];
            assert!(verify_consistency((old, old_root), (size, &root), &path));
        }
    }
}

#[test]
fn no_changed_proof_verifies() {
    let mut random = Seeded(0x5eed);
    for _ in 0..400 {
        let size = 2 + random.below(300);
        let log = log(size);
        let root = *log.roots.last().unwrap();
        let (index, old) = (random.below(size), 1 + random.below(size - 1));
        let ours = collector(&log, &[index], &[old]);
        let leaf = &log.leaves[index as usize];
        let path = ours.inclusion(index).unwrap();
        let links = ours.consistency(old).unwrap();
        let old_root = &log.roots[old as usize];
        let included = |leaf, index, size, path: &[Hash], root| {
            verify_inclusion(leaf, index, size, path, root)
        };
        let consistent = |old, new, path: &[Hash]| verify_consistency(old, new, path);
        let other = [7; 32];
        assert!(!included(&other, index, size, &path, &root));
        assert!(!included(leaf, index, size, &path, &other));
        assert!(!included(leaf, (index + 1) % size, size, &path, &root));
        assert!(!included(leaf, size, size, &path, &root));
        assert!(!included(
            leaf,
            index,
            size,
            &[path.clone(), vec![other]].concat(),
            &root
        ));
        assert!(!included(leaf, index, size, &path[1..], &root));
        assert!(!consistent((old, &other), (size, &root), &links));
        assert!(!consistent((old, old_root), (size, &other), &links));
        assert!(!consistent((size, &root), (old, old_root), &links));
        assert!(!consistent(
            (old, old_root),
            (size, &root),
            &[links.clone(), vec![other]].concat()
        ));
        assert!(!consistent((old, old_root), (size, &root), &links[1..]));
        for at in 0..path.len() {
            let mut changed = path.clone();
            changed[at][0] ^= 1;
            assert!(!included(leaf, index, size, &changed, &root));
        }
        for at in 0..links.len() {
            let mut changed = links.clone();
            changed[at][31] ^= 128;
            assert!(!consistent((old, old_root), (size, &root), &changed));
        }
    }
}

#[test]
fn the_tree_without_leaves_is_the_beginning_of_every_tree() {
    let log = log(5);
    assert!(verify_consistency(
        (0, &empty_root()),
        (5, &log.roots[5]),
        &[]
    ));
    assert!(!verify_consistency((0, &[1; 32]), (5, &log.roots[5]), &[]));
    assert!(verify_consistency(
        (5, &log.roots[5]),
        (5, &log.roots[5]),
        &[]
    ));
    assert!(!verify_consistency(
        (5, &log.roots[5]),
        (5, &log.roots[4]),
        &[]
    ));
}

#[test]
fn what_was_not_asked_for_or_not_seen_gives_no_proof() {
    let log = log(9);
    assert_eq!(collector(&log, &[3], &[]).inclusion(4), None);
    assert_eq!(collector(&log, &[3], &[]).inclusion(9), None);
    let mut short = Collector::new(9);
    short.want_inclusion(0);
    log.leaves[..8].iter().for_each(|leaf| short.leaf(*leaf));
    assert_eq!(short.inclusion(0), None);
}
