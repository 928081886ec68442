//! `diwan council restore`: a backup becomes the data of a stopped server, of one member of an ensemble, or of a running
//! server that is alone.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use council_service::ServerConfig;
use council_service::backup::{self, Backup};
use council_service::config::{MemberNumber, StorageConfig};

use super::backup::refusal;
use super::{Failure, RestoreArguments, show};
use crate::config::{self, Problem, Sources, directories};
use crate::http::{self, Body};

/// How long a server may take to restore.
const PATIENCE: Duration = Duration::from_secs(16 * 60);

/// The command.
pub(super) fn run(arguments: &RestoreArguments, out: &mut impl Write) -> io::Result<Result<(), Failure>> {
    let file = &arguments.file;
    let backup = match backup::read(file) {
        Ok(backup) => backup,
        Err(error) => {
            let what = format!("`{}` is no backup: {error}", file.display());
            return Ok(Err(Failure::new(what).hint("nothing was changed")));
        }
    };
    if let Some(address) = &arguments.server {
        return into_server(arguments, address, &backup, out);
    }
    let (storage, member) = match target(arguments) {
        Ok(target) => target,
        Err(failure) => return Ok(Err(failure)),
    };
    into_directory(file, backup, &storage, member, out)
}

/// Where the data is to lie, and for which member of an ensemble, if for one.
fn target(arguments: &RestoreArguments) -> Result<(StorageConfig, Option<MemberNumber>), Failure> {
    if let Some(data_dir) = &arguments.data_dir {
        let mut storage = StorageConfig { data_dir: data_dir.clone(), ..ServerConfig::default().storage };
        directories::give_to_council(&mut storage).map_err(|problem| failure(&problem))?;
        return Ok((storage, arguments.member.map(MemberNumber)));
    }
    let sources = Sources { file: arguments.config.clone(), ..Sources::default() };
    match config::load_council(&sources) {
        Ok(config) => Ok((config.storage, config.ensemble.map(|ensemble| ensemble.number))),
        Err(problems) => {
            Err(problems.first().map_or_else(|| Failure::new("the configuration is unusable"), failure))
        }
    }
}

fn failure(problem: &Problem) -> Failure {
    Failure { what: problem.what.clone(), hint: problem.hint.clone() }
}

fn into_directory(
    file: &Path,
    backup: Backup,
    storage: &StorageConfig,
    member: Option<MemberNumber>,
    out: &mut impl Write,
) -> io::Result<Result<(), Failure>> {
    let summary = backup.summary;
    let zxid = match backup::restore(backup, storage, member.unwrap_or(MemberNumber(1)), SystemTime::now()) {
        Ok(zxid) => zxid,
        Err(error) => return Ok(Err(Failure::new(error.to_string()))),
    };
    show::tell(out, file, &summary)?;
    writeln!(out, "restored  {}, to go on behind zxid 0x{:x}\n", storage.data_dir.display(), zxid.0)?;
    match member {
        None => writeln!(out, "Next: start the server.")?,
        Some(member) => writeln!(
            out,
            "Next:\n  1. see that no other member runs\n  2. start member {member}, and wait until `diwan status` shows \
             it as leader\n  3. start each of the others with an empty data directory (only its `myid`): it is let in\n\
             What other members still have of the old ensemble is refused by the new one."
        )?,
    }
    Ok(Ok(()))
}

fn into_server(
    arguments: &RestoreArguments,
    address: &str,
    backup: &Backup,
    out: &mut impl Write,
) -> io::Result<Result<(), Failure>> {
    let authorization = match arguments.login.authorization() {
        Ok(authorization) => authorization,
        Err(failure) => return Ok(Err(failure)),
    };
    let body = Body { file: File::open(&arguments.file)?, bytes: backup.summary.bytes };
    let page = http::ask(address, "POST", "/commands/restore", &authorization, Some(body), PATIENCE);
    let mut page = match page {
        Ok(page) => page,
        Err(error) => {
            let failure = Failure::new(format!("`{address}` says nothing of restoring: {error}"));
            return Ok(Err(failure.hint("its log says whether it did")));
        }
    };
    if page.status != 200 {
        return Ok(Err(refusal(address, &mut page)));
    }
    show::tell(out, &arguments.file, &backup.summary)?;
    writeln!(out, "restored  the server at {address}: all that it had before is gone")?;
    Ok(Ok(()))
}
