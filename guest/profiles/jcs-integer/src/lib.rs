//! The profile `jcs-integer`: integers that every implementation of RFC 8785 writes alike.
//!
//! The rule is `docs/spec/action-binding.md` §3; all the work is done in
//! `countersign-canon`, the interface in `countersign-component`.

#![cfg_attr(target_family = "wasm", no_std)]

use countersign_canon::{Code, Numbers};
use countersign_component::{Answer, Component, Profile, Vector};

struct JcsInteger;

impl Profile for JcsInteger {
    const ID: &'static str = concat!("jcs-integer@", env!("CARGO_PKG_VERSION"));
    const NUMBERS: Numbers = Numbers::SafeIntegers;
    const VECTORS: &'static [Vector] = &[
        Vector {
            message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
            answer: Answer::Bound {
                action: r#"{"method":"tools/call","name":"echo"}"#,
                binding: "sha256:e919e7414908b7a2576773ab6938f3a5b9d5f4a5dd17e571154186bafb76b895",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"arguments":{"to":"b","amount":5000,"b\u0065":[true,false,null,{}]},"name":"transfer"}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"amount":5000,"be":[true,false,null,{}],"to":"b"},"method":"tools/call","name":"transfer"}"#,
                binding: "sha256:738d3556faec4f3aa0a10a0a949daf581675297a0b113770ca46bb1d2b0d03b6",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_cmcp":{"execution_id":"e-1"},"name":"n","task":{"ttl":60},"_meta":{"progressToken":1,"vendor/x":"\u00e9\/","tracestate":"x"}}}"#,
            answer: Answer::Bound {
                action: r#"{"_meta":{"vendor/x":"é/"},"method":"tools/call","name":"n","task":{"ttl":60}}"#,
                binding: "sha256:52327e843dad048a4961784d8977896ae0a877b3d1f53f377306c38123bafbbd",
            },
        },
        Vector {
            message: b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"n\",\"arguments\":{\"\xf0\x9f\x98\x80\":1,\"\xee\x80\x80\":2}}}",
            answer: Answer::Bound {
                action: r#"{"arguments":{"😀":1,"":2},"method":"tools/call","name":"n"}"#,
                binding: "sha256:6ab52ce331a75995852195fdcca83218b2eb646f2ff80d6c855daacaa933c196",
            },
        },
        Vector {
            message: b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"n\",\"arguments\":{\"\xee\x80\x80\":2,\"\xf0\x9f\x98\x80\":1}}}",
            answer: Answer::Bound {
                action: r#"{"arguments":{"😀":1,"":2},"method":"tools/call","name":"n"}"#,
                binding: "sha256:6ab52ce331a75995852195fdcca83218b2eb646f2ff80d6c855daacaa933c196",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":1}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":1},"method":"tools/call","name":"n"}"#,
                binding: "sha256:02460313b53e27eb92487c4e7ed1e48c46f8484ebf1011234755ad225ce14c3a",
            },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":9007199254740991}}}"#,
            answer: Answer::Bound {
                action: r#"{"arguments":{"v":9007199254740991},"method":"tools/call","name":"n"}"#,
                binding: "sha256:33036cc48a3044f2486935061bc6732336db4a71c61972bdb6137e34b61d8dc6",
            },
        },
        Vector { message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, answer: Answer::NotACall },
        Vector { message: br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"x":1.50}}"#, answer: Answer::NotACall },
        Vector { message: br#"{"jsonrpc":"2.0","id":"s","result":{}}"#, answer: Answer::NotACall },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":1.0}}}"#,
            answer: Answer::Refused { code: Code::Number, pointer: "/params/arguments/v", offset: 90 },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":1e0}}}"#,
            answer: Answer::Refused { code: Code::Number, pointer: "/params/arguments/v", offset: 90 },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":-0}}}"#,
            answer: Answer::Refused { code: Code::Number, pointer: "/params/arguments/v", offset: 89 },
        },
        Vector {
            message: br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"n","arguments":{"v":9007199254740992}}}"#,
            answer: Answer::Refused { code: Code::Number, pointer: "/params/arguments/v", offset: 103 },
        },
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

type Shipped = Component<JcsInteger>;
countersign_component::export!(Shipped);

#[cfg(test)]
mod tests {
    #[test]
    fn every_known_answer_is_the_answer() {
        assert_eq!(countersign_component::check::<super::JcsInteger>(), Ok(()));
    }
}
