//! What a component must be to be loaded: each check, seen to fail.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

mod common;

use common::{Stub, engine};
use countersign_canon::Digest;
use countersign_engine::{FaultKind, Function, Pin, Problem};

#[test]
fn a_component_that_keeps_the_contract_is_loaded() {
    let stub = Stub::default();
    let profile = engine().load(&stub.component(), Some(&stub.pin())).unwrap();
    assert_eq!(profile.id().as_str(), "stub@1.0.0");
    assert_eq!(profile.component_digest(), stub.pin().digest);
    assert_eq!(profile.bytes(), stub.component());
    assert_eq!(profile.world(), "countersign:admission@1.0.0");
    assert_eq!(profile.limits().depth, 64);
    assert_eq!(profile.self_tests(), 2);
}

#[test]
fn each_check_refuses_what_breaks_it_with_its_own_code() {
    let cases = [
        (
            "a float instruction, even one that is never run",
            Stub {
                fields: "(func (drop (f64.add (f64.const 1) (f64.const 2))))",
                ..Stub::default()
            },
            "profile-instructions",
        ),
        (
            "a float type, even of a parameter",
            Stub {
                fields: "(func (param f32))",
                ..Stub::default()
            },
            "profile-instructions",
        ),
        (
            "a vector instruction",
            Stub {
                fields: "(func (drop (i8x16.splat (i32.const 1))))",
                ..Stub::default()
            },
            "profile-instructions",
        ),
        (
            "a fence of threads",
            Stub {
                fields: "(func (atomic.fence))",
                ..Stub::default()
            },
            "profile-instructions",
        ),
        (
            "a tail call",
            Stub {
                fields: "(func $f (return_call $f))",
                ..Stub::default()
            },
            "profile-instructions",
        ),
        (
            "a memory without a maximum",
            Stub {
                memory: "1",
                ..Stub::default()
            },
            "profile-memory",
        ),
        (
            "a memory that may grow beyond 256 MiB",
            Stub {
                memory: "1 4097",
                ..Stub::default()
            },
            "profile-memory",
        ),
        (
            "an export besides the world's",
            Stub {
                wit: Some(["export profile;", "export profile; export extra: func();"]),
                fields: r#"(func (export "extra"))"#,
                ..Stub::default()
            },
            "profile-exports",
        ),
        (
            "a function of another type",
            Stub {
                wit: Some(["number-bytes: u32,", "number-bytes: s32,"]),
                ..Stub::default()
            },
            "profile-exports",
        ),
        (
            "a limit of nothing",
            Stub {
                limits: [0, 64, 1_024, 262_144],
                ..Stub::default()
            },
            "profile-limits",
        ),
        (
            "a limit beyond what the host holds",
            Stub {
                limits: [10_485_760, 64, 1_024, 262_145],
                ..Stub::default()
            },
            "profile-limits",
        ),
        (
            "one vector",
            Stub {
                vectors: vec![true],
                ..Stub::default()
            },
            "profile-vectors",
        ),
        (
            "vectors without a refusal",
            Stub {
                vectors: vec![true, true],
                ..Stub::default()
            },
            "profile-vectors",
        ),
        (
            "vectors without a call",
            Stub {
                vectors: vec![false, false],
                ..Stub::default()
            },
            "profile-vectors",
        ),
        (
            "sixty-five vectors",
            Stub {
                vectors: [vec![false; 64], vec![true]].concat(),
                ..Stub::default()
            },
            "profile-vectors",
        ),
        (
            "a vector that it does not reproduce",
            Stub {
                vector_action: br#"{"method":"tools/call","name":"u"}"#,
                ..Stub::default()
            },
            "profile-vectors",
        ),
        (
            "a refusal elsewhere than its vector says",
            Stub {
                refusal_offset: 0,
                ..Stub::default()
            },
            "profile-vectors",
        ),
        (
            "a binding that is not the digest of its action",
            Stub {
                binding: Some(Digest::of(&[b"x"]).as_str().to_owned()),
                ..Stub::default()
            },
            "profile-self-test",
        ),
        (
            "a binding that is no digest",
            Stub {
                binding: Some("sha256:0".to_owned()),
                ..Stub::default()
            },
            "profile-self-test",
        ),
        (
            "a trap while it describes itself",
            Stub {
                describe: Some("(unreachable)"),
                ..Stub::default()
            },
            "profile-self-test",
        ),
        (
            "a description without an end",
            Stub {
                describe: Some("(loop (br 0)) (unreachable)"),
                ..Stub::default()
            },
            "profile-self-test",
        ),
        (
            "a trap on one of its vectors",
            Stub {
                admit: Some("(unreachable)"),
                ..Stub::default()
            },
            "profile-self-test",
        ),
        (
            "a start function without an end",
            Stub {
                fields: "(func $s (loop (br 0))) (start $s)",
                ..Stub::default()
            },
            "profile-self-test",
        ),
        (
            "more table elements than an engine keeps ready",
            Stub {
                fields: "(table 100000 100000 funcref)",
                ..Stub::default()
            },
            "profile-unsupported",
        ),
    ];
    let engine = engine();
    for (name, stub, code) in cases {
        let error = engine
            .load(&stub.component(), Some(&stub.pin()))
            .map(|_| ())
            .expect_err(name);
        assert_eq!(error.code(), code, "{name}: {error}");
        assert!(error.to_string().contains("stub@1.0.0"), "{name}: {error}");
        assert!(Problem::CODES.contains(&error.code()), "{name}");
        assert!(!error.help().is_empty(), "{name}");
    }
}

