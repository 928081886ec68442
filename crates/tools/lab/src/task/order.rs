//! A task with where the servers are, as loads of ZooKeeper's protocol begin with it: the clients, the separate reader,
//! and where there is room for nodes.

use std::io;
use std::time::Instant;

use council_client::load::{Heard, Patience, Reader, Runner, Servers, append};
use council_wire::{Acl, OpCode};

use super::Task;

#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) task: &'a Task,
    pub(super) servers: &'a Servers,
    pub(super) patience: &'a Patience,
}

impl Order<'_> {
    /// All clients, spread over the servers.
    pub(super) fn connect(&self) -> io::Result<Runner> {
        Runner::connect_patient(self.servers, self.task.clients, self.patience)
    }

    /// A connection that belongs to no client.
    pub(super) fn connect_one(&self) -> io::Result<Runner> {
        Runner::connect_patient(self.servers, 1, self.patience)
    }

    /// A separate client, which takes no part.
    pub(super) fn reader(&self) -> io::Result<Reader> {
        Reader::open(self.connect_one()?)
    }

    /// A node that was not used before, made under a number of its own.
    pub(super) fn own_base(&self, name: &str) -> io::Result<String> {
        const SEQUENTIAL: i32 = 2;
        let mut runner = self.connect_one()?;
        runner.connections[0].ask(Instant::now(), |xid, out| {
            create(out, xid, &format!("/{name}-"), b"", SEQUENTIAL);
        });
        let mut made = None;
        runner.until_heard(
            |runner| Ok(!runner.is_owed()),
            |_, heard, _| {
                if let Heard::Answer(answer) = heard {
                    made = council_wire::Reader::new(answer.body).text().ok().map(String::from);
                }
            },
        )?;
        runner.close()?;
        made.ok_or_else(|| io::Error::other(format!("`/{name}-` cannot be made")))
    }
}

/// A request that creates a node with an ACL that is open to everyone.
pub(super) fn create(out: &mut Vec<u8>, xid: i32, path: &str, value: &[u8], mode: i32) {
    append(out, xid, OpCode::Create, |writer| {
        writer.text(path).buffer(Some(value));
        Acl::write_all(&[Acl::open()], writer);
        writer.i32(mode);
    });
}

/// Of [`create`]: a node that stays.
pub(super) const PERSISTENT: i32 = 0;
