//! `diwan lab`: hands over to the program `diwan-lab`, which lies beside this one or in `PATH`.

use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const NAME: &str = "diwan-lab";

/// Becomes that program; comes back only if it cannot.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let beside = env::current_exe().ok().map(|program| program.with_file_name(NAME));
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
