//! What a document gives of its values: kinds, spellings, places, pointers.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so"
)]

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Code, Digest, Document, Limits, Numbers, preimage};

const TEXT: &str =
    r#" {"a":[1,-0,1.5e3,9223372036854775808],"b/~":{"t":true,"f":false,"n":null},"é":"x\ny"} "#;

fn read(text: &str) -> Document<'_> {
    Document::read(text.as_bytes(), Limits::STANDARD).unwrap()
}

#[test]
fn a_document_counts_its_values_and_keeps_its_bytes() {
    let document = read(TEXT);
    assert_eq!(document.values(), 11);
    assert_eq!(document.source(), TEXT.as_bytes());
    assert_eq!(read("7").values(), 1);
}

#[test]
fn each_value_is_of_one_kind_and_has_what_that_kind_has() {
    let document = read(r#"[7,-9223372036854775808,1.0,"7",true,false,null,[7],{"a":7}]"#);
    type Case<'c> = (
        Kind,
        Option<&'c str>,
        Option<i64>,
        Option<bool>,
        Option<&'c str>,
        usize,
    );
    let least = "-9223372036854775808";
    let cases: [Case<'_>; 9] = [
        (Kind::Number, Some("7"), Some(7), None, None, 0),
        (Kind::Number, Some(least), Some(i64::MIN), None, None, 0),
        (Kind::Number, Some("1.0"), None, None, None, 0),
        (Kind::String, None, None, None, Some("7"), 0),
        (Kind::True, None, None, Some(true), None, 0),
        (Kind::False, None, None, Some(false), None, 0),
        (Kind::Null, None, None, None, None, 0),
        (Kind::Array, None, None, None, None, 1),
        (Kind::Object, None, None, None, None, 1),
    ];
    let items: Vec<Item<'_>> = document.root().children().collect();
    assert_eq!(items.len(), cases.len());
    for (item, (kind, lexeme, integer, boolean, text, count)) in items.into_iter().zip(cases) {
        assert_eq!(item.kind(), kind);
        assert_eq!(item.lexeme(), lexeme);
        assert_eq!(item.integer(), integer);
        assert_eq!(item.boolean(), boolean);
        assert_eq!(item.text().as_deref(), text);
        assert_eq!(item.count(), count);
        assert_eq!(item.is_text("7"), text == Some("7"));
        assert!(!item.is_text("8"));
    }
}

#[test]
fn a_value_is_found_by_its_name_its_position_and_its_pointer_and_nowhere_else() {
    let document = read(TEXT);
    let root = document.root();
    let a = root.get("a").unwrap();
    assert_eq!(a.at(2).unwrap().raw(), b"1.5e3");
    assert!(a.at(4).is_none() && a.get("0").is_none() && root.at(0).is_none());
    assert!(a.at(0).unwrap().get("a").is_none() && a.at(0).unwrap().at(0).is_none());
    assert!(root.get("c").is_none());
    for (pointer, raw) in [
        ("/a/0", "1"),
        ("/a/3", "9223372036854775808"),
        ("/b~1~0/f", "false"),
        ("/b~1~0/n", "null"),
        ("/é", "\"x\\ny\""),
    ] {
        let found = document.find(pointer).expect(pointer);
        assert_eq!(found.raw(), raw.as_bytes(), "{pointer}");
        assert_eq!(found.pointer(), pointer);
    }
    assert_eq!(document.find("").unwrap().offset(), 1);
    assert_eq!(document.find("/a/1").unwrap().offset(), 9);
    for absent in [
        "a",
        "/c",
        "/a/4",
        "/a/00",
        "/a/-",
        "/a/0/0",
        "/b~1~0/f/x",
        "/é/0",
        "/~2",
    ] {
        assert!(document.find(absent).is_none(), "{absent}");
    }
}

