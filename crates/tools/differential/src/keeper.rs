//! The superuser that cleans up a server before and after a script, so that one server serves many scripts.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use council_wire::OpCode;
use tools_testbed::wire::{Received, Wire, framed};

use super::encode::Body;
use super::op::{Acl, Op};
use super::play::{Ticket, int_at, long_at, ticket_in};
use super::script::Connect;

/// Name and password of the superuser of every server under test.
pub(crate) const SUPER: &str = "super:diwan";
/// `super:base64(sha1("super:diwan"))`, as `DigestAuthenticationProvider.superDigest` wants it.
pub(crate) const SUPER_DIGEST: &str = "super:FAaMyl9n+Jj76RqJyXgcq1OK8N8=";
/// The nodes that a server has from the start and that no client can delete.
const SYSTEM: [&str; 4] = ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"];

pub(crate) struct Keeper {
    wire: Wire,
    session: i64,
    address: SocketAddr,
    deadline: Duration,
}

impl Keeper {
    /// A new session with the superuser's rights. Gives the system nodes a history that both servers share from here on,
    /// even if an earlier script took more zxids on one of them.
    pub(crate) fn connect(address: SocketAddr, deadline: Duration) -> io::Result<Keeper> {
        let (wire, ticket) = shake(address, deadline, None)?;
        let ticket = ticket.ok_or_else(|| failed("a new session was refused"))?;
        let mut keeper = Keeper { wire, session: ticket.session, address, deadline };
        keeper.ask(&Op::Auth { scheme: "digest", auth: SUPER.into() })?;
        for parent in ["", "/zookeeper", "/zookeeper/quota"] {
            let path = format!("{parent}/touched");
            let acl = Some(vec![everyone()]);
            keeper.ask(&Op::Create {
                opcode: OpCode::Create,
                path: path.clone(),
                data: None,
                acl,
                flags: 0,
            })?;
            keeper.ask(&Op::Versioned { opcode: OpCode::Delete, path, version: -1 })?;
        }
        keeper.ask(&Op::SetAcl { path: "/".into(), acl: Some(vec![everyone()]), version: -1 })?;
        keeper.ask(&Op::SetData { path: "/".into(), data: Some(vec![]), version: -1 })?;
        Ok(keeper)
    }

    pub(crate) fn session(&self) -> i64 {
        self.session
    }

    /// The server's last zxid.
    pub(crate) fn zxid(&mut self) -> io::Result<i64> {
        long_at(&self.ask(&Op::Empty { opcode: OpCode::Ping })?, 4).ok_or_else(|| failed("a short reply"))
    }

    /// Waits for the end of a node that something else will delete; false if it is still there after the deadline.
    pub(crate) fn until_gone(&mut self, path: &str) -> bool {
        let exists = Op::Watching { opcode: OpCode::Exists, path: path.to_owned(), watch: true };
        loop {
            let Ok(reply) = self.ask(&exists) else { return false };
            if int_at(&reply, 12) != Some(0) {
                return true;
            }
            // The watch reports the node's next change of any kind.
            if !matches!(self.wire.receive(self.deadline), Received::Frame(_)) {
                return false;
            }
        }
    }

    /// Ends the script's sessions and its own, and deletes everything but the system nodes.
    pub(crate) fn tidy(mut self, sessions: &[Ticket]) -> io::Result<()> {
        for ticket in sessions {
            let (wire, accepted) = shake(self.address, self.deadline, Some(ticket))?;
            if accepted.is_some() {
                close(wire, self.deadline)?;
            }
        }
        self.delete_below("")?;
        close(self.wire, self.deadline)
    }

    /// Deletes what is below `path`, in the order of names: both servers take the same steps.
    fn delete_below(&mut self, path: &str) -> io::Result<()> {
        let node = if path.is_empty() { "/" } else { path };
        let reply =
            self.ask(&Op::Watching { opcode: OpCode::GetChildren, path: node.into(), watch: false })?;
        let mut names = strings_at(&reply, 16).ok_or_else(|| failed("children that cannot be read"))?;
        names.sort_unstable();
        for name in names {
            let child = format!("{path}/{name}");
            self.delete_below(&child)?;
            if !SYSTEM.contains(&child.as_str()) {
                let reply = self.ask(&Op::Versioned { opcode: OpCode::Delete, path: child, version: -1 })?;
                if int_at(&reply, 12) != Some(0) {
                    return Err(failed("a node that cannot be deleted"));
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, op: &Op) -> io::Result<Vec<u8>> {
        ask(&mut self.wire, op, self.deadline)
    }
}

fn everyone() -> Acl {
    Acl { perms: 31, scheme: "world", id: "anyone".into() }
}

fn ask(wire: &mut Wire, op: &Op, deadline: Duration) -> io::Result<Vec<u8>> {
    let xid = if op.opcode() == OpCode::Ping.code() { -2 } else { 1 };
    let request = Body::default().int(xid).int(op.opcode()).raw(&op.body(0)).into_bytes();
    wire.send(&framed(&request))?;
    loop {
        match wire.receive(deadline) {
            // The event of a watch that was left on a node that never came.
            Received::Frame(frame) if int_at(&frame, 0) == Some(-1) => {}
            Received::Frame(frame) => return Ok(frame),
            end => return Err(failed(&format!("{end:?} instead of a reply to {op}"))),
        }
    }
}

fn close(mut wire: Wire, deadline: Duration) -> io::Result<()> {
    ask(&mut wire, &Op::Empty { opcode: OpCode::CloseSession }, deadline).map(drop)
}

fn shake(
    address: SocketAddr,
    deadline: Duration,
    ticket: Option<&Ticket>,
) -> io::Result<(Wire, Option<Ticket>)> {
    let mut wire = Wire::connect(address, deadline)?;
    wire.send(&framed(&Connect::plain(ticket)))?;
    match wire.receive(deadline) {
        Received::Frame(frame) => Ok((wire, ticket_in(&frame))),
        end => Err(failed(&format!("{end:?} instead of an answer to a handshake"))),
    }
}

fn strings_at(bytes: &[u8], mut at: usize) -> Option<Vec<String>> {
    let count = int_at(bytes, at)?;
    at += 4;
    let mut strings = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(int_at(bytes, at)?).ok()?;
        at += 4;
        strings.push(String::from_utf8_lossy(bytes.get(at..at + length)?).into_owned());
        at += length;
    }
    Some(strings)
}

fn failed(what: &str) -> io::Error {
    io::Error::other(format!("putting the server in order: {what}"))
}
