//! `> 1000`, written each way, against every way to spell an amount.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use support::{Call, policies};

const TAG: &str = "context.at.getTag(\"/arguments/amount\")";

/// An allowing bundle with a `forbid` that holds for amounts above 1000.
fn forbids(condition: &str, amount: &str) -> bool {
    let set = policies(&format!(
        "permit (principal, action, resource);
         @id(\"limit\") forbid (principal, action, resource) {};",
        condition.replace("$", TAG)
    ));
    let decision = Call::of(&format!("{{\"amount\":{amount}}}")).decide(&set);
    assert!(
        ["permitted", "forbidden"].contains(&decision.reason().as_str()),
        "{decision:?}"
    );
    !decision.allow()
}

const CEIL: &str = "when {
    context.at.hasTag(\"/arguments/amount\") && $ has number && $.number.ceil > 1000
}";
const SAFE_CEIL: &str = "unless {
    context.at.hasTag(\"/arguments/amount\") && $ has number && $.number.ceil <= 1000
}";
const SAFE_DECIMAL: &str = "unless {
    context.at.hasTag(\"/arguments/amount\") && $ has number && $.number has decimal
    && $.number.decimal.lessThanOrEqual(decimal(\"1000.0\"))
}";
const EITHER: &str = "when {
    context.at.hasTag(\"/arguments/amount\") && $ has number && (
        ($.number has decimal && $.number.decimal.greaterThan(decimal(\"1000.0\")))
        || $.number.ceil > 1000
    )
}";

#[test]
fn above_1000_is_above_1000_however_it_is_spelled_and_compared() {
    for (amount, above, decimal) in [
        ("1000", false, true),
        ("1000.0", false, true),
        ("1e3", false, true),
        ("999.9999", false, true),
        ("0", false, true),
        ("-5000", false, true),
        // Below the limit but no decimal: the safe form forbids it too.
        ("999.99999", false, false),
        ("-1e400", false, false),
        ("1e-400", false, false),
        ("1001", true, true),
        ("1000.5", true, true),
        ("1000.0001", true, true),
        ("1000.00001", true, false),
        ("5000.0", true, true),
        ("5e3", true, true),
        ("1e30", true, false),
        ("1E400", true, false),
        ("9223372036854775807", true, false),
        ("9223372036854775808", true, false),
    ] {
        assert_eq!(forbids(CEIL, amount), above, "ceil, {amount}");
        assert_eq!(forbids(EITHER, amount), above, "decimal or ceil, {amount}");
        assert_eq!(forbids(SAFE_CEIL, amount), above, "unless ceil, {amount}");
        assert_eq!(
            forbids(SAFE_DECIMAL, amount),
            above || !decimal,
            "unless decimal, {amount}"
        );
    }
}

#[test]
fn floor_and_ceil_decide_each_comparison_exactly() {
    for (amount, less, at_most, more, at_least) in [
        ("999.5", true, true, false, false),
        ("1000", false, true, false, true),
        ("1000.000", false, true, false, true),
        ("1000.5", false, false, true, true),
        ("-1e400", true, true, false, false),
        ("1e30", false, false, true, true),
        ("999.99999999999999999999", true, true, false, false),
        ("1000.00000000000000000001", false, false, true, true),
    ] {
        for (comparison, expected) in [
            ("floor < 1000", less),
            ("ceil <= 1000", at_most),
            ("ceil > 1000", more),
            ("floor >= 1000", at_least),
        ] {
            let condition = CEIL.replace("ceil > 1000", comparison);
            assert_eq!(
                forbids(&condition, amount),
                expected,
                "{amount} {comparison}"
            );
        }
    }
}

#[test]
fn what_is_no_number_passes_only_where_the_policy_lets_it() {
    for amount in [
        "\"5000\"",
        "null",
        "[5000]",
        r#"{"__extn":{"fn":"decimal","arg":"5000.0"}}"#,
        r#"{"__entity":{"type":"View","id":"at"}}"#,
    ] {
        assert!(!forbids(CEIL, amount), "{amount}");
        assert!(forbids(SAFE_CEIL, amount), "{amount}");
        assert!(forbids(SAFE_DECIMAL, amount), "{amount}");
    }
}
