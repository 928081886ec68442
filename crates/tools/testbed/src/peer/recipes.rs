//! Recipes of Curator, Hazelcast and Redis: the load that performs them, in Java. Maven fetches the jars once, and the JDK compiles
//! the load once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::LoadProgram;
use super::maven::{Jars, Release, program};
use crate::PeerError;

const RELEASE: Release = Release {
    name: "the load of recipes, with Curator and Hazelcast,",
    folder: "recipes",
    pom: include_str!("../../peers/recipes/pom.xml"),
    java: "17",
    unpacked: None,
};
const SOURCES: [(&str, &str); 8] = [
    ("Judge.java", include_str!("../../peers/recipes/Judge.java")),
    ("Load.java", include_str!("../../peers/recipes/Load.java")),
    ("Member.java", include_str!("../../peers/recipes/Member.java")),
    ("OnCurator.java", include_str!("../../peers/recipes/OnCurator.java")),
    ("OnHazelcast.java", include_str!("../../peers/recipes/OnHazelcast.java")),
    ("OnRedis.java", include_str!("../../peers/recipes/OnRedis.java")),
    ("Order.java", include_str!("../../peers/recipes/Order.java")),
    ("Recipes.java", include_str!("../../peers/recipes/Recipes.java")),
];
/// The folder of compiled classes, below that of the jars.
const CLASSES: &str = "classes";
/// Written last, with the sources' own text: what was compiled of other sources is compiled again.
const STAMP: &str = "compiled";

/// What Hazelcast asks of a JVM, for the best performance.
const HAZELCAST_FLAGS: [&str; 7] = [
    "--add-modules=java.se",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.management/sun.management=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
];

/// The jars and the compiled load.
#[derive(Clone, Debug)]
pub struct Recipes {
    jars: Jars,
    java: PathBuf,
}

impl Recipes {
    /// From `cache`; fetched and compiled if it is not there yet.
    ///
    /// # Errors
    /// `Missing` if there is no JDK, or no Maven when it is needed, or Maven cannot reach its repository.
    pub fn find(cache: &Path) -> Result<Self, PeerError> {
        let jars = Jars::find(cache, &RELEASE)?;
        compile(jars.folder())?;
        let java = jars.command(64, &[]).get_program().into();
        Ok(Self { jars, java })
    }

    /// If the jars are in `cache` already and there is a Java to run them.
    #[must_use]
    pub fn are_fetched(cache: &Path) -> bool {
        Jars::fetched(cache, &RELEASE).is_some()
    }

    /// The release of Curator.
    #[must_use]
    pub fn curator(&self) -> String {
        format!("Apache Curator {}", RELEASE.version_of("curator-recipes"))
    }

    /// The release of Hazelcast.
    #[must_use]
    pub fn hazelcast(&self) -> String {
        format!("Hazelcast {}", RELEASE.version_of("hazelcast"))
    }

    /// What runs a member of Hazelcast, without the arguments of `Member.java`.
    pub(super) fn hazelcast_member(&self, heap_mb: u32) -> Command {
        let mut command = Command::new(&self.java);
        command.arg(format!("-Xmx{heap_mb}m")).args(HAZELCAST_FLAGS).args([
            "-cp",
            &self.class_path(),
            "Member",
        ]);
        command
    }

    /// What loads a system by that name.
    #[must_use]
    pub fn load(&self, of: &'static str, system: &str) -> LoadProgram {
        let class_path = self.class_path();
        let flags = HAZELCAST_FLAGS.into_iter().chain(["-Xmx512m", "-cp", &class_path, "Load", system]);
        LoadProgram::new(of, &self.java, &flags.collect::<Vec<_>>())
    }

    fn class_path(&self) -> String {
        let folder = self.jars.folder();
        format!("{}:{}", folder.join(CLASSES).display(), folder.join("*").display())
    }
}

fn compile(folder: &Path) -> Result<(), PeerError> {
    let stamp = folder.join(STAMP);
    let text = SOURCES.map(|(name, text)| format!("// {name}\n{text}")).concat();
    if fs::read_to_string(&stamp).is_ok_and(|compiled| compiled == text) {
        return Ok(());
    }
    let javac = program("javac").ok_or_else(|| {
        PeerError::Missing(String::from(
            "`javac` is not on the path: the load of recipes needs a JDK, 17 or later (a package like Debian's `default-jdk-headless`)",
        ))
    })?;
    let sources = folder.join("sources");
    fs::create_dir_all(&sources).map_err(PeerError::io(&sources))?;
    let mut command = Command::new(&javac);
    command.arg("-d").arg(folder.join(CLASSES)).arg("-cp").arg(folder.join("*")).stdin(Stdio::null());
    for (name, text) in SOURCES {
        let path = sources.join(name);
        fs::write(&path, text).map_err(PeerError::io(&path))?;
        command.arg(path);
    }
    let output = command.output().map_err(PeerError::io(&javac))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let first = said.lines().next().unwrap_or("no output").to_owned();
        return Err(PeerError::Missing(format!(
            "`javac` could not compile the load of recipes, which needs a JDK, 17 or later: {first}"
        )));
    }
    fs::write(&stamp, text).map_err(PeerError::io(stamp))
}
