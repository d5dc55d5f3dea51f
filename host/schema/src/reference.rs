//! References within a schema, as they are read and as they are written.

use std::fmt::Write as _;

/// The JSON Pointer that a reference is: its fragment, percent-decoded once (RFC
/// 6901 §6). None where it leads out of the schema, where it is no UTF-8, and
/// where a `%` is left: that could be decoded twice.
pub(crate) fn pointer(reference: &str) -> Option<String> {
    let mut bytes = reference.strip_prefix('#')?.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            u8::try_from(digit()? << 4 | digit()?).ok()?
        } else {
            byte
        });
    }
    let decoded = String::from_utf8(decoded).ok()?;
    (!decoded.contains('%')).then_some(decoded)
}

/// A JSON Pointer as a reference, percent-encoded.
pub(crate) fn to(pointer: &str) -> String {
    let mut reference = String::from("#");
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte) {
            reference.push(char::from(byte));
        } else {
            // Writing to a text does not fail.
            let _ = write!(reference, "%{byte:02X}");
        }
    }
    reference
}
