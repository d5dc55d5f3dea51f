//! What a group reads, all at once, and the rows that its plan then looks at.
//!
//! Every row that the group is going to touch is read and locked by one
//! statement, in the order of its number, so that two groups never wait for each
//! other in a circle. What the plan asks for beyond that is read singly; that is
//! seldom.

use std::collections::{HashMap, HashSet};

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId};
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::identity::Incarnation;
use crate::plan::{Row, Rows};
use crate::postgres::columns::{Columns, EXECUTION, FROM, Logs, executions, signed};
use crate::postgres::connect::{Value, in_time, one};
use crate::postgres::doubt::holds;
use crate::store::{StoreError, Wanted};

/// What was read at the beginning of a group.
#[derive(Debug, Default)]
pub(super) struct Read {
    rows: Vec<Row>,
    executions: HashMap<(Agent, ExecutionId), usize>,
    calls: HashMap<CallId, usize>,
    numbers: HashMap<i64, usize>,
    /// What was asked for, so that its absence is known too.
    asked_executions: HashSet<(Agent, ExecutionId)>,
    asked_calls: HashSet<CallId>,
    held: HashMap<Agent, u64>,
}

/// Reads and locks the rows that a group is going to ask for.
pub(super) async fn rows(
    client: &Client,
    wanted: &Wanted<'_>,
) -> Result<Vec<tokio_postgres::Row>, StoreError> {
    if wanted.executions.is_empty() && wanted.calls.is_empty() && wanted.numbers.is_empty() {
        return Ok(Vec::new());
    }
    let agents: Vec<&Agent> = wanted.executions.iter().map(|(agent, _)| *agent).collect();
    let ids: Vec<&str> = wanted
        .executions
        .iter()
        .map(|(_, id)| id.as_str())
        .collect();
    let calls: Vec<&str> = wanted.calls.iter().map(|call| call.as_str()).collect();
    let (methods, issuers, subjects) = parts(&agents);
    let sql = format!(
        "SELECT {EXECUTION} FROM {FROM} WHERE e.number IN (\
             SELECT e.number FROM unnest($1, $2, $3, $4) AS w (method, issuer, subject, id) \
             JOIN countersign.agents a ON a.method = w.method AND a.issuer = w.issuer \
                 AND a.subject = w.subject \
             JOIN countersign.executions e ON e.agent = a.number AND e.execution_id = w.id \
                 AND e.execution_id IS NOT NULL \
             UNION SELECT number FROM countersign.executions WHERE call_id = ANY ($5) \
             UNION SELECT unnest($6)) \
         ORDER BY e.number FOR UPDATE OF e"
    );
    let values: [Value<'_>; 6] = [
        (&methods, Type::BYTEA_ARRAY),
        (&issuers, Type::BYTEA_ARRAY),
        (&subjects, Type::BYTEA_ARRAY),
        (&ids, Type::TEXT_ARRAY),
        (&calls, Type::TEXT_ARRAY),
        (&wanted.numbers, Type::INT8_ARRAY),
    ];
    Ok(client.query_typed(&sql, &values).await?)
}

/// Counts what agents hold, in all logs.
pub(super) async fn held(
    client: &Client,
    agents: &[&Agent],
) -> Result<HashMap<Agent, u64>, StoreError> {
    if agents.is_empty() {
        return Ok(HashMap::new());
    }
    let (methods, issuers, subjects) = parts(agents);
    let sql = "SELECT a.method, a.issuer, a.subject, sum(h.held)::bigint \
               FROM countersign.agents a JOIN countersign.held h ON h.agent = a.number \
               WHERE (a.method, a.issuer, a.subject) IN (SELECT * FROM unnest($1, $2, $3)) \
               GROUP BY 1, 2, 3";
    let values: [Value<'_>; 3] = [
        (&methods, Type::BYTEA_ARRAY),
        (&issuers, Type::BYTEA_ARRAY),
        (&subjects, Type::BYTEA_ARRAY),
    ];
    let mut held: HashMap<Agent, u64> = agents.iter().map(|agent| ((*agent).clone(), 0)).collect();
    for row in client.query_typed(sql, &values).await? {
        let mut columns = Columns::of(&row);
        held.insert(columns.agent()?, columns.count()?);
    }
    Ok(held)
}

/// Values of one column.
type Column<'a> = Vec<&'a [u8]>;

/// The three columns of agents.
pub(super) fn parts<'a>(agents: &[&'a Agent]) -> (Column<'a>, Column<'a>, Column<'a>) {
    let part =
        |of: fn(&Agent) -> &String| agents.iter().map(|agent| of(agent).as_bytes()).collect();
    (
        part(|agent| &agent.method),
        part(|agent| &agent.issuer),
        part(|agent| &agent.subject),
    )
}

impl Read {
    pub(super) fn new(wanted: &Wanted<'_>, rows: Vec<Row>, held: HashMap<Agent, u64>) -> Self {
        let mut read = Self {
            held,
            asked_executions: wanted
                .executions
                .iter()
                .map(|(agent, id)| ((*agent).clone(), (*id).clone()))
                .collect(),
            asked_calls: wanted.calls.iter().map(|call| (*call).clone()).collect(),
            ..Self::default()
        };
        for row in rows {
            let index = read.rows.len();
            let execution = &row.execution;
            if let Some(id) = &execution.execution_id {
                let key = (execution.agent.clone(), id.clone());
                read.executions.insert(key, index);
            }
            read.calls.insert(execution.call_id.clone(), index);
            read.numbers.insert(row.number, index);
            read.rows.push(row);
        }
        read
    }

