//! What an operator of a running gateway asks about tools and policies.

use std::sync::Arc;

use countersign_catalog::Offer;

use super::api::{Approve, Discover, Discovered, Offered, Refused, Reloaded};
use super::desk::Desk;
use crate::catalog::office::{asker, offer};
use crate::reload::InForceNow;
use crate::state::{Gateway, Server};

impl Desk {
    pub(super) async fn discover(&self, asked: Discover) -> Result<Discovered, Refused> {
        let gateway = self.running()?;
        let mut servers = Vec::new();
        for server in gateway.servers.values() {
            let name = server.name.as_str();
            if asked.server.as_deref().is_none_or(|only| only == name) {
                servers.push(self.ask(server).await);
            }
        }
        Ok(Discovered { servers })
    }

    async fn ask(&self, server: &Server) -> Offered {
        let name = server.name.as_str();
        let asker = asker(self.environment.user);
        let found = offer(&server.upstream, name, server.digest, &asker).await;
        let (offer, error) = match found.map(|offer| String::from_utf8(offer.to_json())) {
            Ok(Ok(text)) => (Some(text), None),
            Ok(Err(_)) => (None, Some("upstream-unreadable".to_owned())),
            Err(code) => (None, Some(code)),
        };
        Offered {
            server: name.to_owned(),
            offer,
            error,
        }
    }

    pub(super) async fn approve(&self, asked: Approve) -> Result<Reloaded, Refused> {
        let gateway = self.running()?;
        let by = self.resolution(&asked.reason, None)?;
        let mut offers = Vec::with_capacity(asked.offers.len());
        for text in &asked.offers {
            let offer = Offer::from_json(text.as_bytes()).map_err(Refused::malformed)?;
            let server = gateway.server(Some(offer.name()));
            if server.is_none_or(|server| server.digest != offer.server()) {
                return Err(Refused::malformed(format!(
                    "`{}` is no server here, or is at another place",
                    offer.name()
                )));
            }
            offers.push(offer);
        }
        let servers: Vec<String> = offers.iter().map(|offer| offer.name().to_owned()).collect();
        let approving = Arc::clone(gateway);
        let now = whole(async move { approving.approve(offers, by).await }).await?;
        let now = now.map(reloaded).map_err(Refused::reload)?;
        // The operator has seen more than agents may have: calls are held against what
        // is offered now, and not against what was found last.
        for server in &servers {
            if let Some(server) = gateway.server(Some(server)) {
                gateway.renew(server).await;
            }
        }
        Ok(now)
    }

    pub(super) async fn reload(&self, (): ()) -> Result<Reloaded, Refused> {
        let by = self.resolution("reload", None)?;
        let gateway = Arc::clone(self.running()?);
        let now = whole(async move { gateway.reload(Some(by)).await }).await?;
        now.map(reloaded).map_err(Refused::reload)
    }

    fn running(&self) -> Result<&Arc<Gateway>, Refused> {
        let running = self.gateway.as_ref();
        running.ok_or_else(|| Refused::malformed("no gateway runs"))
    }
}

/// Comes to its end though whoever asked goes away in between: what is written of a
/// change and what decides must be one.
pub(super) async fn whole<T: Send + 'static>(
    change: impl Future<Output = T> + Send + 'static,
) -> Result<T, Refused> {
    let ended = tokio::spawn(change).await;
    ended.map_err(|_| {
        Refused::reload("the change broke off; what was in force is put in force again")
    })
}

fn reloaded(now: InForceNow) -> Reloaded {
    Reloaded {
        policies: now.policies.to_string(),
        servers: now.servers,
        profile: now.profile,
        loaded: now.loaded,
    }
}
