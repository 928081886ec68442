//! Releases of Java programs: their jars, fetched once by Maven into a folder that is kept.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::PeerError;

/// Written last, with the POM's own text: a half-filled folder, or one of another release, is fetched again.
const STAMP: &str = "fetched";

/// What a release is fetched by.
pub(super) struct Release {
    /// The program's name, in texts.
    pub(super) name: &'static str,
    /// The folder below the cache.
    pub(super) folder: &'static str,
    /// What Maven is asked for.
    pub(super) pom: &'static str,
    /// The oldest Java that runs it.
    pub(super) java: &'static str,
    /// Files that are taken out of one of its jars: the artifact, and a pattern of their paths.
    pub(super) unpacked: Option<(&'static str, &'static str)>,
}

/// The jars of one release, and a Java to run them.
#[derive(Clone, Debug)]
pub(super) struct Jars {
    java: PathBuf,
    folder: PathBuf,
}

impl Jars {
    /// From `cache`, or through Maven if they are not there yet.
    pub(super) fn find(cache: &Path, release: &Release) -> Result<Self, PeerError> {
        if let Some(fetched) = Self::fetched(cache, release) {
            return Ok(fetched);
        }
        let Release { name, java: oldest, .. } = release;
        let java = program("java").ok_or_else(|| {
            PeerError::Missing(format!(
                "`java` is not on the path: {name} needs Java {oldest} or later (a package like Debian's `default-jdk-headless`)"
            ))
        })?;
        let folder = cache.join(release.folder);
        fetch(cache, &folder, release)?;
        Ok(Self { java, folder })
    }

    /// If they are in `cache` already and there is a Java to run them.
    pub(super) fn fetched(cache: &Path, release: &Release) -> Option<Self> {
        let folder = cache.join(release.folder);
        let stamp = fs::read_to_string(folder.join(STAMP)).ok()?;
        (stamp == release.pom).then_some(Self { java: program("java")?, folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// `java` with a limit of its heap, further arguments, and the jars on its class path; without a class to run.
    pub(super) fn command(&self, heap_mb: u32, flags: &[String]) -> Command {
        let mut command = Command::new(&self.java);
        command
            .arg(format!("-Xmx{heap_mb}m"))
            .arg(format!("-Xms{}m", heap_mb.min(256)))
            .args(flags)
            .arg("-cp")
            .arg(self.folder.join("*"));
        command
    }
}

impl Release {
    /// The version of an artifact that the POM names.
    pub(super) fn version_of(&self, artifact: &str) -> &'static str {
        let behind = self.pom.split(&format!("<artifactId>{artifact}</artifactId>")).nth(1);
        let version = behind.and_then(|text| text.split("<version>").nth(1));
        version.and_then(|text| text.split('<').next()).unwrap_or("of unknown release")
    }
}

fn fetch(cache: &Path, jars: &Path, release: &Release) -> Result<(), PeerError> {
    let Release { name, pom: text, .. } = release;
    let maven = program("mvn").ok_or_else(|| {
        PeerError::Missing(format!("`mvn` is not on the path: Maven is needed once to fetch {name}"))
    })?;
    if jars.exists() {
        fs::remove_dir_all(jars).map_err(PeerError::io(jars))?;
    }
    fs::create_dir_all(cache).map_err(PeerError::io(cache))?;
    let pom = cache.join(format!("{}.pom.xml", release.folder));
    fs::write(&pom, text).map_err(PeerError::io(&pom))?;
    let into = format!("-DoutputDirectory={}", jars.display());
    let run = |goal: &[&str]| {
        let mut command = Command::new(&maven);
        command.args(["-q", "-B"]).args(goal).arg("-f").arg(&pom).arg(&into).stdin(Stdio::null());
        let output = command.output().map_err(PeerError::io(&maven))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let first = said.lines().find(|line| line.contains("ERROR")).unwrap_or("no output");
        Err(PeerError::Missing(format!("Maven could not fetch {name}: {first}")))
    };
    run(&["dependency:copy-dependencies", "-DincludeScope=runtime"])?;
    if let Some((artifact, pattern)) = release.unpacked {
        let artifact = format!("-DincludeArtifactIds={artifact}");
        run(&["dependency:unpack-dependencies", &artifact, &format!("-Dmdep.unpack.includes={pattern}")])?;
    }
    let stamp = jars.join(STAMP);
    fs::write(&stamp, text).map_err(PeerError::io(stamp))
}

/// The first executable of this name on the path.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}
