//! Characters that a reader does not see, or that move what stands around
//! them: a text with one is not what it looks like.

/// Whether a character is a control or format character, a separator of lines
/// or paragraphs, turns the direction of writing, or is ignored where a font
/// does not know it. A line feed and a tab are controls as well.
#[must_use]
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use unicode_general_category::{GeneralCategory, get_general_category};

    use super::*;

    /// Ignored by default though neither control nor format characters, from
    /// `DerivedCoreProperties.txt`.
    const IGNORED: [(u32, u32); 9] = [
        (0x34f, 0x34f),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x2065, 0x2065),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0f),
        (0xffa0, 0xffa0),
        (0xe0000, 0xe0fff),
    ];

    #[test]
    fn every_character_that_is_not_seen_is_hidden_and_no_other() {
        for c in '\0'..=char::MAX {
            let category = matches!(
                get_general_category(c),
                GeneralCategory::Control
                    | GeneralCategory::Format
                    | GeneralCategory::LineSeparator
                    | GeneralCategory::ParagraphSeparator
            );
            let code = u32::from(c);
            let ignored = IGNORED.iter().any(|(a, b)| (*a..=*b).contains(&code))
                || (0xfff0..=0xfff8).contains(&code);
            assert_eq!(hidden(c), category || ignored, "{}", c.escape_unicode());
        }
    }
}
