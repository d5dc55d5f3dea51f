//! What groups gain on PostgreSQL, with its own durability switched on: the
//! same pairs in shared transactions and in one for each request.

use std::time::Duration;

use countersign_test_postgres::Cluster;

use super::stage::{self, Kept};
use super::{TURNS, load, ratio};
use crate::report::Turns;

pub(super) const TURN: Duration = Duration::from_millis(2_500);

pub(super) fn grouped_against_alone() -> [String; 6] {
    let cluster = Cluster::shared();
    let turn = |kept: Kept| {
        let database = cluster.database();
        let folder = tempfile::tempdir().unwrap();
        let ledger = stage::open_postgres(folder.path(), &database.url(), kept);
        let run = load::on(&ledger, folder.path(), "e", 64, TURN);
        ledger.stop().unwrap();
        run.rate
    };
    let (mut alone, mut grouped) = (Turns::default(), Turns::default());
    for _ in 0..TURNS {
        // In turns, so that both see the same machine.
        alone.add(turn(Kept::ALONE));
        grouped.add(turn(Kept::GROUPED));
    }
    ratio("PostgreSQL, a transaction each", &alone, &grouped, 3.0)
}
