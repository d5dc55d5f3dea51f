//! The engine's configuration, and one call in one instance.
//!
//! An instance is made for a call and dropped after it, so that nothing of one
//! request can reach another. A pool with copy-on-write images makes that
//! cheap; what a call leaves resident is bounded by `KEEP_RESIDENT_BYTES`.

use wasmtime::component::{Component, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Store,
    Trap, WasmFeatures,
};

use crate::bindings::profile::Guest;
use crate::bindings::{Admission, AdmissionPre};
use crate::fault::FaultKind;
use crate::fuel;
use crate::load_error::EngineError;
use crate::settings::{Compiled, MAX_SLOTS, Settings};
use crate::slots::Slots;

/// The most linear memory that a component may declare: 256 MiB.
pub(crate) const MAX_MEMORY_BYTES: usize = 256 << 20;
/// What a slot keeps resident between calls, so that most calls fault no page.
const KEEP_RESIDENT_BYTES: usize = 2 << 20;
/// Stack of a component; the shipped profiles do not recurse.
const MAX_STACK_BYTES: usize = 512 << 10;
/// What an answer may make the host allocate: a view of 262,144 nodes whose
/// texts together have 10 MiB takes about half of it.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Core instances of one component: its module, and those that adapt it.
const CORE_INSTANCES: u32 = 4;
/// Elements of one table.
const TABLE_ELEMENTS: usize = 4_096;
/// Bytes of host bookkeeping for one instance.
const INSTANCE_BYTES: usize = 1 << 20;

/// The engine and the count of its free slots.
pub(crate) struct Runtime {
    engine: Engine,
    slots: Slots,
}

impl Runtime {
    pub(crate) fn new(settings: &Settings) -> Result<Self, EngineError> {
        Self::with(settings.slots, config)
    }

    /// For certification alone: floats run too.
    pub(crate) fn for_certification(slots: u32, compiled: Compiled) -> Result<Self, EngineError> {
        Self::with(slots, |slots| {
            let mut config = config(slots);
            config.wasm_features(WasmFeatures::FLOATS, true);
            if compiled == Compiled::Plainly {
                config
                    .allocation_strategy(InstanceAllocationStrategy::OnDemand)
                    .memory_init_cow(false)
                    .cranelift_opt_level(OptLevel::None);
            }
            config
        })
    }

    fn with(slots: u32, config: impl FnOnce(u32) -> Config) -> Result<Self, EngineError> {
        if slots == 0 || slots > MAX_SLOTS {
            return Err(EngineError::Slots(slots));
        }
        let engine = Engine::new(&config(slots)).map_err(|_| EngineError::Reservation(slots))?;
        Ok(Self {
            engine,
            slots: Slots::new(slots),
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Checks a component against the world once, for all its instances.
    pub(crate) fn prepare(&self, component: &Component) -> wasmtime::Result<AdmissionPre<()>> {
        AdmissionPre::new(Linker::new(&self.engine).instantiate_pre(component)?)
    }

    /// Whether the functions have the types of the world, which shows in an
    /// instance only; a trap at its start is for others to report.
    pub(crate) fn has_types_of_the_world(&self, pre: &AdmissionPre<()>) -> wasmtime::Result<()> {
        let _slot = self.slots.take();
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(fuel::for_bytes(0))?;
        match pre.instantiate(&mut store) {
            Err(error) if !error.is::<Trap>() => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs `call` in an instance that nothing ran in before, with fuel for an
    /// argument of `bytes`.
    pub(crate) fn call<R>(
        &self,
        pre: &AdmissionPre<()>,
        bytes: usize,
        call: impl FnOnce(&Guest, &mut Store<()>) -> wasmtime::Result<R>,
    ) -> Result<R, FaultKind> {
        let _slot = self.slots.take();
        let mut instance = Instance::new(&self.engine, pre, bytes)?;
        instance.call(bytes, call)
    }
}

/// One instance with its store.
pub(crate) struct Instance {
    store: Store<()>,
    admission: Admission,
}

impl Instance {
    /// Makes an instance; starting it is paid from the fuel for `bytes`.
    pub(crate) fn new(
        engine: &Engine,
        pre: &AdmissionPre<()>,
        bytes: usize,
    ) -> Result<Self, FaultKind> {
        let mut store = Store::new(engine, ());
        store.set_hostcall_fuel(MAX_ANSWER_BYTES);
        store
            .set_fuel(fuel::for_bytes(bytes))
            .map_err(|_| FaultKind::NoRoom)?;
        let admission =
            pre.instantiate(&mut store)
                .map_err(|error| match error.downcast_ref() {
                    Some(trap) => trapped(*trap),
                    None => FaultKind::NoRoom,
                })?;
        Ok(Self { store, admission })
    }

    /// Calls into the instance with fresh fuel for an argument of `bytes`.
    pub(crate) fn call<R>(
        &mut self,
        bytes: usize,
        call: impl FnOnce(&Guest, &mut Store<()>) -> wasmtime::Result<R>,
    ) -> Result<R, FaultKind> {
        self.store
            .set_fuel(fuel::for_bytes(bytes))
            .map_err(|_| FaultKind::NoRoom)?;
        let guest = self.admission.countersign_admission_profile();
        call(guest, &mut self.store).map_err(|error| match error.downcast_ref() {
            Some(trap) => trapped(*trap),
            None => FaultKind::UnreadableAnswer,
        })
    }

    /// The fuel that the last call used, its argument having had `bytes`.
    pub(crate) fn fuel_used(&self, bytes: usize) -> u64 {
        fuel::for_bytes(bytes).saturating_sub(self.store.get_fuel().unwrap_or_default())
    }
}

fn trapped(trap: Trap) -> FaultKind {
    match trap {
        Trap::OutOfFuel => FaultKind::OutOfFuel,
        Trap::StackOverflow => FaultKind::StackOverflow,
        _ => FaultKind::Trap,
    }
}

/// Features that could make two hosts differ, or that no profile needs, are
/// off here as well as in the check at load.
fn config(slots: u32) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots.saturating_mul(CORE_INSTANCES))
        .total_memories(slots)
        .total_tables(slots.saturating_mul(CORE_INSTANCES))
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(1)
        .max_memories_per_module(1)
        .max_tables_per_component(CORE_INSTANCES)
        .max_tables_per_module(2)
        .table_elements(TABLE_ELEMENTS)
        .max_component_instance_size(INSTANCE_BYTES)
        .max_core_instance_size(INSTANCE_BYTES)
        .max_memory_size(MAX_MEMORY_BYTES)
        .max_unused_warm_slots(slots)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(TABLE_ELEMENTS * size_of::<usize>())
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .memory_init_cow(true)
        .consume_fuel(true)
        .max_wasm_stack(MAX_STACK_BYTES)
        .cranelift_opt_level(OptLevel::Speed)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .native_unwind_info(false)
        .wasm_relaxed_simd(false)
        .wasm_simd(false)
        .wasm_tail_call(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .wasm_features(WasmFeatures::FLOATS, false);
    config
}
