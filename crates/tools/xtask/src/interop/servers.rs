//! What a suite takes for its server: one Diwan, or all members of an ensemble, which are killed, stopped and started
//! together. Clients connect to the first; those that know ensembles, to all.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail};

use super::control::Handled;
use super::diwan::{Diwan, Form, ServerPorts};

/// How long a member stays down.
pub(super) const DEAD: Duration = Duration::from_millis(300);

/// See the module.
pub(super) struct Servers {
    members: Vec<Diwan>,
    keys: PathBuf,
    /// Of the present start.
    settings: Vec<String>,
    paused: bool,
}

/// The members that are killed without the suite's knowledge, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deaths {
    pub(super) of: Doomed,
    /// From when all members run until the next is killed.
    pub(super) between: Duration,
}

/// Which members are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Doomed {
    /// All but the first, to which clients that know of one server are connected
    Others,
    /// All
    All,
}

impl Servers {
    /// Makes the keys; nothing is started yet.
    pub(super) fn new(
        keys: &Path,
        binary: &Path,
        work: &Path,
        members: &[ServerPorts],
        form: Form,
    ) -> anyhow::Result<Self> {
        let folder = work.join("keys");
        super::fresh(&folder)?;
        let made = Command::new(keys).arg(&folder).status().context("cannot make keys")?;
        if !made.success() {
            bail!("there are no keys: `{}` ended with {made}", keys.display());
        }
        let member = |number| Diwan::new(binary, (work, &folder), number, members, form);
        let members = (1..=members.len()).map(member).collect::<anyhow::Result<_>>()?;
        Ok(Self { members, keys: folder, settings: Vec::new(), paused: false })
    }

    /// The member that suites mean when they mean one.
    pub(super) fn first(&self) -> &Diwan {
        &self.members[0]
    }

    /// The program under test.
    pub(super) fn program(&self) -> &Path {
        self.first().binary()
    }

    /// The folder with keys and certificates.
    pub(super) fn keys(&self) -> &Path {
        &self.keys
    }

    /// The connect string of all of them.
    pub(super) fn connect_string(&self) -> String {
        let texts: Vec<_> =
            self.members.iter().map(|member| format!("127.0.0.1:{}", member.ports().plain)).collect();
        texts.join(",")
    }
}

/// What consists of members that can die one by one.
pub(super) trait Mortal: Send + 'static {
    /// How many there are.
    fn count(&self) -> usize;
    /// Kills a member and starts it again, if all run. Its death and its return each add a byte to a file.
    fn one_dies(&mut self, place: usize, toll: &Path) -> anyhow::Result<()>;
}

impl Mortal for Servers {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn one_dies(&mut self, place: usize, toll: &Path) -> anyhow::Result<()> {
        if self.paused || !self.members.iter().all(Diwan::is_running) {
            return Ok(());
        }
        let member = &mut self.members[place];
        ring(toll)?;
        member.kill()?;
        std::thread::sleep(DEAD);
        member.launch(&self.settings.iter().map(String::as_str).collect::<Vec<_>>())?;
        member.wait()?;
        ring(toll)
    }
}

impl Handled for Servers {
    /// Returns when all serve.
    fn start(&mut self, settings: &[&str]) -> anyhow::Result<()> {
        if !self.members.iter().all(Diwan::is_running) {
            self.settings = settings.iter().map(|setting| String::from(*setting)).collect();
        }
        self.members.iter_mut().try_for_each(|member| member.launch(settings))?;
        self.members.iter_mut().try_for_each(Diwan::wait)
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        self.paused = false;
        self.members.iter_mut().try_for_each(Diwan::kill)
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        // All at once: else clients would go from one to the next.
        self.members.iter().try_for_each(Diwan::ask_to_stop)?;
        self.members.iter_mut().try_for_each(Diwan::stopped)
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        self.paused = true;
        self.members.iter_mut().try_for_each(Diwan::pause)
    }

    fn resume(&mut self) -> anyhow::Result<()> {
        self.paused = false;
        self.members.iter_mut().try_for_each(Diwan::resume)
    }
}

pub(super) fn ring(toll: &Path) -> anyhow::Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(toll);
    file.and_then(|mut file| file.write_all(b".")).context("cannot count a death")
}

fn lock<M>(servers: &Mutex<M>) -> MutexGuard<'_, M> {
    // The panic was already reported; the processes are unaffected.
    servers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills members in turn until it is dropped.
pub(super) struct Reaper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reaper {
    /// Each death and each return adds a byte to the file `toll`, so that suites know whether they met one.
    pub(super) fn start<M: Mortal>(servers: Arc<Mutex<M>>, deaths: Deaths, toll: PathBuf) -> Self {
        let (stop, stopped) = channel();
        let reap = move || {
            let first = usize::from(deaths.of == Doomed::Others);
            let count = lock(&servers).count();
            for place in (first..count).cycle() {
                if stopped.recv_timeout(deaths.between) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                if let Err(error) = lock(&servers).one_dies(place, &toll) {
                    println!("not ok a_member_comes_back - {error:#}");
                    return;
                }
            }
        };
        Self { stop: Some(stop), thread: Some(std::thread::spawn(reap)) }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has already reported its error.
            let _ = thread.join();
        }
    }
}
