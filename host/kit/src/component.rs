//! A core module as a component, and the checks of its form that need nobody to
//! run it.

use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use crate::KitError;

/// Whether a component may compute with floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    /// No host would load it with them.
    Never,
    /// It is a fixture, which certification alone runs.
    Allowed,
}

/// Wraps a core module as a component: no imports, no floating point, no
/// vectors, no threads, and a memory that says how large it may become.
///
/// # Errors
/// [`KitError::Component`] with the first of these that does not hold.
pub fn component(module: &[u8], floats: Floats) -> Result<Vec<u8>, KitError> {
    let encoded = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode());
    let bytes = encoded.map_err(|error| KitError::Component(format!("{error:#}")))?;
    inspect(&bytes, floats)?;
    Ok(bytes)
}

fn inspect(component: &[u8], floats: Floats) -> Result<(), KitError> {
    let wrong = |error: wasmparser::BinaryReaderError| KitError::Component(error.to_string());
    let mut never = WasmFeatures::SIMD | WasmFeatures::RELAXED_SIMD | WasmFeatures::THREADS;
    never.set(WasmFeatures::FLOATS, floats == Floats::Never);
    Validator::new_with_features(WasmFeatures::default() - never)
        .validate_all(component)
        .map_err(wrong)?;
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(wrong)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 0 && imports.count() > 0 => {
                return Err(KitError::Component("it imports something".into()));
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    if memory.map_err(wrong)?.maximum.is_none() {
                        let why = "its memory declares no maximum";
                        return Err(KitError::Component(why.into()));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}
