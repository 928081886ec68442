//! A driver that makes single rounds, so that a test sees what happens between the pieces of a request.

use council_frontend::FrontConfig;
use council_wire::{Acl, OpCode};
use net_event_loop::ConnId;

use super::{House, wire};

/// A house with the clients `a` and `b`, and a driver that makes single rounds.
pub struct Rounds {
    pub house: House,
    pub a: ConnId,
    pub b: ConnId,
}

impl Rounds {
    pub fn new(config: &FrontConfig) -> Self {
        let mut house = House::new(config, 1);
        house.connect("a");
        house.connect("b");
        house.take_log();
        let conn = |house: &House, name| house.clients[name].conn.expect("a connection");
        let (a, b) = (conn(&house, "a"), conn(&house, "b"));
        Self { house, a, b }
    }

    /// Writes to the tree as another server's client would, and delivers the change to the front.
    pub fn write(&mut self, opcode: OpCode, body: &[u8]) {
        let (stream, result) = self.house.core.write(opcode, body);
        assert_eq!(result, Ok(()));
        self.house.deliver(stream);
    }

    pub fn create(&mut self, path: &str) {
        self.write(OpCode::Create, &wire::create(path, None, &[Acl::open()], 0));
    }

    pub fn delete(&mut self, path: &str) {
        self.write(OpCode::Delete, &path_and(path, -1));
    }

    /// Creates `/p` and so many children of it.
    pub fn plant(&mut self, children: usize) {
        self.create("/p");
        (0..children).for_each(|child| self.create(&format!("/p/{child:06}")));
    }

    /// Hands requests of `a` to the front, which takes them all in.
    pub fn send(&mut self, requests: &[u8]) {
        let Self { house, a, .. } = self;
        let taken = house.fronts[0].receive(*a, requests, &house.core.tree, house.now);
        assert_eq!(taken, requests.len());
    }

    /// One round of a driver: `b` is answered in it. What `a` got.
    pub fn round(&mut self) -> Vec<u8> {
        let Self { house, a, b } = self;
        let (front, tree) = (&mut house.fronts[0], &house.core.tree);
        front.go_on(tree, house.now);
        let ping = wire::request(-2, OpCode::Ping.code(), &[]);
        front.events().for_each(drop);
        assert_eq!(front.receive(*b, &ping, tree, house.now), ping.len(), "others are served");
        front.sent(*b, front.unsent(*b));
        let mut bytes = Vec::new();
        while front.unsent(*a) > 0 {
            bytes.extend_from_slice(front.output(*a));
            front.sent(*a, front.output(*a).len());
        }
        front.dirty().for_each(drop);
        bytes
    }

    /// Rounds until `a` has got a reply; the frames that it got, and in how many rounds. `meanwhile` happens between
    /// two rounds.
    pub fn finish(&mut self, mut meanwhile: impl FnMut(&mut Self, usize)) -> (Vec<Vec<u8>>, usize) {
        let mut got = Vec::new();
        for round in 1..10_000 {
            got.extend(self.round());
            if !self.house.fronts[0].has_long() && !got.is_empty() {
                return (frames(&got), round);
            }
            meanwhile(self, round);
        }
        panic!("no end to it");
    }

    pub fn unsent(&self) -> usize {
        self.house.fronts[0].stats().unsent_bytes
    }
}

pub fn frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        frames.push(frame.to_vec());
        bytes = rest;
    }
    frames
}

pub fn path_and(path: &str, number: i32) -> Vec<u8> {
    wire::body(|writer| {
        writer.text(path).i32(number);
    })
}
