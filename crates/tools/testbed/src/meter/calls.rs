//! How many system calls servers make, phase by phase, between the edges of what is measured alone. `perf` counts them,
//! which costs servers least; if it is missing or not allowed, `strace -c` does. Either slows servers down, so what is
//! counted is measured in no other way.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::Edge;

/// How long `strace` may take to attach to all threads.
const ATTACHED_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks whether it has. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Counts system calls of processes.
pub struct Calls {
    pids: Vec<u32>,
    folder: PathBuf,
    perfs: BTreeMap<String, Perf>,
    strace: Option<Strace>,
    by_strace: BTreeMap<String, u64>,
    has_failed: bool,
}

impl Calls {
    /// Of these processes; what is needed meanwhile lies in `folder`.
    #[must_use]
    pub fn of(pids: Vec<u32>, folder: &Path) -> Self {
        Self {
            pids,
            folder: folder.to_owned(),
            perfs: BTreeMap::new(),
            strace: None,
            by_strace: BTreeMap::new(),
            has_failed: false,
        }
    }

    /// An edge of a phase, of which there may be several of one name.
    pub fn edge(&mut self, edge: Edge, phase: &str) {
        if self.pids.is_empty() || self.has_failed {
            return;
        }
        let done = match edge {
            Edge::Begin => self.begin(phase),
            Edge::End => self.end(phase),
        };
        self.has_failed |= done.is_none();
    }

    /// How many calls there were in each phase; of no phase if anything could not be counted.
    #[must_use]
    pub fn counts(mut self) -> BTreeMap<String, u64> {
        let mut counts = std::mem::take(&mut self.by_strace);
        for (phase, perf) in std::mem::take(&mut self.perfs) {
            match perf.count() {
                Some(count) => *counts.entry(phase).or_default() += count,
                None => self.has_failed = true,
            }
        }
        if self.has_failed { BTreeMap::new() } else { counts }
    }

    fn begin(&mut self, phase: &str) -> Option<()> {
        if !self.perfs.contains_key(phase) && self.by_strace.is_empty() {
            let folder = self.folder.join(format!("perf-{}", self.perfs.len()));
            if let Some(perf) = Perf::attach(&self.pids, folder) {
                self.perfs.insert(phase.to_owned(), perf);
            }
        }
        match self.perfs.get_mut(phase) {
            Some(perf) => perf.tell("enable").ok(),
            None => {
                self.strace = Some(Strace::attach(&self.pids)?);
                Some(())
            }
        }
    }

    fn end(&mut self, phase: &str) -> Option<()> {
        if let Some(perf) = self.perfs.get_mut(phase) {
            return perf.tell("disable").ok();
        }
        *self.by_strace.entry(phase.to_owned()).or_default() += self.strace.take()?.count()?;
        Some(())
    }
}

/// `perf` on all processes: it gets a message when to count, and answers when it does, so it may keep running in
/// between.
struct Perf {
    child: Child,
    control: fs::File,
    answers: fs::File,
    folder: PathBuf,
}

impl Perf {
    /// Attaches without counting yet; nothing where there is no `perf` or it is not allowed to.
    fn attach(pids: &[u32], folder: PathBuf) -> Option<Self> {
        fs::create_dir_all(&folder).ok()?;
        let [control, answers] = ["control", "answers"].map(|name| folder.join(name));
        for fifo in [&control, &answers] {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, mode, 0).ok()?;
        }
        let list: Vec<_> = pids.iter().map(ToString::to_string).collect();
        let child = Command::new("perf")
            .args(["stat", "-x", ",", "-D", "-1", "-e", "raw_syscalls:sys_enter", "-p", &list.join(",")])
            .arg("--control")
            .arg(format!("fifo:{},{}", control.display(), answers.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        // Each process holds both ends: neither waits for the other to open, and if perf ends, this program does not
        // hang.
        let open = |path: &Path| fs::File::options().read(true).write(true).open(path).ok();
        let mut perf = Self { child, control: open(&control)?, answers: open(&answers)?, folder };
        perf.tell("ping").ok()?;
        Some(perf)
    }

    /// How many calls there were.
    fn count(mut self) -> Option<u64> {
        kill_process(Pid::from_child(&self.child), Signal::INT).ok()?;
        let mut text = String::new();
        self.child.stderr.take()?.read_to_string(&mut text).ok()?;
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

impl Drop for Perf {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// `strace -c`: counts from when it is attached until it leaves.
struct Strace(Child);

impl Strace {
    /// Attaches; nothing where there is no `strace` or it is not allowed to.
    fn attach(pids: &[u32]) -> Option<Self> {
        let mut command = Command::new("strace");
        command.args(["-c", "-f", "-qq"]);
        for pid in pids {
            command.args(["-p", &pid.to_string()]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
        let mut strace = Self(child);
        let began = Instant::now();
        while !pids.iter().all(|pid| is_traced(*pid)) {
            let has_ended = strace.0.try_wait().is_ok_and(|status| status.is_some());
            if has_ended || began.elapsed() > ATTACHED_WITHIN {
                return None;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Some(strace)
    }

    fn count(mut self) -> Option<u64> {
        kill_process(Pid::from_child(&self.0), Signal::INT).ok()?;
        let mut text = String::new();
        self.0.stderr.take()?.read_to_string(&mut text).ok()?;
        total(&text)
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        // It detaches from the traced process when it ends, and may be gone already.
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Whether all threads of a process are traced.
fn is_traced(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().all(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
    })
}

/// The last line of the table: share, seconds, microseconds a call, calls, perhaps errors, `total`.
fn total(table: &str) -> Option<u64> {
    let line = table.lines().rev().find(|line| line.trim_end().ends_with("total"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_table_is_read_with_errors_in_it_and_without() {
        let head = "% time     seconds  usecs/call     calls    errors syscall\n";
        let lines = [
            "100.00    0.003344           2      1521        12 total\n",
            "100.00    0.003344           2      1521           total\n",
        ];
        for line in lines {
            assert_eq!(total(&format!("{head}{line}")), Some(1521));
        }
        assert_eq!(total("strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted"), None);
    }

    #[test]
    fn what_cannot_be_counted_has_no_count() {
        let folder = std::env::temp_dir().join(format!("lab-calls-{}", std::process::id()));
        // No process has that number.
        let mut calls = Calls::of(vec![u32::MAX / 2], &folder);
        calls.edge(Edge::Begin, "get");
        calls.edge(Edge::End, "get");
        assert_eq!(calls.counts(), BTreeMap::new());
        // It was made if there is a `perf`.
        let _ = fs::remove_dir_all(folder);
    }
}
