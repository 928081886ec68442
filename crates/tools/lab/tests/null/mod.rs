//! A small server of ZooKeeper's protocol without sessions, watches and order beyond one lock: honest, forgetful, or void.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use council_wire::{
    ConnectResponse, ErrorCode, MultiHeader, OpCode, Reader, ReplyHeader, RequestHeader, Stat, Writer,
    end_frame, start_frame, xid,
};

/// What happens with writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    AllButOneInHundred,
    All,
}

#[derive(Clone, Default)]
struct Node {
    data: Vec<u8>,
    stat: Stat,
}

struct State {
    keeps: Keeps,
    zxid: i64,
    nodes: BTreeMap<String, Node>,
}

/// A running one; its threads end with the test.
pub(crate) struct Null(SocketAddr);

impl Null {
    pub(crate) fn start(keeps: Keeps) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let nodes = [(String::from("/"), Node::default())].into();
        let state = Arc::new(Mutex::new(State { keeps, zxid: 1, nodes }));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                // A client that is gone needs no error.
                thread::spawn(move || drop(serve(stream, &state)));
            }
        });
        Self(address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut greeted = false;
    let mut read = io::BufReader::with_capacity(64 << 10, stream.try_clone()?);
    let mut out = Vec::new();
    loop {
        let mut length = [0; 4];
        read.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        read.read_exact(&mut frame)?;
        let at = start_frame(&mut out);
        let mut ends = false;
        if greeted {
            let mut reader = Reader::new(&frame);
            let header = RequestHeader::read(&mut reader).map_err(io::Error::other)?;
            ends = header.operation == OpCode::CloseSession.code();
            let state = &mut state.lock().unwrap();
            let (error, body) = state.answer(header, &mut reader).map_err(io::Error::other)?;
            let (zxid, err) = (state.zxid, error as i32);
            ReplyHeader { xid: header.xid, zxid, err }.write(&mut Writer::new(&mut out));
            if error == ErrorCode::Ok {
                out.extend_from_slice(&body);
            }
        } else {
            greeted = true;
            let password: Option<&[u8]> = Some(&[7; 16]);
            let (session_id, timeout_ms) = (1, 30_000);
            ConnectResponse { protocol_version: 0, timeout_ms, session_id, password, read_only: Some(false) }
                .write(&mut Writer::new(&mut out));
        }
        end_frame(&mut out, at);
        if read.buffer().is_empty() || ends {
            stream.write_all(&out)?;
            out.clear();
        }
        if ends {
            return Ok(());
        }
    }
}

impl State {
    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn answer(
        &mut self,
        header: RequestHeader,
        reader: &mut Reader<'_>,
    ) -> Result<(ErrorCode, Vec<u8>), council_wire::Malformed> {
        let mut body = Vec::new();
        let writer = &mut Writer::new(&mut body);
        if header.xid == xid::PING || header.operation == OpCode::CloseSession.code() {
            return Ok((ErrorCode::Ok, body));
        }
        if header.operation == OpCode::Multi.code() {
            loop {
                let each = MultiHeader::read(reader)?;
                if each.done {
                    return Ok((ErrorCode::Ok, body));
                }
                let (path, data) = (reader.text()?.to_owned(), reader.buffer()?.unwrap_or_default().to_vec());
                for _ in 0..reader.count()? {
                    let _ = (reader.i32()?, reader.text()?, reader.text()?);
                }
                reader.i32()?;
                self.create(path, data);
            }
        }
        let is = |opcode: OpCode| header.operation == opcode.code();
        let path = reader.text()?.to_owned();
        if is(OpCode::Sync) {
            writer.text(&path);
        } else if is(OpCode::Create) {
            let data = reader.buffer()?.unwrap_or_default().to_vec();
            for _ in 0..reader.count()? {
                let _ = (reader.i32()?, reader.text()?, reader.text()?);
            }
            let sequential = reader.i32()? & 2 != 0;
            let path = if sequential { format!("{path}{:010}", self.zxid) } else { path };
            writer.text(&path);
            return Ok((self.create(path, data), body));
        } else if is(OpCode::SetData) {
            let data = reader.buffer()?.unwrap_or_default().to_vec();
            match self.set(&path, data) {
                Some(stat) => stat.write(writer),
                None => return Ok((ErrorCode::NoNode, body)),
            }
        } else if is(OpCode::Delete) {
            self.zxid += 1;
            let gone = self.keeps == Keeps::Nothing || self.nodes.remove(&path).is_some();
            return Ok((if gone { ErrorCode::Ok } else { ErrorCode::NoNode }, body));
        } else if is(OpCode::GetChildren) {
            let within = format!("{}/", path.trim_end_matches('/'));
            let names = self.nodes.range(within.clone()..).map_while(|(path, _)| path.strip_prefix(&within));
            let names: Vec<_> = names.filter(|name| !name.is_empty() && !name.contains('/')).collect();
            writer.texts(names.into_iter());
        } else {
            let void = (self.keeps == Keeps::Nothing)
                .then(|| Node { data: vec![b'n'; 1024], stat: Stat { mzxid: self.zxid, ..Stat::default() } });
            let Some(node) = void.or_else(|| self.nodes.get(&path).cloned()) else {
                return Ok((ErrorCode::NoNode, body));
            };
            if is(OpCode::GetData) {
                writer.buffer(Some(&node.data));
            }
            node.stat.write(writer);
        }
        Ok((ErrorCode::Ok, body))
    }

    fn create(&mut self, path: String, data: Vec<u8>) -> ErrorCode {
        self.zxid += 1;
        if self.keeps == Keeps::Nothing {
            return ErrorCode::Ok;
        }
        if self.nodes.contains_key(&path) {
            return ErrorCode::NodeExists;
        }
        // Only what a load is asked to write is forgotten: any client would notice that a parent is missing.
        let forgotten = self.forgets() && path.starts_with("/own/") && path.contains("/n");
        if !forgotten {
            let stat = Stat { czxid: self.zxid, mzxid: self.zxid, ..Stat::default() };
            self.nodes.insert(path, Node { data, stat });
        }
        ErrorCode::Ok
    }

    fn set(&mut self, path: &str, data: Vec<u8>) -> Option<Stat> {
        self.zxid += 1;
        let (zxid, forgets, keeps) = (self.zxid, self.forgets(), self.keeps);
        let mut void = Node::default();
        let node = match keeps {
            Keeps::Nothing => &mut void,
            _ => self.nodes.get_mut(path)?,
        };
        let stat = Stat { mzxid: zxid, version: node.stat.version + 1, ..node.stat };
        if !forgets {
            *node = Node { data, stat };
        }
        Some(stat)
    }

    fn forgets(&self) -> bool {
        self.keeps == Keeps::AllButOneInHundred && self.zxid % 100 == 0
    }
}
