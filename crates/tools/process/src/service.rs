//! A program that serves in the background: its output goes to a log, it is waited for until it is ready, it may be
//! killed, stopped, paused and started again, and it is gone with its children when this is dropped.
//!
//! Knows neither which program it is nor how to ask whether it is ready: the caller does.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{Error, Group, Result, meter, tail};

/// Between two checks of a service's state. No synchronisation depends on it.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long a signal may take until it shows: a process that waits for a disk heeds none.
const HEEDED_WITHIN: Duration = Duration::from_secs(30);
/// After this time a process that should have stopped is let go on for a moment, and told to stop again. A shell that starts a
/// command with `vfork` waits for it inside the kernel: if the command is stopped before its `exec`, the shell never stops.
const STOP_AGAIN_AFTER: Duration = Duration::from_millis(200);
/// How much of a log is shown when a service is not ready.
const TAIL_LINES: usize = 20;

/// See the module.
#[derive(Debug)]
pub struct Service {
    name: String,
    command: Command,
    log: PathBuf,
    group: Group,
}

impl Service {
    /// Starts a command; what it prints is appended to `log`. `name` is what it is called where something fails.
    ///
    /// # Errors
    /// The log cannot be written, or the program cannot be started.
    pub fn start(name: impl Into<String>, mut command: Command, log: &Path) -> Result<Self> {
        let group = spawn(&mut command, log)?;
        Ok(Self { name: name.into(), command, log: log.to_owned(), group })
    }

    /// Starts the same command once more; what is left of the old processes is killed.
    ///
    /// # Errors
    /// As [`Service::start`].
    pub fn start_again(&mut self) -> Result<()> {
        self.group.kill()?;
        self.group = spawn(&mut self.command, &self.log)?;
        Ok(())
    }

    /// What is started by [`Service::start_again`] from now on.
    pub fn set_command(&mut self, command: Command) {
        self.command = command;
    }

    /// Kills it with its children (SIGKILL), and waits until it is gone.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self) -> Result<()> {
        self.group.kill().map(drop)
    }

    /// Asks it to end (SIGTERM), and waits until it has, however long that takes.
    ///
    /// # Errors
    /// It has ended already, or the host could not.
    pub fn stop(&mut self) -> Result<()> {
        self.ask_to_stop()?;
        self.group.wait().map(drop)
    }

    /// Asks it to end (SIGTERM), and waits for nothing.
    ///
    /// # Errors
    /// It has ended already, or the host could not.
    pub fn ask_to_stop(&self) -> Result<()> {
        self.group.signal(Signal::TERM)
    }

    /// Returns when it has ended by itself.
    ///
    /// # Errors
    /// It does not in time.
    pub fn wait_until_ended(&mut self, patience: Duration) -> Result<()> {
        let began = Instant::now();
        while self.group.ended()?.is_none() {
            if began.elapsed() > patience {
                let what = format!("does not end {patience:?} after it was asked to");
                return Err(Error::TooLate { name: self.name.clone(), what });
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Stops all its threads (SIGSTOP), and waits until they are stopped; its sockets stay open.
    ///
    /// # Errors
    /// It has ended, or does not heed the signal.
    pub fn pause(&mut self) -> Result<()> {
        self.signal_until(Signal::STOP, true)
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// It has ended, or does not heed the signal.
    pub fn resume(&mut self) -> Result<()> {
        self.signal_until(Signal::CONT, false)
    }

    /// Waits until `is_ready` says so.
    ///
    /// # Errors
    /// The program ends, or is not ready in time.
    pub fn wait_until(&mut self, patience: Duration, mut is_ready: impl FnMut() -> bool) -> Result<()> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.group.ended()? {
                return Err(self.not_ready(format!("it ended with {status}")));
            }
            if is_ready() {
                return Ok(());
            }
            if began.elapsed() > patience {
                return Err(self.not_ready(format!("no answer within {patience:?}")));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether its process has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.group.ended(), Ok(Some(_)))
    }

    /// Its process id, for [`meter`].
    #[must_use]
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// The last lines that it printed.
    #[must_use]
    pub fn log_tail(&self) -> String {
        tail(&self.log, TAIL_LINES)
    }

    fn signal_until(&mut self, signal: Signal, stopped: bool) -> Result<()> {
        self.group.signal(signal)?;
        let began = Instant::now();
        let mut signalled = began;
        while meter::is_stopped(self.id()).map_err(Error::host("look at", &self.name))? != stopped {
            let ended = self.has_ended();
            if ended || began.elapsed() > HEEDED_WITHIN {
                let what = format!("does not heed {signal:?}{}", if ended { ": it has ended" } else { "" });
                return Err(Error::TooLate { name: self.name.clone(), what });
            }
            if stopped && signalled.elapsed() > STOP_AGAIN_AFTER {
                self.group.signal(Signal::CONT)?;
                thread::sleep(LOOK_EVERY);
                self.group.signal(signal)?;
                signalled = Instant::now();
            }
            thread::yield_now();
        }
        Ok(())
    }

    fn not_ready(&self, why: String) -> Error {
        Error::NotReady { name: self.name.clone(), why, log: self.log_tail() }
    }
}

fn spawn(command: &mut Command, log: &Path) -> Result<Group> {
    let written = || Error::host("write", log.display().to_string());
    let file = File::options().create(true).append(true).open(log).map_err(written())?;
    let also = file.try_clone().map_err(written())?;
    Group::spawn(command.stdin(Stdio::null()).stdout(file).stderr(also))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, script: &str) -> (Service, PathBuf) {
        let log = std::env::temp_dir().join(format!("service-{name}-{}", std::process::id()));
        // Of an earlier test of that number.
        let _ = std::fs::remove_file(&log);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        (Service::start(name, command, &log).expect("sh runs"), log)
    }

    #[test]
    fn service_is_ready_when_it_says_so_and_appends_to_its_log() {
        let (mut service, log) = service("ready", "echo ready; sleep 1000");
        let lines = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
        let minute = Duration::from_secs(60);
        service.wait_until(minute, || lines() == 1).expect("it says so");
        service.pause().expect("it stands still");
        service.resume().expect("it goes on");
        service.kill().expect("it ends");
        service.start_again().expect("sh runs");
        service.wait_until(minute, || lines() == 2).expect("it says so again");
        service.stop().expect("it ends");
        assert!(service.has_ended() && service.stop().is_err());
        std::fs::remove_file(log).expect("it was written");
    }

    #[test]
    fn service_that_ends_early_shows_what_it_printed_last() {
        let (mut service, log) = service("early", "echo no room >&2; exit 3");
        let error = service.wait_until(Duration::from_secs(60), || false).expect_err("it ended");
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.contains("no room"), "{text}");
        std::fs::remove_file(log).expect("it was written");
    }
}
