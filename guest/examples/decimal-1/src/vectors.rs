//! Known answers, which every host tries before it uses the profile.

use countersign_canon::Code;
use countersign_component::{Answer, Vector};

pub(crate) const VECTORS: &[Vector] = &[
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
        answer: Answer::Bound {
            action: r#"{"method":"tools/call","name":"echo"}"#,
            binding: "sha256:9be3433762218214afb65b1df655babca0a92939ceec69049d336ce627255073",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.10}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:c942521efe960c6a9842bba9822ecd72289e3eb360bb6af02491552cb6376bfd",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.1}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:c942521efe960c6a9842bba9822ecd72289e3eb360bb6af02491552cb6376bfd",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.0}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.0},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:660ac5bd849f314826d803608edfb166e816cc31de2691c5ea77212731784888",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:968951d38aa7f1ea356aa3b81865f9f786bd65f92533ff20f0fda92792afb196",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":-0.00}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":-0.0},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:185b10bcfc92c41e581e02f31e16691f482b91215baaffb406ed0facf6fbf23e",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1.50e1}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":1.50e1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:4c72b4c5a65d128275523863dad14e9aa4c1182a9c1b8cf116a7107d0c9cd719",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":11e-1}}}"#,
        answer: Answer::Bound {
            action: r#"{"arguments":{"amount":11e-1},"method":"tools/call","name":"pay"}"#,
            binding: "sha256:dfd9ce4a58aafe01f8660343aec6f7f692c0247a09af0c807787cc741e4ec6e5",
        },
    },
    Vector {
        message: br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"vendor/x":2.50,"progressToken":1.50},"task":{"ttl":60.0},"name":"1.50","arguments":{"1.50":"\"1.50"}}}"#,
        answer: Answer::Bound {
            action: r#"{"_meta":{"vendor/x":2.5},"arguments":{"1.50":"\"1.50"},"method":"tools/call","name":"1.50","task":{"ttl":60.0}}"#,
            binding: "sha256:3bdb4ea1a23b9817d4eed1eeb8071433780baac8f31407d9b6123a773269421a",
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
];
