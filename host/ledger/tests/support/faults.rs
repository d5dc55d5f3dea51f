//! Faults that a test makes at the named points of the writer's way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use countersign_ledger::{Fault, Ledger, Point, Probe, State};

use super::{Fixture, Kept, agent, execution_id};

/// Makes the next passages of some points fail.
#[derive(Default)]
pub struct Failing(Mutex<Vec<(Point, Fault)>>);

impl Failing {
    pub fn next(&self, faults: &[(Point, Fault)]) {
        self.0.lock().unwrap().extend(faults);
    }

    pub fn none(&self) {
        self.0.lock().unwrap().clear();
    }

    pub fn all_met(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

impl Probe for Failing {
    fn at(&self, point: Point) -> Result<(), Fault> {
        let mut faults = self.0.lock().unwrap();
        match faults.iter().position(|(at, _)| *at == point) {
            Some(index) => Err(faults.remove(index).1),
            None => Ok(()),
        }
    }
}

/// Holds the writer back, with what it has taken, until it is let go.
#[derive(Default)]
pub struct Hold {
    writer: Mutex<Held>,
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    held: bool,
    /// It stands there.
    stands: bool,
}

impl Hold {
    pub fn set(&self, held: bool) {
        self.writer.lock().unwrap().held = held;
        self.changed.notify_all();
    }

    /// Waits until the writer has taken something, and is held back with it.
    pub fn until_it_stands(&self) {
        let writer = self.writer.lock().unwrap();
        drop(
            self.changed
                .wait_while(writer, |writer| !writer.stands)
                .unwrap(),
        );
    }
}

impl Probe for Hold {
    fn at(&self, point: Point) -> Result<(), Fault> {
        if point == Point::Taken {
            let mut writer = self.writer.lock().unwrap();
            writer.stands = true;
            self.changed.notify_all();
            let mut writer = self
                .changed
                .wait_while(writer, |writer| writer.held)
                .unwrap();
            writer.stands = false;
        }
        Ok(())
    }
}

/// Panics at one point, once others have failed.
pub struct Panicking {
    pub faults: Failing,
    pub at: Point,
    pub armed: AtomicBool,
}

impl Probe for Panicking {
    fn at(&self, point: Point) -> Result<(), Fault> {
        assert!(
            point != self.at || !self.armed.load(Ordering::SeqCst),
            "the writer panics at `{}`, as the test wants it to",
            point.as_str()
        );
        self.faults.at(point)
    }
}

pub fn failing(kept: Kept) -> (Fixture, Arc<Failing>, Ledger) {
    let mut fixture = Fixture::on(kept);
    let failing = Arc::<Failing>::default();
    fixture.options.probe = Some(Arc::<Failing>::clone(&failing));
    let ledger = fixture.open();
    (fixture, failing, ledger)
}

pub fn state(ledger: &Ledger, id: &str) -> Option<State> {
    let found = ledger
        .lookup(&agent("alice"), &execution_id(id))
        .wait()
        .unwrap();
    found.map(|execution| execution.record.state)
}

/// Lets the writer try again what it keeps.
pub fn let_time_pass(fixture: &Fixture, ledger: &Ledger) {
    fixture.clock.advance(Duration::from_secs(2));
    drop(ledger.checkpoint().wait());
    fixture.clock.advance(Duration::from_secs(2));
    ledger.checkpoint().wait().unwrap();
}

/// Holds a writer back at one point, as if its process were paused there.
#[derive(Default)]
pub struct Pause(Mutex<Paused>, Condvar);

#[derive(Default)]
struct Paused {
    at: Option<Point>,
    holds: bool,
}

impl Pause {
    /// The next passage of `point` is held until [`Pause::wake`].
    pub fn at(&self, point: Point) {
        self.0.lock().unwrap().at = Some(point);
    }

    pub fn wait_until_it_holds(&self) {
        let paused = self.0.lock().unwrap();
        drop(self.1.wait_while(paused, |paused| !paused.holds).unwrap());
    }

    pub fn wake(&self) {
        *self.0.lock().unwrap() = Paused::default();
        self.1.notify_all();
    }
}

impl Probe for Pause {
    fn at(&self, point: Point) -> Result<(), Fault> {
        let mut paused = self.0.lock().unwrap();
        if paused.at == Some(point) {
            paused.holds = true;
            self.1.notify_all();
            drop(
                self.1
                    .wait_while(paused, |paused| paused.at == Some(point))
                    .unwrap(),
            );
        }
        Ok(())
    }
}
