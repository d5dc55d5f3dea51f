//! Base58 as `did:key` writes keys, in Bitcoin's alphabet.

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Writes bytes in base 58; quadratic, for keys alone.
pub(super) fn encode(bytes: &[u8]) -> String {
    // Digits, the least significant first.
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = u8::try_from(carry % 58).unwrap_or_default();
            carry /= 58;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 58).unwrap_or_default());
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).map(|_| 0);
    let digits = zeros.chain(digits.into_iter().rev());
    digits
        .filter_map(|digit| ALPHABET.get(usize::from(digit)))
        .map(|byte| char::from(*byte))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn bytes_are_written_as_the_published_examples_are() {
        for (bytes, text) in [
            (b"Hello World!".as_slice(), "2NEpo7TZRRrLZSi2U"),
            (
                b"The quick brown fox jumps over the lazy dog.",
                "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
            ),
            (&[0, 0, 0x28, 0x7f, 0xb4, 0xcd], "11233QC4"),
            (b"", ""),
        ] {
            assert_eq!(encode(bytes), text);
        }
    }
}
