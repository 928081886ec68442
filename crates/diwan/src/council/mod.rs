//! `diwan council`: the data of a server or an ensemble: backing up, checking a backup, restoring it.

mod backup;
mod restore;
mod show;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::secret::SecretArguments;

pub(crate) const HELP: &str = "\
`shell`, `status`, `member`, `digest` and `force-new-ensemble` also stand alone: `diwan status`.

  diwan council backup --server zk1:8080 --output tree.snap
  diwan council verify tree.snap
  diwan council restore tree.snap --config zoo.cfg       a stopped server, or one member of an ensemble
  diwan council restore tree.snap --server zk1:8080      a running server that is alone
The page docs/backup.md has the steps.";

const BACKUP_HELP: &str = "\
The super user's password comes from a file, from the variable `DIWAN_PASSWORD`, or from a prompt; it travels over
plain HTTP. The file appears under its name only when it is whole and was checked; it holds all data and the passwords
of all sessions, so that only its owner may read it.

  diwan council backup                                       finds a server of this machine, and asks before it
                                                             sends the password there; only at a terminal
  diwan council backup --server zk1:8080 --output tree.snap --password-file /etc/diwan/super";

const RESTORE_HELP: &str = "\
With `--config` or `--data-dir` it makes a fresh data directory for a server that is stopped. For an ensemble that is
done on one member; it is started first, and then the others with empty data directories.
With `--server` it replaces all data of a running server that is alone.

  diwan council restore tree.snap --config zoo.cfg
  diwan council restore tree.snap --data-dir /var/lib/diwan --member 2
  diwan council restore tree.snap --server 127.0.0.1:7000";

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Have a server take a snapshot, and keep it as a file.
    #[command(after_help = BACKUP_HELP)]
    Backup(BackupArguments),
    /// Check a backup as a whole, and say what it holds.
    Verify {
        /// The backup.
        file: PathBuf,
    },
    /// Go back to a backup.
    #[command(after_help = RESTORE_HELP)]
    Restore(RestoreArguments),
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The AdminServer of any member [default: at a terminal, a usual port of this machine after a question].
    #[arg(short, long, value_name = "HOST:PORT")]
    server: Option<String>,

    /// Where the backup is kept [default: `council-ZXID.snap` here].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace a file that is there.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    login: LoginArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The backup.
    file: PathBuf,

    /// The configuration of the server that is to have the data: a `diwan.toml`, or a `zoo.cfg` taken as it is.
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["data_dir", "server"])]
    config: Option<PathBuf>,

    /// The data directory, instead of a configuration.
    #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "config")]
    data_dir: Option<PathBuf>,

    /// The number of the member of an ensemble that the data directory is for.
    #[arg(long, value_name = "N", requires = "data_dir", value_parser = clap::value_parser!(u8).range(1..))]
    member: Option<u8>,

    /// The AdminServer of a running server that is alone.
    #[arg(short, long, value_name = "HOST:PORT", conflicts_with_all = ["config", "data_dir"])]
    server: Option<String>,

    #[command(flatten)]
    login: LoginArguments,
}

/// The user that asks an AdminServer.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoginArguments {
    /// The super user's name.
    #[arg(long, value_name = "NAME", default_value = "super")]
    user: String,

    #[command(flatten)]
    secret: SecretArguments,
}

impl LoginArguments {
    /// The value of the header `Authorization`.
    fn authorization(&self) -> Result<String, Failure> {
        let password = self.secret.read(&self.user, false).map_err(Failure::new)?;
        let text = format!("digest {}:{password}", self.user);
        match text.chars().any(char::is_control) || text.ends_with(' ') {
            true => {
                Err(Failure::new("the name or the password has a control character, or ends with a space"))
            }
            false => Ok(text),
        }
    }
}

/// Why a command did nothing, and what to do.
#[derive(Debug)]
struct Failure {
    what: String,
    hint: Option<String>,
}

impl Failure {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<crate::config::Problem> for Failure {
    fn from(problem: crate::config::Problem) -> Self {
        Self { what: problem.what, hint: problem.hint }
    }
}

/// The command.
pub(crate) fn run(command: &DataCommand, out: &mut impl Write) -> io::Result<ExitCode> {
    let outcome = match command {
        DataCommand::Backup(arguments) => backup::run(arguments, out)?,
        DataCommand::Verify { file } => match council_service::backup::read(file) {
            Ok(backup) => Ok(show::tell(out, file, &backup.summary)?),
            Err(error) => Err(Failure::new(format!("`{}` is no backup: {error}", file.display()))),
        },
        DataCommand::Restore(arguments) => restore::run(arguments, out)?,
    };
    match outcome {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Failure { what, hint }) => {
            eprintln!("error: {}", what.replace("; hint: ", "\nhint: "));
            if let Some(hint) = hint {
                eprintln!("hint: {hint}");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
