//! The functions of a module that the engine calls.

use objects_state::guest::{Entry, Failure};
use wasmtime::{Instance, Store, TypedFunc, WasmParams, WasmResults};

use crate::description::Codec;
use crate::imports::{Cell, Stopped};
use crate::limits::{DESCRIPTION_BYTES_MAX, RESULT_BYTES_MAX, SAVED_BYTES_MAX};
use crate::module::START;

/// Results have room for so many bytes at least: answers are given back by other threads, and the allocator finds room of this size again
/// soon, because most of what they give back has it.
const RESULT_ROOM: usize = 64;
/// Arguments begin at a multiple of it.
const ALIGNMENT: usize = 8;

pub(super) struct Entries {
    alloc: TypedFunc<u32, u32>,
    call: TypedFunc<(u32, u32, u32, u32), u64>,
    init: Option<TypedFunc<(u32, u32), ()>>,
    migrate: Option<TypedFunc<(u32, u32), ()>>,
    save: Option<TypedFunc<(), u64>>,
    session_expired: Option<TypedFunc<(u32, u32), ()>>,
    timer: Option<TypedFunc<u64, ()>>,
    ticket_ended: Option<TypedFunc<u64, ()>>,
    start: Option<TypedFunc<(), ()>>,
    initialize: Option<TypedFunc<(), ()>>,
    init_source: Option<TypedFunc<(u32, u32), ()>>,
    describe: Option<TypedFunc<(), u64>>,
}

impl Entries {
    pub(super) fn of(instance: &Instance, store: &mut Store<Cell>) -> Self {
        Self {
            alloc: export(instance, store, "alloc").expect("checked: it exports it"),
            call: export(instance, store, "call").expect("checked: it exports it"),
            init: export(instance, store, "init"),
            migrate: export(instance, store, "migrate"),
            save: export(instance, store, "save"),
            session_expired: export(instance, store, "session_expired"),
            timer: export(instance, store, "timer"),
            ticket_ended: export(instance, store, "ticket_ended"),
            start: export(instance, store, START),
            initialize: export(instance, store, "_initialize"),
            init_source: export(instance, store, "init_source"),
            describe: export(instance, store, "describe"),
        }
    }

    /// Enters the module; its result, if the entry has one.
    pub(super) fn enter(&self, store: &mut Store<Cell>, entry: Entry<'_>) -> wasmtime::Result<Vec<u8>> {
        match entry {
            Entry::Init(args) => self.give(store, self.init.as_ref(), args)?,
            Entry::Call { method, args } => return self.call(store, method, args),
            Entry::Migrate(_) if self.migrate.is_none() => return Err(missing("migrate")),
            Entry::Migrate(saved) => self.give(store, self.migrate.as_ref(), saved)?,
            Entry::Save => {
                let save = self.save.as_ref().ok_or_else(|| missing("save"))?;
                let place = save.call(&mut *store, ())?;
                return result(store, place, SAVED_BYTES_MAX);
            }
            Entry::SessionExpired(session) => {
                self.give(store, self.session_expired.as_ref(), session.to_string().as_bytes())?;
            }
            Entry::Timer(id) => run(store, self.timer.as_ref(), id)?,
            Entry::TicketEnded(ticket) => run(store, self.ticket_ended.as_ref(), ticket)?,
        }
        Ok(Vec::new())
    }

    /// What makes the image; what a source says of itself.
    pub(super) fn initialize(
        &self,
        store: &mut Store<Cell>,
        source: Option<&[u8]>,
    ) -> wasmtime::Result<Vec<u8>> {
        run(store, self.start.as_ref(), ())?;
        run(store, self.initialize.as_ref(), ())?;
        let Some(source) = source else { return Ok(Vec::new()) };
        self.give(store, self.init_source.as_ref(), source)?;
        let Some(describe) = &self.describe else { return Ok(Vec::new()) };
        let place = describe.call(&mut *store, ())?;
        result(store, place, DESCRIPTION_BYTES_MAX)
    }

