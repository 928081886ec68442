//! Hazelcast's CP subsystem: members in processes of their own, started by a program of ours. All that they keep is in memory.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use super::others::{Member, Others};
use super::recipes::Recipes;
use crate::{Failure, Place, Setting};

const PORT: u16 = 21_830;
/// Opened by a member once it is in the CP subsystem.
const READY_PORT: u16 = 21_831;
/// The CP subsystem is formed of as many.
const MEMBERS_LEAST: usize = 3;

/// Starts all members and waits until their CP subsystem is formed.
///
/// # Errors
/// `Missing` if Hazelcast cannot be set up so; otherwise a member does not serve.
pub fn start(recipes: &Recipes, setting: &Setting, folder: &Path, place: &Place) -> Result<Others, Failure> {
    if setting.observers > 0 || setting.servers < MEMBERS_LEAST {
        let what = format!("its CP subsystem has {MEMBERS_LEAST} members at the least, all of which vote");
        return Err(Failure::Missing(what));
    }
    let numbers = 1..=setting.servers;
    let mut members = Vec::new();
    for number in numbers.clone() {
        // Its own address comes first.
        let others = numbers.clone().filter(|other| *other != number);
        let addresses: Vec<_> =
            [number].into_iter().chain(others).map(|number| place.address(number).to_string()).collect();
        let mut command = recipes.hazelcast_member(setting.heap_mb);
        command.args([addresses.join(","), PORT.to_string(), READY_PORT.to_string()]);
        let (name, log) = (format!("Hazelcast {number}"), folder.join(format!("m{number}.log")));
        members.push(Member::start(name, place.command(number, command), &log)?);
    }
    let client = |number| SocketAddr::new(place.address(number), PORT);
    let mut cluster = Others {
        members,
        clients: numbers.clone().map(client).collect(),
        load: recipes.load("Hazelcast", "hazelcast"),
        serves,
        // Each group of the CP subsystem has a leader of its own, which a client finds by itself.
        leads: |_, number| number == 1,
    };
    for number in numbers {
        cluster.wait(number)?;
    }
    Ok(cluster)
}

fn serves(client: SocketAddr) -> bool {
    let ready = SocketAddr::new(client.ip(), READY_PORT);
    TcpStream::connect_timeout(&ready, Duration::from_secs(1)).is_ok()
}
