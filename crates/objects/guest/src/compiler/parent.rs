//! The member's side of a compiler's process: it starts one for a module, gives it the module, and takes its answer. It bounds how
//! long that takes and how much is said, and ends the process in any case.

use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::process::{COMPILE_MODULE, HINDERED};
use super::wire::{self, Kind};
use super::{Compiler, Task, Uncompiled};

/// How often it is asked whether the code is still wanted.
const ASK: Duration = Duration::from_millis(50);
/// Bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes of complaints that are kept: the last ones.
const COMPLAINT_BYTES_MAX: usize = 2 << 10;
/// Bytes of a refusal that are kept.
const REFUSAL_BYTES_MAX: usize = 4 << 10;
/// What a compiler's process may take. A larger module may take more, so that a small one that does harm is stopped sooner.
///
/// In a build with little optimisation, a module of 16 MiB with functions of 400 bytes took 0.6 GiB of addresses and 38 s of processor
/// time, and one of 61 MiB 1.8 GiB and 135 s. One with a single function of 0.95 MB took 0.7 GiB and 18 s: compilers need more than
/// linear time for large functions.
#[derive(Clone, Copy, Debug)]
pub struct CompilerLimits {
    /// Bytes of addresses, for the smallest module.
    pub memory_bytes: u64,
    /// More of them for each byte of the module.
    pub memory_bytes_per_byte: u64,
    /// Seconds of the processor's time, for the smallest module.
    pub cpu_seconds: u64,
    /// More of them for each MiB of the module.
    pub cpu_seconds_per_mib: u64,
    /// How much longer than that it may take in all: it has a third of the processor where that is short.
    pub elapsed_per_cpu: u64,
    /// Bytes of machine code.
    pub code_bytes_max: usize,
}

impl Default for CompilerLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            memory_bytes_per_byte: 64,
            cpu_seconds: 60,
            cpu_seconds_per_mib: 8,
            elapsed_per_cpu: 10,
            code_bytes_max: 512 << 20,
        }
    }
}

impl CompilerLimits {
    fn of(&self, module_bytes: usize) -> Allowed {
        let bytes = module_bytes as u64;
        let cpu_seconds = self.cpu_seconds + self.cpu_seconds_per_mib * (bytes >> 20);
        Allowed {
            memory_bytes: self.memory_bytes + self.memory_bytes_per_byte * bytes,
            cpu_seconds,
            seconds: cpu_seconds * self.elapsed_per_cpu,
        }
    }
}

/// What the process of one module may take.
#[derive(Clone, Copy)]
struct Allowed {
    memory_bytes: u64,
    cpu_seconds: u64,
    seconds: u64,
}

/// Compiles each module in a process of its own, one that a program serves with [`super::compile_module`].
#[derive(Clone, Debug)]
pub struct CompilerProcess {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: CompilerLimits,
}

impl CompilerProcess {
    /// This very program, also after its file was replaced by that of another build.
    #[must_use]
    pub fn of_this_program() -> Self {
        Self::new("/proc/self/exe".into(), vec![COMPILE_MODULE.into()], CompilerLimits::default())
    }

    /// Another program.
    #[must_use]
    pub const fn new(program: PathBuf, arguments: Vec<OsString>, limits: CompilerLimits) -> Self {
        Self { program, arguments, limits }
    }

    fn start(&self, allowed: Allowed) -> io::Result<Running> {
        let mut command = Command::new(&self.program);
        let numbers = [u64::from(std::process::id()), allowed.memory_bytes, allowed.cpu_seconds];
        command.args(&self.arguments).args(numbers.map(|number| number.to_string()));
        // Nothing of what the member was told, and no signal that its terminal sends it.
        command.env_clear().process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running { child: command.spawn()?, status: None };
        let Child { stdin, stdout, stderr, .. } = &running.child;
        stdin.as_ref().map_or(Ok(()), |pipe| rustix::io::ioctl_fionbio(pipe, true))?;
        stdout.as_ref().map_or(Ok(()), |pipe| rustix::io::ioctl_fionbio(pipe, true))?;
        stderr.as_ref().map_or(Ok(()), |pipe| rustix::io::ioctl_fionbio(pipe, true))?;
        Ok(running)
    }
}

