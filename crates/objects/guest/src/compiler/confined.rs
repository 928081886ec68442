//! What a compiler's process may do: it takes away from itself, before it reads anything, whatever it does not need. A module that
//! takes the compiler over is left with pipes to the member, a bounded amount of memory and of the processor's time.
//!
//! # Not done, and what that costs
//! System calls are not filtered: a compiler that was taken over may still ask the kernel for what needs no file, as a socket does
//! not need one that is open already; it gets none, for it may open none.

use std::fs;
use std::os::fd::RawFd;

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, getppid, getrlimit, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};

use crate::priority;

/// Bytes of memory, and seconds of the processor's time, beside what a process has anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Confinement {
    /// The process that this one serves: it dies with it.
    pub(super) parent: u32,
    pub(super) memory_bytes: u64,
    pub(super) cpu_seconds: u64,
}

impl Confinement {
    /// To be called first, by the only thread.
    ///
    /// # Errors
    /// What the system does not do: then nothing is to be read.
    pub(super) fn enter(&self) -> Result<(), String> {
        close_what_was_inherited().map_err(|error| failed("close inherited descriptors", error))?;
        // Should the host run out of memory, this process is ended, and not the member. As much may always be asked for.
        let _ = fs::write("/proc/self/oom_score_adj", "1000");
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| failed("die with the parent", error))?;
        // It may have died before it could be followed.
        let parent = getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
        if u32::try_from(parent) != Ok(self.parent) {
            return Err(format!("the member that asked, process {}, is gone", self.parent));
        }
        // No dump of its memory, whatever the system does with dumps: the limit does not hold for those that go to a program.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| failed("refuse core dumps", error))?;
        rustix::thread::set_no_new_privs(true).map_err(|error| failed("give up privileges", error))?;
        limit("core", Resource::Core, 0, 0)?;
        limit("file size", Resource::Fsize, 0, 0)?;
        limit("memory", Resource::As, self.memory_bytes, self.memory_bytes)?;
        // The first one says what it died of.
        limit("processor time", Resource::Cpu, self.cpu_seconds, self.cpu_seconds + 1)?;
        priority::stand_back();
        limit("open files", Resource::Nofile, 0, 0)
    }

    /// To be called by the thread that compiles: no further one begins, and no process.
    pub(super) fn enter_thread() -> Result<(), String> {
        limit("processes", Resource::Nproc, 0, 0)
    }
}

/// Sets both limits, or leaves them where they are lower.
fn limit(what: &str, resource: Resource, current: u64, maximum: u64) -> Result<(), String> {
    let present = getrlimit(resource);
    let lower =
        |wanted: u64, present: Option<u64>| Some(present.map_or(wanted, |present| wanted.min(present)));
    let maximum = lower(maximum, present.maximum);
    let current = lower(current, present.current.or(maximum));
    setrlimit(resource, Rlimit { current, maximum })
        .map_err(|error| failed(&format!("limit its {what}"), error))
}

fn failed(what: &str, error: impl Into<std::io::Error>) -> String {
    format!("cannot {what}: {}", error.into())
}

/// Closes all but the three standard streams: a member may have got descriptors from who started it that are inherited.
#[expect(unsafe_code, reason = "a descriptor that nobody owns can be closed by its number alone")]
fn close_what_was_inherited() -> std::io::Result<()> {
    let mut inherited: Vec<RawFd> = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<RawFd>().ok());
        inherited.extend(number.filter(|number| *number > 2));
    }
    // The iteration's own is closed by now.
    inherited.retain(|number| fs::read_link(format!("/proc/self/fd/{number}")).is_ok());
    for number in inherited {
        // SAFETY: it is open, and belongs to nobody here: this is the first that the process does, on its only thread, and nothing of
        // it has opened a descriptor yet but the iteration above.
        unsafe { rustix::io::close(number) };
    }
    match rustix::io::fcntl_getfd(std::io::stdout()) {
        Err(Errno::BADF) => Err(Errno::BADF.into()),
        _ => Ok(()),
    }
}
