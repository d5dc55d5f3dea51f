//! TLS to a real server: verified for its name by the roots that were named, or
//! not at all.

use std::path::PathBuf;
use std::sync::Arc;

use countersign_ledger::{Ledger, OpenError, Postgres};
use countersign_test_postgres::Cluster;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::support::{TestClock, call, key_of, options_in, reserve, succeeded, verify};

/// An authority, and a folder for its certificate.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self {
            issuer: Issuer::new(params, key),
            folder,
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A server whose certificate is for this name.
    fn server(&self, name: &str) -> Arc<Cluster> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (certificate, key) = (certificate.pem(), key.serialize_pem());
        Arc::new(Cluster::start_tls(&certificate, &key))
    }
}

fn open(url: &str) -> Result<Ledger, OpenError> {
    let folder = tempfile::tempdir().unwrap();
    let postgres = Postgres::new(url.parse().unwrap());
    let clock = Arc::new(TestClock::that_runs());
    Ledger::open_postgres(postgres, options_in(folder.path()), clock, key_of(1))
}

#[test]
fn a_server_is_taken_that_its_certificate_names_and_every_connection_to_it_is_private() {
    let authority = Authority::new();
    let cluster = authority.server("localhost");
    let database = cluster.database();
    let (port, name) = (cluster.port(), database.name().to_owned());
    let roots = authority.file();
    let url = format!(
        "postgres://postgres@localhost:{port}/{name}?sslmode=verify-full&sslrootcert={}",
        roots.display()
    );
    let ledger = open(&url).unwrap();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    ledger.settle(token, succeeded()).wait().unwrap();
    verify(&ledger);
    let private = database.query(
        "SELECT bool_and(s.ssl), count(*) >= 2 FROM pg_stat_ssl s \
         JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'countersign'",
    );
    assert_eq!(private, "t|t", "the writer's connection, and the readers'");
}

#[test]
fn a_server_that_its_certificate_does_not_name_or_nobody_vouches_for_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let named = authority.server("localhost");
    let elsewhere = authority.server("db.example");
    let plain = Cluster::shared();
    for (why, cluster, host, roots) in [
        ("another name", &elsewhere, "localhost", &authority),
        (
            "an address that it does not name",
            &named,
            "127.0.0.1",
            &authority,
        ),
        (
            "an authority that nobody named",
            &named,
            "localhost",
            &other,
        ),
        ("no TLS at all", &plain, "localhost", &authority),
    ] {
        let (port, roots) = (cluster.port(), roots.file());
        for mode in ["verify-full", "require"] {
            let url = format!(
                "postgres://postgres@{host}:{port}/postgres?sslmode={mode}&sslrootcert={}",
                roots.display()
            );
            let refused = open(&url).unwrap_err();
            assert_eq!(refused.code(), "ledger-unavailable", "{why}: {refused}");
        }
    }
}
