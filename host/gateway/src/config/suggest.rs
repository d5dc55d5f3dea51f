//! The name that was probably meant.

/// The one of `known` that is nearest to `given`, if it is near enough.
pub(super) fn nearest<'k>(given: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|name| (distance(given, name), name))
        .filter(|(distance, name)| *distance <= name.len().max(3) / 2)
        .min()
        .map(|(_, name)| name)
}

/// Insertions, deletions and replacements from one text to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            let replaced = diagonal + usize::from(x != *y);
            left = replaced.min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_mended_and_a_strange_word_is_not() {
        let known = ["url", "command", "call_timeout_ms"];
        for (given, meant) in [
            ("call_timeout", Some("call_timeout_ms")),
            ("comand", Some("command")),
            ("uri", Some("url")),
            ("banana", None),
        ] {
            assert_eq!(nearest(given, known.into_iter()), meant, "{given}");
        }
    }
}