/// Why a process gave no answer.
fn death(status: ExitStatus, why: &str, complaint: &str, allowed: Allowed) -> Uncompiled {
    let out_of_memory = complaint.contains("memory allocation of");
    let detail = match (status.signal(), status.code()) {
        (_, Some(code)) if code == i32::from(HINDERED) => return Uncompiled::Hindered(complaint.into()),
        (Some(signal), _) if signal == Signal::XCPU.as_raw() => {
            format!("it used more than {} s of processor time", allowed.cpu_seconds)
        }
        (Some(signal), _) if signal == Signal::ABORT.as_raw() && out_of_memory => {
            format!("it needs more than {} MiB of memory", allowed.memory_bytes >> 20)
        }
        (Some(signal), _) => format!("it was ended by signal {signal}"),
        (None, Some(0)) => why.to_owned(),
        (None, code) => format!("it ended with status {}", code.unwrap_or_default()),
    };
    if !complaint.is_empty() {
        tracing::warn!(complaint, "the last that a compiler's process has said before it failed");
    }
    Uncompiled::Died(detail)
}

impl Compiler for CompilerProcess {
    fn compile(&self, task: &Task<'_>) -> Result<Vec<u8>, Uncompiled> {
        let allowed = self.limits.of(task.module.len());
        let deadline = Instant::now() + Duration::from_secs(allowed.seconds);
        let program = self.program.display();
        let hindered =
            |error: io::Error| Uncompiled::Hindered(format!("`{program}` cannot be started: {error}"));
        let mut running = self.start(allowed).map_err(hindered)?;
        let mut talk = Talk::default();
        let heard = talk.go_on(&mut running, task, self.limits.code_bytes_max, deadline);
        let status = running.end();
        talk.hear_complaint(&mut running);
        match heard {
            Ok(()) => {}
            Err(Broken::Unwanted) => return Err(Uncompiled::Unwanted),
            Err(Broken::Deadline) => {
                return Err(Uncompiled::Died(format!("it has not ended within {} s", allowed.seconds)));
            }
            Err(Broken::Pipe(error)) => {
                return Err(Uncompiled::Hindered(format!("cannot talk to the compiler's process: {error}")));
            }
            Err(Broken::Answer(why)) => return Err(Uncompiled::Died(why.into())),
        }
        match wire::read_answer(talk.answer, &task.name) {
            Ok((Kind::Code, code)) => Ok(code),
            Ok((Kind::Refusal, mut why)) => {
                why.truncate(REFUSAL_BYTES_MAX);
                Err(Uncompiled::Refused(String::from_utf8_lossy(&why).into_owned()))
            }
            Err(why) => {
                let complaint = String::from_utf8_lossy(&talk.complaint);
                Err(death(status, why, complaint.trim(), allowed))
            }
        }
    }

    fn is_apart(&self) -> bool {
        true
    }
}

