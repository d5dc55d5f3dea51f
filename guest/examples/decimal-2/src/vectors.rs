//! Known answers, which every host tries before it uses the profile.

use countersign_canon::Code;
use countersign_component::{Answer, Vector};

pub(crate) const VECTORS: &[Vector] = &[
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
        answer: Answer::Bound {
            action: r#"{"method":"tools/call","name":"echo"}"#,
            binding: "sha256:3abc9eafcb5b3ed324f64e89efb69a4af829029313e0b2eab47bfd1ed4997858",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.10}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:ace78a0f9138b4cfa65e5312169ef2c6eaba62994bf66a75a470ac3e404e7b6a",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.1}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:ace78a0f9138b4cfa65e5312169ef2c6eaba62994bf66a75a470ac3e404e7b6a",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":11e-1}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:ace78a0f9138b4cfa65e5312169ef2c6eaba62994bf66a75a470ac3e404e7b6a",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":0.11E+01}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:ace78a0f9138b4cfa65e5312169ef2c6eaba62994bf66a75a470ac3e404e7b6a",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.0}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.0},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:8c9015cf74b6e698ee48fe4ba54f1070f7164eb190ab2e7522cd0aec04c24957",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1e0}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.0},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:8c9015cf74b6e698ee48fe4ba54f1070f7164eb190ab2e7522cd0aec04c24957",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:cd6b2ffd07b2631607bbf35997ae2f48bcac6ccec69cacbd2ebafc2f77cf3b2f",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":100.0}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1e2},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:603275c5cab0c3c662d6049e65365f8a575b1bc9e3830060e69694e26a4e4546",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":-0.00}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":-0},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:95d6283fea932cd8667f0503db183bdefe16f0fdac262653afdb2ba3eb9417e0",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":0e5}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":0.0},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:a821f1733f2dde812c56f3d09fdc216b539a387e88a7d58e4ce5826ee5b9904a",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":9007199254740993.0}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":9007199254740993.0},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:fe8ba255445a97087a6d6efb4b01a130d0fd50627e0d04231b0cd2c166ef0010",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":18446744073709551616}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":18446744073709551616},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:b083bb8e219ede4e6d60821ee525d8efa0aa28797df0ced619fb39b42f37399e",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":18446744073709551616.0}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":18446744073709551616},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:b083bb8e219ede4e6d60821ee525d8efa0aa28797df0ced619fb39b42f37399e",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1e-400}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1e-400},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:a6b885ed3bfe78dbab003c666d15c69ebebd9b154ab3997035d9fe6f1dc05d7a",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"vendor/x":2.50,"progressToken":1.50},"task":{"ttl":60.0},"name":"1.50","arguments":{"1.50":"\"1.50"}}}"#,
        answer: Answer::Bound {
            action: r#"{"_meta":{"vendor/x":2.5},"arguments":{"1.50":"\"1.50"},"method":"tools/call","name":"1.50","task":{"ttl":6e1}}"#,
            binding: "sha256:c6bb16d65e18824d589458d88d0f49652c813b9ff3a5da4c4f1e5e80e6ea5078",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":1.50}}"#,
        answer: Answer::NotACall,
    },
    Vector {
        message: br#"[]"#,
        answer: Answer::Refused {
            code: Code::Envelope,
            pointer: "",
            offset: 2,
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"n","name":"n"}}"#,
        answer: Answer::Refused {
            code: Code::Params,
            pointer: "/params/Name",
            offset: 79,
        },
    },
    Vector {
        message: br#"{"a":1,}"#,
        answer: Answer::Refused {
            code: Code::Syntax,
            pointer: "",
            offset: 8,
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1e1000000000000000000}}}"#,
        answer: Answer::Refused {
            code: Code::Number,
            pointer: "/params/arguments/amount",
            offset: 115,
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"baggage":1e1000000000000000000,"vendor/x":[1.5,{"y":1e1000000000000000000}]},"name":"pay","arguments":{"amount":1e1000000000000000000}}}"#,
        answer: Answer::Refused {
            code: Code::Number,
            pointer: "/params/_meta/vendor~1x/1/y",
            offset: 202,
        },
    },
];
