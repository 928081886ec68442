//! The floors of the house: every dependency between our crates points to a lower floor, and the pure
//! crates depend on nothing that reaches the clock, the network, the disk or a random source.
//!
//! Judges declared dependencies (of every kind: also a test may not look upwards) and the text of the
//! pure crates; what their code calls is clippy's to judge, through `clippy.toml`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, bail};

use super::Verdict;
use crate::workspace::{Package, Workspace};

/// A tool of the workspace: depends on what it likes, and nobody on it.
const TOOL: &str = "xtask";

const FLOORS: &[(&str, u8)] = &[
    ("jute", 1),
    ("tree", 1),
    ("journal", 2),
    ("front", 2),
    ("council", 2),
    ("member", 3),
    ("server", 4),
    ("client", 4),
    ("sim", 4),
    // How a program becomes a client: above both, as it reads keys and certificates like a server and opens a client.
    // Below the programs, so that `diwan` and `lab` take the same options.
    ("connect", 5),
    ("diwan", 6),
    ("fuzz", 6),
    ("lab", 6),
];

/// The arrows allowed on one floor, each with its reason.
const SIDEWAYS: &[(&str, &str)] = &[
    // The tree's results are the wire's records; a copy of them would only have to be converted.
    ("tree", "jute"),
];

/// What each pure crate may take from outside: only what reaches nothing. A new entry here is a decision:
/// read the crate's own dependencies first.
const PURE: &[(&str, &[&str])] = &[
    ("jute", &["bytes", "hashbrown", "smallvec", "thiserror"]),
    ("tree", &["bytes", "hashbrown", "smallvec", "thiserror", "sha1", "base64", "crc32c", "twox-hash"]),
    ("journal", &["bytes", "crc32c", "hashbrown", "smallvec", "thiserror"]),
    // The engine draws its election timeouts itself; `council` overwrites them from the seed. It wants a
    // logger of `slog`'s, which discards what it is told.
    ("council", &["bytes", "crc32c", "hashbrown", "protobuf", "raft", "slog", "smallvec", "thiserror"]),
    (
        "front",
        &[
            "base64",
            "bytes",
            "hashbrown",
            "hmac",
            "md-5",
            "sha1",
            "sha2",
            "sha3",
            "smallvec",
            "subtle",
            "thiserror",
        ],
    ),
    (
        "member",
        &["bytes", "crc32c", "foldhash", "hashbrown", "rand_chacha", "smallvec", "subtle", "thiserror"],
    ),
];

/// What the tests of a pure crate may take besides: generators and readers of test cases.
const PURE_IN_TESTS: &[&str] = &["goldenscript", "proptest"];

const DENY_LINE: &str = "#![deny(clippy::disallowed_types, clippy::disallowed_methods)]";

/// A crate as this gate sees it.
struct Room {
    name: String,
    /// Name, and whether only tests need it.
    needs: Vec<(String, bool)>,
}

pub(crate) fn run(workspace: &Workspace) -> Verdict {
    let rooms: Vec<Room> = workspace.packages.iter().map(Room::of).collect();
    let mut wrongs = violations(&rooms);
    for (name, _) in PURE {
        if let Some(package) = workspace.package(name) {
            wrongs.extend(impurities(package)?);
        }
    }
    if wrongs.is_empty() {
        return Ok(String::new());
    }
    bail!("{}", wrongs.join("\n"))
}

impl Room {
    fn of(package: &Package) -> Self {
        let needs = package.dependencies.iter();
        let needs = needs.map(|need| (need.name.clone(), need.kind.as_deref() == Some("dev"))).collect();
        Self { name: package.name.clone(), needs }
    }
}

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(room, _)| *room == name).map(|(_, floor)| *floor)
}

/// Every broken rule among the declared dependencies, one sentence each.
fn violations(rooms: &[Room]) -> Vec<String> {
    let ours: BTreeSet<&str> = rooms.iter().map(|room| room.name.as_str()).collect();
    let mut wrongs = Vec::new();
    for room in rooms.iter().filter(|room| room.name != TOOL) {
        let Some(from) = floor(&room.name) else {
            wrongs.push(format!("`{}` has no floor: give it one in FLOORS", room.name));
            continue;
        };
        for (need, in_tests) in &room.needs {
            if ours.contains(need.as_str()) {
                wrongs.extend(wrong_arrow(&room.name, from, need));
            } else {
                wrongs.extend(wrong_import(&room.name, need, *in_tests));
            }
        }
    }
    wrongs
}