#[test]
fn children_come_in_the_order_of_their_bytes_and_are_counted_before_they_do() {
    let document = read(r#"{"b":[[],{}],"a":{"x":[1,2]},"c":3}"#);
    let mut children = document.root().children();
    assert_eq!(children.len(), 3);
    assert_eq!(children.size_hint(), (3, Some(3)));
    let names: Vec<_> = children.by_ref().map(|item| item.name().unwrap()).collect();
    assert_eq!(names, ["b", "a", "c"]);
    assert_eq!(children.len(), 0);
    assert!(children.next().is_none());
    assert!(document.root().name().is_none());
    let items = document.root().get("b").unwrap().children();
    assert!(items.clone().all(|item| item.name().is_none()));
    assert_eq!(
        items.map(Item::kind).collect::<Vec<_>>(),
        [Kind::Array, Kind::Object]
    );
}

#[test]
fn members_are_in_the_order_of_the_first_byte_that_differs_wherever_it_stands() {
    for before in 0..40 {
        for after in [0, 1, 7, 8, 9, 40] {
            let name = |letter| format!("{}{letter}{}", "p".repeat(before), "t".repeat(after));
            let [a, b, c] = ["a", "b", "c"].map(name);
            let text = format!(r#"{{"{c}":3,"{a}":1,"{b}":2}}"#);
            assert_eq!(
                String::from_utf8(read(&text).root().canonical()).unwrap(),
                format!(r#"{{"{a}":1,"{b}":2,"{c}":3}}"#)
            );
        }
    }
}

#[test]
fn codes_are_written_as_the_specification_writes_them_and_ties_fall_to_its_order() {
    let written = [
        "encoding",
        "syntax",
        "surrogate",
        "duplicate-member",
        "limit",
        "envelope",
        "params",
        "correlation",
        "number",
        "value",
    ];
    assert_eq!(Code::ALL.map(Code::as_str), written);
    assert_eq!(Code::ALL.map(|code| code.to_string()), written);
    assert!(Code::ALL.is_sorted());
    let refusal = Document::read(b"[1,]", Limits::STANDARD).unwrap_err();
    assert_eq!(refusal.to_string(), "syntax at byte 4, ``");
}

#[test]
fn a_digest_is_written_and_read_in_one_form() {
    let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 7 + at / 2).unwrap());
    let digest = Digest::from_bytes(bytes);
    let hex = "00070f161e252d343c434b525a616970787f878e969da5acb4bbc3cad2d9e1e8";
    assert_eq!(digest.as_str(), format!("sha256:{hex}"));
    assert_eq!(digest.to_bytes(), bytes);
    assert_eq!(Digest::from_bytes([0xFF; 32]).to_bytes(), [0xFF; 32]);
    assert_eq!(
        Digest::from_bytes([0xFA; 32]).as_str(),
        format!("sha256:{}", "fa".repeat(32))
    );
    assert_eq!(digest.as_str().parse(), Ok(digest));
    assert_eq!(
        format!("{digest} {digest:?}"),
        format!("{0} {0}", digest.as_str())
    );
    // printf abc | sha256sum
    let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(Digest::of(&[b"a", b"", b"bc"]).as_str(), abc);
    let zeros = "0".repeat(64);
    for bad in [
        "",
        &zeros,
        &abc.to_uppercase(),
        &abc[..70],
        &format!("{abc}0"),
        &format!("sha512:{zeros}"),
        &format!("sha256:{}g", &zeros[1..]),
        &format!("sha256:{}/", &zeros[1..]),
        &format!("sha256:{}`", &zeros[1..]),
        &format!("sha256:{}:", &zeros[1..]),
    ] {
        assert!(bad.parse::<Digest>().is_err(), "{bad}");
    }
}

#[test]
fn every_preimage_begins_with_its_own_line() {
    let of = |text: &str| Digest::of(&[text.as_bytes()]);
    assert_eq!(
        preimage::request_state("s\n"),
        of("countersign.request-state.v1\ns\n")
    );
    assert_eq!(
        preimage::client_context(b"{}"),
        of("countersign.client-context.v1\n{}")
    );
}

#[test]
fn only_jcs_integer_minds_how_a_number_is_written() {
    for (lexeme, safe) in [
        ("0", true),
        ("-1", true),
        ("9007199254740991", true),
        ("-9007199254740991", true),
        ("9007199254740992", false),
        ("-9007199254740992", false),
        ("-0", false),
        ("1.0", false),
        ("1e0", false),
    ] {
        assert_eq!(
            Numbers::SafeIntegers.carries(lexeme.as_bytes()),
            safe,
            "{lexeme}"
        );
        assert!(Numbers::AsWritten.carries(lexeme.as_bytes()), "{lexeme}");
    }
}
