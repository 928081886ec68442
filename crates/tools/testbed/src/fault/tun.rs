//! Network devices whose other end is this program.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl::{Opcode, Setter, ioctl};

/// `TUNSETIFF`: makes a device.
const MAKE: Opcode = 0x4004_54ca;
/// `IFF_TUN | IFF_NO_PI`: packets of IP, with nothing before them.
const PACKETS: u16 = 0x0001 | 0x1000;

/// The kernel's `struct ifreq`, as far as it is of use here.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// A device of this name, which goes when the file is closed. Reads do not wait.
pub(super) fn open(name: &str) -> io::Result<File> {
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).write(true).custom_flags(nonblocking).open("/dev/net/tun")?;
    let mut request = Request { name: [0; 16], flags: PACKETS, rest: [0; 22] };
    let room = request.name.len() - 1;
    for (place, byte) in request.name[..room].iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    // SAFETY: `TUNSETIFF` reads a `struct ifreq`, whose 40 bytes `Request` has, and keeps no pointer to it.
    #[expect(unsafe_code, reason = "the standard library has no way to make a device")]
    unsafe {
        ioctl(&file, Setter::<MAKE, Request>::new(request))?;
    }
    Ok(file)
}