    fn row(&self, index: Option<&usize>) -> Option<Row> {
        index.and_then(|index| self.rows.get(*index)).cloned()
    }
}

/// The rows as the writer's transaction sees them.
pub(crate) struct InTransaction<'a> {
    pub(super) read: &'a Read,
    /// The number of the log that this replica writes.
    pub(super) log: i64,
    pub(super) logs: &'a Logs,
    pub(super) runtime: &'a Runtime,
    pub(super) client: &'a Client,
    pub(super) patience: std::time::Duration,
}

impl InTransaction<'_> {
    fn query(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let query = in_time(self.patience, self.client.query_typed(sql, values));
        self.runtime.block_on(query)
    }

    fn one_row(&self, condition: &str, values: &[Value<'_>]) -> Result<Option<Row>, StoreError> {
        let sql = format!("SELECT {EXECUTION} FROM {FROM} WHERE {condition} FOR UPDATE OF e");
        let found = self.query(&sql, values)?;
        let reading = executions(self.client, self.logs, &found);
        let rows = self.runtime.block_on(in_time(self.patience, reading))?;
        Ok(rows.into_iter().next())
    }
}

const BY_AGENT: &str = "a.method = $1 AND a.issuer = $2 AND a.subject = $3";

impl Rows for InTransaction<'_> {
    fn by_execution(&self, agent: &Agent, id: &ExecutionId) -> Result<Option<Row>, StoreError> {
        let key = (agent.clone(), id.clone());
        if let Some(row) = self.read.row(self.read.executions.get(&key)) {
            return Ok(Some(row));
        }
        if self.read.asked_executions.contains(&key) {
            return Ok(None);
        }
        self.one_row(
            &format!("{BY_AGENT} AND e.execution_id = $4"),
            &[
                (&agent.method.as_bytes(), Type::BYTEA),
                (&agent.issuer.as_bytes(), Type::BYTEA),
                (&agent.subject.as_bytes(), Type::BYTEA),
                (&id.as_str(), Type::TEXT),
            ],
        )
    }

    fn by_call(&self, call_id: &CallId) -> Result<Option<Row>, StoreError> {
        if let Some(row) = self.read.row(self.read.calls.get(call_id)) {
            return Ok(Some(row));
        }
        if self.read.asked_calls.contains(call_id) {
            return Ok(None);
        }
        self.one_row("e.call_id = $1", &[(&call_id.as_str(), Type::TEXT)])
    }

    fn by_number(&self, number: i64) -> Result<Option<Row>, StoreError> {
        match self.read.row(self.read.numbers.get(&number)) {
            Some(row) => Ok(Some(row)),
            None => self.one_row("e.number = $1", &[(&number, Type::INT8)]),
        }
    }

    fn held_by(&self, agent: &Agent) -> Result<u64, StoreError> {
        if let Some(held) = self.read.held.get(agent) {
            return Ok(*held);
        }
        let agents = [agent];
        let counting = in_time(self.patience, held(self.client, &agents));
        let held = self.runtime.block_on(counting)?;
        Ok(held.get(agent).copied().unwrap_or(0))
    }

    fn issued_to(&self, agent: &Agent, state: &Digest) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM countersign.executions e \
             JOIN countersign.agents a ON a.number = e.agent WHERE {BY_AGENT} AND e.issued = $4)"
        );
        let found = self.query(
            &sql,
            &[
                (&agent.method.as_bytes(), Type::BYTEA),
                (&agent.issuer.as_bytes(), Type::BYTEA),
                (&agent.subject.as_bytes(), Type::BYTEA),
                (&state.to_bytes().as_slice(), Type::BYTEA),
            ],
        )?;
        Ok(one(found).is_some_and(|row| row.get(0)))
    }

    fn retained(&self, number: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT bytes FROM countersign.retained WHERE execution = $1";
        Ok(one(self.query(sql, &[(&number, Type::INT8)])?).map(|row| row.get(0)))
    }

    fn kept_until(&self, number: i64, now_us: i64) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT expires_us FROM countersign.answers \
                   WHERE execution = $1 AND expires_us > $2";
        let found = self.query(sql, &[(&number, Type::INT8), (&now_us, Type::INT8)])?;
        Ok(one(found).map(|row| row.get(0)))
    }

    fn holds(&self, sequence: u64, hash: Digest) -> Result<bool, StoreError> {
        let held = holds(self.client, self.log, signed(sequence)?, hash);
        self.runtime.block_on(in_time(self.patience, held))
    }

    fn dead(&self, incarnation: Incarnation) -> Result<bool, StoreError> {
        // It was given up, and two leases have gone by since it could have begun
        // to send: nothing of it is on its way any more.
        let sql = "SELECT ended AND lease_until + 2 * lease_us * interval '1 microsecond' \
                   < clock_timestamp() FROM countersign.incarnations WHERE number = $1";
        let found = self.query(sql, &[(&incarnation.get(), Type::INT8)])?;
        Ok(one(found).is_some_and(|row| row.get(0)))
    }
}
