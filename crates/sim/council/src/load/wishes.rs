//! What one client asks for, for whoever plays clients without simulated members: the same rooms as elsewhere.

use super::{Features, Scene, names, plain};
use crate::history::Ask;
use crate::random::Random;

/// See the module.
#[derive(Debug)]
pub struct Wishes {
    random: Random,
    name: usize,
    clients: usize,
    features: Features,
    number: u64,
    /// What it knows to be in the queue.
    seen: Vec<String>,
}

impl Wishes {
    /// Of the client of that name among so many.
    #[must_use]
    pub const fn new(name: usize, clients: usize, features: Features, random: Random) -> Self {
        Self { random, name, clients, features, number: 0, seen: Vec::new() }
    }

    /// What it asks for next, all at once.
    pub fn draw(&mut self) -> Vec<Ask> {
        let scene = self.scene();
        let drawn = self.features.ask(&mut self.random, &scene);
        drawn.unwrap_or_else(|| plain::draw(&mut self.random, &scene, &mut self.seen))
    }

    /// What it asks for when all is well once more: a write and a read that must succeed.
    pub fn last(&mut self) -> Vec<Ask> {
        let scene = self.scene();
        let (path, data) = (scene.own(), scene.data());
        vec![
            Ask::plain(&path),
            Ask::Set { path: path.clone(), data, version: -1 },
            Ask::Sync { path: path.clone() },
            Ask::Get { path, watch: false },
        ]
    }

    /// Something was answered well.
    pub fn hear(&mut self, ask: &Ask, body: &[u8]) {
        if let Some(names) = names(ask, body) {
            self.seen = names;
        }
    }

    fn scene(&mut self) -> Scene {
        self.number += 1;
        Scene { name: self.name, number: self.number, clients: self.clients as u64, reads_only: false }
    }
}
