//! The coverage matrix: boundary × moment × fault, on one store.
//!
//! A cell counts only where its fault really happened; one that is neither
//! covered nor impossible for a stated reason fails the run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tokio::task::JoinSet;

use super::account::Sent;
use super::cells::{self, Cell, MOMENTS, Sign};
use super::cells_postgres;
use super::faults::Spot;
use super::plan::{Call, Deed, Sequence, Step};
use super::run::play;
use super::upstream::Moment;
use super::world::{Store, World};

/// Cells that share a world.
const SHARED: usize = 24;

type Place = (&'static str, &'static str, &'static str);

/// What was covered, and what failed.
#[derive(Debug, Default)]
pub struct Matrix {
    /// Cells whose fault happened and after which everything holds.
    pub covered: BTreeMap<Place, u32>,
    /// Cells that failed, with the reason.
    pub failed: Vec<(Place, String)>,
}

/// Plays every cell, or those of one boundary or fault alone, `jobs` worlds at a
/// time; `progress` is told how many are done, of how many.
///
/// # Panics
///
/// When no world can be made.
pub async fn matrix(
    store: Store,
    only: &str,
    jobs: usize,
    progress: impl Fn(usize, usize) + Send + Sync + 'static,
) -> Matrix {
    let mut cells = cells_of(store).await;
    cells.retain(|cell| only.is_empty() || cell.boundary == only || cell.fault == only);
    // Those that wait for a checkpoint hold nobody up when they come first.
    cells.sort_by_key(|cell| cell.boundary != "checkpoint");
    let all = cells.len();
    let queue = Arc::new(Mutex::new(VecDeque::from(cells)));
    let matrix = Arc::new(Mutex::new(Matrix::default()));
    let progress = Arc::new(progress);
    let mut tasks = JoinSet::new();
    for _ in 0..jobs.max(1) {
        let (queue, matrix) = (Arc::clone(&queue), Arc::clone(&matrix));
        let progress = Arc::clone(&progress);
        tasks.spawn(async move {
            loop {
                // A world ends with the first cell that fails, by a panic too.
                let (queue, matrix) = (Arc::clone(&queue), Arc::clone(&matrix));
                let progress = Arc::clone(&progress);
                let world = async move { some(store, &queue, &matrix, all, &*progress).await };
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
    queue: &Mutex<VecDeque<Cell>>,
    matrix: &Mutex<Matrix>,
    all: usize,
    progress: &(dyn Fn(usize, usize) + Send + Sync),
) -> bool {
    let next = || queue.lock().unwrap().pop_front();
    let Some(mut cell) = next() else { return false };
    let mut world = World::new(store).await;
    for number in 0..SHARED {
        let place = (cell.boundary, cell.moment, cell.fault);
        let done = one(&mut world, &format!("c{number}"), &cell).await;
        let count = {
            let mut matrix = matrix.lock().unwrap();
            match &done {
                Ok(()) => *matrix.covered.entry(place).or_default() += 1,
                Err(why) => matrix.failed.push((place, why.clone())),
            }
            matrix.covered.values().sum::<u32>() as usize + matrix.failed.len()
        };
        progress(count, all);
        if done.is_err() {
            return true;
        }
        match next() {
            Some(following) => cell = following,
            None => {
                end(world, place, matrix).await;
                return false;
            }
        }
    }
    queue.lock().unwrap().push_front(cell);
    end(world, ("open", "after", "kill"), matrix).await;
    true
}

async fn end(mut world: World, place: Place, matrix: &Mutex<Matrix>) {
    if let Err(why) = world.end().await {
        let why = format!("the evidence of its world: {why}");
        matrix.lock().unwrap().failed.push((place, why));
    }
}

async fn one(world: &mut World, prefix: &str, cell: &Cell) -> Result<(), String> {
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
        Sign::Library => world.victim(0).fired(),
        Sign::Moment(moment) => world.upstream.acted(&main.key, moment),
        Sign::CutOff => arrivals.iter().any(|arrival| arrival.answered.is_none()),
        Sign::Step => true,
    };
    played.map_err(|broken| broken.join("\n"))?;
    if !happened {
        return Err("the fault did not happen".to_owned());
    }
    let same = |sent: &&Sent| sent.key == main.key && sent.round == main.round;
    let then = sent[from..].iter().rfind(same);
    let then = then.map_or("nothing", |sent| sent.told.word());
    let fits = cell.told.contains(&main.told.word())
        && cell.then.contains(&then)
        && cell.arrivals.contains(&arrivals.len());
    if fits {
        Ok(())
    } else {
        Err(format!(
            "told `{}` (expected {:?}), then `{then}` ({:?}), {} arrivals ({:?})",
            main.told.word(),
            cell.told,
            cell.then,
            arrivals.len(),
            cell.arrivals
        ))
    }
}

async fn cells_of(store: Store) -> Vec<Cell> {
    match store {
        Store::Sqlite => cells::sqlite(first_writes().await),
        Store::Postgres => cells_postgres::postgres(),
    }
}

/// How many writes to the WAL the first transaction of a start makes: a start
/// with something left in flight is recorded.
async fn first_writes() -> u32 {
    let mut world = World::sqlite().await;
    let mut left = Call::new(0);
    left.meanwhile = Some((Moment::Effect, Deed::Kill));
    let _ = world.call("recorded", &left).await;
    let victim = world.victim(0);
    victim.record();
    world.start(0, None).await.unwrap();
    let recorded = victim.recorded();
    let spots = recorded.iter().filter_map(|call| call.at);
    let before = spots.take_while(|at| *at != Spot::WalSync);
    let writes = before.filter(|at| *at == Spot::WalWrite).count();
    assert!(writes > 0, "a start writes: {recorded:?}");
    u32::try_from(writes).unwrap()
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

fn boundaries(store: Store) -> &'static [&'static str] {
    match store {
        Store::Sqlite => &cells::BOUNDARIES,
        Store::Postgres => &cells_postgres::BOUNDARIES,
    }
}

fn faults(store: Store) -> &'static [&'static str] {
    match store {
        Store::Sqlite => &cells::FAULTS,
        Store::Postgres => &cells_postgres::FAULTS,
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
    match store {
        Store::Sqlite => cells::impossible_on_sqlite(boundary, moment, fault),
        Store::Postgres => cells_postgres::impossible(boundary, moment, fault),
    }
}
