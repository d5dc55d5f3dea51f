//! How many files may be open, and who may have them: connections of agents take no
//! handle that the ledger, its anchor, health or a server needs.
//!
//! A process begins with a soft limit that is often 1,024, and may raise it to its
//! hard one. What then is left for connections bounds them, whatever is configured.

use std::cmp;

use rustix::process::{Resource, getrlimit, setrlimit};
use thiserror::Error;

use crate::config::{Limits, Server};

/// Handles for the ledger and its anchor, the listeners, operators, whoever asks for
/// numbers, files that are read again, and standard streams.
const OWN: u64 = 128;
/// Handles of one server that is spawned.
const SPAWNED: u64 = 4;
/// The fewest connections with which it makes sense to serve.
const FEWEST: u64 = 16;

/// So few files may be open that nobody could be served.
#[derive(Debug, Error)]
#[error(
    "{limit} files may be open at once, and {needed} are needed: raise the hard limit (`ulimit -Hn`, or `LimitNOFILE=` of the service)"
)]
pub struct TooFewHandles {
    /// How many may be open.
    limit: u64,
    /// How many are needed at least.
    needed: u64,
}

/// Raises the soft limit of this process to its hard one; answers how many files may be
/// open then.
pub(crate) fn raise() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let now = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.current,
        Err(error) => {
            tracing::warn!("the limit of open files cannot be raised: {error}");
            before
        }
    };
    now.unwrap_or(u64::MAX)
}

/// Bounds connections by what `limit` handles leave for them, and each address's share
/// with them.
///
/// # Errors
/// [`TooFewHandles`].
pub(crate) fn bound(
    limits: &mut Limits,
    servers: &[Server],
    limit: u64,
) -> Result<(), TooFewHandles> {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let own = OWN.saturating_add(SPAWNED.saturating_mul(count(servers.len())));
    let free = limit.saturating_sub(own);
    // A call holds a connection of its agent and one to its server.
    let called = count(limits.calls_per_server).saturating_mul(count(servers.len()));
    let called = cmp::min(count(limits.calls), called);
    let room = cmp::max(free.saturating_sub(called), free / 2);
    if room < FEWEST {
        let needed = own + 2 * FEWEST;
        return Err(TooFewHandles { limit, needed });
    }
    let configured = count(limits.connections);
    if room >= configured {
        return Ok(());
    }
    tracing::warn!(
        files = limit,
        configured,
        connections = room,
        "fewer connections are served than `limits.connections` says: the hard limit of open files leaves no more"
    );
    let share = count(limits.connections_per_peer).saturating_mul(room) / configured;
    limits.connections = usize::try_from(room).unwrap_or(usize::MAX);
    limits.connections_per_peer = usize::try_from(share.max(1)).unwrap_or(usize::MAX);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    /// Connections in all and of one address, or how many files are needed.
    type Bounded = Result<(usize, usize), u64>;

    #[test]
    fn connections_leave_what_everything_else_needs() {
        // (open files, calls per server, what comes of it)
        let cases: [(u64, usize, Bounded); 8] = [
            (u64::MAX, 128, Ok((4_096, 1_024))),
            (4_096 + 132 + 128, 128, Ok((4_096, 1_024))),
            (4_096 + 132 + 127, 128, Ok((4_095, 1_023))),
            (1_024, 128, Ok((764, 191))),
            (1_024, 1_024, Ok((446, 111))),
            (132 + 32, 128, Ok((16, 4))),
            (132 + 31, 128, Err(164)),
            (0, 128, Err(164)),
        ];
        for (limit, calls_per_server, expected) in cases {
            let text = "[identity]\nmode = \"open\"\n[[server]]\nname = \"s\"\n\
                        url = \"http://127.0.0.1/\"\n";
            let config = Config::parse(text, Path::new("/etc/c")).unwrap();
            let mut limits = config.limits;
            limits.calls_per_server = calls_per_server;
            let bounded = bound(&mut limits, &config.servers, limit);
            let found = bounded
                .map(|()| (limits.connections, limits.connections_per_peer))
                .map_err(|error| error.needed);
            assert_eq!(found, expected, "{limit}");
        }
    }
}
