//! A PgBouncer in transaction mode.

use std::io::Write as _;
use std::process::Stdio;

use crate::Database;
use crate::binaries::{command, system_program};
use crate::cluster::free_port;
use crate::keeper::{self, Keeper};

/// A running pooler; it ends when it is dropped.
#[derive(Debug)]
pub struct Pooler {
    keeper: Keeper,
    port: u16,
    database: String,
}

impl Pooler {
    /// Starts one in front of a database; none where PgBouncer is missing, which
    /// it says.
    pub(crate) fn start(database: &Database) -> Option<Self> {
        let Some(program) = system_program("pgbouncer") else {
            eprintln!("PgBouncer is not installed (`apt-get install pgbouncer`)");
            return None;
        };
        let folder = keeper::folder("pgbouncer");
        let port = free_port();
        let settings = format!(
            "[databases]\n\
             * = host=127.0.0.1 port={} user=postgres\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\n\
             max_client_conn = 200\ndefault_pool_size = 6\n",
            database.cluster().port()
        );
        let file = folder.join("pgbouncer.ini");
        write(&file.display().to_string(), &settings);
        let words = [program.display().to_string(), file.display().to_string()];
        let keeper = Keeper::start(folder, &words);
        assert!(keeper.says("process up", "FATAL", 0), "{}", keeper.log());
        Some(Self {
            keeper,
            port,
            database: database.name().to_owned(),
        })
    }

    /// The connection string through it.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/{}",
            self.port, self.database
        )
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.keeper.log()
    }
}

/// Writes a file as the user who will read it.
fn write(path: &str, text: &str) {
    let mut tee = command("tee")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("`tee` can be started");
    let mut input = tee.stdin.take().expect("its input is a pipe");
    input.write_all(text.as_bytes()).expect("it takes the text");
    drop(input);
    assert!(tee.wait().expect("it ends").success());
}
