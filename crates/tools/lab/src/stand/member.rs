//! A member that is a process of some program: started, started again, signalled, and gone when this is dropped.
//!
//! Knows not which system it belongs to, nor when it serves.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{LOOK_EVERY, PATIENCE, StandError};

/// How a member is started.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// What it is called where something fails.
    pub(super) name: String,
    /// The network namespace that it stands in, if it is not this process's.
    pub(super) namespace: Option<String>,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
    /// What it says goes there.
    pub(super) log: PathBuf,
}

/// A process that was started.
pub(super) struct Member {
    start: Start,
    child: Child,
    up: bool,
}

impl Member {
    pub(super) fn start(start: Start) -> Result<Self, StandError> {
        let child = spawn(&start)?;
        Ok(Self { start, child, up: true })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) const fn is_up(&self) -> bool {
        self.up
    }

    /// What it is told when it is started again, if that is something else.
    pub(super) fn comes_back_with(&mut self, arguments: Vec<String>) {
        self.start.arguments = arguments;
    }

    /// Starts it once more.
    pub(super) fn start_again(&mut self) -> Result<(), StandError> {
        self.child = spawn(&self.start)?;
        self.up = true;
        Ok(())
    }

    pub(super) fn kill(&mut self) -> Result<(), StandError> {
        self.up = false;
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(drop).map_err(|error| self.failed("cannot be killed", &error))
    }

    pub(super) fn stop(&mut self) -> Result<(), StandError> {
        self.signal(Signal::TERM)?;
        self.up = false;
        self.child.wait().map(drop).map_err(|error| self.failed("cannot be stopped", &error))
    }

    pub(super) fn pause(&self, time: Duration) -> Result<(), StandError> {
        self.signal(Signal::STOP)?;
        // How long it stands still is what is measured.
        std::thread::sleep(time);
        self.signal(Signal::CONT)
    }

    /// Waits until it serves, as the system says by whatever `serves` asks it.
    pub(super) fn wait_until(&mut self, serves: impl Fn() -> bool) -> Result<(), StandError> {
        let began = Instant::now();
        while !serves() {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended || began.elapsed() > PATIENCE {
                let log = fs::read_to_string(&self.start.log).unwrap_or_default();
                let last = log.lines().next_back().unwrap_or("it said nothing");
                return Err(self.failed("does not serve", &last));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<(), StandError> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).map_err(|error| self.failed("cannot be signalled", &error))
    }

    fn failed(&self, what: &str, why: &dyn std::fmt::Display) -> StandError {
        failed(&self.start.name, what, why)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(name: &str, what: &str, why: &dyn std::fmt::Display) -> StandError {
    StandError::Members(format!("{name} {what}: {why}"))
}

fn spawn(start: &Start) -> Result<Child, StandError> {
    let cannot = |error: std::io::Error| failed(&start.name, "cannot be started", &error);
    let file = log(&start.log).map_err(cannot)?;
    let also = file.try_clone().map_err(cannot)?;
    let mut command = match &start.namespace {
        Some(namespace) => {
            let mut inside = Command::new("ip");
            inside.args(["netns", "exec", namespace]).arg(&start.program);
            inside
        }
        None => Command::new(&start.program),
    };
    command.args(&start.arguments).envs(start.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(file).stderr(also).spawn().map_err(cannot)
}

fn log(path: &Path) -> std::io::Result<File> {
    File::options().create(true).append(true).open(path)
}
