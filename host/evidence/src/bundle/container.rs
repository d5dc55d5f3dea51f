//! The tar layer: exactly the headers that we write, and nothing else.

use std::io::{self, Read, Seek, SeekFrom, Write};

use tar::{EntryType, Header};

use super::limits;

const BLOCK: u64 = 512;
type Block = [u8; 512];
const EMPTY: Block = [0; 512];

/// Why a bundle cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file itself.
    #[error("the bundle cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// It ends in the middle.
    #[error("the bundle is cut off after {0} bytes")]
    Cut(u64),
    /// A header that the writer does not write.
    #[error("no member of a bundle begins at byte {0}")]
    Header(u64),
    /// What fills up a member's last block is not empty.
    #[error("bytes stand between members at byte {0}")]
    Padding(u64),
    /// Something follows the end.
    #[error("bytes follow the end of the bundle")]
    Trailing,
    /// Two members have one name.
    #[error("the member `{0}` occurs twice")]
    Twice(String),
    /// A part is larger than any bundle's.
    #[error("the member `{name}` has {bytes} bytes, more than the {most} that are read")]
    TooLarge {
        /// The member.
        name: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// There are too many members, or too much to hold.
    #[error("the bundle holds more than is read")]
    TooMuch,
    /// There is no manifest, it is not first, or it is malformed.
    #[error("the bundle does not begin with a manifest of the format `{format}`", format = super::manifest::FORMAT)]
    Manifest,
    /// An entry that this version cannot read, so that no path can be computed
    /// over it.
    #[error(
        "line {0} of the entries cannot be read by this version, so nothing can be proved over it"
    )]
    Entry(u64),
    /// A member's name cannot be written.
    #[error("`{0}` cannot be the name of a member")]
    Name(String),
}

/// The header of a member; `None` where the name does not fit.
fn header(name: &str, bytes: u64) -> Option<Header> {
    let mut header = Header::new_ustar();
    header.set_path(name).ok()?;
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    Some(header)
}

/// Whether a name is a relative path of plain segments, as ours are.
pub(super) fn plain(name: &str) -> bool {
    !name.is_empty()
        && name.split('/').all(|part| {
            !part.is_empty()
                && !part.starts_with('.')
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"@._-".contains(&b))
        })
}

/// Writes one member.
pub(super) fn write(out: &mut impl Write, name: &str, content: &[u8]) -> Result<(), BundleError> {
    let bytes = u64::try_from(content.len()).map_err(|_| BundleError::TooMuch)?;
    let header = header(name, bytes).filter(|_| plain(name));
    let header = header.ok_or_else(|| BundleError::Name(name.to_owned()))?;
    out.write_all(header.as_bytes())?;
    out.write_all(content)?;
    let rest = usize::try_from(padded(bytes) - bytes).unwrap_or(0);
    out.write_all(EMPTY.get(..rest).unwrap_or_default())?;
    Ok(())
}

/// Writes the two empty blocks at the end.
pub(super) fn end(out: &mut impl Write) -> Result<(), BundleError> {
    out.write_all(&EMPTY)?;
    out.write_all(&EMPTY)?;
    Ok(())
}

fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK)
}

/// Where a member stands.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) name: String,
    /// Where its content begins.
    pub(super) at: u64,
    /// The length of its content.
    pub(super) bytes: u64,
}

impl Place {
    /// Reads its content whole, if that is not more than `most` bytes.
    pub(super) fn read(
        &self,
        file: &mut (impl Read + Seek),
        most: u64,
    ) -> Result<Vec<u8>, BundleError> {
        if self.bytes > most {
            let name = self.name.clone();
            return Err(BundleError::TooLarge {
                name,
                bytes: self.bytes,
                most,
            });
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut content = Vec::new();
        file.by_ref().take(self.bytes).read_to_end(&mut content)?;
        if u64::try_from(content.len()) == Ok(self.bytes) {
            Ok(content)
        } else {
            Err(BundleError::Cut(self.at))
        }
    }
}

/// Finds all members without reading what they hold.
pub(super) fn index(file: &mut (impl Read + Seek)) -> Result<Vec<Place>, BundleError> {
    let total = file.seek(SeekFrom::End(0))?;
    let mut places = Vec::new();
    let mut at = 0;
    loop {
        let block = block(file, at, total)?;
        if block == EMPTY {
            break;
        }
        let found = Header::from_byte_slice(&block);
        let name = std::str::from_utf8(&found.path_bytes())
            .map(str::to_owned)
            .ok();
        let name = name
            .filter(|name| plain(name))
            .ok_or(BundleError::Header(at))?;
        let bytes = found.entry_size().map_err(|_| BundleError::Header(at))?;
        if header(&name, bytes).is_none_or(|ours| *ours.as_bytes() != block) {
            return Err(BundleError::Header(at));
        }
        let content = at + BLOCK;
        let next = bytes
            .checked_next_multiple_of(BLOCK)
            .and_then(|bytes| content.checked_add(bytes));
        let next = next
            .filter(|next| *next <= total)
            .ok_or(BundleError::Cut(total))?;
        if !empty(file, content + bytes, next)? {
            return Err(BundleError::Padding(content + bytes));
        }
        if places.len() == limits::MEMBERS {
            return Err(BundleError::TooMuch);
        }
        places.push(Place {
            name,
            at: content,
            bytes,
        });
        at = next;
    }
    if block(file, at + BLOCK, total)? != EMPTY || at + 2 * BLOCK != total {
        return Err(BundleError::Trailing);
    }
    Ok(places)
}

/// Whether there is nothing but zeros between two places, less than a block
/// apart.
fn empty(file: &mut (impl Read + Seek), from: u64, to: u64) -> Result<bool, BundleError> {
    let mut rest = EMPTY;
    let length = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    let Some(rest) = rest.get_mut(..length).filter(|rest| !rest.is_empty()) else {
        return Ok(length == 0);
    };
    file.seek(SeekFrom::Start(from))?;
    file.read_exact(rest)?;
    Ok(rest.iter().all(|byte| *byte == 0))
}

fn block(file: &mut (impl Read + Seek), at: u64, total: u64) -> Result<Block, BundleError> {
    if at.checked_add(BLOCK).is_none_or(|end| end > total) {
        return Err(BundleError::Cut(total));
    }
    file.seek(SeekFrom::Start(at))?;
    let mut block = EMPTY;
    file.read_exact(&mut block)?;
    Ok(block)
}
