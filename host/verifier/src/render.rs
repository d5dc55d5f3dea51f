//! The report as text for a person and as JSON for a program.

use std::fmt::Write as _;

use countersign_canon::write;
use countersign_catalog::hidden;

use crate::claim::Level;
use crate::findings::Finding;
use crate::report::{ClaimReport, Report};

impl Report {
    /// The report for a person. Text that comes from the bundle cannot move the
    /// cursor or turn the reading direction: such characters are escaped.
    #[must_use]
    pub fn to_text(&self, level: &Level) -> String {
        let mut out = String::new();
        for claim in &self.claims {
            let _ = writeln!(out, "{:<15} {}", claim.claim.as_str(), claim.status);
            for shown in &claim.shown {
                let _ = writeln!(out, "    {}", plain(shown));
            }
            list(
                &mut out,
                "but",
                &claim.contradictions,
                claim.contradiction_count,
            );
            list(&mut out, "not shown", &claim.gaps, claim.gap_count);
        }
        for note in &self.notes {
            let _ = writeln!(out, "note: {}", plain(note));
        }
        let _ = writeln!(
            out,
            "{} entries, asked for `{level}`: {}",
            self.entries,
            self.verdict(level)
        );
        out
    }

    /// The report as one JSON object, RFC 8785, with a line feed.
    #[must_use]
    pub fn to_json(&self, level: &Level) -> Vec<u8> {
        let mut out = br#"{"claims":["#.to_vec();
        separated(&mut out, &self.claims, claim);
        out.extend_from_slice(br#"],"entries":"#);
        out.extend_from_slice(self.entries.to_string().as_bytes());
        out.extend_from_slice(br#","format":"countersign.verification.v1","level":"#);
        write::string(&mut out, &level.to_string());
        out.extend_from_slice(br#","notes":["#);
        separated(&mut out, &self.notes, |out, note| write::string(out, note));
        out.extend_from_slice(br#"],"verdict":"#);
        write::string(&mut out, self.verdict(level).as_str());
        out.extend_from_slice(b"}\n");
        out
    }
}

fn list(out: &mut String, label: &str, findings: &[Finding], count: u64) {
    let mut told = 0_u64;
    for finding in findings {
        told = told.saturating_add(finding.count);
        let place = finding.place.as_ref().map(|place| format!("{place}: "));
        let again = match finding.count {
            1 => String::new(),
            count => format!(" ({count} times)"),
        };
        let reason = plain(&finding.reason);
        let _ = writeln!(
            out,
            "    {label}: {}{reason}{again}",
            place.unwrap_or_default()
        );
    }
    if count > told {
        let _ = writeln!(out, "    {label}: and {} more", count - told);
    }
}

/// Escapes what is not seen, or would change how a terminal shows the rest.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

fn separated<T>(out: &mut Vec<u8>, items: &[T], each: impl Fn(&mut Vec<u8>, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        each(out, item);
    }
}

fn claim(out: &mut Vec<u8>, claim: &ClaimReport) {
    out.extend_from_slice(br#"{"claim":"#);
    write::string(out, claim.claim.as_str());
    out.extend_from_slice(br#","contradictions":"#);
    reasons(out, &claim.contradictions, claim.contradiction_count);
    out.extend_from_slice(br#","not_shown":"#);
    reasons(out, &claim.gaps, claim.gap_count);
    out.extend_from_slice(br#","shown":["#);
    separated(out, &claim.shown, |out, shown| write::string(out, shown));
    out.extend_from_slice(br#"],"status":"#);
    write::string(out, claim.status.as_str());
    out.push(b'}');
}

fn reasons(out: &mut Vec<u8>, findings: &[Finding], count: u64) {
    out.extend_from_slice(br#"{"count":"#);
    out.extend_from_slice(count.to_string().as_bytes());
    out.extend_from_slice(br#","first":["#);
    separated(out, findings, |out, finding| {
        out.extend_from_slice(br#"{"count":"#);
        out.extend_from_slice(finding.count.to_string().as_bytes());
        out.extend_from_slice(br#","entry":"#);
        match &finding.place {
            Some(place) => {
                out.extend_from_slice(br#"{"log_id":"#);
                write::string(out, place.log_id.as_str());
                out.extend_from_slice(br#","sequence":"#);
                out.extend_from_slice(place.sequence.to_string().as_bytes());
                out.push(b'}');
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(br#","reason":"#);
        write::string(out, &finding.reason);
        out.push(b'}');
    });
    out.extend_from_slice(b"]}");
}
