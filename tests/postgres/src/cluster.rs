//! A PostgreSQL server with files of its own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::Pooler;
use crate::binaries::{self, command, run};
use crate::keeper::{self, Keeper};

/// Beside what each server is started with; a server for tests is small.
const SETTINGS: [&str; 8] = [
    "listen_addresses=127.0.0.1",
    "fsync=on",
    "max_connections=200",
    "shared_buffers=32MB",
    "log_lock_waits=on",
    "restart_after_crash=on",
    "max_wal_senders=4",
    "wal_level=replica",
];

/// A running server.
#[derive(Debug)]
pub struct Cluster {
    keeper: Keeper,
    programs: PathBuf,
    port: u16,
    databases: AtomicU32,
}

/// How a server is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Connections are closed, and everything is written.
    Fast,
    /// As after a crash: the next start recovers.
    Immediate,
}

/// Something that takes a server's log as a standby does.
#[derive(Debug)]
pub struct Standby {
    _keeper: Keeper,
}

/// One database; it goes away with its cluster.
#[derive(Clone, Debug)]
pub struct Database {
    cluster: Arc<Cluster>,
    name: String,
}

impl Cluster {
    /// The server that the tests of this process share, started where none of
    /// them has it.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = shared.upgrade() {
            return running;
        }
        let started = Arc::new(Self::start(&[]));
        *shared = Arc::downgrade(&started);
        started
    }

    /// Starts a server; `settings` like `synchronous_commit=off` come beside the
    /// usual ones.
    #[must_use]
    pub fn start(settings: &[&str]) -> Self {
        Self::start_with(settings, &[])
    }

    /// Starts one that takes TLS, with a certificate and its key, both PEM.
    #[must_use]
    pub fn start_tls(certificate: &str, key: &str) -> Self {
        let files = [("server.crt", certificate), ("server.key", key)];
        // What is named without a folder is in the one of the data.
        Self::start_with(&["ssl=on"], &files)
    }

    /// Starts one with more files beside its data.
    fn start_with(settings: &[&str], files: &[(&str, &str)]) -> Self {
        let programs = binaries::folder();
        let template = template(&programs);
        loop {
            let folder = keeper::folder("postgres");
            let data = folder.join("data");
            run(command("cp").arg("-a").arg(&template).arg(&data));
            for (name, text) in files {
                binaries::put(&data.join(name), text);
            }
            let port = free_port();
            let mut words = vec![
                programs.join("postgres").display().to_string(),
                "-D".to_owned(),
                data.display().to_string(),
                "-p".to_owned(),
                port.to_string(),
                "-k".to_owned(),
                folder.display().to_string(),
            ];
            for setting in SETTINGS.iter().chain(settings) {
                words.push("-c".to_owned());
                words.push((*setting).to_owned());
            }
            let keeper = Keeper::start(folder, &words);
            // Another process may have taken the port meanwhile.
            if keeper.says(READY, "FATAL", 0) {
                return Self {
                    keeper,
                    programs,
                    port,
                    databases: AtomicU32::new(0),
                };
            }
            let log = keeper.log();
            assert!(log.contains("Address already in use"), "{log}");
        }
    }

    /// A new, empty database.
    #[must_use]
    pub fn database(self: &Arc<Self>) -> Database {
        Database {
            cluster: Arc::clone(self),
            name: self.database_from("template1"),
        }
    }

    fn database_from(&self, template: &str) -> String {
        let name = self.free_name();
        let sql = format!("CREATE DATABASE {name} TEMPLATE {template}");
        self.query("postgres", &sql);
        name
    }

    fn free_name(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::SeqCst);
        format!("test_{number}")
    }

    /// The port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its Unix socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        self.keeper.folder()
    }

    /// Runs statements as the superuser, and answers the rows as text, fields
    /// parted by `|`.
    pub fn query(&self, database: &str, sql: &str) -> String {
        run(&mut self.psql(database, sql)).trim_end().to_owned()
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        let port = self.port.to_string();
        psql.args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres"])
            .args(["-d", database, "-v", "ON_ERROR_STOP=1", "-XAtqc", sql]);
        psql
    }

    /// Something that takes the server's log as a standby does, and is not
    /// synchronous. It ends when it is dropped.
    #[must_use]
    pub fn standby(&self) -> Standby {
        let folder = keeper::folder("standby");
        let words = [
            self.programs.join("pg_receivewal").display().to_string(),
            "-v".to_owned(),
            "-D".to_owned(),
            folder.display().to_string(),
            "-h".to_owned(),
            "127.0.0.1".to_owned(),
            "-p".to_owned(),
            self.port.to_string(),
            "-U".to_owned(),
            "postgres".to_owned(),
        ];
        let keeper = Keeper::start(folder, &words);
        assert!(
            keeper.says("starting log streaming", "error:", 0),
            "{}",
            keeper.log()
        );
        let connected = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        while self.query("postgres", connected) != "1" {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Standby { _keeper: keeper }
    }

    /// Ends the server; its files stay.
    pub fn stop(&self, how: Shutdown) {
        self.keeper.order(match how {
            Shutdown::Fast => "INT",
            Shutdown::Immediate => "QUIT",
        });
    }

    /// Starts it again on the same files and port.
    pub fn start_again(&self) {
        let from = self.keeper.log().len();
        self.keeper.order("start");
        assert!(
            self.keeper.says(READY, "could not bind", from),
            "{}",
            self.keeper.log()
        );
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.keeper.log()
    }
}

