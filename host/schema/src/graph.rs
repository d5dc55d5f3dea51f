//! What a schema can cost, found out before it is compiled.
//!
//! A schema is a graph: some keywords apply a subschema to the same value
//! (`allOf`, `$ref`, …), others to a value within it (`properties`, …). How
//! often one value is looked at, and how deep the validator calls itself, are
//! numbers of walks in that graph; both are bounded, for every instance that a
//! message can hold.

use std::collections::{BTreeMap, BTreeSet};

use countersign_canon::Document;
use countersign_canon::document::{Item, Kind};
use jsonschema::Draft;

use crate::pattern::Patterns;
use crate::work::{self, Work};
use crate::{Reason, SchemaRefused, choice, places, reference};

/// Subschemas of one schema.
const MAX_NODES: usize = 4_096;
/// How often one value may be looked at.
const MAX_LOOKS: u64 = 4_096;
/// How deep the validator may call itself, over all levels of an instance.
const MAX_CALLS: u64 = 512;
/// How deep it calls itself for a subschema whose work is counted: for what
/// counts, for the two together, and for the subschema.
const COUNTED_CALLS: u64 = 3;
/// Levels of an instance: the arguments stand two below the action.
const LEVELS: usize = 62;
/// What the library may make for keywords that ask what others have looked at:
/// for each it goes every way to a subschema for the same value, and compiles
/// what stands there once more. In values of the schema's text.
const MAX_ASKED: u64 = 100_000;
/// Steps for holding the names of properties against the patterns beside them,
/// which the library does when it compiles.
const MAX_NAMED: u64 = 1 << 18;

/// One subschema: which others it applies.
#[derive(Default)]
struct Node {
    here: Vec<usize>,
    /// One of each group applies to one value within.
    within: Vec<Vec<usize>>,
    /// How many calls deep the validator goes for it alone.
    calls: u64,
    /// Keywords that ask what the subschemas for the same value have looked at:
    /// to say so each of those is gone through again.
    unevaluated: u64,
}

struct Graph<'d> {
    document: &'d Document<'d>,
    nodes: Vec<Node>,
    items: Vec<Item<'d>>,
    /// By where the subschema begins in the text.
    known: BTreeMap<usize, usize>,
    /// Where those may begin.
    places: BTreeSet<usize>,
}

/// A schema that may be compiled.
pub(crate) struct Checked {
    /// Where its subschemas begin, and what each takes.
    pub(crate) places: BTreeMap<usize, Work>,
    pub(crate) patterns: Patterns,
    /// Whether any subschema has an `anyOf` or `oneOf`.
    pub(crate) chooses: bool,
}

/// Checks the references, the patterns and the cost of a whole schema.
pub(crate) fn check(document: &Document<'_>, draft: Draft) -> Result<Checked, SchemaRefused> {
    let mut graph = Graph {
        document,
        nodes: Vec::new(),
        items: Vec::new(),
        known: BTreeMap::new(),
        places: places::of(document.root(), draft)?,
    };
    graph.node(document.root())?;
    let mut next = 0;
    while let Some(item) = graph.items.get(next).copied() {
        let node = graph.read(item)?;
        if let Some(place) = graph.nodes.get_mut(next) {
            *place = node;
        }
        next += 1;
    }
    let order = graph.order()?;
    let mut patterns = Patterns::default();
    let names = graph.patterns(&mut patterns)?;
    let works = graph.works(&order, &names);
    graph.bounded(&order)?;
    graph.asked(&order)?;
    let mut choices = graph.items.iter().map(|item| choice::calls(*item));
    let chooses = choices.any(|calls| calls > 0);
    let work = |number: usize| works.get(number).copied().unwrap_or_default();
    let known = graph.known.into_iter();
    Ok(Checked {
        places: known.map(|(at, number)| (at, work(number))).collect(),
        patterns,
        chooses,
    })
}

impl<'d> Graph<'d> {
    fn node(&mut self, item: Item<'d>) -> Result<usize, SchemaRefused> {
        if let Some(known) = self.known.get(&item.offset()) {
            return Ok(*known);
        }
        let number = self.nodes.len();
        if number == MAX_NODES {
            return Err(SchemaRefused::new(Reason::Cost, item.pointer()));
        }
        self.known.insert(item.offset(), number);
        self.nodes.push(Node::default());
        self.items.push(item);
        Ok(number)
    }

