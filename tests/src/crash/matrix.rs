//! The coverage matrix: boundary × moment × fault, on one store.
//!
//! A cell counts only where its fault really happened; one that is neither
//! covered nor impossible for a stated reason fails the run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tokio::task::JoinSet;

use super::account::Sent;
use super::cells::{self, Cell, MOMENTS, Sign, boundaries, faults};
use super::plan::{Sequence, Step};
use super::run::play;
use super::world::{Store, World};

/// Cells that share a world.
const SHARED: usize = 24;

/// How often a cell is tried whose fault did not happen as it was meant: on a
/// machine that is busy with other things a lease runs out where it should not.
/// SQLite has no leases, so there it is tried once. What breaks an invariant is
/// never tried again.
const fn tries(store: Store) -> u32 {
    match store {
        Store::Sqlite => 1,
        Store::Postgres => 3,
    }
}

type Place = (&'static str, &'static str, &'static str);

/// What was covered, and what failed.
#[derive(Debug, Default)]
pub struct Matrix {
    /// Cells whose fault happened and after which everything holds.
    pub covered: BTreeMap<Place, u32>,
    /// Cells that failed, with the reason.
    pub failed: Vec<(Place, String)>,
}

/// Which cells are played.
#[derive(Clone, Debug)]
pub enum Extent {
    /// All of them.
    Whole,
    /// Those of one boundary, or of one fault.
    Only(String),
    /// The same, and none any more once one has failed.
    Until(String),
    /// One for each boundary and one for each fault, at least.
    Some,
}

impl Extent {
    fn choose(&self, cells: &mut Vec<Cell>) {
        match self {
            Self::Whole => {}
            Self::Only(name) | Self::Until(name) => {
                cells.retain(|cell| cell.boundary == name || cell.fault == name);
            }
            Self::Some => {
                let (mut boundaries, mut faults) = (BTreeSet::new(), BTreeSet::new());
                cells.retain(|cell| {
                    // Both, where either is new.
                    boundaries.insert(cell.boundary) | faults.insert(cell.fault)
                });
            }
        }
    }
}

/// A cell that is to be played, and how often it was.
type Due = (Cell, u32);

/// Plays cells, `jobs` worlds at a time; `progress` is told how many are done, of
/// how many.
///
/// # Panics
///
/// When no world can be made.
pub async fn matrix(
    store: Store,
    extent: &Extent,
    jobs: usize,
    progress: impl Fn(usize, usize) + Send + Sync + 'static,
) -> Matrix {
    let first_writes = match store {
        Store::Sqlite => cells::first_writes().await,
        Store::Postgres => 0,
    };
    let mut cells = cells::of(store, first_writes);
    extent.choose(&mut cells);
    // Those that wait for a checkpoint hold nobody up when they come first.
    cells.sort_by_key(|cell| cell.boundary != "checkpoint");
    let all = cells.len();
    let due: VecDeque<Due> = cells.into_iter().map(|cell| (cell, 1)).collect();
    let queue = Arc::new(Mutex::new(due));
    let matrix = Arc::new(Mutex::new(Matrix::default()));
    let progress = Arc::new(progress);
    let until_failed = matches!(extent, Extent::Until(_));
    let mut tasks = JoinSet::new();
    for _ in 0..jobs.max(1) {
        let (queue, matrix) = (Arc::clone(&queue), Arc::clone(&matrix));
        let progress = Arc::clone(&progress);
        tasks.spawn(async move {
            loop {
                // A world ends with the first cell that fails, by a panic too.
                let (queue, matrix) = (Arc::clone(&queue), Arc::clone(&matrix));
                let progress = Arc::clone(&progress);
                let world = async move {
                    let more = some(store, &queue, &matrix, all, until_failed, &*progress).await;
                    more && (!until_failed || matrix.lock().unwrap().failed.is_empty())
                };
                match tokio::spawn(world).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(panic) => panic!("a cell panicked: {panic}"),
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("a job never panics");
    }
    drop(tasks);
    std::mem::take(&mut *matrix.lock().unwrap())
}

/// Plays some cells in one world; whether there are more.
async fn some(
    store: Store,
    queue: &Mutex<VecDeque<Due>>,
    matrix: &Mutex<Matrix>,
    all: usize,
    until_failed: bool,
    progress: &(dyn Fn(usize, usize) + Send + Sync),
) -> bool {
    let next = || queue.lock().unwrap().pop_front();
    let Some((mut cell, mut tried)) = next() else {
        return false;
    };
    let mut world = World::new(store).await;
    for number in 0..SHARED {
        let place = (cell.boundary, cell.moment, cell.fault);
        let done = one(&mut world, &format!("c{number}"), &cell).await;
        if let Err(Failed::Otherwise(why)) = &done
            && tried < tries(store)
        {
            eprintln!("{place:?} is tried again: {why}");
            let again = (cell, tried + 1);
            let mut queue = queue.lock().unwrap();
            if until_failed {
                // What may end the run comes first.
                queue.push_front(again);
            } else {
                queue.push_back(again);
            }
            return true;
        }
        let count = {
            let mut matrix = matrix.lock().unwrap();
            match &done {
                Ok(()) => *matrix.covered.entry(place).or_default() += 1,
                Err(Failed::Otherwise(why) | Failed::Broken(why)) => {
                    matrix.failed.push((place, why.clone()));
                }
            }
            matrix.covered.values().sum::<u32>() as usize + matrix.failed.len()
        };
        progress(count, all);
        if done.is_err() {
            return true;
        }
        match next() {
            Some(following) => (cell, tried) = following,
            None => {
                end(world, place, matrix).await;
                // Another world may have given one back meanwhile.
                return !queue.lock().unwrap().is_empty();
            }
        }
    }
    queue.lock().unwrap().push_front((cell, tried));
    end(world, ("open", "after", "kill"), matrix).await;
    true
}

async fn end(mut world: World, place: Place, matrix: &Mutex<Matrix>) {
    if let Err(why) = world.end().await {
        let why = format!("the evidence of its world: {why}");
        matrix.lock().unwrap().failed.push((place, why));
    }
}

/// Why a cell counts for nothing.
enum Failed {
    /// An invariant is broken.
    Broken(String),
    /// Something else happened than was meant, and every invariant held.
    Otherwise(String),
}

async fn one(world: &mut World, prefix: &str, cell: &Cell) -> Result<(), Failed> {
    let sequence = Sequence {
        seed: 0,
        steps: cell.steps.clone(),
    };
    let from = world.account.len();
    let played = play(world, prefix, &sequence).await;
    let sent = world.account.all();
    let calls = cell
        .steps
        .iter()
        .filter(|step| matches!(step, Step::Call(_)));
    let main = &sent[from + calls.count() - 1];
    let arrivals = world.upstream.arrivals();
    let arrivals: Vec<_> = arrivals
        .iter()
        .filter(|arrival| arrival.key == main.key)
        .collect();
    let happened = match cell.sign {
        Sign::Replica => world.victim(0).fired(),
        Sign::Beside => world.victim(1).fired(),
        Sign::Moment(moment) => world.upstream.acted(&main.key, moment),
        Sign::CutOff => arrivals.iter().any(|arrival| arrival.answered.is_none()),
        Sign::Step => true,
    };
    played.map_err(|broken| Failed::Broken(broken.join("\n")))?;
    if !happened {
        return Err(Failed::Otherwise("the fault did not happen".to_owned()));
    }
    let same = |sent: &&Sent| sent.key == main.key && sent.round == main.round;
    let then = sent[from..].iter().rfind(same);
    let then = then.map_or("nothing", |sent| sent.told.word());
    let found = cell.found;
    let fits = found.told.contains(&main.told.word())
        && found.then.contains(&then)
        && found.arrivals.contains(&arrivals.len());
    if fits {
        Ok(())
    } else {
        Err(Failed::Otherwise(format!(
            "told `{}`, then `{then}`, {} arrivals, where {found:?}",
            main.told.word(),
            arrivals.len(),
        )))
    }
}

impl Matrix {
    /// What is neither covered nor impossible.
    #[must_use]
    pub fn empty(&self, store: Store) -> BTreeSet<Place> {
        let mut empty = BTreeSet::new();
        for place in places(store) {
            if !self.covered.contains_key(&place) && impossible(store, place).is_none() {
                empty.insert(place);
            }
        }
        empty
    }

    /// The matrix as a table, with the reasons of what is impossible.
    #[must_use]
    pub fn table(&self, store: Store) -> String {
        let mut text = String::new();
        let _ = write!(text, "{:<12}", store.name());
        for fault in faults(store) {
            let _ = write!(text, " {:>width$}", fault, width = fault.len().max(6));
        }
        text.push('\n');
        for boundary in boundaries(store) {
            let _ = write!(text, "{boundary:<12}");
            for fault in faults(store) {
                let cell: String = MOMENTS
                    .iter()
                    .map(|moment| self.mark(store, (boundary, moment, fault)))
                    .collect::<Vec<_>>()
                    .join(" ");
                let _ = write!(text, " {:>width$}", cell, width = fault.len().max(6));
            }
            text.push('\n');
        }
        text.push_str("before, within, after: a number is how many ways it was covered in, - is impossible, ! is missing\n");
        for (reason, places) in self.reasons(store) {
            let _ = writeln!(text, "- {reason}: {places}");
        }
        for (place, why) in &self.failed {
            let _ = writeln!(text, "FAILED {place:?}: {why}");
        }
        text
    }

    fn mark(&self, store: Store, place: Place) -> String {
        match (self.covered.get(&place), impossible(store, place)) {
            (Some(count), _) => count.to_string(),
            (None, Some(_)) => "-".to_owned(),
            (None, None) => "!".to_owned(),
        }
    }

    fn reasons(&self, store: Store) -> BTreeMap<&'static str, String> {
        let mut reasons: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for place in places(store).filter(|place| !self.covered.contains_key(place)) {
            if let Some(reason) = impossible(store, place) {
                let (boundary, moment, fault) = place;
                let of = reasons.entry(reason).or_default();
                of.insert(format!("{fault} {moment} {boundary}"));
            }
        }
        let joined = reasons
            .into_iter()
            .map(|(reason, places)| (reason, places.into_iter().collect::<Vec<_>>().join(", ")));
        joined.collect()
    }
}

fn places(store: Store) -> impl Iterator<Item = Place> {
    boundaries(store).iter().flat_map(move |boundary| {
        faults(store).iter().flat_map(move |fault| {
            MOMENTS
                .into_iter()
                .map(move |moment| (*boundary, moment, *fault))
        })
    })
}

fn impossible(store: Store, (boundary, moment, fault): Place) -> Option<&'static str> {
    cells::impossible(store, boundary, moment, fault)
}
