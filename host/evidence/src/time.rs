//! When something happened: UTC, in whole microseconds, written as text.

use std::fmt;

use jiff::Timestamp;

/// An instant, written `2026-01-02T03:04:05.000006Z`. Given by the caller:
/// nothing here reads a clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// 0001-01-01T00:00:00Z and the last instant that `Timestamp` holds: outside,
/// years do not have four digits and texts no longer sort as times do.
const FIRST_US: i64 = -62_135_596_800_000_000;
const LAST_US: i64 = 253_402_207_199_999_999;

impl Time {
    /// Takes microseconds since 1970-01-01T00:00:00Z, as clocks give them. What
    /// lies outside the years 1 to 9999 is moved to the nearer end.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(FIRST_US, LAST_US))
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.0
    }

    /// Reads a time as people write it: RFC 3339, in any offset, with or
    /// without a fraction.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let time = Self(text.parse::<Timestamp>().ok()?.as_microsecond());
        (FIRST_US..=LAST_US).contains(&time.0).then_some(time)
    }

    /// Reads the one form in which times are written, and no other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let time = Self(text.parse::<Timestamp>().ok()?.as_microsecond());
        (time.to_string() == text && (FIRST_US..=LAST_US).contains(&time.0)).then_some(time)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // INVARIANT: the range of `Time` lies within that of `Timestamp`.
        let stamp = Timestamp::from_microsecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH);
        write!(f, "{stamp:.6}")
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_one_form_and_read_back_from_no_other() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1_767_323_045_000_006, "2026-01-02T03:04:05.000006Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (i64::MAX, "9999-12-30T21:59:59.999999Z"),
            (i64::MIN, "0001-01-01T00:00:00.000000Z"),
        ] {
            let time = Time::from_micros(micros);
            assert_eq!(time.to_string(), text);
            assert_eq!(Time::parse(text), Some(time));
        }
        for bad in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.000006+00:00",
            "2026-01-02 03:04:05.000006Z",
            "2026-01-02T03:04:05.0000061Z",
            "2026-01-02t03:04:05.000006z",
            "",
        ] {
            assert_eq!(Time::parse(bad), None, "`{bad}` must be refused");
        }
    }
}
