//! A part of a file into a socket: by the kernel if the connection is plain, through memory if it is encrypted.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use mio::net::TcpStream;
use net_event_loop::FilePart;
use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// A file, as a connection may be sent parts of it.
pub type SentFile = std::sync::Arc<File>;

/// How much of a file is encrypted at once.
const PIECE_BYTES: usize = 64 << 10;

/// What is missing from a file that a part of an answer was to come from.
fn too_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "a file is shorter than it was")
}

/// Sends bytes that more will follow; says how many were taken.
pub(crate) fn send_head(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match send(stream.as_fd(), bytes, SendFlags::MORE | SendFlags::NOSIGNAL) {
            Ok(length) => return Ok(length),
            Err(Errno::WOULDBLOCK) => return Ok(0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends until all is sent or the socket takes no more; says how many bytes were taken.
pub(crate) fn send_part(stream: &TcpStream, part: FilePart<'_, SentFile>) -> io::Result<usize> {
    let mut offset = part.from;
    let mut rest = part.length;
    while rest > 0 {
        match sendfile(stream.as_fd(), part.file.as_fd(), Some(&mut offset), rest) {
            Ok(0) => return Err(too_short()),
            Ok(length) => rest -= length.min(rest),
            Err(Errno::WOULDBLOCK) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(part.length - rest)
}

/// Reads the beginning of a part.
pub(crate) fn read_part(part: &FilePart<'_, SentFile>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; part.length.min(PIECE_BYTES)];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match part.file.read_at(room, part.from + filled as u64) {
            Ok(0) => return Err(too_short()),
            Ok(length) => filled += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}