    fn call(&self, store: &mut Store<Cell>, method: &str, args: &[u8]) -> wasmtime::Result<Vec<u8>> {
        let name = method.len().next_multiple_of(ALIGNMENT);
        let place = self.put(store, name + args.len(), &[(0, method.as_bytes()), (name, args)])?;
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("it fits into the memory");
        let names = (place, length(method.as_bytes()));
        let arguments = (place.wrapping_add(name as u32), length(args));
        let result_place = self.call.call(&mut *store, (names.0, names.1, arguments.0, arguments.1))?;
        let result = result(store, result_place, RESULT_BYTES_MAX)?;
        if store.data().facts.codec == Codec::Json && std::str::from_utf8(&result).is_err() {
            return Err(broken("gave a result that is no text"));
        }
        Ok(result)
    }

    /// Gives bytes to a function, if there is one.
    fn give(
        &self,
        store: &mut Store<Cell>,
        function: Option<&TypedFunc<(u32, u32), ()>>,
        bytes: &[u8],
    ) -> wasmtime::Result<()> {
        let Some(function) = function else { return Ok(()) };
        let place = self.put(store, bytes.len(), &[(0, bytes)])?;
        function.call(store, (place, u32::try_from(bytes.len()).expect("it fits into the memory")))
    }

    /// Puts parts into memory that the module gives.
    fn put(&self, store: &mut Store<Cell>, bytes: usize, parts: &[(usize, &[u8])]) -> wasmtime::Result<u32> {
        let length = u32::try_from(bytes).map_err(|_| broken("is given more than a memory holds"))?;
        if length == 0 {
            return Ok(0);
        }
        let place = self.alloc.call(&mut *store, length)?;
        let memory = store.data().memory.expect("an instance has one");
        let start = place as usize;
        if start + bytes > memory.data_size(&*store) {
            return Err(broken("gave memory by `alloc` that there is not"));
        }
        store.data().dirty.expect("an instance has them").note(&mut *store, start, bytes);
        let room = &mut memory.data_mut(&mut *store)[start..start + bytes];
        for (offset, part) in parts {
            room[*offset..*offset + part.len()].copy_from_slice(part);
        }
        Ok(place)
    }
}

fn export<P: WasmParams, R: WasmResults>(
    instance: &Instance,
    store: &mut Store<Cell>,
    name: &str,
) -> Option<TypedFunc<P, R>> {
    let function = instance.get_func(&mut *store, name)?;
    Some(function.typed(&*store).expect("checked: its signature"))
}

fn run<P: WasmParams>(
    store: &mut Store<Cell>,
    function: Option<&TypedFunc<P, ()>>,
    parameters: P,
) -> wasmtime::Result<()> {
    function.map_or(Ok(()), |function| function.call(store, parameters))
}

/// The bytes that a module points at: the address in the upper half, the length in the lower.
fn result(store: &Store<Cell>, place: u64, most: usize) -> wasmtime::Result<Vec<u8>> {
    let (pointer, length) = ((place >> 32) as usize, (place & 0xffff_ffff) as usize);
    if length > most {
        return Err(broken(format!("gave a result of more than {most} bytes")));
    }
    let memory = store.data().memory.expect("an instance has one");
    let bytes = memory.data(store).get(pointer..pointer + length);
    let bytes = bytes.ok_or_else(|| broken("gave a result outside of its memory"))?;
    let mut result = Vec::with_capacity(length.max(RESULT_ROOM));
    result.extend_from_slice(bytes);
    Ok(result)
}

fn broken(detail: impl Into<String>) -> wasmtime::Error {
    wasmtime::Error::new(Stopped(Failure::Broken { detail: detail.into() }))
}

fn missing(name: &str) -> wasmtime::Error {
    broken(format!("exports no function `{name}`"))
}
