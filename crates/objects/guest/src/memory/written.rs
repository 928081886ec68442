//! Which pages of a memory may have been written since they were asked for last. Never one too few; whether a page really
//! differs is for who asks to see.
//!
//! Linux 6.7 keeps account of it (`PAGEMAP_SCAN` over ranges that `userfaultfd` write-protects): a scan then protects again what
//! it reports. Where the kernel cannot, or may not for this process, every page may have been written, and a call costs by the
//! size of the memory.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use objects_state::guest::PAGE_BYTES;
use rustix::fs::{Mode, OFlags};
use rustix::mm::UserfaultfdFlags;

use super::ioctl::{self, Api, Region, Register, Scan};
use super::mapping::Mapping;

/// Faults on protected pages are answered by the kernel at once: it only takes note.
const FEATURE_WRITE_PROTECT_ASYNC: u64 = 1 << 15;
const MODE_WRITE_PROTECT: u64 = 1 << 1;
const PROTECT_WHAT_MATCHES: u64 = 1 << 0;
const ONLY_IF_ASYNC: u64 = 1 << 1;
const IS_WRITTEN: u64 = 1 << 1;
/// Regions that one request gives.
const REGIONS: usize = 256;

/// How written pages are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// The kernel takes note of them.
    Kernel,
    /// All pages are compared.
    Compare,
}

struct Kernel {
    faults: OwnedFd,
    pagemap: OwnedFd,
}

fn kernel() -> Option<&'static Kernel> {
    static KERNEL: OnceLock<Option<Kernel>> = OnceLock::new();
    KERNEL.get_or_init(|| Kernel::new().ok().filter(Kernel::works)).as_ref()
}

impl Tracking {
    /// The better way that this process has.
    #[must_use]
    pub fn here() -> Self {
        if kernel().is_some() { Self::Kernel } else { Self::Compare }
    }
}

fn the_kernel() -> &'static Kernel {
    kernel().expect("what the kernel takes note of is asked for only where it can")
}

/// Begins to take note of the first bytes of a mapping.
pub(super) fn watch(mapping: &Mapping, bytes: usize) {
    let watched = the_kernel().watch(mapping, bytes);
    watched.unwrap_or_else(|error| panic!("cannot watch a module's memory: {error}"));
}

/// From now on it is asked what was written after this.
pub(crate) fn forget_written(memory: &[u8], tracking: Tracking) {
    if tracking == Tracking::Kernel {
        let forgotten = the_kernel().forget(memory);
        forgotten.unwrap_or_else(|error| panic!("cannot protect a module's memory: {error}"));
    }
}

/// Numbers of the pages that may have been written since the last time, in order.
pub(crate) fn written(memory: &[u8], tracking: Tracking) -> Vec<u32> {
    match tracking {
        Tracking::Kernel => {
            let scanned = the_kernel().scan(memory);
            scanned.unwrap_or_else(|error| panic!("cannot ask which pages were written: {error}"))
        }
        Tracking::Compare => (0..u32::try_from(memory.len() / PAGE_BYTES).unwrap_or(u32::MAX)).collect(),
    }
}

impl Kernel {
    fn new() -> rustix::io::Result<Self> {
        let flags =
            UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK | UserfaultfdFlags::from_bits_retain(1);
        // SAFETY: a new file. It sees nothing until ranges are registered, and these are our own.
        let faults = unsafe { rustix::mm::userfaultfd(flags) }?;
        let mut api = Api { api: 0xaa, features: FEATURE_WRITE_PROTECT_ASYNC, ..Api::default() };
        ioctl::api(&faults, &mut api)?;
        let pagemap =
            rustix::fs::open("/proc/self/pagemap", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { faults, pagemap })
    }

    /// Whether it sees what it must, tried on four pages.
    fn works(&self) -> bool {
        let bytes = 4 * PAGE_BYTES;
        let mut mapping = Mapping::reserved(bytes);
        mapping.small_pages(bytes);
        if self.watch(&mapping, bytes).is_err() {
            return false;
        }
        mapping.open(0, bytes);
        let scan = |writes: &[usize]| {
            for page in writes {
                // SAFETY: the page lies within the mapping, which is writable and ours alone.
                unsafe { mapping.base().add(page * PAGE_BYTES).write_volatile(1) };
            }
            // SAFETY: the mapping is readable, and nobody writes while the slice lives.
            self.scan(unsafe { mapping.bytes() }).ok()
        };
        // SAFETY: as above.
        let begun = self.forget(unsafe { mapping.bytes() });
        begun.is_ok()
            && scan(&[1, 3]) == Some(vec![1, 3])
            && scan(&[]) == Some(vec![])
            && scan(&[1]) == Some(vec![1])
    }

    fn watch(&self, mapping: &Mapping, bytes: usize) -> rustix::io::Result<()> {
        let mut argument = Register {
            start: mapping.base() as u64,
            bytes: bytes as u64,
            mode: MODE_WRITE_PROTECT,
            ioctls: 0,
        };
        ioctl::register(&self.faults, &mut argument).map(|_| ())
    }

    /// Nothing was written as of now. Pages that are not there yet get marks, so that they count as unwritten too.
    fn forget(&self, memory: &[u8]) -> rustix::io::Result<()> {
        let mut argument = request(memory);
        while argument.start < argument.end {
            ioctl::scan(&self.pagemap, &mut argument, &mut [])?;
            argument.start = argument.walk_end;
        }
        Ok(())
    }

    /// Asked for this category alone, the kernel looks at one bit a page: 3 ns, against 23 ns for any other.
    fn scan(&self, memory: &[u8]) -> rustix::io::Result<Vec<u32>> {
        let base = memory.as_ptr() as u64;
        let mut argument = request(memory);
        let mut pages = Vec::new();
        let mut regions = [Region::default(); REGIONS];
        while argument.start < argument.end {
            let found = ioctl::scan(&self.pagemap, &mut argument, &mut regions)?;
            for region in &regions[..found] {
                let number = |address: u64| ((address - base) / PAGE_BYTES as u64) as u32;
                pages.extend(number(region.start)..number(region.end));
            }
            argument.start = argument.walk_end;
        }
        Ok(pages)
    }
}

/// A request for what was written, which is protected again.
fn request(memory: &[u8]) -> Scan {
    let start = memory.as_ptr() as u64;
    Scan {
        size: size_of::<Scan>() as u64,
        flags: PROTECT_WHAT_MATCHES | ONLY_IF_ASYNC,
        start,
        end: start + memory.len() as u64,
        all_of: IS_WRITTEN,
        told: IS_WRITTEN,
        ..Scan::default()
    }
}
