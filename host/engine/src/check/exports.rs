//! Whether a component exports the world, and nothing besides.

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use crate::load_error::Problem;

/// The one interface of the world.
const INTERFACE: &str = "countersign:admission/profile@1.0.0";
/// The functions of that interface, sorted.
const FUNCTIONS: [&str; 4] = ["admit", "classify", "describe", "interpret"];

/// Checks the names; the types are checked when instances are prepared.
pub(crate) fn exports(engine: &Engine, component: &Component) -> Result<(), Problem> {
    let of = component.component_type();
    let mut found = false;
    for (name, item) in of.exports(engine) {
        let ComponentItem::ComponentInstance(interface) = item.ty else {
            return Err(Problem::Exports(format!("it exports `{name}`")));
        };
        if name != INTERFACE {
            return Err(Problem::Exports(format!("it exports `{name}`")));
        }
        let mut functions: Vec<&str> = interface
            .exports(engine)
            .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)))
            .map(|(name, _)| name)
            .collect();
        functions.sort_unstable();
        if functions != FUNCTIONS {
            return Err(Problem::Exports(format!(
                "its functions are `{}`",
                functions.join("`, `")
            )));
        }
        found = true;
    }
    if found {
        Ok(())
    } else {
        Err(Problem::Exports(format!("it lacks `{INTERFACE}`")))
    }
}