fn wrong_arrow(room: &str, from: u8, need: &str) -> Option<String> {
    if need == TOOL {
        return Some(format!("`{room}` depends on `{TOOL}`: nobody may"));
    }
    let to = floor(need)?;
    let allowed = to < from || SIDEWAYS.contains(&(room, need));
    (!allowed).then(|| format!("`{room}` (floor {from}) depends on `{need}` (floor {to}): arrows point down"))
}

fn wrong_import(room: &str, need: &str, in_tests: bool) -> Option<String> {
    let (_, permitted) = PURE.iter().find(|(pure, _)| *pure == room)?;
    let allowed = permitted.contains(&need) || (in_tests && PURE_IN_TESTS.contains(&need));
    (!allowed).then(|| format!("`{room}` is pure and may not depend on `{need}`: see PURE"))
}

/// Whether the crate denies what `clippy.toml` disallows, everywhere.
fn impurities(package: &Package) -> anyhow::Result<Vec<String>> {
    let mut wrongs = Vec::new();
    for target in package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "lib")) {
        let text = read(&target.src_path)?;
        if !text.lines().any(|line| line.trim_end() == DENY_LINE) {
            wrongs.push(format!("`{}` is pure: its lib.rs must say `{DENY_LINE}`", package.name));
        }
        let sources = target.src_path.parent().unwrap_or(&target.src_path);
        for file in rust_files(sources)? {
            wrongs.extend(exemption(&read(&file)?).map(|line| {
                format!("`{}` is pure: {} line {line} makes an exception", package.name, file.display())
            }));
        }
    }
    let own_lints = package.manifest_path.with_file_name("clippy.toml");
    if own_lints.exists() {
        wrongs.push(format!("`{}` silently replaces the workspace's clippy.toml", own_lints.display()));
    }
    Ok(wrongs)
}

/// The first line that lifts the ban.
fn exemption(text: &str) -> Option<usize> {
    let lifts = |line: &str| {
        line.contains("clippy::disallowed_") && (line.contains("allow(") || line.contains("expect("))
    };
    text.lines().position(lifts).map(|index| index + 1)
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

fn rust_files(folder: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    for entry in entries {
        let path = entry.context("cannot list a folder")?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{Room, exemption, violations};

    fn room(name: &str, needs: &[&str]) -> Room {
        Room { name: name.into(), needs: needs.iter().map(|need| ((*need).into(), false)).collect() }
    }

    fn house(changed: Room) -> Vec<String> {
        let mut rooms: Vec<Room> = super::FLOORS.iter().map(|(name, _)| room(name, &[])).collect();
        rooms.push(room("xtask", &["diwan", "anything"]));
        rooms.retain(|room| room.name != changed.name);
        rooms.push(changed);
        violations(&rooms)
    }

    #[test]
    fn arrows_that_point_down_are_fine() {
        assert!(house(room("member", &["tree", "jute", "council", "front", "journal", "bytes"])).is_empty());
        assert!(house(room("diwan", &["server", "client", "clap"])).is_empty());
        assert!(house(room("tree", &["jute"])).is_empty());
    }

    #[test]
    fn arrows_up_sideways_or_at_the_tool_are_caught() {
        for (from, to) in [("jute", "tree"), ("front", "council"), ("tree", "sim"), ("server", "xtask")] {
            let wrongs = house(room(from, &[to]));
            assert_eq!(wrongs.len(), 1, "{from} -> {to}: {wrongs:?}");
            assert!(wrongs[0].contains(&format!("`{from}`")) && wrongs[0].contains(&format!("`{to}`")));
        }
    }

    #[test]
    fn a_test_may_not_look_up_either() {
        let upwards = Room { name: "council".into(), needs: vec![("sim".into(), true)] };
        assert_eq!(house(upwards).len(), 1);
    }

    #[test]
    fn a_pure_crate_may_not_take_what_reaches_the_system() {
        for outside in ["libc", "tokio", "rand", "getrandom", "rustix", "mio"] {
            assert_eq!(house(room("journal", &[outside])).len(), 1, "{outside}");
        }
        assert!(house(room("server", &["rustix", "mio"])).is_empty());
    }

    #[test]
    fn a_crate_without_a_floor_is_caught() {
        assert_eq!(house(room("cellar", &[])), ["`cellar` has no floor: give it one in FLOORS"]);
    }

    #[test]
    fn an_exception_inside_a_pure_crate_is_caught() {
        assert_eq!(exemption("\n#[allow(clippy::disallowed_types, reason = \"..\")]"), Some(2));
        assert_eq!(exemption(super::DENY_LINE), None);
    }
}
