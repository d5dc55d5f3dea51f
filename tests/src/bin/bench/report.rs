//! What a section says: printed as it is measured, and kept as Markdown, since
//! docs/performance.md is made of nothing else.

use std::fmt::Write as _;
use std::path::Path;

use countersign_tests::measure::Samples;

/// As wide as the other pages.
const WIDTH: usize = 120;

/// One section of the page.
pub(crate) struct Report {
    text: String,
}

impl Report {
    pub(crate) fn new(title: &str) -> Self {
        println!("\n## {title}\n");
        Self {
            text: format!("## {title}\n\n"),
        }
    }

    /// A paragraph; line breaks are put where they belong.
    pub(crate) fn say(&mut self, paragraph: &str) {
        let mut lines = vec![String::new()];
        for word in paragraph.split_whitespace() {
            let full = lines
                .last()
                .is_some_and(|line| !line.is_empty() && line.len() + 1 + word.len() > WIDTH);
            if full {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
        self.put(&format!("{}\n\n", lines.join("\n")));
    }

    /// A table, its columns as wide as what stands in them.
    pub(crate) fn table<const N: usize>(&mut self, head: [&str; N], rows: &[[String; N]]) {
        let mut widths = head.map(|cell| cell.chars().count().max(3));
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |cells: &[String; N]| {
            let mut text = String::from("|");
            for (cell, width) in cells.iter().zip(widths) {
                let _ = write!(text, " {cell:<width$} |");
            }
            text + "\n"
        };
        let mut text = line(&head.map(str::to_owned));
        text.push_str(&line(&widths.map(|width| "-".repeat(width))));
        for row in rows {
            text.push_str(&line(row));
        }
        self.put(&(text + "\n"));
    }

    /// Keeps the section for the page, where there is a folder for that.
    pub(crate) fn keep(self, folder: Option<&Path>, name: &str) {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(format!("{name}.md")), self.text).unwrap();
        }
    }

    fn put(&mut self, text: &str) {
        print!("{text}");
        self.text.push_str(text);
    }
}

/// Values of one figure, one from each turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Vec<f64>);

impl Turns {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    pub(crate) fn middle(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    /// The middle one, and between which all lie.
    pub(crate) fn shown(&self) -> String {
        let end = |value: Option<&f64>| number(value.copied().unwrap_or_default());
        format!(
            "{} ({} to {})",
            number(self.middle()),
            end(self.0.first()),
            end(self.0.last())
        )
    }
}

/// A goal, and whether a figure meets it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    /// The two last cells of a row.
    pub(crate) fn cells(self, value: f64) -> [String; 2] {
        let (text, met) = match self {
            Self::AtLeast(bound) => (format!("≥ {}", bare(bound)), value >= bound),
            Self::AtMost(bound) => (format!("≤ {}", bare(bound)), value <= bound),
        };
        [text, if met { "yes" } else { "**no**" }.into()]
    }
}

/// Cells for what has no goal.
pub(crate) fn no_goal() -> [String; 2] {
    [String::new(), String::new()]
}

fn bare(value: f64) -> String {
    if value.fract() == 0.0 {
        number(value)
    } else {
        value.to_string()
    }
}

/// Three digits or so: `0.86`, `13.7`, `2,888`.
pub(crate) fn number(value: f64) -> String {
    if value < 9.995 {
        return format!("{value:.2}");
    }
    if value < 99.95 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Microseconds: the median, and between what a tenth lie below and above.
pub(crate) fn micros(samples: &Samples) -> String {
    scaled(samples, 1e6)
}

/// The same in milliseconds.
pub(crate) fn millis(samples: &Samples) -> String {
    scaled(samples, 1e3)
}

fn scaled(samples: &Samples, scale: f64) -> String {
    let [middle, low, high] =
        [50, 10, 90].map(|percent| number(samples.percentile(percent).as_secs_f64() * scale));
    format!("{middle} ({low} to {high})")
}
