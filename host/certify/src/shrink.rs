//! Makes what fails small: whatever can be left out is, of the bytes of a
//! message or of the steps of a sequence.

/// A list that fails, and which piece of it is left out next: ever shorter
/// ones, from half of it down to one item.
#[derive(Debug)]
pub struct Shrinking<T> {
    smallest: Vec<T>,
    piece: usize,
    at: usize,
}

impl<T: Clone> Shrinking<T> {
    /// Begins with a list that fails.
    #[must_use]
    pub fn new(failing: &[T]) -> Self {
        Self {
            smallest: failing.to_vec(),
            piece: failing.len().div_ceil(2),
            at: 0,
        }
    }

    /// The next list to try; none once nothing can be left out any more.
    pub fn candidate(&mut self) -> Option<Vec<T>> {
        while self.at >= self.smallest.len() {
            self.piece /= 2;
            self.at = 0;
            if self.piece == 0 || self.smallest.is_empty() {
                return None;
            }
        }
        let kept = self.smallest.iter().take(self.at);
        Some(
            kept.chain(self.smallest.iter().skip(self.end()))
                .cloned()
                .collect(),
        )
    }

    /// Whether the candidate fails too.
    pub fn judged(&mut self, candidate: Vec<T>, fails: bool) {
        if fails {
            self.smallest = candidate;
        } else {
            self.at = self.end();
        }
    }

    /// The shortest list found that still fails.
    #[must_use]
    pub fn smallest(self) -> Vec<T> {
        self.smallest
    }

    fn end(&self) -> usize {
        (self.at + self.piece).min(self.smallest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Shrinking;

    #[test]
    fn what_remains_is_what_makes_it_fail() {
        for (failing, fails, expected) in [
            (
                b"some text !! and ? more".as_slice(),
                (|text| text.windows(2).any(|pair| pair == b"!!") && text.contains(&b'?'))
                    as fn(&[u8]) -> bool,
                b"!!?".as_slice(),
            ),
            (b"", |_| true, b""),
            (b"abc", |_| true, b""),
            (b"a", |text| text == b"a", b"a"),
        ] {
            let mut shrinking = Shrinking::new(failing);
            while let Some(candidate) = shrinking.candidate() {
                let still = fails(&candidate);
                shrinking.judged(candidate, still);
            }
            assert_eq!(shrinking.smallest(), expected);
        }
    }
}
