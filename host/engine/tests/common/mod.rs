//! Components made for tests: a small one that keeps its word, and every way
//! to make it break it.

// Each test binary uses what it needs of this.
#![allow(dead_code, unreachable_pub, reason = "shared by several test binaries")]

mod memory;

use countersign_canon::{Digest, preimage};
use countersign_engine::{Engine, Pin, Settings};
use memory::Memory;

/// The contract, as it is checked in.
const WIT: &str = include_str!("../../../../wit/admission.wit");

/// The one message that the stub admits, and what it makes of it.
pub const MESSAGE: &[u8] =
    br#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"t"}}"#;
pub const ACTION: &[u8] = br#"{"method":"tools/call","name":"t"}"#;
/// A message that it refuses: everything of one byte is.
pub const REFUSED: &[u8] = b"x";

/// A component: what a test does not change keeps the contract.
#[derive(Clone, Debug)]
pub struct Stub {
    pub id: &'static str,
    /// message-bytes, depth, number-bytes, nodes
    pub limits: [u32; 4],
    pub memory: &'static str,
    /// Vectors: whether each is the call, or the refusal.
    pub vectors: Vec<bool>,
    /// The binding that its vectors and `interpret` state; computed if absent.
    pub binding: Option<String>,
    /// The action that its vectors state.
    pub vector_action: &'static [u8],
    /// The text of the tool in its view, and what it calls the tool.
    pub tool: [&'static str; 2],
    /// What the root of its view says that follows.
    pub members: u32,
    pub execution_id: Option<&'static str>,
    pub id_number: i64,
    pub refusal_offset: u32,
    /// Of the verdict that `classify` always gives: `fresh` is 0.
    pub verdict: u8,
    /// Bodies in place of the functions'; `$call`, `$refusal` and `$meaning`
    /// are their answers.
    pub describe: Option<&'static str>,
    pub admit: Option<&'static str>,
    pub interpret: Option<&'static str>,
    /// Further fields of the module.
    pub fields: &'static str,
    /// What is changed in the contract before the component is built.
    pub wit: Option<[&'static str; 2]>,
}

impl Default for Stub {
    fn default() -> Self {
        Self {
            id: "stub@1.0.0",
            limits: [10_485_760, 64, 1_024, 262_144],
            memory: "1 16",
            vectors: vec![true, false],
            binding: None,
            vector_action: ACTION,
            tool: ["t", "t"],
            members: 2,
            execution_id: None,
            id_number: 0,
            refusal_offset: 1,
            verdict: 0,
            describe: None,
            admit: None,
            interpret: None,
            fields: "",
            wit: None,
        }
    }
}

impl Stub {
    pub fn pin(&self) -> Pin {
        Pin {
            id: self.id.parse().unwrap(),
            digest: Digest::of(&[&self.component()]),
        }
    }

    /// The bytes of the component.
    pub fn component(&self) -> Vec<u8> {
        let mut module = wat::parse_str(self.module()).unwrap();
        let wit = self.wit.map_or(WIT.to_owned(), |[from, to]| {
            assert!(WIT.contains(from), "{from}");
            WIT.replace(from, to)
        });
        let mut resolve = wit_parser::Resolve::default();
        let package = resolve.push_str("admission.wit", &wit).unwrap();
        let world = resolve.select_world(&[package], None).unwrap();
        let encoding = wit_component::StringEncoding::UTF8;
        wit_component::embed_component_metadata(&mut module, &resolve, world, encoding).unwrap();
        wit_component::ComponentEncoder::default()
            .module(&module)
            .unwrap()
            .encode()
            .unwrap()
    }

    fn binding(&self) -> String {
        self.binding.clone().unwrap_or_else(|| {
            preimage::binding(&self.id.parse().unwrap(), ACTION)
                .as_str()
                .to_owned()
        })
    }

    fn module(&self) -> String {
        let mut memory = Memory::new();
        let call = self.call(&mut memory);
        let refusal = self.refusal(&mut memory, 8);
        let meaning = self.meaning(&mut memory);
        let description = self.description(&mut memory);
        let verdict = memory.put(4, &[self.verdict, 0, 0, 0]);
        let describe = self.describe.unwrap_or("(i32.const $description)");
        let admit = self.admit.unwrap_or(
            "(select (i32.const $call) (i32.const $refusal) (i32.gt_u (local.get 1) (i32.const 1)))",
        );
        let interpret = self.interpret.unwrap_or("(i32.const $meaning)");
        let body = |text: &str| {
            text.replace("$description", &description.to_string())
                .replace("$call", &call.to_string())
                .replace("$refusal", &refusal.to_string())
                .replace("$meaning", &meaning.to_string())
        };
        let prefix = "countersign:admission/profile@1.0.0#";
        format!(
            r#"(module
              (memory (export "memory") {limits})
              (global $heap (mut i32) (i32.const 32768))
              (data (i32.const {base}) "{data}")
              (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
                (global.set $heap (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
              (func (export "{prefix}describe") (result i32) {describe})
              (func (export "{prefix}admit") (param i32 i32) (result i32) {admit})
              (func (export "{prefix}interpret") (param i32 i32) (result i32) {interpret})
              (func (export "{prefix}classify") (param i32) (result i32) (i32.const {verdict}))
              {fields})"#,
            limits = self.memory,
            base = memory::BASE,
            data = memory.escaped(),
            describe = body(describe),
            admit = body(admit),
            interpret = body(interpret),
            fields = self.fields,
        )
    }

    /// `result<admitted, refusal>` that is a call.
    fn call(&self, memory: &mut Memory) -> u32 {
        let action = memory.text(ACTION);
        let empty = memory.text(b"{}");
        let execution = self.execution_id.map(|id| memory.text(id.as_bytes()));
        let mut call = vec![0; 16];
        call.extend([0; 8]);
        call.extend(self.id_number.to_le_bytes());
        call.extend(action);
        call.extend(u32::from(execution.is_some()).to_le_bytes());
        call.extend(execution.unwrap_or_default());
        call.extend([0; 12]);
        call.extend(empty);
        call.extend([0; 24]);
        call.extend(empty);
        memory.put(8, &call)
    }

    /// `result<…, refusal>` that is one, its payload at `payload`.
    fn refusal(&self, memory: &mut Memory, payload: usize) -> u32 {
        let mut refusal = vec![0; payload];
        refusal[0] = 1;
        refusal.extend(self.refused());
        memory.put(8, &refusal)
    }

    /// `refusal` with the code `syntax` and an empty pointer.
    fn refused(&self) -> Vec<u8> {
        let mut refusal = vec![1, 0, 0, 0];
        refusal.extend([0; 8]);
        refusal.extend(self.refusal_offset.to_le_bytes());
        refusal
    }

    /// `result<interpretation, refusal>` that is an interpretation.
    fn meaning(&self, memory: &mut Memory) -> u32 {
        let binding = memory.text(self.binding().as_bytes());
        let tool = memory.text(self.tool[1].as_bytes());
        let mut view = Vec::new();
        view.extend([0; 16]);
        view.extend([6, 0, 0, 0, 0, 0, 0, 0]);
        view.extend(u64::from(self.members).to_le_bytes());
        for (name, text) in [("method", "tools/call"), ("name", self.tool[0])] {
            view.extend([1, 0, 0, 0]);
            view.extend(memory.text(name.as_bytes()));
            view.extend([0; 4]);
            view.extend([4, 0, 0, 0, 0, 0, 0, 0]);
            view.extend(memory.text(text.as_bytes()));
        }
        let view = memory.put(8, &view);
        let mut meaning = vec![0; 4];
        meaning.extend(binding);
        meaning.extend(tool);
        meaning.extend(view.to_le_bytes());
        meaning.extend(3_u32.to_le_bytes());
        memory.put(4, &meaning)
    }

    fn description(&self, memory: &mut Memory) -> u32 {
        let id = memory.text(self.id.as_bytes());
        let mut vectors = Vec::new();
        for is_call in &self.vectors {
            let message = memory.text(if *is_call { MESSAGE } else { REFUSED });
            vectors.extend(message);
            if *is_call {
                vectors.extend([0, 0, 0, 0, 1, 0, 0, 0]);
                vectors.extend(memory.text(self.vector_action));
                vectors.extend(memory.text(self.binding().as_bytes()));
            } else {
                vectors.extend([1, 0, 0, 0]);
                vectors.extend([1, 0, 0, 0]);
                vectors.extend([0; 8]);
                vectors.extend(1_u32.to_le_bytes());
                vectors.extend([0; 4]);
            }
        }
        let count = u32::try_from(self.vectors.len()).unwrap();
        let vectors = memory.put(4, &vectors);
        let mut description = id.to_vec();
        for limit in self.limits {
            description.extend(limit.to_le_bytes());
        }
        description.extend(vectors.to_le_bytes());
        description.extend(count.to_le_bytes());
        memory.put(4, &description)
    }
}

/// An engine with few slots and no cache.
pub fn engine() -> Engine {
    Engine::new(&Settings {
        slots: 4,
        cache: None,
    })
    .unwrap()
}
