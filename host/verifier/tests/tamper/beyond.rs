//! What a gateway that lies and signs its lie can write without being caught
//! offline, and why.

/// Kinds that are about no execution.
pub const APART: &[&str] = &[
    "start",
    "profile-loaded",
    "policy-loaded",
    "catalog-approved",
    "suppressed",
];

/// An attempt that met no row and whose request is not at hand.
pub const UNREAD: &str =
    "of an attempt that was refused before it was read, only its request would show it";

/// What the gateway can write without being caught offline, and why. `*` is
/// every kind.
pub const BEYOND: &[(&str, &[&str], &str)] = &[
    ("time", &["*"], "clocks cannot be checked afterwards"),
    (
        "session_id",
        &["*"],
        "the gateway mints it, and nothing else holds it",
    ),
    ("incarnation", &["*"], "the gateway mints it"),
    (
        "fence",
        &["*"],
        "the gateway mints it; only that it never falls is checked",
    ),
    (
        "authority",
        &["*"],
        "as the gateway authenticated it; checked only where a policy reads it",
    ),
    (
        "represented_user",
        &["*"],
        "as the gateway authenticated it; checked only where a policy reads it",
    ),
    ("agent_before", &["*"], "says something in an alias alone"),
    (
        "agent",
        &["*"],
        "as the gateway authenticated it; where an execution links, it is checked",
    ),
    (
        "call_id",
        &["*"],
        "the gateway mints it; a receipt names it",
    ),
    (
        "revision",
        &["*"],
        "not in the request; checked only where a policy reads it",
    ),
    ("world", &["*"], "the component's digest says it"),
    (
        "suppressed",
        &["*"],
        "what was not written one by one cannot be counted again",
    ),
    ("task", &["*"], "the upstream minted it"),
    ("key", &["*"], "says something in a rotation alone"),
    (
        "resolution",
        &["*"],
        "what an operator stated is not computed from anything",
    ),
    (
        "client_digest",
        &["*"],
        "where no request is at hand, or it is left out",
    ),
    (
        "answer_digest",
        &["*"],
        "whoever holds the answer computes it",
    ),
    (
        "answer_bytes",
        &["*"],
        "whoever holds the answer computes it",
    ),
    (
        "catalog",
        &["*"],
        "discovered and approved are the gateway's word; attributed is checked on calls",
    ),
    (
        "execution_id_status",
        &["*"],
        "says only what kind of absence it was",
    ),
    (
        "policy_inputs",
        &["*"],
        "what the gateway knew; checked only where a policy reads it",
    ),
    (
        "effect_boundary",
        &["*"],
        "how far it got is the gateway's word, within what its outcome allows",
    ),
    (
        "outcome",
        &["*"],
        "what the upstream answered is the gateway's word: the caller's answer and receipt show it",
    ),
    (
        "request_state_issued",
        &["*"],
        "the upstream's; checked where a continuation answers it",
    ),
    (
        "workflow_id",
        &["*"],
        "the caller's; with two attempts of one binding, the request at hand may be the other's",
    ),
    (
        "evaluator",
        &["*"],
        "says something beside a decision alone",
    ),
    (
        "decision",
        &["refusal"],
        "where the code does not name policy, nothing hangs on it",
    ),
    (
        "policy_digest",
        &["*"],
        "checked where a call was permitted or its decision is made again",
    ),
    (
        "refusal",
        &["*"],
        "a code that is no verdict is the gateway's word",
    ),
    (
        "kind",
        &["refusal", "start", "suppressed", "resolution"],
        "an entry that moves no execution can be called another that moves none; an unknown name is reported",
    ),
    (
        "request_state_presented",
        &["refusal"],
        "with two attempts of one binding, the request at hand may be the other's",
    ),
    (
        "server_digest",
        &["catalog-approved"],
        "left out, an approval holds for the server's name",
    ),
    (
        "blind",
        &["refusal"],
        "of an attempt that met no row and held nothing, what was left out is not there to be seen",
    ),
    ("binding", &["refusal"], UNREAD),
    ("component", &["refusal"], UNREAD),
    ("profile", &["refusal"], UNREAD),
    ("server", &["refusal"], UNREAD),
    ("server_digest", &["refusal"], UNREAD),
    ("tool", &["refusal"], UNREAD),
    ("execution_id", &["refusal"], UNREAD),
    ("continuation", &["refusal"], UNREAD),
];