    fn read(&mut self, item: Item<'d>) -> Result<Node, SchemaRefused> {
        let mut node = Node::default();
        if item.kind() != Kind::Object {
            return Ok(node);
        }
        let mut patterns = Vec::new();
        for member in item.children() {
            let refused = |reason| Err(SchemaRefused::new(reason, member.pointer()));
            match member.name().unwrap_or_default() {
                "$ref" => {
                    let target = reference::pointer(&member.text().unwrap_or_default())
                        .and_then(|pointer| self.document.find(&pointer))
                        .filter(|target| self.places.contains(&target.offset()));
                    let Some(target) = target else {
                        return refused(Reason::Reference);
                    };
                    node.here.push(self.node(target)?);
                }
                "$dynamicRef" | "$recursiveRef" => return refused(Reason::Reference),
                "allOf" | "anyOf" | "oneOf" => {
                    for each in member.children() {
                        node.here.push(self.node(each)?);
                    }
                }
                "not" | "if" | "then" | "else" => node.here.push(self.node(member)?),
                "dependentSchemas" | "dependencies" => {
                    for each in member.children().filter(|each| each.kind() != Kind::Array) {
                        node.here.push(self.node(each)?);
                    }
                }
                "properties" => {
                    let mut group = Vec::new();
                    for each in member.children() {
                        group.push(self.node(each)?);
                    }
                    node.within.push(group);
                }
                "patternProperties" => {
                    for each in member.children() {
                        patterns.push(self.node(each)?);
                    }
                }
                "items" | "prefixItems" if member.kind() == Kind::Array => {
                    let mut group = Vec::new();
                    for each in member.children() {
                        group.push(self.node(each)?);
                    }
                    node.within.push(group);
                }
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames" => {
                    let asks = member.name().unwrap_or_default().starts_with("unevaluated");
                    node.unevaluated += u64::from(asks);
                    node.within.push(vec![self.node(member)?]);
                }
                "$defs" | "definitions" => {
                    for each in member.children() {
                        self.node(each)?;
                    }
                }
                _ => {}
            }
        }
        node.within
            .extend(patterns.into_iter().map(|each| vec![each]));
        Ok(node)
    }

    /// Reads the patterns of what the library compiles; what those for names
    /// weigh, of each subschema.
    fn patterns(&self, patterns: &mut Patterns) -> Result<Vec<u64>, SchemaRefused> {
        let mut names = vec![0_u64; self.nodes.len()];
        let mut met = vec![false; self.nodes.len()];
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let (Some(node), Some(item), Some(met), Some(names)) = (
                self.nodes.get(number),
                self.items.get(number),
                met.get_mut(number),
                names.get_mut(number),
            ) else {
                continue;
            };
            if std::mem::replace(met, true) {
                continue;
            }
            open.extend(node.here.iter().chain(node.within.iter().flatten()));
            if item.kind() != Kind::Object {
                continue;
            }
            if let Some(pattern) = item.get("pattern")
                && let Some(text) = pattern.text()
            {
                let read = patterns.text(&text);
                read.map_err(|reason| SchemaRefused::new(reason, pattern.pointer()))?;
            }
            let members = |keyword: &str| {
                let held = item.get(keyword);
                let held = held.filter(|held| held.kind() == Kind::Object);
                held.into_iter().flat_map(Item::children)
            };
            for member in members("patternProperties") {
                let weight = patterns.name(member.name().unwrap_or_default());
                let weight =
                    weight.map_err(|reason| SchemaRefused::new(reason, member.pointer()))?;
                *names = names.saturating_add(weight);
            }
            let text = members("properties").filter_map(Item::name);
            let text: u64 = text.map(|name| work::text(name.len())).sum();
            if text.saturating_mul(*names) > MAX_NAMED {
                return Err(SchemaRefused::new(Reason::Cost, item.pointer()));
            }
        }
        Ok(names)
    }

    /// What each subschema takes, with those for the same value that are not
    /// counted themselves.
    fn works(&mut self, order: &[usize], names: &[u64]) -> Vec<Work> {
        let mut works = vec![Work::default(); self.nodes.len()];
        // What each that asks what was looked at goes through for each name.
        let subschemas = u64::try_from(self.known.len()).unwrap_or(u64::MAX);
        let asks = names.iter().copied().fold(subschemas, u64::saturating_add);
        for number in order {
            let (Some(node), Some(item)) = (self.nodes.get_mut(*number), self.items.get(*number))
            else {
                continue;
            };
            let mut work = Work::of(*item, asks, names.get(*number).copied().unwrap_or(0));
            for next in &node.here {
                let other = works.get(*next).copied().filter(|work| !work.is_counted());
                work = work.and(other.unwrap_or_default());
            }
            let counted = if work.is_counted() { COUNTED_CALLS } else { 1 };
            node.calls = counted + choice::calls(*item);
            if let Some(place) = works.get_mut(*number) {
                *place = work;
            }
        }
        works
    }

    /// What is made for the keywords that ask what others have looked at.
    fn asked(&self, order: &[usize]) -> Result<(), SchemaRefused> {
        if self.nodes.iter().all(|node| node.unevaluated == 0) {
            return Ok(());
        }
        let mut sizes = vec![0_u64; self.nodes.len()];
        let mut asked = 0_u64;
        for number in order {
            let (Some(node), Some(item)) = (self.nodes.get(*number), self.items.get(*number))
            else {
                continue;
            };
            let mut size = values(*item);
            for next in &node.here {
                size = size.saturating_add(sizes.get(*next).copied().unwrap_or(0));
            }
            if let Some(place) = sizes.get_mut(*number) {
                *place = size;
            }
            asked = asked.saturating_add(node.unevaluated.saturating_mul(size));
            if asked > MAX_ASKED {
                return Err(SchemaRefused::new(Reason::Cost, item.pointer()));
            }
        }
        Ok(())
    }

    /// Every node after those that it applies to the same value.
    fn order(&self) -> Result<Vec<usize>, SchemaRefused> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for start in 0..self.nodes.len() {
            let mut open = vec![(start, false)];
            while let Some((number, closing)) = open.pop() {
                let Some(state) = states.get_mut(number) else {
                    continue;
                };
                match (*state, closing) {
                    (State::Open, true) => {
                        *state = State::Done;
                        order.push(number);
                    }
                    (State::New, _) => {
                        *state = State::Open;
                        open.push((number, true));
                        let here = self.nodes.get(number).map(|node| node.here.as_slice());
                        open.extend(here.unwrap_or_default().iter().map(|next| (*next, false)));
                    }
                    // A node on the path to itself; one that merely waits
                    // twice is done by the time that it is met again.
                    (State::Open, false) => {
                        let at = self.items.get(number).map(|item| item.pointer());
                        return Err(SchemaRefused::new(Reason::Cycle, at.unwrap_or_default()));
                    }
                    (State::Done, _) => {}
                }
            }
        }
        Ok(order)
    }

    /// Level by level: how often one value that many levels below is looked
    /// at, and how deep the calls go until there.
    fn bounded(&self, order: &[usize]) -> Result<(), SchemaRefused> {
        let mut looks_above = vec![0_u64; self.nodes.len()];
        let mut calls_above = vec![0_u64; self.nodes.len()];
        for level in 0..=LEVELS {
            let mut looks = vec![0_u64; self.nodes.len()];
            let mut calls = vec![0_u64; self.nodes.len()];
            // How often it is looked at where it is asked what was evaluated.
            let mut again = vec![0_u64; self.nodes.len()];
            for number in order {
                let Some(node) = self.nodes.get(*number) else {
                    continue;
                };
                let of = |all: &[u64], which: usize| all.get(which).copied().unwrap_or(0);
                let (mut sum, mut deepest) = (u64::from(level == 0), 0);
                let mut marks = 0_u64;
                for next in &node.here {
                    sum = sum.saturating_add(of(&looks, *next));
                    deepest = deepest.max(of(&calls, *next));
                    // Once for itself, and once for the condition that it may
                    // stand in by now.
                    let twice = of(&looks, *next).saturating_mul(2);
                    marks = marks.saturating_add(twice.saturating_add(of(&again, *next)));
                }
                sum = sum.saturating_add(node.unevaluated.saturating_mul(marks));
                for group in &node.within {
                    let most = group.iter().map(|next| of(&looks_above, *next)).max();
                    sum = sum.saturating_add(most.unwrap_or(0));
                    let most = group.iter().map(|next| of(&calls_above, *next)).max();
                    deepest = deepest.max(most.unwrap_or(0));
                }
                if let (Some(look), Some(call), Some(mark)) = (
                    looks.get_mut(*number),
                    calls.get_mut(*number),
                    again.get_mut(*number),
                ) {
                    *look = sum;
                    *call = deepest.saturating_add(node.calls);
                    *mark = marks;
                }
            }
            // The library compiles whatever can be reached, however deep no
            // instance comes.
            if level == 0
                && let Some(at) = looks.iter().position(|looks| *looks > MAX_LOOKS)
            {
                let at = self.items.get(at).map(|item| item.pointer());
                return Err(SchemaRefused::new(Reason::Cost, at.unwrap_or_default()));
            }
            let excess = looks.first().is_some_and(|looks| *looks > MAX_LOOKS)
                || calls.first().is_some_and(|calls| *calls > MAX_CALLS);
            if excess {
                return Err(SchemaRefused::new(Reason::Cost, ""));
            }
            (looks_above, calls_above) = (looks, calls);
        }
        Ok(())
    }
}

/// How many values the text of one holds, itself among them; its depth is bounded
/// by the reader.
fn values(item: Item<'_>) -> u64 {
    let within = item.children().map(values);
    within.fold(1, u64::saturating_add)
}
