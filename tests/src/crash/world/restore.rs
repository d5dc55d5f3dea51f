//! Old copies of stores, put in their place and taken away again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::server::Server;
use super::{Replica, World};

impl World {
    /// Plays with the replicas on an old copy of their store, and gives it back
    /// to them afterwards. On a shared database all of them are down before.
    ///
    /// # Errors
    ///
    /// Where one does not start.
    pub async fn restored(&mut self, replica: usize) -> Result<(), String> {
        if self.old.is_none() {
            return self.replicas[replica].restored().await;
        }
        self.clear();
        for replica in &mut self.replicas {
            replica.gateway.kill();
        }
        self.replace_database();
        for replica in &mut self.replicas {
            replica.start(None).await?;
        }
        Ok(())
    }

    /// The same while they run: their connections end, and behind the next ones
    /// is an old copy. Whether there is such a database.
    pub fn restored_below(&mut self) -> bool {
        self.clear();
        for replica in &self.replicas {
            replica.victim.shut(true);
        }
        self.replace_database();
        for replica in &self.replicas {
            replica.victim.shut(false);
        }
        self.kept.is_some()
    }

    /// What was armed does not happen to the copy.
    fn clear(&self) {
        for Replica { victim, .. } in &self.replicas {
            victim.stormy.store(true, Ordering::SeqCst);
            victim.faults.disarm();
            if let Some(shared) = &victim.shared {
                shared.proxy.calm();
            }
        }
    }

    /// Nobody is connected to it.
    fn replace_database(&mut self) {
        let Some(old) = &self.old else { return };
        let Some(server) = self.server() else { return };
        server.calm();
        let kept = server.database().backup();
        server.database().restore(old);
        self.kept = Some(kept);
    }

    /// Gives back what [`World::restored`] took; nothing runs afterwards.
    pub fn give_back(&mut self, replica: usize) {
        let Some(kept) = self.kept.take() else {
            return self.replicas[replica].give_back();
        };
        for replica in &mut self.replicas {
            replica.gateway.kill();
        }
        if let Some(server) = self.server() {
            server.database().restore(&kept);
        }
    }

    fn server(&self) -> Option<Arc<Server>> {
        let shared = self.replicas.first()?.victim.shared.as_ref()?;
        Some(Arc::clone(&shared.server))
    }
}
