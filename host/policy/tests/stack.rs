//! Whatever Cedar folds into a tree is bounded before it does: no policy needs
//! more stack than a thread has, and no decision depends on how much there is.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use countersign_policy::{Bundle, PolicySet, ProblemCode, Reason};
use support::{Call, Random, bundle};

/// Half of what a thread has where nobody says otherwise.
const SMALL: usize = 1 << 20;
const LARGE: usize = 64 << 20;

type Shape = fn(usize) -> String;

fn when(condition: &str) -> String {
    format!("permit (principal, action, resource) when {{ {condition} }};")
}

fn chain(operand: &str, operator: &str, count: usize) -> String {
    vec![operand; count + 1].join(operator)
}

fn nested(open: &str, inner: &str, close: &str, count: usize) -> String {
    format!("{}{inner}{}", open.repeat(count), close.repeat(count))
}

/// Each way to make a policy deeper, that many times.
const SHAPES: [(&str, Shape); 41] = [
    ("&&", |n| when(&chain("context has revision", " && ", n))),
    ("||", |n| {
        when(&format!(
            "{} || true",
            chain("context has workflow_id", " || ", n)
        ))
    }),
    ("&& of ||", |n| when(&chain("(false || true)", " && ", n))),
    ("||, && and ==", |n| {
        when(&chain(
            "principal.subject == \"no\" && principal.subject != \"\" || true",
            " && ",
            n,
        ))
    }),
    ("+", |n| {
        when(&format!("{} == {}", chain("1", "+", n), n + 1))
    }),
    ("-", |n| when(&format!("{} < 1", chain("1", "-", n)))),
    ("*", |n| when(&format!("{} == 1", chain("1", "*", n)))),
    ("+ and -", |n| {
        when(&format!("{} == 1", chain("1", " + 1 - ", n)))
    }),
    ("!", |n| when(&format!("{}false", "!".repeat(n)))),
    ("- before", |n| when(&format!("{}1 == 1", "-".repeat(n)))),
    ("!!!!(", |n| when(&nested("!!!!(", "true", ")", n))),
    ("----(", |n| {
        when(&format!("{} == 1", nested("----(", "1", ")", n)))
    }),
    ("(", |n| when(&nested("(", "true", ")", n))),
    ("else if", |n| {
        when(&format!("{}true", "if false then false else ".repeat(n)))
    }),
    ("then if", |n| {
        when(&nested("if true then ", "true", " else false", n))
    }),
    ("if if", |n| {
        when(&nested("if ", "true", " then true else false", n))
    }),
    ("when", |n| {
        format!(
            "permit (principal, action, resource) {};",
            "when { true }".repeat(n)
        )
    }),
    ("unless", |n| {
        format!(
            "permit (principal, action, resource) {};",
            "unless { false }".repeat(n)
        )
    }),
    ("when and unless", |n| {
        let clauses = "when { 1 == 1 } unless { 1 > 1 } ".repeat(n);
        format!("permit (principal, action, resource) {clauses};")
    }),
    ("an empty when", |n| {
        let clauses = "when { }".repeat(n);
        format!("permit (principal, action, resource) {clauses};")
    }),
    ("[\"x\"]", |n| {
        when(&format!("context{} == 1", "[\"revision\"]".repeat(n)))
    }),
    (".x", |n| {
        when(&format!("context{} == 1", ".revision".repeat(n)))
    }),
    ("an index of an index", |n| {
        when(&nested("context[", "\"revision\"", "]", n))
    }),
    ("a call of a call", |n| {
        when(&format!("[1]{}", ".contains(1)".repeat(n)))
    }),
    ("a call in a call", |n| {
        when(&nested("[true].contains(", "true", ")", n))
    }),
    ("a call without a name", |n| {
        when(&format!("context{}", "(1)".repeat(n)))
    }),
    ("a set", |n| {
        when(&format!(
            "{} == {}",
            nested("[", "1", "]", n),
            nested("[", "1", "]", n)
        ))
    }),
    ("a record", |n| {
        when(&format!("{} has a", nested("{a: ", "1", "}", n)))
    }),
    ("a record and its members", |n| {
        when(&format!(
            "{}{} == 1",
            nested("{a: ", "1", "}", n),
            ".a".repeat(n)
        ))
    }),
    ("has", |n| {
        when(&nested("(", "context has revision", ") == true", n))
    }),
    ("has a.b", |n| {
        when(&format!(
            "context has revision{} || true",
            ".revision".repeat(n)
        ))
    }),
    ("like", |n| {
        when(&nested("(", "\"a\" like \"*\"", ") == true", n))
    }),
    ("in", |n| {
        when(&nested(
            "(",
            "principal in Agent::\"token/countersign/ci\"",
            ") == true",
            n,
        ))
    }),
    ("a chain of in", |n| {
        when(&format!("principal{}", " in principal".repeat(n)))
    }),
    ("is", |n| {
        when(&nested("(", "resource is Server", ") == true", n))
    }),
    (">", |n| when(&nested("(", "2 > 1", ") != false", n))),
    ("a chain of ==", |n| when(&chain("1", " == ", n))),
    ("decimal", |n| {
        when(&nested(
            "(",
            "decimal(\"1.0\").greaterThan(decimal(\"0.0\"))",
            ") == true",
            n,
        ))
    }),
    ("@", |n| {
        let annotations: String = (0..n).map(|n| format!("@a{n}(\"x\") ")).collect();
        format!("{annotations}permit (principal, action, resource);")
    }),
    ("::", |n| {
        when(&format!("resource is {}Server", "A::".repeat(n)))
    }),
    ("an item", |n| {
        when(&format!("[{}].contains(1)", chain("1", ",", n)))
    }),
];

