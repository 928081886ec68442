//! Bytes that are put, and read again: methods of the codec `raw`.

use diwan_object::{Refused, export};

struct Blob {
    bytes: Vec<u8>,
    puts: i64,
}

impl Blob {
    fn new() -> Self {
        Self { bytes: Vec::new(), puts: 0 }
    }

    /// Takes bytes in the place of those that were there, and gives these back.
    fn put(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, Refused> {
        if bytes.is_empty() {
            return Err(Refused::new("empty", "there are no bytes"));
        }
        self.puts += 1;
        Ok(std::mem::replace(&mut self.bytes, bytes))
    }

    fn read(&self, _: Vec<u8>) -> Vec<u8> {
        self.bytes.clone()
    }

    /// How often they were put.
    const fn puts(&self) -> i64 {
        self.puts
    }
}

export!(Blob as "blob" {
    new();
    raw_command put(bytes: Vec<u8>);
    raw_query read(bytes: Vec<u8>);
    query puts();
});
