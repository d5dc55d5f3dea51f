//! By what somebody decided, it is decided again.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_policy::{Bundle, PolicySet, Reason};
use support::{Call, bundle};

/// What a later version refuses to load takes no evidence away.
#[test]
fn what_is_refused_for_how_it_would_be_misread_is_decided_again() {
    let x = "context.at.getTag(\"/arguments/x\")";
    for (text, reason) in [
        (
            format!(
                "@id(\"limit\") forbid (principal, action, resource) when {{ {x} has long && {x}.long > 10 }};"
            ),
            Reason::Forbidden,
        ),
        (
            format!(
                "@id(\"limit\") forbid (principal, action, resource) unless {{ !({x} has number.decimal) }};"
            ),
            Reason::Forbidden,
        ),
        (
            "forbid (principal, action, resource) unless { context.at.hasTag(\"arguments\") };"
                .to_owned(),
            Reason::Forbidden,
        ),
        (
            "forbid (principal, action, resource) when { context.at.hasTag(\"/a~\") };".to_owned(),
            Reason::Permitted,
        ),
        (
            format!(
                "forbid (principal, action, resource) when {{ context.at.hasTag(\"{}\") }};",
                "/a".repeat(65)
            ),
            Reason::Permitted,
        ),
        (
            "forbid (principal, action, resource) when { context.at.hasTag(\"/amount\") };"
                .to_owned(),
            Reason::Permitted,
        ),
        (
            "forbid (principal, action, resource) when { principal == Agent::\"ci\" };".to_owned(),
            Reason::Permitted,
        ),
        (
            "forbid (principal == Agent::\"ci\", action, resource);".to_owned(),
            Reason::Permitted,
        ),
        (
            "forbid (principal, action, resource == Server::\"Ledger\");".to_owned(),
            Reason::Permitted,
        ),
        (
            "forbid (principal, action == Action::\"transfer\", resource);".to_owned(),
            Reason::Permitted,
        ),
        (
            "forbid (principal, action in Action::\"server:\", resource);".to_owned(),
            Reason::Permitted,
        ),
        (
            "forbid (principal, action, resource) unless { action == Action::\"any:read-only\" };"
                .to_owned(),
            Reason::Forbidden,
        ),
        (
            "forbid (principal, action, resource) when { action == Action::\"side-effecting\" };"
                .to_owned(),
            Reason::Permitted,
        ),
        (
            "@id(\"a b\") forbid (principal, action, resource);".to_owned(),
            Reason::Forbidden,
        ),
        (
            "@code(\"no\") forbid (principal, action, resource);".to_owned(),
            Reason::Forbidden,
        ),
    ] {
        let text = format!("permit (principal, action, resource);\n{text}");
        assert!(PolicySet::load(bundle(&text)).is_err(), "{text}");
        let set = PolicySet::recorded(bundle(&text)).unwrap_or_else(|error| panic!("{error}"));
        let decision = Call::of("{\"x\":11}").decide(&set);
        assert_eq!(decision.reason(), reason, "{text}");
    }
}

/// Nobody could say what these decide.
#[test]
fn what_cannot_be_evaluated_is_refused_for_everybody() {
    for (text, code) in [
        ("permit (principal, action, resource) when { context.at.hasTag(context.revision) };".to_owned(), "policy-tag-key"),
        ("permit (principal == ?principal, action, resource);".to_owned(), "policy-template"),
        ("@id(\"a\") permit (principal, action, resource);\n@id(\"a\") forbid (principal, action, resource);".to_owned(), "policy-duplicate-id"),
        ("permit (principal, action, resource) when { foo };".to_owned(), "policy-syntax"),
        (format!("permit (principal, action, resource) when {{ {}true }};", "!".repeat(600)), "policy-syntax"),
    ] {
        for error in [
            PolicySet::recorded(bundle(&text)).unwrap_err(),
            PolicySet::load(bundle(&text)).unwrap_err(),
        ] {
            assert_eq!(error.problems()[0].code().as_str(), code, "{text}: {error}");
        }
    }
}

/// What a bundle can hold is bounded, whoever decided by it.
#[test]
fn a_bundle_that_would_not_fit_in_memory_is_refused() {
    let policy = "permit(principal,action,resource);";
    let list = |items: usize| {
        let list = vec!["1"; items].join(",");
        format!("permit(principal,action,resource)when{{[{list}].contains(2)}};")
    };
    let annotations: String = (0..1_000).map(|n| format!("@a{n} ")).collect();
    for (what, files) in [
        ("policies", vec![policy.repeat(25_000); 5]),
        ("list items", vec![list(250_000); 5]),
        (
            "annotations",
            vec![format!("{annotations}{policy}\n").repeat(100); 11],
        ),
        (
            "operator characters",
            vec![
                format!(
                    "permit(principal,action,resource)when{{{}true}};\n",
                    "true&&".repeat(50)
                )
                .repeat(2_500);
                13
            ],
        ),
        // Statements that are no policies.
        ("policies", vec![";".repeat(200_000)]),
    ] {
        let files = (0..)
            .zip(files)
            .map(|(n, text)| (format!("{n}.cedar"), text));
        let bundle = Bundle::of(files).unwrap();
        for error in [
            PolicySet::recorded(bundle.clone()).unwrap_err(),
            PolicySet::load(bundle).unwrap_err(),
        ] {
            let last = error.problems().last().unwrap();
            assert_eq!(last.code().as_str(), "policy-syntax");
            assert!(last.message().contains(what), "{what}: {last}");
            assert!(
                last.message().contains("the bundle has more than"),
                "{last}"
            );
        }
    }
}
