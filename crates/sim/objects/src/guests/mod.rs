//! Types of users in WebAssembly, for whole members: their modules, written by hand (`module.wat`), and a sequential model of
//! what these do (`model.rs`), which has nothing of the product.
//!
//! All are of one text, and differ in their version's number and in the methods that they have:
//! - `tally` keeps a value. Its versions are migrated and rolled back; it can also be called in ways that fail.
//! - `rogue` does so too, and takes long: longer than a call may where commands are applied, or for ever.
//! - `gate` makes calls wait, wakes the oldest of them, sets timers, and hears of the ends of sessions.
//!
//! All send messages (`messages.rs`). What kills the process of a member that runs it is told by the method and its number
//! ([`deadly`]): the modules themselves do nothing out of the ordinary then.
//!
//! Some versions of a type name one layout ([`layout`]): an object's memory goes from one to the other as it is. Those of `gate` do so, too, but
//! their static data differs within what most objects change, so these are moved like any others.
//!
//! Of a number that was given a version adds its own multiple, so a value tells which versions have run. One version does not
//! take over the state of another, and one is no version at all.

pub(crate) mod alone;
pub(crate) mod bytes;
mod cells;
mod crowd;
pub(crate) mod deadly;
pub(crate) mod judge;
pub(crate) mod messages;
mod model;
#[allow(clippy::disallowed_types, reason = "an engine is shared with its threads")]
pub(crate) mod unharmed;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use objects_state::guest::VersionHash;
use sha2::{Digest as _, Sha256};

use bytes::{VIEW, XOR, YIELD};
pub(crate) use cells::{REACHED, cell};
pub(crate) use model::{Asked, Guest, Ran};

/// A type of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GuestType {
    Tally,
    Rogue,
    Gate,
}

pub(crate) const TYPES: [GuestType; 3] = [GuestType::Tally, GuestType::Rogue, GuestType::Gate];

/// Numbers of versions that can be run.
pub(crate) const RUNNABLE: [u64; 3] = [1, 2, 3];
/// The number of one that members reject.
pub(crate) const REJECTED: u64 = 9;
/// The version whose `migrate` traps.
pub(crate) const TAKES_NOTHING_OVER: u64 = 3;

/// The layout that a version names.
pub(crate) const fn layout(of: GuestType, number: u64) -> Option<&'static str> {
    match (of, number) {
        (GuestType::Tally | GuestType::Gate, 1 | 2) | (GuestType::Rogue, 1 | TAKES_NOTHING_OVER) => {
            Some("words")
        }
        _ => None,
    }
}

const TEXT: &str = include_str!("module.wat");
/// Several times what a call may take where commands are applied: a run that never ends takes 8 ms or less of a processor.
const FUEL: u64 = 8_000_000;
/// What an object may have: `heavy` wants more.
const MEMORY_BYTES: u64 = 4 << 16;

impl GuestType {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tally => "tally",
            Self::Rogue => "rogue",
            Self::Gate => "gate",
        }
    }

    /// Its methods but for `get`, which is a query; those that are called more often stand there more often.
    pub(crate) const fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Tally => &[
                "add", "add", "add", "chain", "send", "send", "send", "flood", "echo", "refuse", "trap",
                "deep", "heavy", "jumble", XOR,
            ],
            Self::Rogue => &[
                "add", "chain", "much", "much", "much", "much", "send", "send", "flood", "burn", "trap",
                "refuse",
            ],
            Self::Gate => &[
                "wait", "wait", "wait", "wait", YIELD, YIELD, "pass", "pass", "pass", "pass", "later",
                "later", "add", "send", "flood", "echo", "chain", "trap",
            ],
        }
    }

    /// A byte of the image, in the page of the state, behind what an object uses of it.
    const fn mark(self, number: u64) -> u64 {
        match self {
            Self::Gate => number,
            Self::Tally | Self::Rogue => 0,
        }
    }

    fn description(self, number: u64) -> String {
        let mut methods =
            BTreeMap::from([("get", "query"), (deadly::QUERY, "query"), (deadly::METHOD, "command")]);
        let kind = |method| if ["wait", YIELD].contains(&method) { "blocking" } else { "command" };
        methods.retain(|name, _| *name != deadly::QUERY || self == Self::Tally);
        methods.extend((self == Self::Rogue).then_some((deadly::LONG_METHOD, "command")));
        methods.extend((self == Self::Tally).then_some((VIEW, "query")));
        methods.extend(self.methods().iter().map(|method| (*method, kind(*method))));
        let codec = |name: &str| if bytes::is_of_bytes(name) { r#","codec":"raw""# } else { "" };
        let methods =
            methods.iter().map(|(name, kind)| format!(r#""{name}":{{"kind":"{kind}"{}}}"#, codec(name)));
        let methods: Vec<_> = methods.collect();
        let layout = layout(self, number).map(|name| format!(r#""layout":"{name}","#)).unwrap_or_default();
        format!(
            r#"{{{layout}"methods":{{{}}},"session_expired":{},"limits":{{"fuel":{FUEL},"memory_bytes":{MEMORY_BYTES}}}}}"#,
            methods.join(","),
            self == Self::Gate
        )
    }
}

/// A version of a type.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) of: GuestType,
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: VersionHash,
}

impl Module {
    /// The hash of its bytes.
    pub(crate) fn file(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }

    fn new(of: GuestType, number: u64) -> Self {
        let description = of.description(number);
        let quoted = description.replace('"', "\\\"");
        let items = match number {
            REJECTED => r#"(memory (export "memory") 1)"#,
            _ => TEXT,
        };
        // Globals come behind imports.
        let version = format!("(global $version i64 (i64.const {number}))");
        let messages = if number == REJECTED { String::new() } else { messages::segments() };
        let mark = format!("(data (i32.const 5120) \"\\{:02x}\")", of.mark(number));
        let text =
            format!("(module (@custom \"diwan.type\" \"{quoted}\")\n{items}\n{version}\n{messages}\n{mark})");
        let bytes = wat::parse_str(text).unwrap_or_else(|error| panic!("a module of ours: {error}"));
        let hash = VersionHash::of(Sha256::digest(&bytes).into(), None, description.as_bytes());
        Self { of, number, bytes, hash }
    }
}

/// The number that a method or a constructor is given.
pub(crate) fn number_of(args: &[u8]) -> u64 {
    let args = crate::outcome::parsed(&String::from_utf8_lossy(args));
    ["number", "start", "by"].iter().find_map(|name| args[name].as_u64()).unwrap_or(0)
}

/// All of them; they are made once in a process.
pub(crate) fn modules() -> &'static [Module] {
    static MODULES: OnceLock<Vec<Module>> = OnceLock::new();
    MODULES.get_or_init(|| {
        let numbers = RUNNABLE.iter().chain(&[REJECTED]);
        numbers.flat_map(|number| TYPES.map(|of| Module::new(of, *number))).collect()
    })
}

/// The version of that name.
pub(crate) fn module_of(hash: VersionHash) -> Option<&'static Module> {
    modules().iter().find(|module| module.hash == hash)
}

/// The version of a type that has that number.
pub(crate) fn module(of: GuestType, number: u64) -> &'static Module {
    let is_it = |module: &&Module| module.of == of && module.number == number;
    modules().iter().find(is_it).expect("there is one of each number")
}
