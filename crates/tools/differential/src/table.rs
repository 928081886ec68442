//! The differences on purpose: where Diwan answers differently from ZooKeeper 3.9 because it is better for users.
//!
//! The one place where a difference may be excused. Without a reason here every differing byte is a failure.

use council_wire::ErrorCode;

use super::compare::Line;

/// An intended difference.
pub struct Entry {
    /// Its name, by which scripts mark the blocks that show it.
    pub name: &'static str,
    /// Why it is wanted.
    pub reason: &'static str,
    /// Where it is looked for.
    pub shows: Shows,
}

/// Where an intended difference shows.
pub enum Shows {
    /// In blocks that were written to show it. The test sees what ZooKeeper's clients saw in one step, then Diwan's.
    InItsBlocks(fn(&[Line], &[Line]) -> bool),
    /// In any step.
    Anywhere(fn(&[Line], &[Line]) -> bool),
    /// Nowhere: scripts leave it out, because the real server does not survive it or gives no fixed answer.
    LeftOut,
}

/// All of them.
pub const TABLE: &[Entry] = &[
    Entry {
        name: "deleteContainer",
        reason: "a client could remove any empty node without a permission: only the server's own reaper may use it",
        shows: Shows::InItsBlocks(|_, _| true),
    },
    Entry {
        name: "wrong password",
        reason: "a client that does not know a session's password must not be able to cut its owner's connection",
        shows: Shows::InItsBlocks(|zookeeper, diwan| {
            zookeeper.len() == diwan.len()
                && zookeeper.iter().zip(diwan).all(|(z, d)| {
                    z.normal.bytes == d.normal.bytes
                        || (z.client == d.client
                            && z.normal.text == REPLACED_CUT
                            && d.normal.text == REPLACED_LEFT)
                })
        }),
    },
    Entry {
        name: "oversized request",
        reason: "a request over `jute.maxbuffer` is skipped and refused in order; connection and session live on",
        shows: Shows::InItsBlocks(|zookeeper, _| zookeeper.iter().any(|line| line.normal.text == GONE)),
    },
    Entry {
        name: "reconfig of a single server",
        reason: "a single server cannot be reconfigured, with any `reconfigEnabled`: ReconfigDisabled",
        shows: Shows::Anywhere(|zookeeper, diwan| {
            let code = |lines: &[Line]| lines.first().and_then(Line::code);
            code(zookeeper) == Some(ErrorCode::Unimplemented as i32)
                && code(diwan) == Some(ErrorCode::ReconfigDisabled as i32)
                && zookeeper.len() == diwan.len()
                && zookeeper.iter().zip(diwan).skip(1).all(|(z, d)| z.same(d))
        }),
    },
    Entry {
        name: "catch-up",
        reason: "persistent and exists watches set again are told what changed while the client was away",
        shows: Shows::InItsBlocks(|zookeeper, diwan| {
            // An exists watch that has reported a node's deletion is used up, and fires no event when the node is
            // created again.
            let replies =
                |lines: &[Line]| lines.iter().filter(|line| !line.event).cloned().collect::<Vec<_>>();
            let (zookeeper, diwan) = (replies(zookeeper), replies(diwan));
            zookeeper.len() == diwan.len() && zookeeper.iter().zip(&diwan).all(|(z, d)| z.same(d))
        }),
    },
    Entry {
        name: "order of identities",
        reason: "scheme `auth` expands in the order in which the identities were given, not by their hash",
        shows: Shows::Anywhere(|zookeeper, diwan| {
            zookeeper.len() == diwan.len()
                && zookeeper.iter().zip(diwan).all(|(z, d)| z.same(d) || same_bytes_in_another_order(z, d))
        }),
    },
    Entry {
        name: "setACL binds what is pipelined behind it",
        reason: "ZooKeeper 3.9.5 judges writes pipelined behind a setACL by the old list, or not, as it happens",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "an unknown operation waits its turn",
        reason: "ZooKeeper 3.9.5 answers it and closes at once, past or instead of the replies to what was sent before",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "createContainer with an ephemeral's flags",
        reason: "ZooKeeper 3.9.5 makes a container that refuses children until it is applied",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "nonsense in `zookeeper_stats`",
        reason: "without enforced quotas the next write below stops ZooKeeper 3.9.5; Diwan goes on",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "characters beyond the basic plane",
        reason: "ZooKeeper 3.9.5 sends such text back as two surrogates of three bytes, which is not UTF-8",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "pages about a watch on null",
        reason: "ZooKeeper 3.9.5 breaks off the page `watches_by_path` in the middle of its JSON",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "createSession sent by a client",
        reason: "ZooKeeper 3.9.5 answers it with a second handshake in the middle of the session; unknown to Diwan",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "createTTL without a TTL flag and a negative ttl",
        reason: "ZooKeeper 3.9.5 logs it, stops, and never starts again; Diwan answers BadArguments",
        shows: Shows::LeftOut,
    },
];

/// What a connection that was cut in favour of another shows.
pub(crate) const REPLACED_CUT: &str = "the replaced connection is cut";
/// What one that was left alone shows.
pub(crate) const REPLACED_LEFT: &str = "the replaced connection is left alone";
/// What a closed connection shows.
pub(crate) const GONE: &str = "closed";

/// The entry that excuses a step's difference, if there is one.
#[must_use]
pub fn excuse(purpose: Option<&str>, zookeeper: &[Line], diwan: &[Line]) -> Option<&'static str> {
    let excuses = |entry: &&Entry| match entry.shows {
        Shows::InItsBlocks(test) => purpose == Some(entry.name) && test(zookeeper, diwan),
        Shows::Anywhere(test) => test(zookeeper, diwan),
        Shows::LeftOut => false,
    };
    TABLE.iter().find(excuses).map(|entry| entry.name)
}

fn same_bytes_in_another_order(z: &Line, d: &Line) -> bool {
    let entries = |line: &Line| {
        let (head, rest) = line.normal.text.split_once(" acl[")?;
        let (list, tail) = rest.split_once("] stat")?;
        let mut list: Vec<String> = list.split(';').map(str::to_owned).collect();
        list.sort_unstable();
        Some((head.to_owned(), list, tail.to_owned()))
    };
    z.client == d.client && entries(z).is_some_and(|z| Some(z) == entries(d))
}
