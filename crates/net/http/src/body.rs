//! The content of a request, read only by pages that need it.

use std::io::{self, Cursor, Read, Write};

use crate::paced::Paced;

/// What follows the head.
pub(crate) struct RequestBody<'a> {
    /// What came with the head.
    begin: Cursor<Vec<u8>>,
    stream: &'a Paced<'a>,
    left: u64,
    /// The client waits for the answer that it may send.
    awaited: bool,
}

impl<'a> RequestBody<'a> {
    pub(crate) const fn new(begin: Vec<u8>, stream: &'a Paced<'a>, bytes: u64, awaited: bool) -> Self {
        Self { begin: Cursor::new(begin), stream, left: bytes, awaited }
    }
}

impl Read for RequestBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else { return Ok(0) };
        let mut length = self.begin.read(buffer)?;
        if length == 0 {
            if std::mem::take(&mut self.awaited) {
                let mut stream = self.stream;
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let mut stream = self.stream;
            length = stream.read(buffer)?;
        }
        self.left -= length as u64;
        Ok(length)
    }
}
