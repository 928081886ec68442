//! The layers of the workspace. Crates lie in folders; a package is named after its folder and its own name. Every
//! dependency between our crates points down, a service uses another one only through `council-client` or
//! `council-client-core`, shared layers name no service, and the pure crates depend on nothing that reaches the clock, the
//! network, the disk or a random source, nor on a crate of ours that is not pure.
//!
//! Judges declared dependencies (of every kind: also a test may not look upwards) and the text of shared and pure crates.
//! What pure crates call is clippy's to judge, through `clippy.toml`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, bail};

use super::Verdict;
use crate::workspace::{Package, Workspace};

/// The folders of `crates/` from the bottom to the top, and in each its crates from the bottom to the top: a crate
/// depends on those that stand before it.
const LAYERS: &[(&str, &[&str])] = &[
    ("", &["base"]),
    ("storage", &["disk", "dir-disk", "wal", "raft-log"]),
    ("consensus", &["raft", "replica"]),
    ("replication", &["appointed", "controller", "node", "wire", "planner"]),
    ("net", &["event-loop", "peer-pairs", "auth"]),
    ("node", &["config", "threads", "metrics"]),
    ("net", &["tls", "reactor", "http", "http-server", "peers"]),
    ("node", &["pages", "group"]),
    // What every simulator stands on; the simulators themselves stand above what they simulate.
    ("sim", &["kit", "group", "appointed"]),
    (
        "council",
        &[
            "wire",
            "tree",
            "frontend",
            "replica",
            "service",
            "client-core",
            "client-model",
            "client",
            "connect",
        ],
    ),
    (
        "log",
        &[
            "wire",
            "compression",
            "balance",
            "client",
            "partition",
            "config",
            "access",
            "storage",
            "metadata",
            "coordinators",
            "share",
            "links",
            "broker",
            "service",
        ],
    ),
    ("objects", &["state", "guest", "replica", "names", "http", "edge", "service"]),
    ("sim", &["council", "log", "objects"]),
    (
        "tools",
        &[
            "process",
            "testbed",
            "differential",
            "log-differential",
            "faults",
            "log-faults",
            "lab-report",
            "lab",
            "fuzz",
            "guests",
            "xtask",
        ],
    ),
    // The program itself lies in no folder.
    ("", &["diwan"]),
];

/// Layers, and single crates, that all services or all their simulators stand on. They name none of them, neither in code nor
/// in words.
const SHARED: &[&str] =
    &["base", "storage", "consensus", "replication", "net", "node", "sim-kit", "sim-group"];

/// Each depends on no other, except for [`CLIENTS`].
const SERVICES: &[&str] = &["council", "log", "store", "objects"];

/// What services may use of the council: the client as a state machine, and its driver. Of the council they use only
/// [`WIRE`] and each other, so that a service that uses them gets nothing else of it.
const CLIENTS: &[&str] = &["council-client-core", "council-client-model", "council-client"];

/// The council's protocol.
const WIRE: &str = "council-wire";

/// What gives a service away, in any spelling.
const SERVICE_WORDS: &[&str] = &["council", "zookeeper", "znode", "zxid", "kafka", "redis", "valkey"];

/// Depends on what it likes, and no crate on it.
const TOOL: &str = "tools-xtask";

/// What the tools of every service stand on: they depend on none.
const TOOLS_OF_ALL: &[&str] = &["tools-process", "tools-testbed", "tools-lab-report"];

