//! The profile `exact`: every number is admitted and kept as written.
//!
//! The rule is `docs/spec/action-binding.md` §3; all the work is done in
//! `countersign-canon`, the interface in `countersign-component`.

#![cfg_attr(target_family = "wasm", no_std)]

use countersign_canon::{Code, Numbers};
use countersign_component::{Answer, Component, Profile, Vector};

struct Exact;

impl Profile for Exact {
    const ID: &'static str = concat!("exact@", env!("CARGO_PKG_VERSION"));
    const NUMBERS: Numbers = Numbers::AsWritten;
    const VECTORS: &'static [Vector] = &[
        Vector {
            message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
            answer: Answer::Bound {
                action: r#"{"method":"tools/call","name":"echo"}"#,
                binding: "sha256:ec07bacf773369eca8b72865949d5c5d6f3b7993e4358cb9407b7b3154b2a592",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"arguments":{"to":"b","amount":5000,"b\u0065":[true,false,null,{}]},"name":"transfer"}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"amount":5000,"be":[true,false,null,{}],"to":"b"},"method":"tools/call","name":"transfer"}"#,
                binding: "sha256:c81a93760895d7b9ab3103ef143dd61c9a8d01034c965d8c835f8b1fab971069",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_cmcp":{"execution_id":"e-1"},"name":"n","task":{"ttl":60},"_meta":{"progressToken":1,"vendor/x":"\u00e9\/","tracestate":"x"}}}"#,
            answer: Answer::Bound {
                action: r#"{"_meta":{"vendor/x":"é/"},"method":"tools/call","name":"n","task":{"ttl":60}}"#,
                binding: "sha256:207867f9e6884571a7179afccd62f4170ec1816fc344bf678869dd6f2cb88fa3",
            },
        },
        Vector {
            message: b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"n\",\"arguments\":{\"\xf0\x9f\x98\x80\":1,\"\xee\x80\x80\":2}}}",
            answer: Answer::Bound {
                action: r#"{"arguments":{"😀":1,"":2},"method":"tools/call","name":"n"}"#,
                binding: "sha256:c601ec92c84c616b3f0b45cd03191ca644e0b309454a1056afbbec802223dd34",
            },
        },
        Vector {
            message: b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"n\",\"arguments\":{\"\xee\x80\x80\":2,\"\xf0\x9f\x98\x80\":1}}}",
            answer: Answer::Bound {
                action: r#"{"arguments":{"😀":1,"":2},"method":"tools/call","name":"n"}"#,
                binding: "sha256:c601ec92c84c616b3f0b45cd03191ca644e0b309454a1056afbbec802223dd34",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":1}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":1},"method":"tools/call","name":"n"}"#,
                binding: "sha256:0be936629c74db654a2dd649e9916695cc3f4e3eb08045e9cf0eb05087bb4ebf",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":1.0}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":1.0},"method":"tools/call","name":"n"}"#,
                binding: "sha256:320c04229a4ab890d27606b528cf7b34fa0d4db907acad23cea85fb771e733d8",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":1e0}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":1e0},"method":"tools/call","name":"n"}"#,
                binding: "sha256:47a7ea028c47879575a9108d88b9013e8a40d6eb3a2d168f1e092318509271b0",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":-0}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":-0},"method":"tools/call","name":"n"}"#,
                binding: "sha256:71b293f187ce89cb71670772f2fee58b49921997c9baae3824d6823ee2effb1d",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":9007199254740991}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":9007199254740991},"method":"tools/call","name":"n"}"#,
                binding: "sha256:40d1af9152682dbbb3782a8fd63f328ee9e58130ed839d39fffd225bb9042dfd",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":9007199254740992}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":9007199254740992},"method":"tools/call","name":"n"}"#,
                binding: "sha256:61e7cb35185298d528adf95eb57dff85f44db6b75e3ae24b0dfd5aefb8d90995",
            },
        },
        Vector { message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, answer: Answer::NotACall },
        Vector { message: br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"x":1.50}}"#, answer: Answer::NotACall },
        Vector { message: br#"{"jsonrpc":"2.0","id":"s","result":{}}"#, answer: Answer::NotACall },
        Vector {
            message: b"\xef\xbb\xbf{}",
            answer: Answer::Refused { code: Code::Encoding, pointer: "", offset: 3 },
        },
        Vector {
            message: b"[\"\xc3(\"]",
            answer: Answer::Refused { code: Code::Encoding, pointer: "/0", offset: 4 },
        },
        Vector {
            message: br#"{"a":1,}"#,
            answer: Answer::Refused { code: Code::Syntax, pointer: "", offset: 8 },
        },
        Vector {
            message: br#"["\ud800"]"#,
            answer: Answer::Refused { code: Code::Surrogate, pointer: "/0", offset: 9 },
        },
        Vector {
            message: br#"{"a":1,"\u0061":2}"#,
            answer: Answer::Refused { code: Code::DuplicateMember, pointer: "", offset: 15 },
        },
        Vector {
            message: br#"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["#,
            answer: Answer::Refused { code: Code::Limit, pointer: "/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0", offset: 65 },
        },
        Vector {
            message: br#"[]"#,
            answer: Answer::Refused { code: Code::Envelope, pointer: "", offset: 2 },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"n","name":"n"}}"#,
            answer: Answer::Refused { code: Code::Params, pointer: "/params/Name", offset: 79 },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","_cmcp":{"execution_id":""}}}"#,
            answer: Answer::Refused { code: Code::Correlation, pointer: "/params/_cmcp/execution_id", offset: 96 },
        },
    ];
}

type Shipped = Component<Exact>;
countersign_component::export!(Shipped);

#[cfg(test)]
mod tests {
    #[test]
    fn every_known_answer_is_the_answer() {
        assert_eq!(countersign_component::check::<super::Exact>(), Ok(()));
    }
}
