//! Renews the lease, looks at everyone else's and at how far they have come, ends
//! those that have run out, and finds what their incarnations left in flight.

use std::time::Duration;

use tokio_postgres::types::Type;

use crate::plan::Row;
use crate::postgres::columns::{Columns, EXECUTION, FROM, executions};
use crate::postgres::connect::{Value, one};
use crate::postgres::ends;
use crate::postgres::store::{RENEW, Store, micros};
use crate::postgres::watch::Standing;
use crate::store::{StoreError, Upkeep};

impl Store {
    /// Rows in flight of incarnations that have ended, some at once.
    pub(super) fn orphans_at_once(&mut self, most: usize) -> Result<Vec<Row>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.run(async |client| {
            // What another replica is giving up just now, or its owner settles,
            // is theirs.
            let sql = format!(
                "SELECT {EXECUTION} FROM {FROM} \
                 JOIN countersign.incarnations i ON i.number = e.owner \
                 WHERE e.state = 'in-flight' AND i.ended \
                 ORDER BY e.number LIMIT $1 FOR UPDATE OF e SKIP LOCKED"
            );
            let found = client.query_typed(&sql, &[(&most, Type::INT8)]).await?;
            executions(client, &self.logs, &found).await
        })
    }

    /// One look, where one is due.
    pub(super) fn sweep(&mut self) -> Result<Upkeep, StoreError> {
        let now = self.clock.since_boot();
        let heartbeat = self.connector.postgres().heartbeat();
        // Groups renew the lease too; the others are looked at all the same.
        if now.saturating_sub(self.watch.looked()) < heartbeat {
            return Ok(Upkeep::Quiet);
        }
        let lease_us = micros(self.connector.postgres().lease);
        let me = self.incarnation.get();
        let begin = self.connector.begin();
        let (known, own) = (self.known_ends(), self.log_id.clone());
        let (renewed, looked, standing, orphans) = self.run(async |client| {
            let begun = async { Ok::<_, StoreError>(client.batch_execute(&begin).await?) };
            let values: [Value<'_>; 2] = [(&me, Type::INT8), (&lease_us, Type::INT8)];
            let renew = async { Ok(client.query_typed(RENEW, &values).await?) };
            let held = ends::held(client, &known);
            let newest = ends::newest(client, &own);
            let others = async { Ok(client.query_typed(OTHERS, &[]).await?) };
            let orphans = async { Ok(client.query_typed(ORPHANS, &[]).await?) };
            let committed = async { Ok(client.batch_execute("COMMIT").await?) };
            let ((), renewed, held, newest, others, orphans, ()) = tokio::try_join!(
                biased; begun, renew, held, newest, others, orphans, committed
            )?;
            let standing: Result<Vec<_>, _> = others.iter().map(standing).collect();
            let orphans = one(orphans).is_some_and(|row| row.get(0));
            let renewed: Option<i64> = one(renewed).map(|row| row.get(0));
            Ok((renewed, (held, newest), standing?, orphans))
        })?;
        let (held, newest) = looked;
        self.compare(held, &newest)?;
        let Some(renewed) = renewed else {
            self.lease.end();
            return Ok(Upkeep::Ended);
        };
        self.confirmed = Some(self.renewed(renewed)?);
        self.lease.renewed(now);
        let seen = standing.iter().map(|other| other.number).max();
        self.highest = self.highest.max(seen.unwrap_or(0));
        let others: Vec<Standing> = standing
            .into_iter()
            .filter(|other| other.number != me)
            .collect();
        let gone = self.watch.look(self.clock.since_boot(), &others);
        if !gone.is_empty() {
            self.end(&gone)?;
        }
        Ok(if orphans || !gone.is_empty() {
            Upkeep::Orphans
        } else {
            Upkeep::Quiet
        })
    }

    /// Ends incarnations whose lease has run out. One that renewed meanwhile
    /// goes on: the condition is looked at again once its row is locked.
    fn end(&self, gone: &[i64]) -> Result<(), StoreError> {
        let gone = gone.to_vec();
        let begin = self.connector.begin();
        let ended = self.run(async |client| {
            // Two leases are counted from now: one that comes from a backup ran out long
            // before its owner stopped sending.
            let sql = "UPDATE countersign.incarnations \
                       SET ended = true, lease_until = clock_timestamp() \
                       WHERE number = ANY ($1) AND NOT ended AND lease_until < clock_timestamp()";
            let begun = client.batch_execute(&begin);
            let values: [Value<'_>; 1] = [(&gone, Type::INT8_ARRAY)];
            let ended = client.execute_typed(sql, &values);
            let committed = client.batch_execute("COMMIT");
            let ((), ended, ()) = tokio::try_join!(biased; begun, ended, committed)?;
            Ok(ended)
        })?;
        if ended > 0 {
            tracing::warn!(ended, "incarnations whose lease has run out were ended");
        }
        Ok(())
    }
}

const OTHERS: &str = "SELECT number, renewals, lease_us, lease_until < clock_timestamp() \
    FROM countersign.incarnations WHERE NOT ended";

const ORPHANS: &str = "SELECT EXISTS (SELECT 1 FROM countersign.executions e \
    JOIN countersign.incarnations i ON i.number = e.owner \
    WHERE e.state = 'in-flight' AND i.ended)";

fn standing(row: &tokio_postgres::Row) -> Result<Standing, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Standing {
        number: columns.get()?,
        renewals: columns.get()?,
        lease: Duration::from_micros(columns.count()?),
        expired: columns.get()?,
    })
}
