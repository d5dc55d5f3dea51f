//! The stores that a world can have.

/// Which store the gateways have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Store {
    /// The embedded one.
    Sqlite,
    /// PostgreSQL, with several replicas.
    Postgres,
}

impl Store {
    /// Every store.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// The store of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|store| store.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}
