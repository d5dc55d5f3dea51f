//! How deep Cedar would descend into a policy, found out without descending.
//!
//! Cedar folds a chain of operators, of accesses and of clauses into a tree,
//! and reads, validates, evaluates and drops that tree by recursion. Here each
//! bracket that is open keeps how deep what stands in it is: operands of `||`
//! hold operands of `&&`, and these hold everything else.

/// Brackets open at once in one policy.
const MAX_NESTING: usize = 32;
/// `if`s in one policy.
const MAX_CONDITIONALS: usize = 32;
/// Bytes of `&`, `|`, `.`, `+`, `-`, `*`, `!` and `[` in one policy, outside
/// strings and comments.
const MAX_OPERATORS: usize = 512;
/// Operators, accesses, brackets and clauses of one policy, each within another. A tree
/// of that many is read, validated and evaluated within half of the 2 MiB that
/// a thread has, so that no decision depends on where it is made.
const MAX_DEPTH: usize = 128;

/// A policy that is being measured.
#[derive(Debug)]
pub(crate) struct Measure {
    /// Those that are open; the first is the policy itself.
    levels: Vec<Level>,
    operators: usize,
    /// Commas and annotations, of which there may be many.
    items: usize,
    conditionals: usize,
    too_nested: bool,
    before: u8,
    /// How much of the word `if` stands before this byte.
    partial: Word,
}

/// What stands in one bracket.
#[derive(Debug, Default)]
struct Level {
    /// Of the items that ended, the deepest.
    deepest: usize,
    /// `||`s of this item, and the deepest operand of theirs that ended.
    ors: usize,
    of_ors: usize,
    /// `&&`s of this operand of `||`, and the deepest of theirs that ended.
    ands: usize,
    of_ands: usize,
    /// Everything else of this operand of `&&`, and the deepest bracket in it.
    here: usize,
    within: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Boundary,
    I,
    If,
    Other,
}

impl Measure {
    pub(crate) fn new() -> Self {
        Self {
            levels: vec![Level::default()],
            operators: 0,
            items: 0,
            conditionals: 0,
            too_nested: false,
            before: b' ',
            partial: Word::Boundary,
        }
    }

    /// Takes the next byte of code; what is no code is a space.
    pub(crate) fn take(&mut self, byte: u8) {
        self.word(byte);
        self.operators += usize::from(b"&|.+-*![".contains(&byte));
        self.items += usize::from(b",@".contains(&byte));
        let doubled = byte == self.before;
        // Of three, the third begins another pair.
        self.before = if doubled { b' ' } else { byte };
        match byte {
            b'(' | b'[' | b'{' => self.open(byte),
            b')' | b']' | b'}' => self.close(),
            b'&' if doubled => self.change(Level::and),
            b'|' if doubled => self.change(Level::or),
            b',' => self.change(Level::item),
            b'.' | b'+' | b'-' | b'*' | b'!' => self.change(Level::count),
            _ => {}
        }
    }

    /// Operators, list items, members and annotations.
    pub(crate) const fn parts(&self) -> usize {
        self.operators + self.items
    }

    /// What it has too much of, if anything.
    pub(crate) fn excess(mut self) -> Option<&'static str> {
        while self.levels.len() > 1 {
            self.close();
        }
        self.change(Level::item);
        let depth = self.levels.first().map_or(0, |level| level.deepest);
        if self.too_nested {
            Some("more than 32 brackets are open at once")
        } else if self.conditionals > MAX_CONDITIONALS {
            Some("it has more than 32 `if`s")
        } else if self.operators > MAX_OPERATORS {
            Some("it has more than 512 operator characters")
        } else if depth > MAX_DEPTH {
            Some("more than 128 operators, accesses, brackets or clauses stand one within another")
        } else {
            None
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Level)) {
        if let Some(level) = self.levels.last_mut() {
            change(level);
        }
    }

    fn open(&mut self, byte: u8) {
        // Annotations and the scope stand beside one another; clauses do not.
        if self.levels.len() > 1 || byte == b'{' {
            self.change(Level::count);
        }
        if self.levels.len() > MAX_NESTING {
            self.too_nested = true;
        } else {
            self.levels.push(Level::default());
        }
    }

    fn close(&mut self) {
        if self.levels.len() < 2 {
            return;
        }
        if let Some(mut closed) = self.levels.pop() {
            closed.item();
            self.change(|level| level.within = level.within.max(closed.deepest));
        }
    }

    fn word(&mut self, byte: u8) {
        let letter = byte.is_ascii_alphanumeric() || byte == b'_';
        if self.partial == Word::If && !letter {
            self.conditionals += 1;
            self.change(Level::count);
        }
        self.partial = match (self.partial, byte) {
            _ if !letter => Word::Boundary,
            (Word::Boundary, b'i') => Word::I,
            (Word::I, b'f') => Word::If,
            _ => Word::Other,
        };
    }
}

impl Level {
    const fn count(&mut self) {
        self.here += 1;
    }

    fn and(&mut self) {
        self.operand();
        self.ands += 1;
    }

    fn or(&mut self) {
        self.operands();
        self.ors += 1;
    }

    /// Ends an operand of `&&`.
    fn operand(&mut self) {
        self.of_ands = self.of_ands.max(self.here + self.within);
        (self.here, self.within) = (0, 0);
    }

    /// Ends an operand of `||`.
    fn operands(&mut self) {
        self.operand();
        self.of_ors = self.of_ors.max(self.ands + self.of_ands);
        (self.ands, self.of_ands) = (0, 0);
    }

    /// Ends an item: what stands before a comma or a closing bracket.
    fn item(&mut self) {
        self.operands();
        self.deepest = self.deepest.max(self.ors + self.of_ors);
        (self.ors, self.of_ors) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(source: &str) -> usize {
        let mut measure = Measure::new();
        source.bytes().for_each(|byte| measure.take(byte));
        while measure.levels.len() > 1 {
            measure.close();
        }
        measure.change(Level::item);
        measure.levels[0].deepest
    }

    #[test]
    fn operands_stand_beside_one_another_and_what_folds_within() {
        for (source, expected) in [
            ("a", 0),
            ("a.b.c", 2),
            ("a.b && c.d && e.f", 3),
            ("a.b.c && d || e.f && g || h", 5),
            ("a[b][c]", 0),
            ("when { a[b][c] }", 3),
            ("when { a[b.c.d][e] }", 5),
            ("when { [a.b, c.d, e.f.g] }", 4),
            ("when { a } unless { b } when { c }", 3),
            ("when { !!a }", 3),
            ("when { if a then b else if c then d else e }", 3),
            ("@a(\"\") @b(\"\") permit (principal, action in [a, b])", 1),
            ("when { (((", 4),
            ("when { a }}}}.b", 2),
            ("a &&&& b", 2),
        ] {
            assert_eq!(depth(source), expected, "{source}");
        }
    }
}
