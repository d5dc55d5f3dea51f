//! The name and version under which a profile's bindings are comparable.

use alloc::string::String;
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

/// `NAME@MAJOR.MINOR.PATCH`, NAME being `[a-z][a-z0-9-]{0,63}` and the numbers
/// decimal without leading zeros, each within `u32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProfileId {
    text: String,
    at: usize,
    version: [u32; 3],
}

/// A text that names no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedProfileId;

impl ProfileId {
    /// The whole identifier, as it stands in a binding's preimage.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name before the `@`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// The version after the `@`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.text.get(self.at + 1..).unwrap_or_default()
    }
}

impl FromStr for ProfileId {
    type Err = MalformedProfileId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, version) = text.split_once('@').ok_or(MalformedProfileId)?;
        let mut letters = name.bytes();
        let sound = letters.next().is_some_and(|byte| byte.is_ascii_lowercase())
            && letters.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
            && name.len() <= 64;
        let mut parts = version.split('.').map(part);
        let (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None, true) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            sound,
        ) else {
            return Err(MalformedProfileId);
        };
        Ok(Self {
            text: text.into(),
            at: name.len(),
            version: [major, minor, patch],
        })
    }
}

fn part(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    if plain && !padded {
        text.parse().ok()
    } else {
        None
    }
}

impl PartialOrd for ProfileId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By name, then by version as numbers.
impl Ord for ProfileId {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.name(), self.version).cmp(&(other.name(), other.version))
    }
}

impl fmt::Display for ProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for MalformedProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a profile is written `NAME@MAJOR.MINOR.PATCH`")
    }
}

impl core::error::Error for MalformedProfileId {}

#[cfg(test)]
mod tests {
    use super::ProfileId;

    #[test]
    fn a_profile_id_is_a_lowercase_name_and_three_plain_numbers() {
        for good in [
            "exact@1.0.0",
            "jcs-integer@1.0.0",
            "a@0.0.0",
            "a1-@10.20.4294967295",
        ] {
            let id: ProfileId = good.parse().unwrap();
            assert_eq!(id.as_str(), good);
            assert_eq!(alloc::format!("{}@{}", id.name(), id.version()), good);
        }
        let long = alloc::format!("{}@1.0.0", "a".repeat(65));
        for bad in [
            "",
            "exact",
            "exact@",
            "@1.0.0",
            "Exact@1.0.0",
            "1a@1.0.0",
            "-a@1.0.0",
            "a@1.0",
            "a@1.0.0.0",
            "a@01.0.0",
            "a@1.0.-1",
            "a@1.0.+1",
            "a@1.0.4294967296",
            "a@1.0.0 ",
            "a@1..0",
            "a@b@1.0.0",
            "a_b@1.0.0",
            &long,
        ] {
            assert!(bad.parse::<ProfileId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn versions_are_ordered_as_numbers() {
        let parse = |text: &str| text.parse::<ProfileId>().unwrap();
        assert!(parse("a@1.9.0") < parse("a@1.10.0"));
        assert!(parse("a@9.0.0") < parse("b@1.0.0"));
    }
}
