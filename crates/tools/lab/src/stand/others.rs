//! Running servers that do not speak ZooKeeper's protocol, with the program that loads them.

use std::net::SocketAddr;
use std::time::Duration;

use super::member::Member;
use super::{Performer, StandError};
use crate::task::Driver;

/// Members of one system.
pub(super) struct Others {
    pub(super) members: Vec<Member>,
    /// Where clients find each.
    pub(super) clients: Vec<SocketAddr>,
    pub(super) driver: Driver,
    /// Whether whoever is at that address serves.
    pub(super) serves: fn(SocketAddr) -> bool,
    /// Whether that one, counted from 1, leads.
    pub(super) leads: fn(&Self, usize) -> bool,
}

impl Others {
    pub(super) fn performer(&self) -> Performer {
        Performer::Driver(self.driver.clone(), self.clients.iter().map(ToString::to_string).collect())
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.members.iter().map(Member::pid).collect()
    }

    pub(super) fn is_up(&self, number: usize) -> bool {
        self.members[number - 1].is_up()
    }

    pub(super) fn client(&self, number: usize) -> SocketAddr {
        self.clients[number - 1]
    }

    pub(super) fn kill(&mut self, number: usize) -> Result<(), StandError> {
        self.members[number - 1].kill()
    }

    pub(super) fn stop(&mut self, number: usize) -> Result<(), StandError> {
        self.members[number - 1].stop()
    }

    /// Starts one again and waits until it serves.
    pub(super) fn restart(&mut self, number: usize) -> Result<(), StandError> {
        self.members[number - 1].start_again()?;
        self.wait(number)
    }

    pub(super) fn pause(&self, number: usize, time: Duration) -> Result<(), StandError> {
        self.members[number - 1].pause(time)
    }

    /// Waits until it serves.
    pub(super) fn wait(&mut self, number: usize) -> Result<(), StandError> {
        let (client, serves) = (self.clients[number - 1], self.serves);
        self.members[number - 1].wait_until(|| serves(client))
    }
}
