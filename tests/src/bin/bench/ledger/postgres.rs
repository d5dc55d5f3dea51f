//! What groups gain on PostgreSQL, with its own durability switched on: the
//! same pairs in shared transactions and in one for each request.

use std::time::Duration;

use countersign_test_postgres::Cluster;

use super::stage::{self, Kept};
use super::{TURNS, load, middle, rates};

const TURN: Duration = Duration::from_millis(2_500);

pub(super) fn grouped_against_alone() {
    let cluster = Cluster::shared();
    println!("\nledger on PostgreSQL: pairs of reserve and settle in a second");
    let turn = |kept: Kept| {
        let database = cluster.database();
        let folder = tempfile::tempdir().unwrap();
        let ledger = stage::open_postgres(folder.path(), &database.url(), kept);
        let run = load::on(&ledger, folder.path(), "e", 64, TURN);
        ledger.stop().unwrap();
        run.rate
    };
    let (mut alone, mut grouped) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        // In turns, so that both see the same machine.
        alone.push(turn(Kept::ALONE));
        grouped.push(turn(Kept::GROUPED));
    }
    let ratio = middle(&mut grouped) / middle(&mut alone);
    println!("  64 clients");
    println!("    a transaction each {}", rates(&mut alone));
    println!("    grouped            {}", rates(&mut grouped));
    println!("    ratio              {ratio:>8.1} (at least 3)");
}
