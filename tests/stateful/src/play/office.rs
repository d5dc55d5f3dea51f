//! What operators do, asked of the gateway as the command line asks.

use countersign_gateway::catalog::office;
use countersign_gateway::environment::Environment;
use countersign_gateway::operator::{Office as Answers, OperatorError, api};

use super::Player;
use crate::client;
use crate::model::Told;
use crate::plan::{AGENTS, Office, Server};

impl Player {
    pub(super) fn office(&mut self, office: Office) -> Told {
        let config = self.config();
        let of = |agent: usize, id: u8| api::Which::Execution {
            agent: api::Agent {
                method: "token".to_owned(),
                issuer: String::new(),
                subject: AGENTS[agent].to_owned(),
            },
            execution_id: format!("e{id}"),
        };
        let reason = |given: bool| if given { "looked at" } else { "" }.to_owned();
        match office {
            Office::Intrude(agent) => {
                let to = self.stage.address();
                let received = self.runtime.block_on(client::intrude(to, agent));
                received.told()
            }
            Office::Approve { server, without } => self.approve(server, without),
            Office::Reload => self.ask(move || Answers::reload(&config.store).map(drop)),
            other => self.ask(move || {
                let office = Answers::open(&config.store, &Environment::system())?;
                match other {
                    Office::Resolve {
                        agent,
                        id,
                        outcome,
                        reason: given,
                    } => office
                        .resolve(api::Resolve {
                            which: of(agent, id),
                            outcome: Some(outcome),
                            late_answer: false,
                            reason: reason(given),
                            evidence: None,
                        })
                        .map(drop),
                    Office::Abandon { agent, id } => office
                        .abandon(api::Abandon {
                            which: of(agent, id),
                            reason: reason(true),
                            evidence: None,
                        })
                        .map(drop),
                    Office::Accept => office
                        .accept_rollback(api::AcceptRollback {
                            reason: reason(true),
                            evidence: None,
                        })
                        .map(drop),
                    _ => office.list(api::List::default()).map(drop),
                }
            }),
        }
    }

    fn approve(&mut self, server: Server, without: Option<String>) -> Told {
        let config = self.config();
        let (name, left_out) = (
            server.name(),
            without.clone().into_iter().collect::<Vec<_>>(),
        );
        let version = self.model.offers(server);
        let (found, finds) = std::sync::mpsc::channel();
        let told = self.ask(move || {
            let refused = |error: office::CatalogError| match error {
                office::CatalogError::Operator(error) => error,
                other => OperatorError::Broken(other.to_string()),
            };
            let looked = office::look(&config, &Environment::system(), Some(name));
            let offers = looked
                .map_err(refused)?
                .into_iter()
                .filter_map(|one| one.offer.ok());
            let offers: Vec<_> = offers
                .map(|offer| office::approvable(&offer, &left_out).0)
                .collect();
            for offer in &offers {
                let _ = found.send(offer.checkpoint().to_string());
            }
            office::approve(&config, offers, "reviewed").map_err(refused)
        });
        let named = match without {
            None => format!("v{version}"),
            Some(tool) => format!("v{version}-without-{tool}"),
        };
        self.approved
            .extend(finds.try_iter().map(|digest| (digest, named.clone())));
        told
    }

    /// Asks as an operator; `nothing` where the gateway dies before it answers.
    pub(super) fn ask(
        &self,
        asks: impl FnOnce() -> Result<(), OperatorError> + Send + 'static,
    ) -> Told {
        let mut died = self.stage.died();
        let asked = self.runtime.block_on(async {
            let asking = tokio::task::spawn_blocking(asks);
            tokio::select! {
                biased;
                _ = died.wait_for(|died| *died) => None,
                asked = asking => Some(asked.unwrap()),
            }
        });
        Told::word(match &asked {
            None => "nothing",
            Some(Ok(())) => "done",
            Some(Err(OperatorError::Refused(refused))) => &refused.code,
            Some(Err(error)) => {
                let said = error.to_string();
                return Told {
                    word: said,
                    safe: false,
                };
            }
        })
    }
}
