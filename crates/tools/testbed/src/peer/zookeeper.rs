//! The real Apache ZooKeeper 3.9: its jars, fetched once by Maven into the build folder.

use std::path::Path;
use std::process::Command;

use super::maven::{Jars, Release};
use crate::PeerError;

/// The release and the libraries its package leaves to the user.
const RELEASE: Release = Release {
    name: "ZooKeeper",
    folder: "zookeeper",
    pom: include_str!("../../peers/zookeeper/pom.xml"),
    java: "11",
    unpacked: None,
};
/// What serves alone, ...
const ALONE: &str = "org.apache.zookeeper.server.ZooKeeperServerMain";
/// ... and what serves among others.
const MEMBER: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// The jars of one release.
#[derive(Clone, Debug)]
pub struct Distribution(Jars);

impl Distribution {
    /// The release named in `peers/zookeeper/pom.xml`, from `cache`, or through Maven if it is not there yet.
    ///
    /// # Errors
    /// `Missing` if there is no Java, or no Maven when it is needed, or Maven cannot reach its repository.
    pub fn find(cache: &Path) -> Result<Distribution, PeerError> {
        Jars::find(cache, &RELEASE).map(Self)
    }

    /// That release if it is in `cache` already and there is a Java to run it.
    #[must_use]
    pub fn fetched(cache: &Path) -> Option<Distribution> {
        Jars::fetched(cache, &RELEASE).map(Self)
    }

    /// The release.
    #[must_use]
    pub fn version(&self) -> String {
        format!("Apache ZooKeeper {}", RELEASE.version_of("zookeeper"))
    }

    /// `java ... -cp ... MAIN` with further arguments for the JVM, without its configuration file; a member of an
    /// ensemble has a main class of its own.
    #[must_use]
    pub fn command(&self, member: bool, heap_mb: u32, flags: &[String]) -> Command {
        let mut command = self.0.command(heap_mb, flags);
        command.arg(if member { MEMBER } else { ALONE });
        command
    }
}
