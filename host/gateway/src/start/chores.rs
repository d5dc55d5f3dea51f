//! What is done from time to time while a gateway runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::front::tasks;
use crate::state::{Gateway, Server};
use crate::tls;

/// How often counted attempts are written.
const SUPPRESSED_EVERY: Duration = Duration::from_secs(10);
/// How often tasks are looked for whose time is up.
const TASKS_EVERY: Duration = Duration::from_secs(1);
/// At which of these looks all open tasks are gone through, and not only the oldest.
const ALL_TASKS_EVERY: u32 = 10;
/// How often the certificate is looked at.
const CERTIFICATE_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether a server is due to be asked for its tools, at
/// most.
const CATALOGS_EVERY: Duration = Duration::from_secs(1);

/// How often it is tried to write what decides, where it is not known what came
/// into force.
const SETTLED_EVERY: Duration = Duration::from_secs(1);

/// Asks a server for its tools when that is due; each apart from all else, since
/// a server may take its time.
async fn poll_catalog(gateway: Arc<Gateway>, server: Arc<Server>) {
    let every = gateway.sources.catalog.poll.min(CATALOGS_EVERY);
    let mut due = tokio::time::interval(every);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        gateway.poll_catalog(&server).await;
    }
}

/// Writes what decides, where a change broke off; apart, since a ledger that is away
/// may take its time.
async fn settle_doubt(gateway: Arc<Gateway>) {
    let mut due = tokio::time::interval(SETTLED_EVERY);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        gateway.settle_doubt().await;
    }
}

/// Ends tasks whose time is up; apart, since there may be many.
async fn end_overdue(gateway: Arc<Gateway>) {
    let mut due = tokio::time::interval(TASKS_EVERY);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for look in (0..ALL_TASKS_EVERY).cycle() {
        due.tick().await;
        tasks::end_overdue(&gateway, look == 0).await;
    }
}

/// What is done from time to time.
pub(super) async fn chores(gateway: Arc<Gateway>, front: Option<Arc<tls::Front>>) {
    let mut suppressed = tokio::time::interval(SUPPRESSED_EVERY);
    let mut certificate = tokio::time::interval(CERTIFICATE_EVERY);
    // They end with this.
    let mut others = JoinSet::new();
    for server in gateway.servers.values() {
        others.spawn(poll_catalog(Arc::clone(&gateway), Arc::clone(server)));
    }
    others.spawn(settle_doubt(Arc::clone(&gateway)));
    others.spawn(end_overdue(Arc::clone(&gateway)));
    loop {
        tokio::select! {
            _ = suppressed.tick() => {
                gateway.suppressed.write(&gateway.ledger, gateway.environment.now()).await;
            }
            _ = certificate.tick() => {
                if let Some(front) = &front {
                    front.refresh();
                }
            }
        }
    }
}
