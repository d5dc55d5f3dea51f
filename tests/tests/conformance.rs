//! The official conformance suite comes out the same through the gateway.
//!
//! Needs what `cargo xtask interop --install` installs, so this runs by
//! `cargo xtask interop` and `cargo xtask test`, not by default.

use countersign_tests::{
    Revision,
    conformance::{Compared, ConformanceServer},
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the suite of `cargo xtask interop --install`"]
async fn the_official_suite_finds_no_difference_and_no_fault_of_the_gateway() {
    let server = ConformanceServer::start().await;
    let mut faults = Vec::new();
    println!("| revision | scenario | directly: pass / warn / fail | through the gateway |");
    println!("|---|---|---|---|");
    for revision in Revision::ALL {
        let compared = Compared::run(&server, revision).await;
        print!("{}", compared.table());
        faults.extend(compared.faults());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
