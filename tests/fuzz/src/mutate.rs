//! Changes of inputs at random from a seed, for a run without an engine: blind,
//! but the same each time.

use countersign_certify::generate::Random;

/// Bytes that mean something to one of the readers.
const TELLING: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b" ",
    b"\0",
    b"0",
    b"-0",
    b"1e9",
    b"=",
    b"data:",
    b"id:",
    b"null",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\\u0061",
    b"\\ud800",
    b"?=",
    b"sha256:",
    b"[[server]]\n",
    b"#",
];

/// Gives inputs that are near to known ones.
#[derive(Debug)]
pub struct Mutator<'k> {
    known: Vec<&'k [u8]>,
    random: Random,
    most_bytes: usize,
}

impl<'k> Mutator<'k> {
    /// From what is known, at least one input; the same seed gives the same.
    #[must_use]
    pub fn new(known: Vec<&'k [u8]>, seed: u64, most_bytes: usize) -> Self {
        Self {
            known,
            random: Random::new(seed, 0),
            most_bytes,
        }
    }

    /// The next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let random = &mut self.random;
        let mut bytes = random.pick(&self.known).to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() + 1);
            let end = (at + random.below(16)).min(bytes.len());
            match random.below(6) {
                0 => drop(bytes.drain(at..end)),
                1 => {
                    let piece = *random.pick(TELLING);
                    bytes.splice(at..at, piece.iter().copied());
                }
                2 => {
                    let piece = bytes[at..end].to_vec();
                    let to = random.below(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
                3 => {
                    // The end of another one.
                    let other = *random.pick(&self.known);
                    bytes.truncate(at);
                    bytes.extend(&other[random.below(other.len() + 1)..]);
                }
                4 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
                _ if at < bytes.len() => bytes[at] = random.byte(),
                _ => bytes.push(random.byte()),
            }
        }
        bytes.truncate(self.most_bytes);
        bytes
    }
}
