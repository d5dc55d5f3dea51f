//! Strings.
use alloc::vec::Vec;
pub(crate) fn decode(inner: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(inner);
}