#[test]
fn a_component_that_admits_its_action_as_another_is_not_loaded() {
    // Its own message has 68 bytes; anything shorter is refused, so is the
    // message that would ask for its action.
    let admit = "(select (i32.const $call) (i32.const $refusal)
                   (i32.eq (i32.load8_u (i32.add (local.get 0) (i32.const 2))) (i32.const 110)))";
    let stub = Stub {
        admit: Some(admit),
        ..Stub::default()
    };
    let error = engine().load(&stub.component(), None).unwrap_err();
    assert_eq!(error.code(), "profile-vectors", "{error}");
}

#[test]
fn what_imports_anything_says_what_it_imports() {
    let component = wat::parse_str(r#"(component (import "wasi:clocks/wall" (func)))"#).unwrap();
    let error = engine().load(&component, None).unwrap_err();
    assert_eq!(error.code(), "profile-imports");
    assert!(error.to_string().contains("wasi:clocks/wall"), "{error}");
}

#[test]
fn what_is_no_component_is_not_loaded() {
    let engine = engine();
    let module = wat::parse_str("(module)").unwrap();
    let damaged = {
        let mut bytes = Stub::default().component();
        bytes.pop();
        bytes
    };
    for bytes in [module, damaged, b"not wasm".to_vec(), Vec::new()] {
        assert_eq!(
            engine.load(&bytes, None).unwrap_err().code(),
            "profile-instructions"
        );
    }
    assert_eq!(
        engine
            .load(&vec![0; (16 << 20) + 1], None)
            .unwrap_err()
            .code(),
        "profile-too-large"
    );
}

#[test]
fn a_pin_is_held_to_its_name_and_its_digest() {
    let (engine, stub) = (engine(), Stub::default());
    let other = Pin {
        digest: Digest::of(&[b"other"]),
        ..stub.pin()
    };
    assert_eq!(
        engine
            .load(&stub.component(), Some(&other))
            .unwrap_err()
            .code(),
        "profile-digest"
    );
    let other = Pin {
        id: "stub@1.0.1".parse().unwrap(),
        ..stub.pin()
    };
    let error = engine.load(&stub.component(), Some(&other)).unwrap_err();
    assert_eq!(error.code(), "profile-identity");
    assert!(error.to_string().contains("stub@1.0.1"), "{error}");
}

#[test]
fn a_file_is_what_its_name_says() {
    let (engine, stub) = (engine(), Stub::default());
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, stub.component()).unwrap();
        path
    };
    assert!(
        engine
            .load_file(&put("stub@1.0.0.wasm"), Some(stub.pin().digest))
            .is_ok()
    );
    let wrong = Some(Digest::of(&[b"other"]));
    let code = |name: &str, digest| engine.load_file(&put(name), digest).unwrap_err().code();
    assert_eq!(code("stub@1.0.0.wasm", wrong), "profile-digest");
    assert_eq!(code("stub@2.0.0.wasm", None), "profile-identity");
    assert_eq!(code("stub.wasm", None), "profile-file-name");
    let missing = folder.path().join("stub@3.0.0.wasm");
    assert_eq!(
        engine.load_file(&missing, None).unwrap_err().code(),
        "profile-unreadable"
    );
}

#[test]
fn a_name_that_is_not_built_in_is_unknown() {
    let error = engine()
        .load_embedded(&"nobody@1.0.0".parse().unwrap())
        .unwrap_err();
    assert_eq!(error.code(), "profile-unknown");
}

#[test]
fn a_fault_at_load_says_in_which_function_and_why() {
    let stub = Stub {
        admit: Some("(loop (br 0)) (unreachable)"),
        ..Stub::default()
    };
    let error = engine().load(&stub.component(), None).unwrap_err();
    let Problem::Fault(fault) = error.problem() else {
        panic!("{error}")
    };
    assert_eq!(
        (fault.function(), fault.kind()),
        (Function::Admit, FaultKind::OutOfFuel)
    );
}
