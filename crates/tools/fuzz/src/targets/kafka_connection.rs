//! A client's bytes to a whole broker: frames, requests of all APIs in all versions, groups, transactions, tokens. Whatever they
//! are, another client is served.

use std::fs;
use std::path::Path;

use super::kafka_pipes::World;

/// ApiVersions, version 0, and Metadata of all topics, version 1.
const QUIET: [&[u8]; 2] = [
    &[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff],
    &[0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
];
/// Turns after which whoever is served has an answer: half a minute.
const TURNS: usize = 600;

/// The first byte chooses the listener.
pub(crate) fn run(bytes: &[u8]) {
    let Some((listener, rest)) = bytes.split_first() else { return };
    let mut world = World::new();
    let hostile = world.connect(u16::from(listener % 2));
    // In two parts, as a network may cut them.
    let (first, last) = rest.split_at(rest.len() / 2);
    for part in [first, last] {
        world.send(hostile, part);
        world.turns(4);
    }
    let quiet = world.connect(0);
    for request in QUIET {
        world.send(quiet, request);
    }
    for _ in 0..TURNS / 10 {
        if world.frames(quiet) == QUIET.len() {
            break;
        }
        world.turns(10);
    }
    assert_eq!(world.frames(quiet), QUIET.len(), "another client is not served");
    // What waits comes to its end, or goes on waiting.
    world.turns(TURNS);
}

/// The requests captured from a real Kafka's clients: each alone, all of an API, and a chain through all of them.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let (mut seeds, mut chain) = (Vec::new(), vec![0]);
    for requests in captured() {
        let mut of_api = vec![0];
        for frame in &requests {
            of_api.extend_from_slice(frame);
        }
        if let Some(newest) = requests.last() {
            seeds.push([&[0], &newest[..]].concat());
            chain.extend_from_slice(newest);
        }
        seeds.push(of_api);
    }
    seeds.push(chain);
    let sasl: &[&[u8]] = &[
        &[1, 0, 0, 0, 17, 0, 17, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 5],
        b"PLAIN",
        &[0, 0, 0, 25, 0, 36, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 0, 0, 0, 11],
        b"\0bob\0secret",
    ];
    seeds.push(sasl.concat());
    seeds
}

/// Framed requests of each API, in the order of their versions.
fn captured() -> Vec<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../log/wire/tests/golden");
    let entries = fs::read_dir(&folder).expect("the checkout holds the captures");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files.iter().map(|file| frames(&fs::read_to_string(file).expect("a capture is text"))).collect()
}

fn frames(text: &str) -> Vec<Vec<u8>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("request "));
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let frame = |line: &str| -> Option<Vec<u8>> {
        let body: Vec<u8> = line.as_bytes().chunks(2).map(byte).collect::<Option<_>>()?;
        let length = u32::try_from(body.len()).ok()?.to_be_bytes();
        Some([&length[..], &body].concat())
    };
    lines.filter_map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_every_api_are_seeds() {
        assert!(captured().len() > 50 && captured().iter().all(|requests| !requests.is_empty()));
    }

    #[test]
    fn requests_of_the_seeds_are_answered() {
        for seed in seeds().iter().filter(|seed| seed[0] == 1) {
            let mut world = World::new();
            let client = world.connect(1);
            world.send(client, &seed[1..]);
            world.turns(10);
            assert_eq!(world.frames(client), 2, "handshake and token");
        }
    }
}