/// Runs where there is that much stack. An overflow ends the whole process.
fn on<T: Send + 'static>(stack: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(stack);
    thread.spawn(work).unwrap().join().unwrap()
}

/// Whether a policy is refused before Cedar reads it.
fn too_large(text: &str) -> bool {
    PolicySet::recorded(bundle(text)).is_err_and(|error| {
        let found = &error.problems()[0];
        found.code() == ProblemCode::Syntax && found.message().contains("too large")
    })
}

/// How a policy is decided by whoever loads it, and by whoever verifies it;
/// codes of problems, where it is none.
fn outcomes(text: &str) -> [Result<Reason, Vec<ProblemCode>>; 2] {
    let call = Call::of("{}");
    let of = |set: Result<PolicySet, countersign_policy::LoadError>| match set {
        Ok(set) => Ok(call.decide(&set).reason()),
        Err(error) => Err(error
            .problems()
            .iter()
            .map(countersign_policy::Problem::code)
            .collect()),
    };
    [
        of(PolicySet::load(bundle(text))),
        of(PolicySet::recorded(bundle(text))),
    ]
}

/// The most that is not too large, up to some.
fn most(shape: Shape) -> usize {
    let (mut fits, mut over) = (1_usize, 700);
    while over - fits > 1 {
        let middle = fits.midpoint(over);
        if too_large(&shape(middle)) {
            over = middle;
        } else {
            fits = middle;
        }
    }
    fits
}

#[test]
fn the_largest_policy_of_each_shape_is_decided_alike_on_a_small_stack() {
    for (name, shape) in SHAPES {
        let count = on(LARGE, move || most(shape));
        let small = on(SMALL, move || outcomes(&shape(count)));
        let large = on(LARGE, move || outcomes(&shape(count)));
        assert_eq!(small, large, "{name}, {count} times");
        // Each of these either holds or is no condition at all.
        let denied = large.contains(&Ok(Reason::NoPermit));
        assert!(!denied || name == "::", "{name}, {count} times");
    }
}

#[test]
fn a_file_of_one_shape_is_a_problem_or_a_policy_and_never_an_abort() {
    for (name, shape) in SHAPES {
        // These fold into no tree, however many there are.
        let wide = ["@", "::", "an item", "a chain of in", "a chain of =="].contains(&name);
        let most = if wide { 20_000 } else { 1_000_000 };
        for mut count in [1_500, 5_000, most] {
            while shape(count).len() > 1 << 20 {
                count /= 2;
            }
            let found = on(2 * SMALL, move || outcomes(&shape(count)));
            let syntax = |found: &Result<Reason, Vec<ProblemCode>>| {
                found
                    .as_ref()
                    .is_err_and(|codes| codes.iter().all(|code| *code == ProblemCode::Syntax))
            };
            assert!(
                wide || found.iter().all(syntax),
                "{name}, {count} times: {found:?}"
            );
        }
    }
}

/// A condition that holds, in another one that holds.
fn wrapped(random: &mut Random, inner: &str) -> String {
    let shape = random.pick(&[
        "!!($)",
        "!(!($))",
        "$ && true",
        "true && ($)",
        "$ || false",
        "false || ($)",
        "($) == true",
        "($) != false",
        "[$].contains(true)",
        "{a: $}.a",
        "{a: [$]}[\"a\"].contains(1 + 1 > 1)",
        "if $ then 1 + 1 == 2 else false",
        "if true then $ else false",
        "($) && context has revision && context[\"revision\"] like \"2*\"",
        "(if $ then 2 else 0 - 1) > 1 - 2 * 3",
        "[true, $] == [$, true]",
    ]);
    shape.replace('$', inner)
}

#[test]
fn the_largest_policy_of_any_mixture_is_decided_alike_on_a_small_stack() {
    let (mut deepest, mut permitted) = (0, 0);
    for seed in 1..=40 {
        let text = on(LARGE, move || {
            let mut random = Random(seed * 0x9e37_79b9);
            let mut condition = "true".to_owned();
            let mut refused = 0;
            // Other shapes may still fit where one did not.
            while refused < 20 && condition.len() < 20_000 {
                let larger = wrapped(&mut random, &condition);
                if too_large(&when(&larger)) {
                    refused += 1;
                } else {
                    condition = larger;
                }
            }
            when(&condition)
        });
        deepest = deepest.max(text.len());
        let (one, other) = (text.clone(), text.clone());
        let small = on(SMALL, move || outcomes(&one));
        let large = on(LARGE, move || outcomes(&other));
        assert_eq!(small, large, "{text}");
        permitted += usize::from(large[1] == Ok(Reason::Permitted));
    }
    assert!(deepest > 300 && permitted > 30, "{deepest} {permitted}");
}

#[test]
fn a_bundle_of_many_policies_is_measured_one_by_one() {
    let one = when(&chain("1 == 1", " && ", 100));
    let files = (0..20).map(|n| (format!("f{n}.cedar"), one.repeat(3)));
    let bundle = Bundle::of(files).unwrap();
    let set = PolicySet::load(bundle).unwrap();
    assert_eq!(Call::of("{}").decide(&set).reason(), Reason::Permitted);
}