const READY: &str = "database system is ready to accept connections";

impl Database {
    /// The connection string, without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/{}",
            self.cluster.port, self.name
        )
    }

    /// The connection string through a proxy of that port of loopback.
    #[must_use]
    pub fn url_through(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/{}", self.name)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server that it is in.
    #[must_use]
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Runs statements as the superuser, and answers the rows as text, fields
    /// parted by `|`.
    pub fn query(&self, sql: &str) -> String {
        self.cluster.query(&self.name, sql)
    }

    /// Copies it, as a backup would; every connection to it ends.
    #[must_use]
    pub fn backup(&self) -> Self {
        let copy = self.cluster.free_name();
        let sql = format!("CREATE DATABASE {copy} TEMPLATE {}", self.name);
        // Whoever was connected comes back, and may do so before it is copied.
        let made = (0..50).any(|_| {
            self.cut_connections();
            let made = self.cluster.psql("postgres", &sql).output();
            made.is_ok_and(|made| made.status.success())
        });
        assert!(made, "{} cannot be copied", self.name);
        Self {
            cluster: Arc::clone(&self.cluster),
            name: copy,
        }
    }

    /// Puts what a backup holds in its place.
    pub fn restore(&self, backup: &Self) {
        let (name, from) = (&self.name, &backup.name);
        self.cluster
            .query("postgres", &format!("DROP DATABASE {name} WITH (FORCE)"));
        self.cluster.query(
            "postgres",
            &format!("CREATE DATABASE {name} TEMPLATE {from}"),
        );
    }

    /// Ends every connection to it, as an administrator would.
    pub fn cut_connections(&self) {
        self.query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
    }

    /// A pooler in front of it that hands out connections for a transaction at a
    /// time; none where PgBouncer is not installed.
    #[must_use]
    pub fn pooler(&self) -> Option<Pooler> {
        Pooler::start(self)
    }
}

/// A cluster that was made once, and is copied for each server.
fn template(programs: &Path) -> PathBuf {
    let version = run(Command::new(programs.join("postgres")).arg("--version"));
    let version: String = version
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || *character == '.')
        .collect();
    let user = rustix::process::geteuid().as_raw();
    let template = std::env::temp_dir().join(format!("countersign-{version}-{user}"));
    if !template.join("data/PG_VERSION").exists() {
        let folder = keeper::folder("template");
        let mut initdb = command(programs.join("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres"]);
        initdb.args(["--encoding=UTF8", "--locale=C", "-D"]);
        run(initdb.arg(folder.join("data")));
        // Whoever comes first; the others' are as good.
        let mut take = command("mv");
        drop(take.arg("-T").arg(&folder).arg(&template).output());
        drop(command("rm").arg("-rf").arg(&folder).output());
    }
    template.join("data")
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("it has an address").port()
}