/// What each pure crate may take from outside: only what reaches nothing. A new entry here is a decision:
/// read the crate's own dependencies first.
const PURE: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("net-event-loop", &[]),
    ("net-peer-pairs", &[]),
    ("net-auth", &["base64", "hmac", "md-5", "sha2", "subtle", "thiserror"]),
    ("council-wire", &["bytes", "hashbrown", "smallvec", "thiserror"]),
    (
        "council-tree",
        &["bytes", "hashbrown", "smallvec", "thiserror", "sha1", "base64", "crc32c", "twox-hash"],
    ),
    ("log-wire", &["crc32c", "thiserror"]),
    // Codecs see bytes and give bytes. That of zstd is C, which reaches nothing either.
    ("log-balance", &["thiserror"]),
    ("log-compression", &["flate2", "lz4_flex", "snap", "thiserror", "zstd"]),
    // Regular expressions over topic names: linear time, limited memory.
    ("log-coordinators", &["regex"]),
    ("log-share", &[]),
    // JSON and base64 of what the council keeps.
    ("log-metadata", &["base64", "serde", "serde_json", "thiserror"]),
    ("log-partition", &["bytes", "crc32c", "sha2", "thiserror"]),
    // `strsim` measures how alike two names are.
    ("log-config", &["strsim"]),
    ("log-storage", &["bytes", "thiserror"]),
    ("log-access", &[]),
    ("replication-appointed", &[]),
    ("replication-controller", &[]),
    ("replication-node", &[]),
    ("replication-wire", &["thiserror"]),
    ("replication-planner", &["thiserror"]),
    ("log-broker", &["bytes", "smallvec", "thiserror"]),
    // The hash that names modules and versions of types.
    ("objects-state", &["sha2", "smallvec", "twox-hash"]),
    ("objects-replica", &["bytes", "foldhash", "hashbrown"]),
    // The codec of the domain name system, without the feature that draws numbers.
    ("objects-names", &["hickory-proto", "once_cell"]),
    // The hash of secrets, which clients hold and the state does not; maps whose hasher has no random seed.
    ("objects-http", &["foldhash", "hashbrown", "sha2", "smallvec"]),
    ("storage-disk", &["thiserror"]),
    ("storage-wal", &["crc32c", "thiserror"]),
    ("storage-raft-log", &["bytes", "crc32c", "thiserror"]),
    ("council-client-core", &["thiserror"]),
    ("council-client-model", &[]),
    // The engine draws its election timeouts itself; they are overwritten from the seed. It wants a logger of `slog`'s,
    // which discards every line.
    (
        "consensus-raft",
        &["bytes", "crc32c", "hashbrown", "protobuf", "raft", "slog", "smallvec", "thiserror"],
    ),
    (
        "council-frontend",
        &["base64", "bytes", "hashbrown", "hmac", "md-5", "sha1", "sha2", "sha3", "smallvec", "thiserror"],
    ),
    (
        "consensus-replica",
        &["bytes", "crc32c", "hashbrown", "protobuf", "raft", "rand_chacha", "slog", "smallvec", "thiserror"],
    ),
    (
        "council-replica",
        &["bytes", "crc32c", "foldhash", "hashbrown", "rand_chacha", "smallvec", "subtle", "thiserror"],
    ),
];

/// What the tests of a pure crate may take besides: generators and readers of test cases, and what others wrote for the same
/// protocol.
const PURE_IN_TESTS: &[&str] =
    &["bytes", "goldenscript", "kafka-protocol", "libtest-mimic", "proptest", "serde_json", "sha2", "uuid"];

const DENY_LINE: &str = "#![deny(clippy::disallowed_types, clippy::disallowed_methods)]";

/// A crate as this gate sees it.
struct Crate {
    name: String,
    /// Name, and whether only tests need it.
    needs: Vec<(String, bool)>,
}

pub(crate) fn run(workspace: &Workspace) -> Verdict {
    let crates: Vec<Crate> = workspace.packages.iter().map(Crate::of).collect();
    let mut violations = violations(&crates);
    for package in &workspace.packages {
        violations.extend(misplaced(package, &workspace.root));
        if is_shared(&package.name) {
            violations.extend(names_of_services(package)?);
        }
        if PURE.iter().any(|(pure, _)| *pure == package.name) {
            violations.extend(impurities(package)?);
        }
    }
    if violations.is_empty() {
        return Ok(String::new());
    }
    bail!("{}", violations.join("\n"))
}

