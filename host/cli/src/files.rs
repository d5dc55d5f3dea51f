//! Files that commands read and write.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write};
use std::path::Path;

use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;
use countersign_gateway::replace::Replacement;
pub(crate) use countersign_gateway::replace::{PRIVATE, PUBLIC};

use crate::failure::{Failure, Status};

/// The most bytes of a receipt, a proof, a checkpoint or a key.
const SMALL_BYTES: u64 = 1 << 20;

/// Has a file written that appears whole or not at all; `-` is the standard
/// output. A new file gets `mode`, one that is there keeps its own; to what is no
/// regular file, a device or a pipe, is written as it is.
pub(crate) fn write(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        write(&mut out)?;
        return out.flush().map_err(|error| Failure::output(&error));
    }
    let failed = |error: io::Error| at(path, &error);
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut out = File::options().write(true).open(path).map_err(failed)?;
        write(&mut out)?;
        return out.flush().map_err(failed);
    }
    let mut file = Replacement::of(path, mode).map_err(failed)?;
    write(&mut file)?;
    file.finish().map_err(failed)
}

/// Writes a small file that is not there yet; false where it is. `-` is the
/// standard output.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<bool, Failure> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        return written
            .map(|()| true)
            .map_err(|error| Failure::output(&error));
    }
    let mut file = match File::create_new(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(at(path, &error)),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map(|()| true).map_err(|error| {
        // What is left of it would be nothing whole.
        let _ = fs::remove_file(path);
        at(path, &error)
    })
}

/// Has a file written that has no name, and gives it back from its beginning.
pub(crate) fn temporary(
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<File, Failure> {
    let failed = |error: io::Error| Failure::output(&error);
    let mut file = tempfile::tempfile().map_err(failed)?;
    write(&mut file)?;
    file.rewind().map_err(failed)?;
    Ok(file)
}

/// Reads a small file.
pub(crate) fn small(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // Its size is not asked for: a pipe has none, and a file can grow.
    File::open(path)
        .and_then(|file| file.take(SMALL_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| at(path, &error))?;
    if bytes.len() as u64 > SMALL_BYTES {
        let text = format!("`{}` is too large", path.display());
        return Err(Failure::new(Status::USAGE, text));
    }
    Ok(bytes)
}

/// Reads a small file of text.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(small(path)?).map_err(|error| in_file(path, &error.utf8_error()))
}

/// Reads a signed checkpoint.
pub(crate) fn checkpoint(path: &Path) -> Result<SignedCheckpoint, Failure> {
    SignedCheckpoint::parse(&text(path)?).map_err(|error| in_file(path, &error))
}

/// A key as it is published, or the file that it stands in. What reads as a key
/// is one, whatever files there are: a key's text is a path too.
pub(crate) fn key(given: &str) -> Result<VerifyingKey, Failure> {
    if let Ok(key) = VerifyingKey::parse(given.trim_end()) {
        return Ok(key);
    }
    let path = Path::new(given);
    VerifyingKey::parse(text(path)?.trim_end()).map_err(|error| in_file(path, &error))
}

/// A path that cannot be read or written.
pub(crate) fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::path(&path.display().to_string(), error)
}

/// A file that does not hold what it should.
pub(crate) fn in_file(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::new(Status::USAGE, format!("`{}`: {error}", path.display()))
}

/// Something that cannot be used.
pub(crate) fn unusable(error: &dyn std::error::Error) -> Failure {
    Failure::new(Status::USAGE, error.to_string())
}
