//! Makes a failing message small: whatever can be left out is.

/// The smallest message found that still fails, taking out ever shorter
/// pieces, from half of it down to one byte.
pub(super) fn shrink(message: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut smallest = message.to_vec();
    let mut piece = smallest.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < smallest.len() {
            let end = (at + piece).min(smallest.len());
            let without = [&smallest[..at], &smallest[end..]].concat();
            if fails(&without) {
                smallest = without;
            } else {
                at = end;
            }
        }
        piece /= 2;
    }
    smallest
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_remains_is_what_makes_it_fail() {
        let fails = |message: &[u8]| {
            message.windows(2).any(|pair| pair == b"!!") && message.contains(&b'?')
        };
        assert_eq!(super::shrink(b"some text !! and ? more", fails), b"!!?");
    }
}
