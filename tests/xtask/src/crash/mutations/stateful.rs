//! The mutations that the stateful harness is to catch: of the gateway's way, and
//! of what is around it.

use super::table::{By, Mutation, mutations};

const MODEL: By = By::Stateful;

pub(super) const STATEFUL: &[Mutation] = mutations! {
    // What is in the log.
    MODEL "leave a refusal out of the log":
        "    let execution_id = draft.execution_id.clone();\n    gateway.telemetry" => "    if problem.code() == ErrorCode::TaskUnknown {\n        return Unread {\n            problem,\n            revision: arrival.revision.unwrap_or(Revision::R2025_03_26),\n        };\n    }\n    let execution_id = draft.execution_id.clone();\n    gateway.telemetry";
    MODEL "lose the count of what could not be written":
        "        count.count += 1;\n" => "";
    MODEL "give a receipt that points at another entry":
        "                sequence: entry.sequence,\n                entry_hash: entry.hash,\n                salt: None," => "                sequence: entry.sequence + 1,\n                entry_hash: entry.hash,\n                salt: None,";
    MODEL "record an operator's act without who and why":
        "        draft.resolution = Some(self.resolution(reason, evidence)?);\n" => "        let _ = self.resolution(reason, evidence)?;\n";
    MODEL "leave out what is in force after a rollback":
        "let first = self.in_force();" => "let first = Vec::new();";
    MODEL "write nothing of a catalog that changed":
        "        if changed && server.catalog.changes.found(listing.digest, found) {\n            self.record_discovery(server, &listing).await;" => "        if changed && listing.tools().is_empty() {\n            self.record_discovery(server, &listing).await;";

    // Whose is what.
    MODEL "take a task for anybody's":
        "e.task IS NOT NULL AND e.agent = (SELECT number FROM agents" => "e.task IS NOT NULL AND e.agent IS NOT (SELECT number + 1000000 FROM agents";
    MODEL "take a session for anybody's":
        "if session.agent != *agent || session.server != *server {\n            return None;\n        }\n        let session = Arc::clone(session);" => "if session.server != *server && session.agent != *agent {\n            return None;\n        }\n        let session = Arc::clone(session);";
    MODEL "take a round's state for anybody's":
        "Ok(!issued && !self.rows.issued_to(&attempt.agent, &state)?)" => "Ok(!issued && !self.rows.issued_to(&attempt.agent, &state)? && attempt.execution_id.is_some())";
    MODEL "give a kept answer at any server":
        "execution.agent == arrival.agent && execution.admitted.target.server == arrival.server.name" => "execution.agent == arrival.agent";

    // What decides.
    MODEL "decide by the old policies after a reload":
        "            policies: Arc::new(policies),\n            approved: Arc::new(approved),\n            enforcement: before.enforcement,\n" => "            policies: before.policies.clone(),\n            approved: Arc::new(approved),\n            enforcement: before.enforcement,\n";
    MODEL "compare no epochs":
        "let stale = attempt.epochs != self.base.epochs;" => "let stale = false;";
    MODEL "ignore what differs from what was approved":
        "} else if (same && !moved) || record {" => "} else if (same && !moved) || record || !moved {";
    MODEL "serve an old list of tools":
        "Need::List => age < FRESH," => "Need::List => age >= Duration::ZERO,";
    MODEL "take arguments that do not fit":
        "        && let Err(misfit) = fits(ready, &bound.interpreted.view).await\n" => "        && let Err(misfit) = fits(ready, &bound.interpreted.view).await\n        && attempt.execution_id.is_none()\n";
    MODEL "ignore the recorded profile":
        "    execution.admitted.profile == profile.id().as_str()\n        && execution.admitted.component == profile.component_digest()\n" => "    !execution.admitted.profile.is_empty() && !profile.id().as_str().is_empty()\n";

    // What becomes of an execution.
    MODEL "go on with an execution that was abandoned":
        "Event::Abandon => settle(&mut next, Outcome::OutcomeUnknown)," => "Event::Abandon => settle(&mut next, Outcome::NotAttempted),";
    MODEL "tell a task's end that is not in the log":
        "        Err(_) if ended.is_some() => Err(Problem::new(ErrorCode::SettlementFailed).into())," => "        Err(_) if ended.is_some() => Err(Problem::new(ErrorCode::TaskUnanswered).into()),";
    MODEL "call every refusal safe":
        "    problem.safe_with_new_id = refused.safe_with_new_id;\n" => "    problem.safe_with_new_id = true || refused.safe_with_new_id;\n";
};