impl Crate {
    fn of(package: &Package) -> Self {
        let needs = package.dependencies.iter();
        let needs = needs.map(|need| (need.name.clone(), need.kind.as_deref() == Some("dev"))).collect();
        Self { name: package.name.clone(), needs }
    }
}

/// The folder of a package by its name; empty for what lies in none.
fn folder(name: &str) -> &str {
    name.split_once('-').map_or("", |(folder, _)| folder)
}

/// Whether a package belongs to the layers that all services stand on.
fn is_shared(name: &str) -> bool {
    SHARED.contains(&folder(name)) || SHARED.contains(&name)
}

/// How far above the bottom a crate stands.
fn height(name: &str) -> Option<usize> {
    let in_order = LAYERS.iter().flat_map(|(folder, crates)| crates.iter().map(move |own| (*folder, *own)));
    let mut names = in_order.map(|(folder, own)| match folder {
        "" => own.to_owned(),
        _ => format!("{folder}-{own}"),
    });
    names.position(|candidate| candidate == name)
}

/// A package in another place than its name says.
fn misplaced(package: &Package, root: &Path) -> Option<String> {
    let expected = match package.name.split_once('-') {
        Some((folder, own)) => format!("crates/{folder}/{own}/Cargo.toml"),
        None => format!("crates/{}/Cargo.toml", package.name),
    };
    (package.manifest_path != root.join(&expected)).then(|| {
        format!("`{}` does not lie in `{expected}`: a package is named after its folder", package.name)
    })
}

/// Every broken rule among the declared dependencies, one sentence each.
fn violations(crates: &[Crate]) -> Vec<String> {
    let ours: BTreeSet<&str> = crates.iter().map(|own| own.name.as_str()).collect();
    let mut violations = Vec::new();
    for own in crates {
        let Some(from) = height(&own.name) else {
            violations.push(format!("`{}` has no layer: give it one in LAYERS", own.name));
            continue;
        };
        for (need, in_tests) in &own.needs {
            if ours.contains(need.as_str()) {
                let wrong = wrong_direction(&own.name, from, need).or_else(|| wrong_purity(&own.name, need));
                violations.extend(wrong);
                violations.extend(wrong_service(&own.name, need));
                violations.extend(wrong_client(&own.name, need));
            } else {
                violations.extend(wrong_import(&own.name, need, *in_tests));
            }
        }
    }
    violations
}

fn wrong_direction(own: &str, from: usize, need: &str) -> Option<String> {
    if need == TOOL {
        return Some(format!("`{own}` depends on `{TOOL}`: no crate may"));
    }
    if folder(need) == "tools" && folder(own) != "tools" {
        return Some(format!("`{own}` depends on `{need}`: only tools depend on tools"));
    }
    (height(need)? >= from).then(|| format!("`{own}` depends on `{need}`, which stands above it: see LAYERS"))
}

fn wrong_service(own: &str, need: &str) -> Option<String> {
    let (from, to) = (folder(own), folder(need));
    if TOOLS_OF_ALL.contains(&own) && (SERVICES.contains(&to) || to == "sim") {
        return Some(format!("`{own}` depends on `{need}`: the tools of every service stand on it"));
    }
    let other = SERVICES.contains(&from) && SERVICES.contains(&to) && from != to && !CLIENTS.contains(&need);
    let clients = CLIENTS.join("` or `");
    other.then(|| format!("`{own}` depends on `{need}`: a service uses another one through `{clients}` only"))
}

/// A client that depends on more of the council than its wire.
fn wrong_client(own: &str, need: &str) -> Option<String> {
    let allowed = need == WIRE || CLIENTS.contains(&need);
    let wrong = CLIENTS.contains(&own) && folder(need) == folder(own) && !allowed;
    wrong.then(|| format!("`{own}` depends on `{need}`: a client depends on `{WIRE}` alone"))
}

