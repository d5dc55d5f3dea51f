//! Bytes that are close to an action and are none.

/// Variants of an action that no `interpret` may take for one, whatever its
/// rule for numbers.
pub(crate) fn near(action: &[u8]) -> Vec<Vec<u8>> {
    let (head, last) = action.split_at(action.len().saturating_sub(1));
    let inner = action.get(1..).unwrap_or_default();
    let text = String::from_utf8_lossy(action);
    vec![
        [action, b" "].concat(),
        [b" ", action].concat(),
        [action, b"\n"].concat(),
        head.to_vec(),
        [head, b" ", last].concat(),
        [head, b",\"other\":1", last].concat(),
        [head, b",\"name\":\"t\"", last].concat(),
        [b"{\"zzz\":0,", inner].concat(),
        text.replacen("\"method\"", "\"\\u006dethod\"", 1)
            .into_bytes(),
        text.replacen("tools/call", "tools\\/call", 1).into_bytes(),
        text.replacen("\"tools/call\"", "\"tools/list\"", 1)
            .into_bytes(),
        [b"[", action, b"]"].concat(),
        [b"\xef\xbb\xbf", action].concat(),
        Vec::new(),
        b"{}".to_vec(),
    ]
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Numbers, interpret};

    #[test]
    fn none_of_them_is_an_action() {
        let id = "exact@1.0.0".parse().unwrap();
        let action = br#"{"arguments":{"n":1.0},"method":"tools/call","name":"t"}"#;
        assert!(interpret(&id, Numbers::AsWritten, action).is_ok());
        for near in super::near(action) {
            let read = interpret(&id, Numbers::AsWritten, &near);
            assert!(read.is_err(), "{}", String::from_utf8_lossy(&near));
        }
    }
}
