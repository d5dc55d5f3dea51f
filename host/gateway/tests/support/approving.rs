//! Approving what a server offers.

use std::path::Path;

use countersign_gateway::catalog::office;
use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;

/// Approves what the upstream offers, as the command line does.
pub async fn approve(folder: &Path, without: &[&str]) {
    let path = folder.join("countersign.toml");
    let without: Vec<String> = without.iter().map(|name| (*name).to_owned()).collect();
    let approving = tokio::task::spawn_blocking(move || {
        let config = Config::read(&path).unwrap();
        let found = office::look(&config, &Environment::system(), None).unwrap();
        let offers = found
            .into_iter()
            .map(|found| office::approvable(&found.offer.unwrap(), &without).0);
        office::approve(&config, offers.collect(), "reviewed").unwrap();
    });
    approving.await.unwrap();
}