/// A pure crate that depends on one of ours that is not pure: through it, it could reach what it must not.
fn wrong_purity(own: &str, need: &str) -> Option<String> {
    let is_pure = |name: &str| PURE.iter().any(|(pure, _)| *pure == name);
    (is_pure(own) && !is_pure(need))
        .then(|| format!("`{own}` is pure and may not depend on `{need}`, which is not: see PURE"))
}

fn wrong_import(own: &str, need: &str, in_tests: bool) -> Option<String> {
    let (_, permitted) = PURE.iter().find(|(pure, _)| *pure == own)?;
    let allowed = permitted.contains(&need) || (in_tests && PURE_IN_TESTS.contains(&need));
    (!allowed).then(|| format!("`{own}` is pure and may not depend on `{need}`: see PURE"))
}

/// The lines of a shared crate that name a service.
fn names_of_services(package: &Package) -> anyhow::Result<Vec<String>> {
    let root = package.manifest_path.parent().unwrap_or(&package.manifest_path);
    let mut found = Vec::new();
    for file in rust_files(root)? {
        let line = line_that_names_a_service(&read(&file)?);
        found.extend(line.map(|(line, word)| {
            format!(
                "`{}` is shared by all services: {} line {line} names `{word}`",
                package.name,
                file.display()
            )
        }));
    }
    Ok(found)
}

