//! What the kernel says of all servers together, at an edge. Knows not what they do.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::peer::process;

/// What processes have used since they started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Processor time, in user space and in the kernel.
    pub cpu: Duration,
    /// Bytes that went to disks.
    pub written: u64,
    /// Resident memory, bytes, now.
    pub resident: u64,
}

impl Reading {
    /// Reads the meters of these processes; one that is gone counts nothing.
    #[must_use]
    pub fn of(pids: &[u32]) -> Self {
        let mut sum = Self::default();
        for pid in pids {
            sum.cpu += process::cpu_time(*pid).map(process::CpuTime::total).unwrap_or_default();
            sum.written += process::written_bytes(*pid).unwrap_or_default();
            sum.resident += process::resident_bytes(*pid).unwrap_or_default();
        }
        sum
    }
}

/// Counts system calls of processes by `perf`, between edges alone: it is told when, and answers when it does.
pub struct Calls {
    perf: Child,
    control: fs::File,
    answers: fs::File,
    folder: PathBuf,
}

impl Calls {
    /// Attaches to the processes without counting yet; nothing where there is no `perf` or it is not allowed to.
    #[must_use]
    pub fn attach(pids: &[u32], folder: &Path) -> Option<Self> {
        let folder = folder.join("perf");
        fs::create_dir_all(&folder).ok()?;
        let [control, answers] = ["control", "answers"].map(|name| folder.join(name));
        for fifo in [&control, &answers] {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, mode, 0).ok()?;
        }
        let list: Vec<_> = pids.iter().map(ToString::to_string).collect();
        let perf = Command::new("perf")
            .args(["stat", "-x", ",", "-D", "-1", "-e", "raw_syscalls:sys_enter", "-p", &list.join(",")])
            .arg("--control")
            .arg(format!("fifo:{},{}", control.display(), answers.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        // Both ends for both of us: nobody waits for the other to open, and a perf that ends leaves no one waiting.
        let open = |path: &Path| fs::File::options().read(true).write(true).open(path).ok();
        let mut calls = Self { perf, control: open(&control)?, answers: open(&answers)?, folder };
        calls.tell("ping").ok()?;
        Some(calls)
    }

    /// Begins to count.
    ///
    /// # Errors
    /// `perf` is gone.
    pub fn begin(&mut self) -> io::Result<()> {
        self.tell("enable")
    }

    /// Stops counting; it may begin again.
    ///
    /// # Errors
    /// `perf` is gone.
    pub fn end(&mut self) -> io::Result<()> {
        self.tell("disable")
    }

    /// How many calls there were.
    #[must_use]
    pub fn count(mut self) -> Option<u64> {
        kill_process(Pid::from_child(&self.perf), Signal::INT).ok()?;
        let mut text = String::new();
        self.perf.stderr.take()?.read_to_string(&mut text).ok()?;
        let line = text.lines().find(|line| line.contains("raw_syscalls"))?;
        line.split(',').next()?.trim().parse().ok()
    }

    fn tell(&mut self, what: &str) -> io::Result<()> {
        writeln!(self.control, "{what}")?;
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"ack\n") {
            let ready = &mut [rustix::event::PollFd::new(&self.answers, rustix::event::PollFlags::IN)];
            let wait = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
            if rustix::event::poll(ready, Some(&wait))? == 0 {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "`perf` did not answer"));
            }
            self.answers.read_exact(&mut byte)?;
            answer.push(byte[0]);
        }
        Ok(())
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.perf.kill();
        let _ = self.perf.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
