//! A client that asks for a counter's value again and again, several times at a time, and allocates nothing meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// Requests at a time.
pub const AHEAD: usize = 16;
/// As `curl` would ask, but for its own name.
const REQUEST: &[u8] =
    b"GET /v1/objects/counter/visits/get?consistency=stale HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
const SET: &[u8] = b"POST /v1/objects/counter/visits/set HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 11\r\n\r\n{\"value\":7}";
const BODY: &[u8] = b"{\"value\":7}";

/// See the module.
pub struct Asker {
    stream: TcpStream,
    requests: Vec<u8>,
    buffer: Vec<u8>,
}

impl Asker {
    /// Sets the counter.
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let mut asker = Self { stream, requests: REQUEST.repeat(AHEAD), buffer: vec![0; 64 << 10] };
        asker.stream.write_all(SET).expect("sent");
        asker.read(1);
        asker
    }

    /// Asks [`AHEAD`] times, and reads all answers.
    pub fn ask(&mut self) {
        self.stream.write_all(&self.requests).expect("sent");
        let answers = self.read(AHEAD);
        assert!(answers.ends_with(BODY), "{:?}", String::from_utf8_lossy(answers));
    }

    fn read(&mut self, count: usize) -> &[u8] {
        let (mut filled, mut answered) = (0, 0);
        while answered < count {
            let more = self.stream.read(&mut self.buffer[filled..]).expect("responses");
            assert!(more > 0, "the end");
            // A response ends with the only closing brace in it.
            answered += self.buffer[filled..filled + more].iter().filter(|byte| **byte == b'}').count();
            filled += more;
        }
        &self.buffer[..filled]
    }
}
