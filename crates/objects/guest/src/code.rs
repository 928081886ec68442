//! Machine code of modules, compiled once: versions of one runner with different sources share it, and later processes of the
//! member find it in a file (`kept_code.rs`).

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use objects_state::guest::Rejected;
use wasmtime::{Engine, InstancePre, Linker, Module};

use crate::compiler::{Compiler, Task, Uncompiled, code_name, configuration};
use crate::imports::{self, Cell};
use crate::kept_code::KeptCode;
use crate::marks::UnderWay;
use crate::memory::Creator;
use crate::rejected::rejected;

/// Code that versions use, by the bytes of the module as it was rewritten, and by the memory that its instances may have.
pub(crate) struct Codes {
    known: BTreeMap<(Vec<u8>, usize), Weak<InstancePre<Cell>>>,
    compiler: Arc<dyn Compiler>,
    kept: Option<KeptCode>,
    /// How many modules were compiled, and not found.
    compiled: u64,
}

impl Codes {
    /// Codes that this compiler makes, and that are kept in files if they may be.
    pub(crate) const fn new(compiler: Arc<dyn Compiler>, kept: Option<KeptCode>) -> Self {
        Self { known: BTreeMap::new(), compiler, kept, compiled: 0 }
    }

    /// How many modules were compiled, and not found in a file.
    pub(crate) const fn compiled(&self) -> u64 {
        self.compiled
    }

    /// The code of a module. The mark of its version is set aside while another process compiles it: it does not kill this one.
    ///
    /// # Errors
    /// There is none, for ever or for now.
    pub(crate) fn of(
        &mut self,
        module: Vec<u8>,
        bytes_max: usize,
        under_way: &UnderWay<'_>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Arc<InstancePre<Cell>>, NoCode> {
        self.known.retain(|_, code| code.strong_count() > 0);
        let key = (module, bytes_max);
        if let Some(code) = self.known.get(&key).and_then(Weak::upgrade) {
            return Ok(code);
        }
        let engine = Engine::new(&configuration(Arc::new(Creator::new(bytes_max))));
        let engine = engine.unwrap_or_else(|error| panic!("no engine on this machine: {error}"));
        let module = self.found_or_compiled(&engine, &key.0, under_way, is_wanted)?;
        let code = Arc::new(linked(&engine, &module)?);
        self.known.insert(key, Arc::downgrade(&code));
        Ok(code)
    }

    fn found_or_compiled(
        &mut self,
        engine: &Engine,
        module: &[u8],
        under_way: &UnderWay<'_>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Module, NoCode> {
        let name = code_name(engine, module);
        if let Some(kept) = &self.kept
            && let Some(code) = kept.load(name)
        {
            match read_back(engine, &code) {
                Ok(module) => return Ok(module),
                // Of another build that has the same name for it.
                Err(_) => kept.forget(name),
            }
        }
        let task = Task { name, module, is_wanted };
        let code = if self.compiler.is_apart() {
            under_way.aside(|| self.compiler.compile(&task))
        } else {
            self.compiler.compile(&task)
        };
        let code = code?;
        self.compiled += 1;
        // A compiler of this build makes what this build reads.
        let module = read_back(engine, &code).map_err(|error| {
            NoCode::from(Uncompiled::Died(format!("what it made cannot be read: {error:#}")))
        })?;
        if let Some(kept) = &self.kept {
            kept.keep(name, &code);
        }
        Ok(module)
    }
}

fn linked(engine: &Engine, module: &Module) -> Result<InstancePre<Cell>, Rejected> {
    let mut linker = Linker::new(engine);
    imports::link(&mut linker)
        .unwrap_or_else(|error| panic!("the functions for modules do not fit: {error}"));
    linker.instantiate_pre(module).map_err(|error| rejected(format!("cannot be linked: {error:#}")))
}

/// Why there is no code of a module.
#[derive(Debug)]
pub(crate) enum NoCode {
    /// There never will be.
    Rejected(Rejected),
    /// The compiler's process died, or gave nothing sound.
    Died(String),
    /// The host did not let the compiler work.
    Hindered(String),
    /// Nobody wants it any more.
    Unwanted,
}

impl From<Rejected> for NoCode {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl From<Uncompiled> for NoCode {
    fn from(why: Uncompiled) -> Self {
        match why {
            Uncompiled::Refused(detail) => Self::Rejected(rejected(detail)),
            Uncompiled::Died(detail) => Self::Died(detail),
            Uncompiled::Hindered(detail) => Self::Hindered(detail),
            Uncompiled::Unwanted => Self::Unwanted,
        }
    }
}

/// Machine code that a compiler of this member has made, now or before.
#[expect(unsafe_code, reason = "only bytes are read that this member's own compiler has made")]
fn read_back(engine: &Engine, code: &[u8]) -> wasmtime::Result<Module> {
    // SAFETY: the engine must have serialised these bytes itself. They are
    // - those of a file that this member has written, which only it can authenticate (`KeptCode::load`), or
    // - what a compiler of this very build has made just now, with the same settings, for this processor: in this process, or in a
    //   child that runs the same program (`/proc/self/exe`) and has said so on a pipe that nobody else holds. Both sides work the
    //   name of the code out from the module, the engine's version and settings, and the processor, and it comes with a hash
    //   (`compiler/wire.rs`): so what is cut short, damaged, or of another program does not come here.
    // A compiler that a module has taken over could make any code, in this process as in that one. The bytes lie in memory that
    // nobody else writes.
    unsafe { Module::deserialize(engine, code) }
}

#[cfg(test)]
mod tests {
    use objects_state::guest::VersionHash;

    use super::*;
    use crate::compiler::InProcess;
    use crate::marks::{Mark, Marks};

    #[test]
    fn module_is_compiled_once_for_all_versions_that_use_it() {
        let module = wat::parse_str(r#"(module (memory (export "memory") 1))"#).expect("a module");
        let mut codes = Codes::new(Arc::new(InProcess), None);
        let marks = Marks::default();
        let under_way = marks.begin(Mark::of_version(VersionHash([7; 32])), 0);
        let mut code =
            |bytes_max| codes.of(module.clone(), bytes_max, &under_way, &|| true).expect("compiles");
        let (one, other, larger) = (code(1 << 16), code(1 << 16), code(1 << 20));
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &larger));
        drop((one, other));
        assert_eq!(code(1 << 20).module().exports().len(), 1);
        assert_eq!(codes.known.len(), 1, "code that no version uses is forgotten");
        drop(larger);
    }
}
