//! The real Apache Kafka 4.3: its jars, fetched once by Maven into the build folder, and the definitions of its messages,
//! which lie in the jar of its clients.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::maven::{Jars, Release};
use crate::PeerError;

/// A broker and its tools.
const RELEASE: Release = Release {
    name: "Kafka",
    folder: "kafka",
    pom: include_str!("../../peers/kafka/pom.xml"),
    java: "17",
    unpacked: Some(("kafka-clients", "common/message/*.json")),
};
const SERVES: &str = "kafka.Kafka";
const FORMATS: &str = "kafka.tools.StorageTool";

/// The jars of one release.
#[derive(Clone, Debug)]
pub struct Distribution(Jars);

impl Distribution {
    /// The release named in `peers/kafka/pom.xml`, from `cache`, or through Maven if it is not there yet.
    ///
    /// # Errors
    /// `Missing` if there is no Java, or no Maven when it is needed, or Maven cannot reach its repository.
    pub fn find(cache: &Path) -> Result<Self, PeerError> {
        Jars::find(cache, &RELEASE).map(Self)
    }

    /// The release.
    #[must_use]
    pub fn version(&self) -> String {
        format!("Apache Kafka {}", RELEASE.version_of("kafka_2.13"))
    }

    /// The folder with the definitions of its messages, one JSON file each.
    #[must_use]
    pub fn messages(&self) -> PathBuf {
        self.0.folder().join("common").join("message")
    }

    /// What runs a broker with that `server.properties`. `flags` are further arguments of the JVM.
    #[must_use]
    pub fn broker(&self, heap_mb: u32, flags: &[String], properties: &Path) -> Command {
        let mut command = self.0.command(heap_mb, flags);
        command.arg(SERVES).arg(properties);
        command
    }

    /// What prepares the folders that this `server.properties` names, once.
    #[must_use]
    pub fn format(&self, cluster_id: &str, properties: &Path) -> Command {
        let mut command = self.0.command(128, &[]);
        command.args([FORMATS, "format", "-t", cluster_id, "-c"]).arg(properties);
        command
    }
}
