//! `diwan object lock NAME -- COMMAND`: runs a command while holding a lock.
//!
//! The lock belongs to a session that this process renews. By its own clock it takes the lock for lost a quarter of the time to live
//! before any server lets the session expire, counted from when the last renewal was sent that was answered. Then it ends the
//! command: asks it to, and kills it once the session may have expired. A process that is killed renews nothing: the next one in
//! the queue has the lock when the time to live is over, and whatever the command still writes carries a lower fence.

use std::io;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::access::{AccessArguments, ObjectName};
use super::call::waits_under;
use super::session::{Session, Standing};
use crate::config::Problem;
use crate::log::failure::{Done, Failure};

/// The exit status if the lock was not free in time, and if it was lost: `EX_TEMPFAIL`, and the next one.
const NOT_FREE: u8 = 75;
const LOST: u8 = 76;
/// How often this process looks whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);
/// For how long a request waits for the lock before this process looks for signals, milliseconds.
const HOLD_MS: u64 = 500;

#[derive(Debug, Args)]
#[command(after_help = "\
The command finds in its environment: DIWAN_LOCK, the lock's name; DIWAN_FENCE, a number that rises with each holder: hand it to
what the command changes, and have that refuse lower ones.

The exit status is the command's; 75 if the lock was not free in time; 76 if it was lost: then the command was ended.

  diwan object lock build -- make deploy
  diwan object lock nightly --wait 0 -- ./backup.sh     gives up at once if another one runs")]
pub(crate) struct LockArguments {
    /// The lock.
    name: String,

    /// The command, and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,

    /// How long to wait for the lock, milliseconds; 0 tries [default: as long as it takes].
    #[arg(long, value_name = "MS")]
    wait: Option<u64>,

    /// How soon another one may have the lock when nothing is heard of this process, milliseconds: 1,000 to 600,000.
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1_000..=600_000))]
    ttl: u64,

    #[command(flatten)]
    access: AccessArguments,
}

/// Runs it.
pub(super) fn lock(arguments: &LockArguments) -> io::Result<ExitCode> {
    match hold_and_run(arguments) {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(failure) => failure.tell(),
    }
}

fn hold_and_run(arguments: &LockArguments) -> Done<u8> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let session = Session::open(&arguments.access, Duration::from_millis(arguments.ttl))?;
    let check = Arc::default();
    session.renew(Arc::clone(&check))?;
    let lock = ObjectName { kind: "lock".into(), name: arguments.name.clone() };
    let done = acquire(&session, &lock, arguments.wait, &mut signals).and_then(|acquired| match acquired {
        Acquired::Fence(fence) => {
            *check.lock() = Some(format!("{}/check?fence={fence}", lock.path()));
            run(arguments, &lock, fence, &session, &mut signals)
        }
        Acquired::NotInTime => Ok(Ended::Never(NOT_FREE)),
        Acquired::Interrupted(signal) => Ok(Ended::Never(code_of_signal(signal))),
    });
    session.close();
    match done? {
        Ended::Itself(status) => Ok(code_of(status)),
        Ended::WithTheLock => {
            let problem = Problem::new(format!("{lock} was lost, and the command was ended"));
            let _ =
                crate::refuse(&problem.hint("no renewal was answered in time, or the lock was taken away"));
            Ok(LOST)
        }
        Ended::Never(NOT_FREE) => {
            let _ = crate::refuse(&Problem::new(format!("{lock} was not free in time")));
            Ok(NOT_FREE)
        }
        Ended::Never(code) => Ok(code),
    }
}

/// How waiting for the lock ended.
enum Acquired {
    Fence(u64),
    NotInTime,
    Interrupted(i32),
}

/// Waits for the lock, a while with each request, so that a signal is heard.
fn acquire(
    session: &Session<'_>,
    lock: &ObjectName,
    wait: Option<u64>,
    signals: &mut Signals,
) -> Done<Acquired> {
    let wait = wait.map_or_else(String::new, |wait| format!("&wait_ms={wait}"));
    let mut reply =
        session.ask("POST", format!("{}/acquire?hold_ms={HOLD_MS}{wait}", lock.path()), Some(1))?;
    while let Some(ticket) = waits_under(&reply) {
        if let Some(signal) = signals.pending().next() {
            return Ok(Acquired::Interrupted(signal));
        }
        reply = session.ask("GET", format!("/v1/tickets/{ticket}?hold_ms={HOLD_MS}"), None)?;
    }
    match reply.body["fence"].as_u64() {
        Some(fence) => Ok(Acquired::Fence(fence)),
        None if reply.body["acquired"] == false => Ok(Acquired::NotInTime),
        None => Err(Failure::new(format!("the server does not say whether it has the lock: {}", reply.text))),
    }
}

/// How the command ended.
enum Ended {
    Itself(ExitStatus),
    /// This process has ended it.
    WithTheLock,
    /// It did not begin: this is the exit status.
    Never(u8),
}

fn run(
    arguments: &LockArguments,
    lock: &ObjectName,
    fence: u64,
    session: &Session<'_>,
    signals: &mut Signals,
) -> Done<Ended> {
    let [program, rest @ ..] = arguments.command.as_slice() else { return Err(Failure::new("no command")) };
    let mut command = Command::new(program);
    command.args(rest).env("DIWAN_LOCK", lock.to_string()).env("DIWAN_FENCE", fence.to_string());
    let mut child = command.spawn().map_err(|error| {
        Failure::hinted(
            format!("`{}` cannot be run: {error}", program.to_string_lossy()),
            "name the command behind `--`",
        )
    })?;
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if asked { Ended::WithTheLock } else { Ended::Itself(status) });
        }
        for signal in signals.pending() {
            // At a terminal the command has had the interrupt itself.
            if signal == SIGTERM {
                send(&child, Signal::TERM);
            }
        }
        match session.standing() {
            Standing::Held => {}
            Standing::Lost if !asked => {
                asked = true;
                send(&child, Signal::TERM);
            }
            Standing::Lost => {}
            Standing::Expired => {
                child.kill()?;
                child.wait()?;
                return Ok(Ended::WithTheLock);
            }
        }
        std::thread::sleep(LOOK);
    }
}

fn send(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // It may have ended just now.
    let _ = id.map(|id| kill_process(id, signal));
}

/// As a shell makes it of a process.
fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.or_else(|| status.signal().map(code_of_signal)).unwrap_or(1)
}

fn code_of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(1)
}