fn line_that_names_a_service(text: &str) -> Option<(usize, &'static str)> {
    let named = |line: &str| {
        let line = line.to_lowercase();
        SERVICE_WORDS.iter().copied().find(|word| line.contains(word))
    };
    text.lines().enumerate().find_map(|(index, line)| Some((index + 1, named(line)?)))
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

pub(super) fn rust_files(folder: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
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
    use super::{Crate, LAYERS, exemption, folder, is_shared, line_that_names_a_service, violations};

    fn own(name: &str, needs: &[&str]) -> Crate {
        Crate { name: name.into(), needs: needs.iter().map(|need| ((*need).into(), false)).collect() }
    }

    /// All crates without dependencies, except one.
    fn workspace(changed: Crate) -> Vec<String> {
        let named = |folder: &str, own: &str| match folder {
            "" => own.to_owned(),
            _ => format!("{folder}-{own}"),
        };
        let names =
            LAYERS.iter().flat_map(|(folder, crates)| crates.iter().map(move |own| named(folder, own)));
        let mut crates: Vec<Crate> = names.map(|name| own(&name, &[])).collect();
        crates.retain(|own| own.name != changed.name);
        crates.push(changed);
        violations(&crates)
    }

    #[test]
    fn dependencies_that_point_down_are_fine() {
        let needs = ["council-tree", "council-wire", "consensus-raft", "storage-raft-log", "bytes"];
        assert!(workspace(own("council-replica", &needs)).is_empty());
        assert!(workspace(own("diwan", &["council-service", "council-client", "clap"])).is_empty());
        assert!(workspace(own("council-tree", &["council-wire"])).is_empty());
    }

    #[test]
    fn dependencies_that_point_up_or_at_the_tool_are_caught() {
        let wrong = [
            ("council-wire", "council-tree"),
            ("storage-raft-log", "consensus-raft"),
            ("council-tree", "sim-council"),
            ("diwan", "tools-xtask"),
            ("diwan", "tools-process"),
            ("tools-testbed", "council-wire"),
            ("tools-lab-report", "sim-council"),
        ];
        for (from, to) in wrong {
            let found = workspace(own(from, &[to]));
            assert_eq!(found.len(), 1, "{from} -> {to}: {found:?}");
            assert!(found[0].contains(&format!("`{from}`")) && found[0].contains(&format!("`{to}`")));
        }
    }

    #[test]
    fn dependency_of_a_test_may_not_point_up_either() {
        let upwards = Crate { name: "consensus-raft".into(), needs: vec![("sim-council".into(), true)] };
        assert_eq!(workspace(upwards).len(), 1);
    }

    #[test]
    fn simulator_kit_depends_on_no_service_and_no_simulator() {
        assert!(workspace(own("sim-kit", &["base", "storage-disk", "net-peer-pairs"])).is_empty());
        assert!(workspace(own("sim-council", &["sim-kit", "council-replica"])).is_empty());
        for upwards in ["council-wire", "council-client", "sim-council"] {
            assert_eq!(workspace(own("sim-kit", &[upwards])).len(), 1, "{upwards}");
        }
    }

    #[test]
    fn service_uses_another_through_the_client_only() {
        let wrong = super::wrong_service("log-service", "council-tree").expect("a violation");
        assert!(wrong.contains("`council-client` only"), "{wrong}");
        for client in super::CLIENTS {
            assert_eq!(super::wrong_service("log-service", client), None);
        }
        assert_eq!(super::wrong_service("log-service", "log-partition"), None);
        assert_eq!(super::wrong_service("sim-log", "log-partition"), None);
    }

    #[test]
    fn client_depends_on_the_wire_alone() {
        assert!(workspace(own("council-client-core", &["council-wire", "net-auth"])).is_empty());
        assert!(workspace(own("council-client", &["council-client-core", "council-wire", "mio"])).is_empty());
        for (client, need) in
            [("council-client-core", "council-tree"), ("council-client", "council-frontend")]
        {
            let found = workspace(own(client, &[need]));
            assert!(matches!(&found[..], [one] if one.contains("`council-wire` alone")), "{found:?}");
        }
        assert_eq!(workspace(own("council-client-core", &["council-client"])).len(), 1);
    }

    #[test]
    fn shared_layer_that_names_a_service_is_caught() {
        assert_eq!(line_that_names_a_service("one\nas ZooKeeper does"), Some((2, "zookeeper")));
        assert_eq!(line_that_names_a_service("a log of records"), None);
        assert_eq!(folder("storage-raft-log"), "storage");
        assert!(is_shared("storage-raft-log") && is_shared("sim-kit") && !is_shared("sim-council"));
    }

    #[test]
    fn pure_crate_may_not_take_what_reaches_the_system() {
        for outside in ["libc", "tokio", "rand", "getrandom", "rustix", "mio"] {
            assert_eq!(workspace(own("storage-raft-log", &[outside])).len(), 1, "{outside}");
        }
        assert!(workspace(own("council-service", &["rustix", "mio"])).is_empty());
    }

    #[test]
    fn pure_crate_may_not_take_one_of_ours_that_is_not() {
        for pure in ["storage-wal", "storage-raft-log", "council-replica"] {
            let found = workspace(own(pure, &["storage-disk", "storage-dir-disk"]));
            assert_eq!(found.len(), 1, "{pure}: {found:?}");
            assert!(found[0].contains("`storage-dir-disk`, which is not"), "{found:?}");
        }
        assert!(workspace(own("council-service", &["storage-dir-disk"])).is_empty());
    }

    #[test]
    fn authentication_is_pure_and_serves_every_service() {
        for outside in ["rustls", "x509-parser", "ring", "getrandom", "mio"] {
            assert_eq!(workspace(own("net-auth", &[outside])).len(), 1, "{outside}");
        }
        for above in ["net-tls", "net-peers", "council-wire"] {
            assert_eq!(workspace(own("net-auth", &[above])).len(), 1, "{above}");
        }
        for user in ["net-tls", "net-peers", "council-frontend", "council-client-core", "council-service"] {
            assert!(workspace(own(user, &["net-auth"])).is_empty(), "{user}");
        }
        assert_eq!(super::wrong_service("log-service", "net-auth"), None);
    }

    #[test]
    fn crate_without_a_layer_is_caught() {
        assert_eq!(workspace(own("net-cellar", &[])), ["`net-cellar` has no layer: give it one in LAYERS"]);
    }

    #[test]
    fn exception_inside_a_pure_crate_is_caught() {
        assert_eq!(exemption("\n#[allow(clippy::disallowed_types, reason = \"..\")]"), Some(2));
        assert_eq!(exemption(super::DENY_LINE), None);
    }
}
