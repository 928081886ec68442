//! ActiveMQ Classic, embedded in a small program of ours, and the program that loads it and RabbitMQ. Maven fetches their jars
//! once; Java compiles both programs whenever they start.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::LoadProgram;
use super::maven::{Jars, Release};
use crate::PeerError;

/// The broker, and the clients of both.
const RELEASE: Release = Release {
    name: "ActiveMQ",
    folder: "queues",
    pom: include_str!("../../peers/queues/pom.xml"),
    java: "17",
    unpacked: None,
};
const BROKER: (&str, &str) = ("ActiveMq.java", include_str!("../../peers/queues/ActiveMq.java"));
const LOAD: (&str, &str) = ("QueueLoad.java", include_str!("../../peers/queues/QueueLoad.java"));

/// The jars and programs.
#[derive(Clone, Debug)]
pub struct Queues {
    jars: Jars,
    java: PathBuf,
}

impl Queues {
    /// From `cache`, or through Maven if they are not there yet.
    ///
    /// # Errors
    /// `Missing` if there is no Java, or no Maven when it is needed, or Maven cannot reach its repository.
    pub fn find(cache: &Path) -> Result<Self, PeerError> {
        let jars = Jars::find(cache, &RELEASE)?;
        for (name, text) in [BROKER, LOAD] {
            let path = jars.folder().join(name);
            fs::write(&path, text).map_err(PeerError::io(path))?;
        }
        let java = jars.command(64, &[]).get_program().into();
        Ok(Self { jars, java })
    }

    /// The release of ActiveMQ.
    #[must_use]
    pub fn version(&self) -> String {
        format!("Apache ActiveMQ Classic {}", RELEASE.version_of("activemq-broker"))
    }

    /// What runs a broker with its store in `data`, whose journal is flushed before an acknowledgement, or never.
    #[must_use]
    pub fn broker(&self, heap_mb: u32, address: SocketAddr, data: &Path, is_flushed: bool) -> Command {
        let mut command = self.jars.command(heap_mb, &[]);
        command.arg(self.jars.folder().join(BROKER.0)).arg(address.port().to_string()).arg(data);
        command.arg(if is_flushed { "always" } else { "never" });
        command
    }

    /// What loads a queue of either.
    #[must_use]
    pub fn load(&self, of: &'static str) -> LoadProgram {
        let class_path = self.jars.folder().join("*").display().to_string();
        let program = self.jars.folder().join(LOAD.0).display().to_string();
        LoadProgram::new(of, &self.java, &["-Xmx512m", "-cp", &class_path, &program])
    }
}
