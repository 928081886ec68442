//! A backup: a file of the member's, which the driver reads and sends. Here is when its response begins and what ends it.

use std::hash::Hash;

use base::LogIndex;
use objects_replica::edge::Request;
use objects_state::{Origin, Slug};

use super::open::Purpose;
use super::{Edge, Say};
use crate::message::{Fault, HttpResponse, OCTETS};

impl<K: Copy + Ord + Hash> Edge<K> {
    /// The core says that the snapshot is on the disk. A client that has gone meanwhile reads none.
    pub(super) fn backup_is_there(&mut self, origin: Origin, index: LogIndex) {
        match self.number(origin).and_then(|number| self.requests.get(number)) {
            Some(open) => self.says.push(Say::Backup(open.key, index)),
            None => self.asks.push(Request::Gone { origin }),
        }
    }

    /// The driver has opened the file: a state of that position. What it reads it sends behind this response.
    pub fn backup_begins(&mut self, key: K, position: u64) {
        let Some(open) = self.requests.number_of(key).and_then(|number| self.requests.get_mut(number)) else {
            return;
        };
        open.purpose = Purpose::Backup { has_begun: true };
        let noted = open.noted.take();
        let response = HttpResponse {
            content_type: OCTETS,
            position: Some(position),
            is_stream: true,
            ..HttpResponse::json(200, String::new()).with("cache-control", "no-store")
        };
        self.note(noted, response.status);
        self.says.push(Say::Respond(key, response));
    }

    /// The driver cannot read the file.
    pub fn backup_is_lost(&mut self, key: K, why: &str) {
        if self.backup_ended(key) {
            self.says.push(Say::Respond(key, Fault::new(Slug::Rate, why).response()));
        }
    }

    /// The driver has sent all of the file, or nobody reads the rest. False if that is known.
    pub fn backup_ended(&mut self, key: K) -> bool {
        let Some(number) = self.requests.number_of(key) else { return false };
        self.requests.remove(number);
        self.asks.push(Request::Gone { origin: self.origin(number) });
        true
    }
}
