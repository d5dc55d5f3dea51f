//! Reading a message from a file, or from the standard input where it is `-`.

use std::fs::File;
use std::io::{self, Read};

use crate::failure::Failure;

/// No profile reads more than this; one byte beyond shows that there is more.
const MOST_BYTES: u64 = 10_485_760 + 1;

/// The bytes of `path`, cut one byte after the most that any profile reads,
/// which does not change the verdict.
pub(crate) fn message(path: &str) -> Result<Vec<u8>, Failure> {
    let read = |input: &mut dyn Read| {
        let mut bytes = Vec::new();
        input
            .take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    };
    let bytes = match path {
        "-" => read(&mut io::stdin().lock()),
        path => File::open(path).and_then(|mut file| read(&mut file)),
    };
    bytes.map_err(|error| Failure::path(path, &error))
}
