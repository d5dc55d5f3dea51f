//! The name of the database leads to another one, while connections to the first
//! still hold: what is looked at before a rollback is accepted is what is written to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use countersign_evidence::Kind;
use countersign_evidence::key::SigningKey;
use countersign_ledger::{InForce, Ledger, LedgerError, Postgres};
use countersign_test_postgres::Database;

use crate::support::{
    Fixture, Kept, TestClock, call, key, log_id, operator, reserve, succeeded, verify,
};

/// A name for two databases of one server, as a service's address is: who connects
/// is led to the one that it names now, and stays there.
struct Switch {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    database: Mutex<String>,
    /// Each with the database that it leads to, in the order in which they came.
    connections: Mutex<Vec<TcpStream>>,
}

impl Switch {
    fn before(database: &Database) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, server) = (
            listener.local_addr().unwrap().port(),
            database.cluster().port(),
        );
        let shared = Arc::<Shared>::default();
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, theirs) = (client.unwrap(), Arc::clone(&theirs));
                std::thread::spawn(move || carry(client, server, &theirs));
            }
        });
        let switch = Self { port, shared };
        switch.lead_to(database);
        switch
    }

    fn lead_to(&self, database: &Database) {
        *self.shared.database.lock().unwrap() = database.name().to_owned();
    }

    fn connected(&self) -> usize {
        self.shared.connections.lock().unwrap().len()
    }

    /// Breaks one of the connections.
    fn cut(&self, number: usize) {
        let connections = self.shared.connections.lock().unwrap();
        connections[number].shutdown(Shutdown::Both).unwrap();
    }
}

/// Puts the database's name into what a client says first, and passes the rest on.
fn carry(mut client: TcpStream, server: u16, shared: &Shared) {
    let mut length = [0; 4];
    client.read_exact(&mut length).unwrap();
    let mut said = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut said).unwrap();
    let database = shared.database.lock().unwrap().clone();
    let words = said[4..].split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let mut words: Vec<Vec<u8>> = words.collect();
    let at = words.iter().step_by(2).position(|word| word == b"database");
    words[2 * at.unwrap() + 1] = database.into_bytes();
    let said = [&said[..4], &words.join(&0)].concat();
    let mut to = TcpStream::connect(("127.0.0.1", server)).unwrap();
    let length = u32::try_from(said.len() + 4).unwrap();
    to.write_all(&length.to_be_bytes()).unwrap();
    to.write_all(&said).unwrap();
    let (mut back_from, mut back_to) = (to.try_clone().unwrap(), client.try_clone().unwrap());
    let mut connections = shared.connections.lock().unwrap();
    connections.push(client.try_clone().unwrap());
    drop(connections);
    std::thread::spawn(move || {
        drop(std::io::copy(&mut back_from, &mut back_to));
        drop(back_to.shutdown(Shutdown::Both));
    });
    drop(std::io::copy(&mut client, &mut to));
    drop(to.shutdown(Shutdown::Both));
}

fn run(ledger: &Ledger, name: &str) {
    let token = reserve(ledger, &call(name, Some(name)));
    ledger.settle(token, succeeded()).wait().unwrap();
}

#[test]
fn which_key_an_older_log_goes_on_under_is_asked_where_it_is_written() {
    let fixture = Fixture::on(Kept::Postgres);
    let newer = fixture.database();
    let switch = Switch::before(newer);
    let open = |key| {
        let url = newer.url_through(switch.port);
        let mut postgres = Postgres::new(url.parse().unwrap());
        postgres.lease = fixture.lease;
        let clock = Arc::new(TestClock::that_runs());
        Ledger::open_postgres(postgres, fixture.options.clone(), clock, key).unwrap()
    };
    let ledger = open(key());
    run(&ledger, "first");
    ledger.stop().unwrap();
    drop(ledger);
    let older = newer.backup();
    let ledger = open(key());
    let next = || SigningKey::from_seed(log_id(), &[9; 32]);
    let mut draft = operator();
    draft.kind = Kind::KeyRotated;
    draft.key = Some(key().rotate(&next().verifying_key()));
    ledger.append(draft, InForce::Unchanged).wait().unwrap();
    ledger.stop().unwrap();
    drop(ledger);

    let writers = switch.connected();
    let ledger = open(next());
    run(&ledger, "second");
    let size = ledger.head().wait().unwrap().size;
    // The writer's connection alone breaks; readers still reach the newer database.
    switch.lead_to(&older);
    switch.cut(writers);
    for tried in 0..600 {
        let said = ledger
            .reserve(call("third", Some("third")).attempt())
            .wait();
        match said.unwrap_err() {
            LedgerError::RolledBack => break,
            LedgerError::Unavailable if tried < 599 => {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ledger.head().wait().unwrap().size, size, "it is read there");
    let accepted = ledger.accept_rollback(operator(), Vec::new()).wait();
    assert_eq!(accepted.unwrap_err(), LedgerError::OtherKey);
    assert!(ledger.rolled_back());
    drop(ledger.stop());
    drop(ledger);

    let ledger = open(key());
    assert!(ledger.rolled_back());
    let accepted = ledger.accept_rollback(operator(), Vec::new());
    accepted.wait().unwrap();
    run(&ledger, "again");
    verify(&ledger);
}
