//! The operator's way in: a Unix socket in a folder that its owner alone may
//! enter. Operators authenticate apart from agents: by being able to open it.
//!
//! [`api`] are the questions and answers, `desk` carries them out on a ledger,
//! `server` takes them from the socket, `client` asks there. [`Office`] is what
//! the command line holds: it asks the gateway that runs or, where none does,
//! its store. A selection of entries travels as lines of text.

pub mod api;
mod catalogs;
mod client;
mod desk;
mod office;
mod server;

use countersign_evidence::{Agent, CallId, ExecutionId, WorkflowId};
use countersign_ledger::Selection;

use crate::export::Wanted;

pub use client::{OperatorError, export};
pub(crate) use client::{ask_running, runtime};
pub use office::Office;
pub(crate) use server::{Listening, serve};

/// An operator as the log has it: the user that the kernel vouches for.
fn by_uid(uid: u32) -> String {
    format!("uid:{uid}")
}

/// The longest question, and the longest answer that is read whole, in bytes: what
/// servers offer travels whole, there and back.
const MOST_BYTES: usize = 512 << 20;

/// The name of the socket in its folder.
const SOCKET: &str = "socket";

/// The first line of what leaves salts out.
const WITHOUT_SALTS: &str = "without-salts";

/// What is exported as lines; none where a value holds a line end.
fn to_text(wanted: &Wanted) -> Option<String> {
    let agent = |agent: &Agent| {
        vec![
            agent.method.clone(),
            agent.issuer.clone(),
            agent.subject.clone(),
        ]
    };
    let mut lines = match &wanted.selection {
        Selection::All => vec!["all".to_owned()],
        Selection::Execution(of, id) => [
            vec!["execution".to_owned()],
            agent(of),
            vec![id.to_string()],
        ]
        .concat(),
        Selection::Call(id) => vec!["call".to_owned(), id.to_string()],
        Selection::Agent(of) => [vec!["agent".to_owned()], agent(of)].concat(),
        Selection::Workflow(id) => vec!["workflow".to_owned(), id.to_string()],
        Selection::Time(from, to) => vec!["time".to_owned(), from.to_string(), to.to_string()],
    };
    if !wanted.salts {
        lines.insert(0, WITHOUT_SALTS.to_owned());
    }
    let whole = lines.iter().all(|line| !line.contains('\n'));
    whole.then(|| lines.join("\n"))
}

fn from_text(text: &str) -> Option<Wanted> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let salts = lines.first() != Some(&WITHOUT_SALTS);
    if !salts {
        lines.remove(0);
    }
    let agent = |method: &str, issuer: &str, subject: &str| Agent {
        method: method.to_owned(),
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
    };
    let selection = match *lines.as_slice() {
        ["all"] => Selection::All,
        ["execution", method, issuer, subject, id] => {
            Selection::Execution(agent(method, issuer, subject), ExecutionId::new(id).ok()?)
        }
        ["call", id] => Selection::Call(CallId::new(id).ok()?),
        ["agent", method, issuer, subject] => Selection::Agent(agent(method, issuer, subject)),
        ["workflow", id] => Selection::Workflow(WorkflowId::new(id).ok()?),
        ["time", from, to] => Selection::Time(from.parse().ok()?, to.parse().ok()?),
        _ => return None,
    };
    Some(Wanted { selection, salts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_selection_reads_back_and_a_line_end_is_no_part_of_one() {
        let agent = Agent {
            method: "token".into(),
            issuer: String::new(),
            subject: "a b".into(),
        };
        for selection in [
            Selection::All,
            Selection::Execution(agent.clone(), "e-1".parse().unwrap()),
            Selection::Call("c-1".parse().unwrap()),
            Selection::Agent(agent.clone()),
            Selection::Workflow("w".parse().unwrap()),
            Selection::Time(-5, 7),
        ] {
            for salts in [true, false] {
                let selection = selection.clone();
                let wanted = Wanted { selection, salts };
                assert_eq!(from_text(&to_text(&wanted).unwrap()), Some(wanted));
            }
        }
        let broken = Agent {
            subject: "a\nb".into(),
            ..agent
        };
        let wanted = Wanted {
            selection: Selection::Agent(broken),
            salts: true,
        };
        assert_eq!(to_text(&wanted), None);
        for text in ["", "everything", "without-salts", "call\n", "time\n1"] {
            assert_eq!(from_text(text), None, "{text:?}");
        }
    }
}
