//! What can be seen in a component's bytes: its imports, its instructions and
//! its memory. Nothing is compiled before these hold.

use wasmparser::{ComponentImport, Encoding, MemoryType, Parser, Payload, Validator, WasmFeatures};

use crate::load_error::Problem;
use crate::runtime::MAX_MEMORY_BYTES;

/// The bytes of one page of linear memory.
const PAGE_BYTES: u64 = 65_536;

/// What a profile may be built from: integers, and no instruction whose result
/// could depend on the host.
fn allowed() -> WasmFeatures {
    WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::COMPONENT_MODEL
}

/// What a component may be built from to be served, or to be certified: there
/// floats are no obstacle, so that what they lead to is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
    Served,
    Certified,
}

/// Checks the bytes of a component, its inner modules included.
pub(crate) fn form(bytes: &[u8], instructions: Instructions) -> Result<(), Problem> {
    // What a component wants is said before what it is made of, since wanting
    // WASI is the commonest mistake and brings others with it.
    let mut depth = 0_u32;
    let mut component = false;
    let mut memories = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| Problem::Instructions(error.message().into()))? {
            Payload::Version { encoding, .. } if depth == 0 => {
                component = encoding == Encoding::Component;
                depth = 1;
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 1 => {
                if let Some(import) = imports.into_iter().next() {
                    let ComponentImport { name, .. } =
                        import.map_err(|error| Problem::Instructions(error.message().into()))?;
                    return Err(Problem::Imports(name.name.into()));
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory =
                        memory.map_err(|error| Problem::Instructions(error.message().into()))?;
                    memories += 1;
                    bounded(&memory)?;
                }
            }
            _ => {}
        }
    }
    if !component {
        return Err(Problem::Instructions("it is a core module".into()));
    }
    let features = match instructions {
        Instructions::Served => allowed(),
        Instructions::Certified => allowed() | WasmFeatures::FLOATS,
    };
    Validator::new_with_features(features)
        .validate_all(bytes)
        .map_err(|error| Problem::Instructions(error.message().into()))?;
    match memories {
        1 => Ok(()),
        count => Err(Problem::Memory(format!("it has {count} memories"))),
    }
}

fn bounded(memory: &MemoryType) -> Result<(), Problem> {
    let Some(pages) = memory.maximum else {
        return Err(Problem::Memory("it declares no maximum".into()));
    };
    let most = u64::try_from(MAX_MEMORY_BYTES).unwrap_or(u64::MAX) / PAGE_BYTES;
    if pages > most {
        return Err(Problem::Memory(format!(
            "its maximum is {pages} pages, and {most} are allowed"
        )));
    }
    Ok(())
}
