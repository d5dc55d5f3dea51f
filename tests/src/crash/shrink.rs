//! Makes a failing sequence small: whatever step can be left out is.

/// The shortest list found that still fails, leaving out ever shorter pieces.
pub(super) async fn shrink<T, F>(steps: &[T], mut fails: F) -> Vec<T>
where
    T: Clone,
    F: AsyncFnMut(&[T]) -> bool,
{
    let mut smallest = steps.to_vec();
    let mut piece = smallest.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < smallest.len() {
            let end = (at + piece).min(smallest.len());
            let without = [&smallest[..at], &smallest[end..]].concat();
            if fails(&without).await {
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
    #[tokio::test]
    async fn what_remains_is_what_makes_it_fail() {
        let steps: Vec<u32> = (0..20).collect();
        let fails = async |steps: &[u32]| steps.contains(&3) && steps.contains(&17);
        assert_eq!(super::shrink(&steps, fails).await, [3, 17]);
    }
}
