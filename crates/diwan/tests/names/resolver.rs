//! A resolver that knows as much of the protocol as these tests need, written for them alone.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

pub(crate) const A: u16 = 1;
pub(crate) const TXT: u16 = 16;
pub(crate) const SRV: u16 = 33;

/// What came back, of the types above.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// 0, or what went wrong.
    pub(crate) code: u8,
    pub(crate) addresses: Vec<String>,
    pub(crate) texts: Vec<String>,
    pub(crate) targets: Vec<String>,
}

/// Asks for a name of the zone `diwan.internal`, once.
pub(crate) fn ask(server: &str, name: &str, kind: u16) -> io::Result<Answer> {
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    socket.connect(server)?;
    let mut query = vec![0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').chain(["diwan", "internal"]) {
        query.push(u8::try_from(label.len()).unwrap());
        query.extend_from_slice(label.as_bytes());
    }
    query.push(0);
    query.extend_from_slice(&kind.to_be_bytes());
    query.extend_from_slice(&[0, 1]);
    socket.send(&query)?;
    let mut bytes = [0; 2_048];
    let length = socket.recv(&mut bytes)?;
    read(&bytes[..length], query.len(), kind)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{:?}", &bytes[..length])))
}

/// The answers behind a question that ends there.
fn read(bytes: &[u8], mut at: usize, wanted: u16) -> Option<Answer> {
    let mut answer = Answer { code: bytes.get(3)? & 0x0f, ..Answer::default() };
    for _ in 0..number(bytes, 6)? {
        at = name(bytes, at)?.1;
        let (kind, length) = (number(bytes, at)?, usize::from(number(bytes, at + 8)?));
        let data = at + 10;
        match kind {
            _ if kind != wanted => {}
            A => answer
                .addresses
                .push(bytes.get(data..data + 4)?.iter().map(u8::to_string).collect::<Vec<_>>().join(".")),
            SRV => answer.targets.push(name(bytes, data + 6)?.0),
            TXT => {
                let mut part = data;
                while part < data + length {
                    let end = part + 1 + usize::from(*bytes.get(part)?);
                    answer.texts.push(String::from_utf8(bytes.get(part + 1..end)?.to_vec()).ok()?);
                    part = end;
                }
            }
            _ => {}
        }
        at = data + length;
    }
    Some(answer)
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A name, and where it ends.
fn name(bytes: &[u8], mut at: usize) -> Option<(String, usize)> {
    let (mut text, mut end) = (String::new(), None);
    loop {
        match *bytes.get(at)? {
            0 => return Some((text, end.unwrap_or(at + 1))),
            pointer @ 0xc0.. => {
                end.get_or_insert(at + 2);
                at = usize::from(pointer & 0x3f) << 8 | usize::from(*bytes.get(at + 1)?);
            }
            length => {
                let behind = at + 1 + usize::from(length);
                text += core::str::from_utf8(bytes.get(at + 1..behind)?).ok()?;
                text.push('.');
                at = behind;
            }
        }
    }
}
