//! The configuration: what is taken is what the published schema describes,
//! means the same when it is read again, and has no key that there is not.

use std::path::Path;
use std::sync::OnceLock;

use countersign_gateway::config::{self, Config, ConfigError};
use jsonschema::Validator;
use serde_json::Value;

use crate::choices::Choices;

/// A folder that is not there, so that no file is found.
const FOLDER: &str = "/nonexistent/countersign";
/// A key that no table has.
const UNKNOWN: &str = "zz-unknown";

/// An input is a file; or, where its first byte says so, keys of the schema
/// with values of all sorts.
pub(crate) fn run(data: &[u8]) {
    match data.split_first() {
        Some((0xFF, rest)) => judge(&composed(rest)),
        _ => {
            if let Ok(text) = std::str::from_utf8(data) {
                judge(text);
            }
        }
    }
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new(FOLDER))
}

fn judge(text: &str) {
    // What stands in a device or a process's folder is no matter of parsing.
    if ["/dev", "/proc", "/sys"]
        .iter()
        .any(|place| text.contains(place))
    {
        return;
    }
    let shown = |read: &Result<Config, ConfigError>| format!("{read:?}");
    let read = parse(text);
    assert_eq!(shown(&parse(text)), shown(&read), "it means the same again");
    if let Err(error) = &read {
        let lines = text.lines().count().max(1);
        assert!(
            error
                .line()
                .is_none_or(|line| (1..=lines + 1).contains(&line))
        );
        assert!(!error.message().is_empty(), "{error:?}");
        return;
    }
    let value: Value = toml::from_str(text).expect("what is taken is TOML");
    if let Some(fault) = validator().iter_errors(&value).next() {
        panic!(
            "it is taken, and the schema says {fault} at {}",
            fault.instance_path()
        );
    }
    if text.starts_with('\u{feff}') {
        // It may stand at the start alone.
        return;
    }
    let padded = format!("# a comment\n{text}\n# and one more\n");
    assert_eq!(
        shown(&parse(&padded)),
        shown(&read),
        "comments mean nothing"
    );
    for other in [
        format!("{UNKNOWN} = 1\n{text}"),
        format!("{text}\n[{UNKNOWN}]\n"),
        format!("{text}\n[[{UNKNOWN}]]\n"),
        format!("{text}\n[limits.{UNKNOWN}]\n"),
    ] {
        assert!(parse(&other).is_err(), "an unknown key is taken: {other}");
    }
    within_tables(text);
}

/// After each table's head an unknown key is refused, but for tables whose keys
/// are anybody's.
fn within_tables(text: &str) {
    if text.contains("\"\"\"") || text.contains("'''") {
        return;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (index, line) in lines.iter().enumerate() {
        let head = line.trim();
        let free = ["headers", "env", "on_disconnect"];
        let is_free = free.iter().any(|name| head.contains(name));
        if !head.starts_with('[') || !head.ends_with(']') || is_free || !line.ends_with('\n') {
            continue;
        }
        let (before, after) = lines.split_at(index + 1);
        let other = format!("{}{UNKNOWN} = 1\n{}", before.concat(), after.concat());
        assert!(
            parse(&other).is_err(),
            "an unknown key is taken in `{head}`"
        );
    }
}

fn validator() -> &'static Validator {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    VALIDATOR.get_or_init(|| {
        let schema: Value = serde_json::from_str(&config::schema()).expect("a schema is JSON");
        jsonschema::validator_for(&schema).expect("it is a schema")
    })
}

/// What a key of the file is: the head of its table, and its name.
type Key = (String, String);

/// Every key that the schema knows, but for those of the tables' own names.
fn keys() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let schema: Value = serde_json::from_str(&config::schema()).expect("a schema is JSON");
        let mut keys = Vec::new();
        collect(&schema, &schema, &mut Vec::new(), false, &mut keys);
        keys
    })
}

fn collect(all: &Value, table: &Value, path: &mut Vec<String>, many: bool, keys: &mut Vec<Key>) {
    let Some(properties) = table["properties"].as_object() else {
        return;
    };
    let dotted = path.join(".");
    let head = match many {
        _ if path.is_empty() => String::new(),
        true => format!("[[{dotted}]]"),
        false => format!("[{dotted}]"),
    };
    for (name, property) in properties {
        let items = &property["items"];
        let any = property["anyOf"].as_array().and_then(|any| any.first());
        let (inner, many) = match (items.is_object(), any) {
            (true, _) => (items, true),
            (_, Some(first)) => (first, false),
            _ => (property, false),
        };
        let named = inner["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix('#'));
        match named.and_then(|pointer| all.pointer(pointer)) {
            Some(table) if table["properties"].is_object() => {
                path.push(name.clone());
                collect(all, table, path, many, keys);
                path.pop();
            }
            _ => keys.push((head.clone(), name.clone())),
        }
    }
}

const VALUES: [&str; 32] = [
    "0",
    "1",
    "-1",
    "3000",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "1.5",
    "nan",
    "true",
    "false",
    "\"\"",
    "\"a\"",
    "\"open\"",
    "[\"open\"]",
    "[\"tokens\", \"jwt\"]",
    "\"127.0.0.1:0\"",
    "\"[::]:65535\"",
    "\"http://127.0.0.1:9/mcp\"",
    "\"https://example.org\"",
    "\"a@1.0.0\"",
    "\"2026-07-28\"",
    "\"sqlite\"",
    "\"postgres\"",
    "\"postgres://a:b@localhost/c\"",
    "\"refuse\"",
    "[]",
    "[\"a\", \"*\"]",
    "[\"tools/call\", \"resources/*\"]",
    "{}",
    "{ a = \"b\" }",
    "1979-05-27T07:32:00Z",
];

/// A file of keys that there are, around one that is taken.
fn composed(data: &[u8]) -> String {
    let mut choices = Choices::new(data);
    let mut text = String::new();
    let mut tables: Vec<(String, String)> = vec![
        (String::new(), String::new()),
        ("[identity]".into(), "mode = \"open\"\n".into()),
        ("[[server]]".into(), "name = \"a\"\n".into()),
    ];
    if choices.flag() {
        tables[2].1.push_str("url = \"http://127.0.0.1:9/mcp\"\n");
    }
    for _ in 0..choices.below(6) {
        let (head, name) = choices.pick(keys());
        let value = match choices.below(4) {
            0 => format!("{:?}", String::from_utf8_lossy(choices.bytes(12))),
            _ => (*choices.pick(&VALUES)).to_owned(),
        };
        let line = format!("{name} = {value}\n");
        match tables.iter_mut().find(|table| table.0 == *head) {
            Some((_, lines)) => lines.push_str(&line),
            None => tables.push((head.clone(), line)),
        }
    }
    for (head, lines) in &tables {
        text.push_str(head);
        text.push('\n');
        text.push_str(lines);
    }
    text
}
