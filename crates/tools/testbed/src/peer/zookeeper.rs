//! The real Apache ZooKeeper 3.9: its jars, fetched once by Maven into the build folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::PeerError;

/// What Maven is asked for: the release and the libraries its package leaves to the user.
const POM: &str = include_str!("../../peers/zookeeper/pom.xml");
/// Written last, with the POM's own text: a half-filled folder, or one of another release, is fetched again.
const STAMP: &str = "fetched";
/// What serves alone, ...
const ALONE: &str = "org.apache.zookeeper.server.ZooKeeperServerMain";
/// ... and what serves among others.
const MEMBER: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// The jars of one release.
#[derive(Clone, Debug)]
pub struct Distribution {
    java: PathBuf,
    jars: PathBuf,
}

impl Distribution {
    /// The release named in `peers/zookeeper/pom.xml`, from `cache`, or through Maven if it is not there yet.
    ///
    /// # Errors
    /// `Missing` if there is no Java, or no Maven when it is needed, or Maven cannot reach its repository.
    pub fn find(cache: &Path) -> Result<Distribution, PeerError> {
        if let Some(fetched) = Self::fetched(cache) {
            return Ok(fetched);
        }
        let java = program("java").ok_or_else(|| {
            PeerError::Missing("`java` is not on the path: a real ZooKeeper needs Java 11 or later".into())
        })?;
        let jars = cache.join("zookeeper");
        fetch(cache, &jars)?;
        Ok(Distribution { java, jars })
    }

    /// That release if it is in `cache` already and there is a Java to run it.
    #[must_use]
    pub fn fetched(cache: &Path) -> Option<Distribution> {
        let jars = cache.join("zookeeper");
        let stamp = fs::read_to_string(jars.join(STAMP)).ok()?;
        (stamp == POM).then_some(Distribution { java: program("java")?, jars })
    }

    /// The release.
    #[must_use]
    pub fn version(&self) -> String {
        let behind = POM.split("<artifactId>zookeeper</artifactId>").nth(1).unwrap_or(POM);
        let version = behind.split("<version>").nth(1).and_then(|text| text.split('<').next());
        format!("Apache ZooKeeper {}", version.unwrap_or("of unknown release"))
    }

    /// `java ... -cp ... MAIN` with further arguments for the JVM, without its configuration file; a member of an
    /// ensemble has a main class of its own.
    #[must_use]
    pub fn command(&self, member: bool, heap_mb: u32, flags: &[String]) -> Command {
        let mut command = Command::new(&self.java);
        command
            .arg(format!("-Xmx{heap_mb}m"))
            .arg(format!("-Xms{}m", heap_mb.min(256)))
            .args(flags)
            .arg("-cp")
            .arg(self.jars.join("*"))
            .arg(if member { MEMBER } else { ALONE });
        command
    }
}

fn fetch(cache: &Path, jars: &Path) -> Result<(), PeerError> {
    let maven = program("mvn").ok_or_else(|| {
        PeerError::Missing("`mvn` is not on the path: Maven is needed once to fetch ZooKeeper".into())
    })?;
    if jars.exists() {
        fs::remove_dir_all(jars).map_err(PeerError::io(jars))?;
    }
    fs::create_dir_all(cache).map_err(PeerError::io(cache))?;
    let pom = cache.join("pom.xml");
    fs::write(&pom, POM).map_err(PeerError::io(&pom))?;
    let output = Command::new(&maven)
        .args(["-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-f"])
        .arg(&pom)
        .arg(format!("-DoutputDirectory={}", jars.display()))
        .stdin(Stdio::null())
        .output()
        .map_err(PeerError::io(&maven))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        let first = said.lines().find(|line| line.contains("ERROR")).unwrap_or("no output");
        return Err(PeerError::Missing(format!("Maven could not fetch ZooKeeper: {first}")));
    }
    let stamp = jars.join(STAMP);
    fs::write(&stamp, POM).map_err(PeerError::io(stamp))
}

/// The first executable of this name on the path.
fn program(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}
