//! What else is established of a caller: in policy, in evidence, and when it moves.

use std::path::Path;

use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::export;
use countersign_verifier::{Claim, Components, Inputs, Level, RequestFile, Status, verify};

use crate::issuer::{BASE, ISSUER, Key, bound_to, claims, configured, proof, token};
use crate::support::client::modern_call;
use crate::support::{Gateway, PERMIT_ALL, Upstream, entries};
use crate::{FILE, call, caller, folder, nonce};

#[tokio::test(flavor = "multi_thread")]
async fn policy_and_evidence_have_each_fact_in_a_field_of_its_own() {
    let (key, holder) = (Key::ec(), Key::ec());
    let policies = format!(
        "permit (principal, action, resource) when {{\n\
         context has represented_user && context.represented_user == \"alice\" &&\n\
         context has audience && context.audience == \"{BASE}/mcp/up\" &&\n\
         context has proof_key && context.proof_key like \"jkt:*\" &&\n\
         context has authority && context.authority == \"{{\\\"sub\\\":\\\"desk\\\"}}\" }};\n"
    );
    let upstream = Upstream::start().await;
    let identity = configured("", &format!("{FILE}\nuser_claim = \"user\""));
    let gateway = Gateway::start_in(folder(&upstream, &policies, &identity, &key.set())).await;
    let bound = token(&key, &claims("cnf", &bound_to(&holder)));
    let nonce = nonce(&gateway, &holder, &bound).await;
    let with = |more: &str, jti: &str| {
        let claims = claims("cnf", &bound_to(&holder)).replacen('{', &format!("{{{more}"), 1);
        let token = token(&key, &claims);
        caller(&gateway)
            .with("authorization", &format!("DPoP {token}"))
            .with(
                "dpop",
                &proof(&holder, &token, "POST", "/mcp/up", jti, &nonce),
            )
    };
    let act = "\"act\":{\"sub\":\"desk\"},";
    let user = "\"user\":\"alice\",";
    let all = call(&with(&format!("{act}{user}"), "1"), "/mcp/up", "e1").await;
    assert_eq!(all.code(), None, "{}", all.text());
    for (more, jti) in [(act, "2"), (user, "3")] {
        let denied = call(&with(more, jti), "/mcp/up", jti).await;
        assert_eq!(
            denied.code().as_deref(),
            Some("policy-denied"),
            "without {more}"
        );
    }
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let admission = entries
        .iter()
        .find(|entry| entry["kind"] == "admission")
        .unwrap();
    assert_eq!(admission["agent"]["method"], "jwt");
    assert_eq!(admission["agent"]["issuer"], ISSUER);
    assert_eq!(admission["agent"]["subject"], "billing");
    assert_eq!(admission["represented_user"], "alice");
    assert_eq!(admission["authority"], "{\"sub\":\"desk\"}");
    assert_eq!(
        admission["policy_inputs"]["audience"],
        format!("{BASE}/mcp/up")
    );
    let proof_key = admission["policy_inputs"]["proof_key"].as_str().unwrap();
    assert_eq!(
        bound_to(&holder),
        format!("{{\"jkt\":\"{}\"}}", &proof_key[4..])
    );
    tokio::task::block_in_place(|| decided_again(folder.path()));
    let denied: Vec<_> = entries
        .iter()
        .filter(|entry| entry["refusal"] == "policy-denied")
        .collect();
    assert!(denied[0]["represented_user"].is_null() && denied[1]["authority"].is_null());
}

/// A stranger who holds the requests makes the same decisions from what the
/// entries say of the caller.
fn decided_again(folder: &Path) {
    let config = Config::read(&folder.join("countersign.toml")).unwrap();
    let environment = Environment::system();
    let key = export::open_store(&config.store, &environment).unwrap();
    let trusted = key.key.clone();
    key.ledger.stop().unwrap();
    let all = export::Wanted {
        selection: countersign_ledger::Selection::All,
        salts: true,
    };
    let bundle = export::from_store(&config.store, &environment, &all, Vec::new()).unwrap();
    let requests = ["e1", "2", "3"].map(|id| RequestFile {
        name: id.to_owned(),
        message: modern_call(1, "pay", "{}", Some(id)).into_bytes(),
    });
    let engine = countersign_engine::Engine::new(&countersign_engine::Settings::default()).unwrap();
    let inputs = Inputs {
        requests: requests.to_vec(),
        trusted: vec![trusted],
        components: Components::of(&countersign_engine::Profiles::embedded(&engine).unwrap()),
        ..Inputs::default()
    };
    let report = verify(std::io::Cursor::new(bundle), &inputs).unwrap();
    let claims = String::from_utf8(report.to_json(&Level::default())).unwrap();
    assert_eq!(report.status(Claim::Decision), Status::Verified, "{claims}");
    assert!(
        claims.contains("3 decisions made again, the same"),
        "{claims}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_that_moves_to_tokens_of_an_issuer_keeps_its_executions() {
    let key = Key::ec();
    let upstream = Upstream::start().await;
    let secret = countersign_gateway::identity::Token::from_random([7; 32]);
    let mut file = countersign_gateway::identity::TokenFile::default();
    file.add("old-billing", &secret, "2026-01-01T00:00:00.000000Z")
        .unwrap();
    let identity = "[identity]\nmode = \"tokens\"\ntokens = \"tokens.toml\"";
    let folder = folder(&upstream, PERMIT_ALL, identity, &key.set());
    std::fs::write(folder.path().join("tokens.toml"), file.to_text()).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let client = caller(&gateway).with("authorization", &format!("Bearer {}", secret.reveal()));
    assert_eq!(call(&client, "/mcp/up", "e1").await.code(), None);
    let (_, folder) = gateway.stop().await;

    let path = folder.path().join("countersign.toml");
    let both =
        configured("tokens = \"tokens.toml\"", FILE).replace("\"jwt\"", "[\"tokens\", \"jwt\"]");
    let alias = format!(
        "[[identity.alias]]\nfrom = {{ method = \"jwt\", issuer = \"{ISSUER}\", subject = \"billing\" }}\n\
         to = {{ method = \"token\", subject = \"old-billing\" }}\n"
    );
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace(identity, &format!("{both}{alias}"));
    std::fs::write(&path, text).unwrap();
    let gateway = Gateway::start_in(folder).await;
    let jwt = token(&key, &claims("x", "1"));
    let moved = caller(&gateway).with("authorization", &format!("Bearer {jwt}"));
    assert_eq!(
        call(&moved, "/mcp/up", "e1").await.code().as_deref(),
        Some("replay")
    );
    let still = caller(&gateway).with("authorization", &format!("Bearer {}", secret.reveal()));
    assert_eq!(
        call(&still, "/mcp/up", "e1").await.code().as_deref(),
        Some("replay")
    );
    let stranger = token(&key, &claims("sub", "\"other\""));
    let stranger = caller(&gateway).with("authorization", &format!("Bearer {stranger}"));
    assert_eq!(
        call(&stranger, "/mcp/up", "e1").await.code(),
        None,
        "an execution of its own"
    );
    assert_eq!(upstream.effects(), 2);
    let (_, folder) = gateway.stop().await;
    let entries = entries(folder.path());
    let alias = entries
        .iter()
        .find(|entry| entry["kind"] == "alias")
        .unwrap();
    assert_eq!(alias["agent"]["method"], "jwt");
    assert_eq!(alias["agent_before"]["subject"], "old-billing");
}
