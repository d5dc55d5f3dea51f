//! What is held open on the strength of a credential ends with it.

use countersign_gateway::identity::{Token, TokenFile};
use http::Method;
use serde_json::json;

use crate::issuer::{Key, claims, configured, token};
use crate::support::clock::Moved;
use crate::support::relaying::{ALL, META, ask};
use crate::support::{Client, Gateway, PERMIT_ALL, Upstream, until};
use crate::{FILE, folder};

const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"news"}}"#;

/// Two agents whose credentials can be ended apart.
struct Agents {
    gateway: Gateway,
    clock: Moved,
    file: TokenFile,
    leaving: Client,
    staying: Client,
}

async fn agents(upstream: &Upstream, revision: &str, credential: &str) -> Agents {
    upstream.announce(json!({"tools": {}, "logging": {}, "resources": {"subscribe": true}}));
    let key = Key::ec();
    let mut file = TokenFile::default();
    let mut bearers = Vec::new();
    for (byte, name, exp) in [(1, "leaving", 600), (2, "staying", 100_000)] {
        let of_file = Token::from_random([byte; 32]);
        file.add(name, &of_file, "now").unwrap();
        let exp = (crate::issuer::now() + exp).to_string();
        let members = claims("exp", &exp).replace("\"billing\"", &format!("\"{name}\""));
        bearers.push(match credential {
            "file" => of_file.reveal().to_owned(),
            _ => token(&key, &members),
        });
    }
    let identity = match credential {
        "file" => "[identity]\nmode = \"tokens\"\ntokens = \"tokens.toml\"\n".to_owned(),
        _ => configured("", FILE),
    };
    let folder = folder(upstream, PERMIT_ALL, &identity, &key.set());
    let config = folder.path().join("countersign.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let passed =
        format!("\nrevision = \"{revision}\"\nmethods = {ALL}\n[[server]]\nname = \"other\"");
    let text = text.replace("\n[[server]]\nname = \"other\"", &passed);
    std::fs::write(config, text).unwrap();
    std::fs::write(folder.path().join("tokens.toml"), file.to_text()).unwrap();
    let (clock, environment) = Moved::environment();
    let gateway = Gateway::start_at(folder, environment).await;
    let client = |bearer: &str| {
        let client = gateway.client();
        client.with("authorization", &format!("Bearer {bearer}"))
    };
    Agents {
        leaving: client(&bearers[0]),
        staying: client(&bearers[1]),
        gateway,
        clock,
        file,
    }
}

impl Agents {
    /// Takes the first agent's token out of the file, or lets its time pass.
    fn end(&mut self, credential: &str) {
        if credential == "file" {
            self.file.revoke("leaving");
            let path = self.gateway.path().join("tokens.toml");
            std::fs::write(path, self.file.to_text()).unwrap();
        } else {
            self.clock.on(700);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_clients_own_ends_with_its_credential_and_no_others() {
    for credential in ["file", "jwt"] {
        let upstream = Upstream::start().await;
        let mut agents = agents(&upstream, "2025-11-25", credential).await;
        let leaving = agents.leaving.session().await;
        let staying = agents.staying.session().await;
        let mut ending = leaving.stream(Method::GET, "").await;
        let mut lasting = staying.stream(Method::GET, "").await;
        assert_eq!(
            (ending.status.as_u16(), lasting.status.as_u16()),
            (200, 200)
        );
        until("both are listened for", || upstream.listeners() == 2).await;
        upstream.tell(NEWS).await;
        assert!(ending.next().await.is_some(), "{credential}");
        assert!(lasting.next().await.is_some(), "{credential}");
        agents.end(credential);
        // Nothing is held open upstream in its name either.
        until("one is let go", || upstream.listeners() == 1).await;
        upstream.tell(NEWS).await;
        assert_eq!(ending.next().await, None, "{credential}");
        assert!(lasting.next().await.is_some(), "{credential}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_ends_with_its_clients_credential_and_no_others() {
    for credential in ["file", "jwt"] {
        let upstream = Upstream::start().await;
        let mut agents = agents(&upstream, "2026-07-28", credential).await;
        upstream.hang("subscriptions/listen");
        let listen = ask(
            "subscriptions/listen",
            &format!(r#""notifications":{{}},{META}"#),
        );
        let stream = async |client: &Client| {
            let client = client.modern("subscriptions/listen", None);
            client.stream(Method::POST, &listen).await
        };
        let mut ending = stream(&agents.leaving).await;
        let mut lasting = stream(&agents.staying).await;
        assert_eq!(
            (ending.status.as_u16(), lasting.status.as_u16()),
            (200, 200)
        );
        assert_eq!(upstream.asked("subscriptions/listen").len(), 2);
        agents.end(credential);
        // It is told why, and that is all.
        let last = ending.next().await;
        assert!(
            last.is_none_or(|last| last.contains("error")),
            "{credential}"
        );
        assert_eq!(ending.next().await, None, "{credential}");
        upstream.hang_no_more();
        assert!(lasting.next().await.is_some(), "{credential}");
    }
}
