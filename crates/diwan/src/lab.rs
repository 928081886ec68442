//! `diwan lab`: hands over to the program `diwan-lab`, which lies beside this one or in `PATH`. If `cargo run` started this
//! program, `diwan-lab` is built first, with the same profile: one command is enough in a fresh clone.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const NAME: &str = "diwan-lab";
/// What the variables begin with by which cargo describes the package of the program that it runs.
const PACKAGE: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];
/// What cargo keeps at the top of a target folder.
const MARK: &str = ".rustc_info.json";

/// Becomes that program; comes back only if it cannot.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let own = env::current_exe().ok();
    let cargo = env::var_os("CARGO").zip(env::var_os("CARGO_MANIFEST_DIR"));
    if let Some((own, (cargo, manifest))) = own.as_deref().zip(cargo)
        && let Some(folder) = BuildFolder::of(own)
    {
        let mut build = folder.build(&cargo, Path::new(&manifest));
        eprintln!("building `{NAME}` with the profile `{}`", folder.profile);
        match build.status() {
            Ok(status) if status.success() => {}
            Ok(_) => {
                eprintln!("error: `{NAME}` cannot be built: see above");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("error: cannot run `{}`: {error}", cargo.display());
                return ExitCode::FAILURE;
            }
        }
    }
    let beside = own.map(|program| program.with_file_name(NAME));
    let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(NAME));
    let error = Command::new(&program).args(arguments).exec();
    eprintln!("{}", refusal(&error));
    ExitCode::FAILURE
}

fn refusal(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!(
            "error: `{NAME}` lies neither beside this program nor in PATH\n\
             hint: it is built by `cargo build --release -p tools-lab --bin {NAME}`"
        ),
        _ => format!("error: cannot run `{NAME}`: {error}"),
    }
}

/// Where cargo put a program: `TARGET/[TRIPLE/]PROFILE/NAME`.
#[derive(Debug, PartialEq)]
struct BuildFolder {
    target: PathBuf,
    triple: Option<OsString>,
    profile: String,
}

impl BuildFolder {
    /// The one that holds this program; nothing if it lies elsewhere.
    fn of(program: &Path) -> Option<Self> {
        let is_target = |folder: &&Path| folder.join(MARK).is_file();
        let of_profile = program.parent()?;
        let above = of_profile.parent()?;
        let (target, triple) = match is_target(&above) {
            true => (above, None),
            false => (above.parent().filter(is_target)?, Some(above.file_name()?.to_owned())),
        };
        let profile = match of_profile.file_name()?.to_str()? {
            "debug" => "dev",
            named => named,
        };
        Some(Self { target: target.to_owned(), triple, profile: profile.to_owned() })
    }

    /// What builds the lab into it.
    fn build(&self, cargo: &OsStr, manifest: &Path) -> Command {
        let mut command = Command::new(cargo);
        command.args(["build", "--profile", &self.profile, "--package", "tools-lab", "--bin", NAME]);
        command.arg("--manifest-path").arg(manifest.join("Cargo.toml"));
        command.arg("--target-dir").arg(&self.target);
        if let Some(triple) = &self.triple {
            command.arg("--target").arg(triple);
        }
        // Variables that cargo sets for this program's own package: build scripts depend on them, and would run again.
        let of_package = |name: &str| PACKAGE.iter().any(|of| name.starts_with(of));
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
            command.env_remove(name);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_folder_is_known_by_its_mark_and_names_the_profile() {
        let target = env::temp_dir().join(format!("diwan-lab-target-{}", std::process::id()));
        std::fs::create_dir_all(&target).unwrap();
        let of = |path: &str| BuildFolder::of(&target.join(path));
        assert_eq!(of("release/diwan"), None, "an installed program");
        std::fs::write(target.join(MARK), "").unwrap();
        let expected = |triple: Option<&str>, profile: &str| {
            let (triple, profile) = (triple.map(OsString::from), profile.to_owned());
            Some(BuildFolder { target: target.clone(), triple, profile })
        };
        assert_eq!(of("release/diwan"), expected(None, "release"));
        assert_eq!(of("debug/diwan"), expected(None, "dev"));
        let triple = "x86_64-unknown-linux-musl";
        assert_eq!(of(&format!("{triple}/small/diwan")), expected(Some(triple), "small"));
        std::fs::remove_dir_all(target).unwrap();
    }
}