/// Why talking to a process has ended without a whole answer.
enum Broken {
    Unwanted,
    Deadline,
    Pipe(io::Error),
    Answer(&'static str),
}

/// What was said so far.
#[derive(Default)]
struct Talk {
    /// Bytes of the question that were written.
    asked: usize,
    answer: Vec<u8>,
    complaint: Vec<u8>,
}

impl Talk {
    /// Until the process closes its output, or cannot give an answer any more.
    fn go_on(
        &mut self,
        running: &mut Running,
        task: &Task<'_>,
        body_bytes_max: usize,
        deadline: Instant,
    ) -> Result<(), Broken> {
        let head = wire::question_head(&task.name, task.module.len());
        loop {
            if !(task.is_wanted)() {
                return Err(Broken::Unwanted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Broken::Deadline);
            }
            running.wait_for_pipes(left.min(ASK)).map_err(Broken::Pipe)?;
            self.ask(running, &head, task.module);
            self.hear_complaint(running);
            let is_over = self.hear_answer(running).map_err(Broken::Pipe)?;
            let whole = wire::answer_bytes(&self.answer, &task.name, body_bytes_max);
            if whole.map_err(Broken::Answer)?.is_some_and(|whole| self.answer.len() > whole) {
                return Err(Broken::Answer("there is more behind its answer"));
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// Writes as much of the question as the process takes. One that takes no more may have said why.
    fn ask(&mut self, running: &mut Running, head: &[u8], module: &[u8]) {
        let Some(pipe) = &mut running.child.stdin else { return };
        let result = loop {
            let rest = match self.asked.checked_sub(head.len()) {
                None => &head[self.asked..],
                Some(of_module) => &module[of_module..],
            };
            if rest.is_empty() {
                break Ok(0);
            }
            match pipe.write(rest) {
                Ok(0) => break Ok(0),
                Ok(written) => self.asked += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        if !matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            running.child.stdin = None;
        }
    }

    /// Reads what there is; whether that was the end.
    fn hear_answer(&mut self, running: &mut Running) -> io::Result<bool> {
        let Some(pipe) = &mut running.child.stdout else { return Ok(true) };
        // One piece at a time: whoever says too much is stopped.
        match read_piece(pipe, &mut self.answer) {
            Ok(0) => Ok(true),
            Ok(_) => Ok(false),
            Err(error) if is_later(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads what there is of complaints.
    fn hear_complaint(&mut self, running: &mut Running) {
        let Some(pipe) = &mut running.child.stderr else { return };
        let read = read_piece(pipe, &mut self.complaint);
        if !matches!(&read, Ok(bytes) if *bytes > 0) && !matches!(&read, Err(error) if is_later(error)) {
            running.child.stderr = None;
        }
        let over = self.complaint.len().saturating_sub(COMPLAINT_BYTES_MAX);
        self.complaint.drain(..over);
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn read_piece(pipe: &mut impl Read, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut piece = [0; PIECE_BYTES];
    let bytes = pipe.read(&mut piece)?;
    into.extend_from_slice(&piece[..bytes]);
    Ok(bytes)
}

/// A process that runs. It is ended with this value.
struct Running {
    child: Child,
    status: Option<ExitStatus>,
}

impl Running {
    /// Waits until there is something to read, or to write.
    fn wait_for_pipes(&self, patience: Duration) -> io::Result<()> {
        let Child { stdin, stdout, stderr, .. } = &self.child;
        let input = stdin.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::OUT));
        let output = stdout.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN));
        let complaints = stderr.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN));
        let pipes = [input, output, complaints].into_iter().flatten();
        let mut pipes: Vec<_> = pipes.map(|(pipe, flags)| PollFd::from_borrowed_fd(pipe, flags)).collect();
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut pipes, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends it, with all that it has started, and tells how it ended: of one that has ended by itself, how that was.
    fn end(&mut self) -> ExitStatus {
        if let Some(status) = self.status {
            return status;
        }
        // Nobody else has this number as long as it was not waited for.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let status = self.child.wait().unwrap_or_default();
        *self.status.insert(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const NAME: super::super::CodeName = [3; 32];
    const LIMITS: CompilerLimits = CompilerLimits {
        memory_bytes: 1 << 30,
        memory_bytes_per_byte: 0,
        cpu_seconds: 1,
        cpu_seconds_per_mib: 0,
        elapsed_per_cpu: 30,
        code_bytes_max: 1_000,
    };

    /// What comes of a compiler that is a script of the shell.
    fn compiled_by(script: &str, limits: CompilerLimits) -> Result<Vec<u8>, Uncompiled> {
        let arguments = ["-c", script].map(OsString::from).to_vec();
        let compiler = CompilerProcess::new("/bin/sh".into(), arguments, limits);
        let module = vec![7; 300_000];
        compiler.compile(&Task { name: NAME, module: &module, is_wanted: &|| true })
    }

    fn died(script: &str) -> String {
        match compiled_by(script, LIMITS) {
            Err(Uncompiled::Died(detail)) => detail,
            other => panic!("{script}: {other:?}"),
        }
    }

    /// A script that says what lies in that file.
    fn saying(folder: &Path, answer: &[u8], more: &str) -> String {
        let file = folder.join("answer");
        std::fs::write(&file, answer).unwrap();
        format!("/bin/cat {}; {more}", file.display())
    }

    #[test]
    fn whole_answer_is_taken_however_the_process_ends_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let answer = [&wire::answer_head(Kind::Code, &NAME, b"code")[..], b"code"].concat();
        for more in ["exit 0", "exit 3", "kill -s SEGV $$"] {
            let script = saying(folder.path(), &answer, more);
            assert_eq!(compiled_by(&script, LIMITS), Ok(b"code".to_vec()), "{more}");
        }
        let refusal = [&wire::answer_head(Kind::Refusal, &NAME, b"too odd")[..], b"too odd"].concat();
        let script = saying(folder.path(), &refusal, "exit 0");
        assert_eq!(compiled_by(&script, LIMITS), Err(Uncompiled::Refused("too odd".into())));
    }

    #[test]
    fn answer_that_is_not_sound_is_a_death_and_never_code() {
        let folder = tempfile::tempdir().unwrap();
        let good = [&wire::answer_head(Kind::Code, &NAME, b"code")[..], b"code"].concat();
        let other = [&wire::answer_head(Kind::Code, &[4; 32], b"code")[..], b"code"].concat();
        let long = [&wire::answer_head(Kind::Code, &NAME, &[0; 1_001])[..], &[0; 1_001]].concat();
        let mut damaged = good.clone();
        damaged[wire::ANSWER_HEAD_BYTES] ^= 1;
        let more = [&good[..], b"!"].concat();
        for (answer, detail) in [
            (&b"machine code"[..], "what it says is no answer"),
            (&b""[..], "its answer is not whole"),
            (&good[..good.len() - 1], "its answer is not whole"),
            (&damaged, "its answer is damaged"),
            (&other, "its answer is for other code"),
            (&long, "its answer is longer than it may be"),
            (&more, "there is more behind its answer"),
        ] {
            assert_eq!(died(&saying(folder.path(), answer, "exit 0")), detail);
        }
    }

    #[test]
    fn process_that_dies_floods_or_sleeps_is_ended_and_told() {
        assert_eq!(died("kill -s SEGV $$"), "it was ended by signal 11");
        assert_eq!(died("kill -s XCPU $$"), "it used more than 1 s of processor time");
        assert_eq!(died("exit 3"), "it ended with status 3");
        assert_eq!(died("exec /bin/cat /dev/zero"), "what it says is no answer");
        let memory = "echo memory allocation of 5 bytes failed >&2; kill -s ABRT $$";
        assert_eq!(died(memory), "it needs more than 1024 MiB of memory");
        let folder = tempfile::tempdir().unwrap();
        let head = wire::answer_head(Kind::Code, &NAME, &[0; 1_000]);
        let flood = saying(folder.path(), &head, "exec /bin/cat /dev/zero");
        assert_eq!(died(&flood), "there is more behind its answer");
        let complaints = "/bin/cat /dev/zero >&2";
        let soon = CompilerLimits { elapsed_per_cpu: 1, ..LIMITS };
        for script in [complaints, "exec /bin/sleep 1000", "exec /bin/sleep 1000 <&-"] {
            let why = Uncompiled::Died("it has not ended within 1 s".into());
            assert_eq!(compiled_by(script, soon), Err(why), "{script}");
        }
    }

    #[test]
    fn process_that_closes_its_output_and_stays_is_ended() {
        assert_eq!(died("exec /bin/sleep 1000 >&-"), "it was ended by signal 9");
    }

    #[test]
    fn what_a_process_has_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        let script = format!("/bin/sleep 1000 & echo $! > {}; exit 3", file.display());
        let _ = compiled_by(&script, CompilerLimits { elapsed_per_cpu: 1, ..LIMITS });
        let number = std::fs::read_to_string(&file).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
        let deadline = Instant::now() + Duration::from_secs(30);
        // It may be left as a zombie, to be waited for by who takes orphans.
        while state().is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < deadline, "it runs on");
            std::thread::yield_now();
        }
    }

    #[test]
    fn host_that_starts_no_process_or_hinders_it_says_nothing_of_the_module() {
        match compiled_by("echo no room for the module >&2; exit 75", LIMITS) {
            Err(Uncompiled::Hindered(detail)) => assert_eq!(detail, "no room for the module"),
            other => panic!("{other:?}"),
        }
        let nowhere = CompilerProcess::new("/nowhere/diwan".into(), Vec::new(), LIMITS);
        let found = nowhere.compile(&Task { name: NAME, module: &[], is_wanted: &|| true });
        assert!(matches!(found, Err(Uncompiled::Hindered(detail)) if detail.contains("cannot be started")));
    }

    #[test]
    fn process_is_ended_when_nobody_wants_its_code() {
        let asked = std::cell::Cell::new(0);
        let is_wanted = || {
            asked.set(asked.get() + 1);
            asked.get() < 3
        };
        let arguments = ["-c", "exec /bin/sleep 1000"].map(OsString::from).to_vec();
        let compiler = CompilerProcess::new("/bin/sh".into(), arguments, LIMITS);
        let found = compiler.compile(&Task { name: NAME, module: &[], is_wanted: &is_wanted });
        assert_eq!(found, Err(Uncompiled::Unwanted));
    }

    #[test]
    fn process_is_told_nothing_of_the_environment_and_leads_a_group_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seen");
        let script = format!(
            "/usr/bin/env > {0}; read -r _ _ _ _ group _ < /proc/$$/stat; echo group $(( group - $$ )) >> {0}; exit 3",
            file.display()
        );
        assert_eq!(died(&script), "it ended with status 3");
        let seen = std::fs::read_to_string(&file).unwrap();
        // What the shell adds by itself.
        let foreign =
            |line: &&str| !["PWD=", "OLDPWD=", "SHLVL=", "_="].iter().any(|own| line.starts_with(own));
        assert_eq!(seen.lines().filter(foreign).collect::<Vec<_>>(), ["group 0"]);
    }
}
