//! The PostgreSQL that the replicas of a world share, and what happens to it.
//!
//! One thing after another: a server that is down is not crashed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_test_postgres::{Database, Shutdown};

use super::super::proxy::Table;

/// How long a server that was stopped may stay away.
const AWAY: Duration = Duration::from_secs(300);

/// What a full disk is to a statement: an error of the server's own.
const NO_ROOM: &str = "CREATE OR REPLACE FUNCTION public.no_room() RETURNS trigger \
    LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$";

/// The server with the database in it.
#[derive(Debug)]
pub(super) struct Server {
    database: Database,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    down: bool,
    full: Option<Table>,
}

impl Server {
    pub(super) fn of(database: Database) -> Self {
        Self {
            database,
            state: Mutex::default(),
        }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Ends the back ends of the connections that come from these ports; whether
    /// there were any.
    pub(super) fn terminate(&self, ports: &[u16]) -> bool {
        let state = self.state.lock().unwrap();
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        if state.down || ports.is_empty() {
            return false;
        }
        let ended = self.database.query(&format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE client_port = ANY ('{{{}}}')",
            ports.join(",")
        ));
        ended != "0"
    }

    /// Crashes it, and starts it again; whether it was there.
    pub(super) fn crash(&self) -> bool {
        let state = self.state.lock().unwrap();
        if state.down {
            return false;
        }
        self.database.cluster().stop(Shutdown::Immediate);
        self.database.cluster().start_again();
        true
    }

    /// Stops it, and starts it again later; whether it was there.
    pub(super) fn down(self: &Arc<Self>, ms: u32) -> bool {
        let mut state = self.state.lock().unwrap();
        if state.down {
            return false;
        }
        self.database.cluster().stop(Shutdown::Fast);
        state.down = true;
        let server = Arc::clone(self);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(ms.into()));
            let mut state = server.state.lock().unwrap();
            server.database.cluster().start_again();
            state.down = false;
        });
        true
    }

    /// From now on there is no room for rows of a table: each statement says so,
    /// or each commit. Whether that could be arranged.
    pub(super) fn fill(&self, table: Table, at_commit: bool) -> bool {
        let mut state = self.state.lock().unwrap();
        if state.down || state.full.is_some() {
            return false;
        }
        let (constraint, deferred) = if at_commit {
            ("CONSTRAINT", "DEFERRABLE INITIALLY DEFERRED")
        } else {
            ("", "")
        };
        self.database.query(&format!(
            "{NO_ROOM}; CREATE {constraint} TRIGGER no_room AFTER INSERT ON {} {deferred} \
             FOR EACH ROW EXECUTE FUNCTION public.no_room()",
            table.name()
        ));
        state.full = Some(table);
        true
    }

    /// There is room again, and it is there.
    ///
    /// # Panics
    ///
    /// When it does not come back.
    pub(super) fn calm(&self) {
        let began = crate::environment::now();
        let mut state = loop {
            let state = self.state.lock().unwrap();
            if !state.down {
                break state;
            }
            drop(state);
            assert!(began.elapsed() < AWAY, "the server does not come back");
            std::thread::sleep(Duration::from_millis(20));
        };
        if let Some(table) = state.full.take() {
            let sql = format!("DROP TRIGGER no_room ON {}", table.name());
            self.database.query(&sql);
        }
    }
}
