//! Child processes that never outlive this program: each in a process group of its own, which is killed when it is
//! dropped, when its deadline passes, or when this program is interrupted.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{Error, Result};

static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A child and everything it starts (unless that leaves the group on purpose).
#[derive(Debug)]
pub struct Group {
    name: String,
    child: Child,
    id: Pid,
    reaped: Option<ExitStatus>,
}

impl Group {
    /// Starts a command in a process group of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        // Registered before an interrupt can be handled, so that no child is missed.
        let mut groups = groups();
        let child = command.process_group(0).spawn().map_err(Error::host("start", &name))?;
        let id = Pid::from_child(&child);
        groups.push(id);
        drop(groups);
        Ok(Self { name, child, id, reaped: None })
    }

    /// Signals the whole group.
    ///
    /// # Errors
    /// It is gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        if self.reaped.is_some() {
            // Its id may be another group's by now.
            let gone = io::Error::new(io::ErrorKind::NotFound, "it has ended");
            return Err(Error::host("signal", &self.name)(gone));
        }
        kill_process_group(self.id, signal)
            .map_err(io::Error::from)
            .map_err(Error::host("signal", &self.name))
    }

    /// The status, if the child has ended.
    ///
    /// # Errors
    /// The host does not say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.reaped.is_none() {
            self.reaped = self.child.try_wait().map_err(Error::host("wait for", &self.name))?;
            self.forget_if_reaped();
        }
        Ok(self.reaped)
    }

    /// Waits until the child has ended by itself.
    ///
    /// # Errors
    /// The host does not say.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.reaped {
            return Ok(status);
        }
        let status = self.child.wait().map_err(Error::host("wait for", &self.name))?;
        self.reaped = Some(status);
        self.forget_if_reaped();
        Ok(status)
    }

    /// Kills the whole group and reaps the child.
    ///
    /// # Errors
    /// The child cannot be reaped.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        if self.reaped.is_none() {
            // The group may be empty already: that is what is wanted.
            let _ = kill_process_group(self.id, Signal::KILL);
        }
        self.wait()
    }

    /// The child's standard input, if it is a pipe that was not taken yet.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The child's standard output, if it is a pipe that was not taken yet.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The child's standard error, if it is a pipe that was not taken yet.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// The process id of the child, which is also the group's.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn pid(&self) -> Pid {
        self.id
    }

    fn forget_if_reaped(&self) {
        if self.reaped.is_some() {
            groups().retain(|id| *id != self.id);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // An error needs no report: a child that cannot be reaped is already gone.
        let _ = self.kill();
    }
}

/// The groups whose child was not reaped yet.
pub(crate) fn groups() -> MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use super::*;
    use crate::meter;

    #[test]
    fn group_is_killed_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]).stdout(Stdio::piped());
        let mut group = Group::spawn(&mut command).expect("sh runs");
        let mut line = String::new();
        BufReader::new(group.take_stdout().expect("a pipe")).read_line(&mut line).expect("it says a number");
        let grandchild: u32 = line.trim().parse().expect("a number");
        assert!(meter::cpu_time(grandchild).is_ok());
        group.kill().expect("it ends");
        // Its new parent reaps it at once, or leaves a process that has ended and runs nothing.
        while std::fs::read_to_string(format!("/proc/{grandchild}/cmdline"))
            .is_ok_and(|text| !text.is_empty())
        {
            std::thread::yield_now();
        }
        assert!(group.signal(Signal::TERM).is_err(), "the number may be another process's");
    }
}
