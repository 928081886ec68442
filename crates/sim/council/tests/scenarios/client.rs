//! Clients of scenarios: each asks at one member, and tells what it is answered.

use std::collections::BTreeMap;

use council_wire::{ErrorCode, OpCode, Zxid};
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::load::SUPER;
use sim_council::node::Node;

type Member = Node<SimDisk>;

/// One client.
pub(crate) struct Visitor {
    client: Client,
    /// The member that it is connected to; none once the connection ended.
    at: Option<u64>,
    greeted: bool,
    asked: BTreeMap<i32, String>,
    timeout_ms: i32,
}

impl Visitor {
    pub(crate) fn connect(id: u64, node: &mut Member, timeout_ms: i32) -> Self {
        let client = Client::connect(node, timeout_ms);
        Self { client, at: Some(id), greeted: false, asked: BTreeMap::new(), timeout_ms }
    }

    pub(crate) fn reconnect(&mut self, id: u64, node: &mut Member) {
        self.client.reconnect(node, self.timeout_ms);
        (self.at, self.greeted) = (Some(id), false);
        self.asked.clear();
    }

    pub(crate) const fn at(&self) -> Option<u64> {
        self.at
    }

    pub(crate) fn write(&mut self, node: &mut Member, path: &str, data: &[u8]) {
        let xid = self.client.create(node, path, data, 0);
        self.asked.insert(xid, format!("write {path}"));
    }

    pub(crate) fn read(&mut self, node: &mut Member, path: &str) {
        let xid = self.client.get(node, path, false);
        self.asked.insert(xid, format!("read {path}"));
    }

    pub(crate) fn sync(&mut self, node: &mut Member) {
        let xid = self.client.ask(node, OpCode::Sync, |writer| {
            writer.text("/");
        });
        self.asked.insert(xid, "sync".into());
    }

    pub(crate) fn ping(&mut self, node: &mut Member) {
        let xid = self.client.ask(node, OpCode::Ping, |_| ());
        self.asked.insert(xid, "ping".into());
    }

    pub(crate) fn authenticate(&mut self, node: &mut Member) {
        let xid = self.client.ask(node, OpCode::Auth, |writer| {
            writer.i32(0).text("digest").buffer(Some(SUPER.as_bytes()));
        });
        self.asked.insert(xid, "super".into());
    }

    pub(crate) fn reconfig(&mut self, node: &mut Member, joining: Option<&str>, leaving: Option<&str>) {
        let xid = self.client.ask(node, OpCode::Reconfig, |writer| {
            writer.string(joining).string(leaving).string(None).i64(-1);
        });
        self.asked.insert(xid, "reconfig".into());
    }

    /// What was answered since the last time.
    pub(crate) fn hear(&mut self, node: &mut Member) -> Vec<String> {
        let mut heard = Vec::new();
        let replies = self.client.replies(node);
        if !self.greeted && self.client.is_connected() {
            self.greeted = true;
            let is_refused = self.client.timeout_ms == 0;
            heard.push(if is_refused { "session refused" } else { "session open" }.into());
        }
        for reply in replies {
            let asked = self.asked.remove(&reply.xid);
            let what = match reply.err {
                0 => {
                    let Zxid(zxid) = Zxid(reply.zxid);
                    format!("ok, zxid {}.{}", zxid >> 32, zxid & 0xffff_ffff)
                }
                code => ErrorCode::from_code(code).map_or("an error", ErrorCode::name).to_owned(),
            };
            heard.push(format!("{}: {what}", asked.as_deref().unwrap_or("unasked")));
        }
        if self.at.is_some() && node.is_closed(self.client.conn()) {
            heard.push(self.disconnected());
        }
        heard
    }

    /// Its connection ended.
    pub(crate) fn disconnected(&mut self) -> String {
        self.at = None;
        let open: Vec<_> = std::mem::take(&mut self.asked).into_values().collect();
        match open.is_empty() {
            true => "disconnected".into(),
            false => format!("disconnected without an answer to {}", open.join(", ")),
        }
    }
}
