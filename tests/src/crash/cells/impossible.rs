//! Why a place of the matrix can have no cell.

use super::super::world::Store;

/// The reason, where there is one.
#[must_use]
pub(in super::super) fn impossible(
    store: Store,
    boundary: &str,
    moment: &str,
    fault: &str,
) -> Option<&'static str> {
    match store {
        Store::Sqlite => on_sqlite(boundary, moment, fault),
        Store::Postgres => on_postgres(boundary, moment, fault),
    }
}

fn on_sqlite(boundary: &str, moment: &str, fault: &str) -> Option<&'static str> {
    let disk = !matches!(boundary, "send" | "invoke" | "answer" | "deliver");
    let remote = matches!(boundary, "invoke" | "answer");
    Some(match (fault, moment) {
        ("power loss", _) if !disk => "nothing is written to the disk there: it is a kill",
        ("power loss", "before" | "after") => "nothing is unsynced there: it is a kill",
        ("power loss", _) if boundary == "write back" => {
            "what is written back stays in the synced WAL: it is a kill"
        }
        ("i/o error", _) if remote => "the gateway only waits there: it is a cut connection",
        ("i/o error", _) if boundary == "deliver" => "on a socket it is a cut connection",
        ("i/o error", "after") => "an error after the deed is a lost acknowledgement",
        ("i/o error", "before") if boundary == "write back" => {
            "a write that fails is told as one that finds no room"
        }
        ("disk full", _) if !disk => "nothing is written to the disk there",
        ("disk full", "after") => "a sync needs no room",
        ("disk full", "within") if boundary == "write back" => "its sync needs no room",
        ("lost acknowledgement", "before" | "within") => "an acknowledgement comes after the deed",
        ("lost acknowledgement", _) if remote => "that is a cut connection",
        ("lost acknowledgement", _) if boundary == "write back" => {
            "nobody waits for what is written back"
        }
        ("pause", _) if boundary == "write back" => "nobody waits for what is written back",
        ("pause", "within") if matches!(boundary, "send" | "deliver") => {
            "it is one call to the kernel, and a pause is before it or after it"
        }
        ("cut connection", _) if disk => "there is no connection to an embedded store",
        ("cut connection", _) if boundary == "send" => "on the sending side it is an i/o error",
        ("cut connection", "before" | "after") if boundary == "invoke" => {
            "before the body is read it is that of `send`, after the effect that of `answer`"
        }
        ("cut connection", "after") => "everything has arrived",
        ("clock jump", "within" | "after") => "the clock is read once, at the beginning",
        ("clock jump", _) if !disk || boundary == "write back" => "no time is told there",
        ("clock jump", _) if boundary == "checkpoint" => {
            "a checkpoint tells no time, and is due by a clock that does not jump"
        }
        ("restored backup", _) if boundary != "open" => {
            "a store is replaced only while nobody has it open"
        }
        ("second process", _) if boundary != "open" => "it never gets further than to open",
        ("restored backup" | "second process", "within" | "after") => "it is there or it is not",
        _ => return None,
    })
}

fn on_postgres(boundary: &str, moment: &str, fault: &str) -> Option<&'static str> {
    let commits = !matches!(
        boundary,
        "reconnect" | "send" | "invoke" | "answer" | "deliver"
    );
    let remote = matches!(boundary, "invoke" | "answer");
    let whole = matches!(
        fault,
        "back end killed" | "server crash" | "outage" | "cut off" | "silence"
    );
    Some(match (fault, moment) {
        ("restored backup" | "second process", "within" | "after") => "it is there or it is not",
        ("restored backup", _) if !matches!(boundary, "open" | "reconnect") => {
            "a database is replaced only while nobody is connected to it"
        }
        ("second process", _) if boundary != "open" => "it never gets further than to open",
        ("restored backup" | "second process", _) => return None,
        _ if boundary == "reconnect" => {
            "nothing is written there: it is a fault of the transaction that comes next"
        }
        ("clock jump", "within" | "after") => "the clock is read once, at the beginning",
        ("clock jump", _) if !commits => "no time is told there",
        ("clock jump", _) if boundary == "checkpoint" => {
            "a checkpoint tells no time, and is due by a clock that does not jump"
        }
        ("lost acknowledgement", "before" | "within") => "an acknowledgement comes after the deed",
        ("lost acknowledgement", _) if remote => "that is a cut connection",
        ("i/o error", _) if commits && (boundary, moment) != ("checkpoint", "within") => {
            "a server whose disk fails ends: that is a server crash"
        }
        ("i/o error", "after") => "an error after the deed is a lost acknowledgement",
        ("i/o error", _) if remote => "the gateway only waits there: it is a cut connection",
        ("i/o error", _) if boundary == "deliver" => "on a socket it is a cut connection",
        ("disk full", _) if !commits => "nothing is written to the disk there",
        ("disk full", "after") => "a commit that was acknowledged needs no room",
        ("cut connection", "within") if commits => "that is a lost acknowledgement",
        ("cut connection", _) if boundary == "send" => "on the sending side it is an i/o error",
        ("cut connection", "before" | "after") if boundary == "invoke" => {
            "before the body is read it is that of `send`, after the effect that of `answer`"
        }
        ("cut connection", "after") if !commits => "everything has arrived",
        ("back end killed", "before") if boundary == "open" => "there is no back end yet",
        ("server crash", "before") if boundary == "open" => "it is an outage",
        ("back end killed", "before" | "within") if commits => return None,
        (_, "before") if whole && commits => return None,
        (_, _) if whole && commits => {
            "for the replica it is a lost acknowledgement or a cut connection"
        }
        ("outage" | "cut off", _) if remote => return None,
        (_, _) if whole && remote => "it is that of `settle`, before",
        (_, _) if whole => "the database has no part in it",
        ("pause" | "pause past the lease", "within") if matches!(boundary, "send" | "deliver") => {
            "it is one call to the kernel, and a pause is before it or after it"
        }
        ("pause", "after") if commits => "that is a pause before what comes next",
        ("pause past the lease", _) if boundary == "deliver" => "everything is settled by then",
        ("pause past the lease", "after") if boundary == "send" => "it is that of `invoke`",
        ("pause past the lease", "before" | "after") if commits => {
            "before it, nothing is held yet; after it, it is that of what comes next"
        }
        _ => return None,
    })
}
