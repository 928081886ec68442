//! Three requests to the kernel that no crate of ours wraps, with their layouts (`linux/userfaultfd.h`, `linux/fs.h`).

use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::fd::AsFd;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};

/// `struct uffdio_api`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Api {
    pub(super) api: u64,
    pub(super) features: u64,
    pub(super) ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Register {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) mode: u64,
    pub(super) ioctls: u64,
}

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Scan {
    pub(super) size: u64,
    pub(super) flags: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) walk_end: u64,
    pub(super) regions: u64,
    pub(super) regions_max: u64,
    pub(super) pages_max: u64,
    pub(super) inverted: u64,
    pub(super) all_of: u64,
    pub(super) any_of: u64,
    pub(super) told: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) categories: u64,
}

/// A request whose argument the kernel reads and writes.
struct Exchange<'a, T> {
    opcode: Opcode,
    argument: *mut c_void,
    _argument: PhantomData<&'a mut T>,
}

// SAFETY: the opcode says the argument's size, and the argument is borrowed while the request lasts.
unsafe impl<T> Ioctl for Exchange<'_, T> {
    type Output = usize;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.argument
    }

    unsafe fn output_from_ptr(output: IoctlOutput, _: *mut c_void) -> rustix::io::Result<usize> {
        Ok(usize::try_from(output).unwrap_or(0))
    }
}

fn exchange<T>(file: impl AsFd, group: u8, number: u8, argument: &mut T) -> rustix::io::Result<usize> {
    let request: Exchange<'_, T> = Exchange {
        opcode: opcode::read_write::<T>(group, number),
        argument: std::ptr::from_mut(argument).cast(),
        _argument: PhantomData,
    };
    // SAFETY: the three callers below pass the structures that their requests are defined with.
    unsafe { rustix::ioctl::ioctl(file, request) }
}

pub(super) fn api(file: impl AsFd, argument: &mut Api) -> rustix::io::Result<usize> {
    exchange(file, 0xaa, 0x3f, argument)
}

/// The range in `argument` is a mapping's of ours: the kernel answers faults of others too, which would wait for ever.
pub(super) fn register(file: impl AsFd, argument: &mut Register) -> rustix::io::Result<usize> {
    exchange(file, 0xaa, 0x00, argument)
}

/// Regions that match, written into `regions`.
pub(super) fn scan(
    file: impl AsFd,
    argument: &mut Scan,
    regions: &mut [Region],
) -> rustix::io::Result<usize> {
    argument.regions = if regions.is_empty() { 0 } else { regions.as_mut_ptr() as u64 };
    argument.regions_max = regions.len() as u64;
    exchange(file, b'f', 16, argument)
}
