//! The members of one ensemble: their processes, their folders, and the faults done to them.

use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::part::Part;
use crate::server::{ANSWER_DEADLINE, serves, word};
use crate::{Config, Failure, Place, Server, Software};

/// Below the ports that a system gives to outgoing connections: one of those could hold a killed member's.
const CLIENT_PORT: u16 = 21_810;
const PEER_PORT: u16 = 28_880;
const ELECTION_PORT: u16 = 38_880;
/// How long an ensemble may be without a leader, and a member without serving, before it counts as broken.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Down,
    Up,
    Paused,
}

#[derive(Debug)]
struct Member {
    /// The number that it claims: its place, unless it duplicates another member's.
    number: usize,
    software: Software,
    config: Config,
    server: Option<Server>,
    condition: Condition,
}

/// Some members, numbered from 1. Dropping it kills them all.
#[derive(Debug)]
pub struct Ensemble {
    members: Vec<Member>,
    folder: PathBuf,
}

impl Ensemble {
    /// Members that are to vote, none of them started; `keys` are further keys of `zoo.cfg`. Several threads serve the
    /// connections of each, however few cores there are.
    #[must_use]
    pub fn new(
        diwan: &Path,
        folder: &Path,
        count: usize,
        place: &Place,
        keys: &[(&str, &str)],
        level: &str,
    ) -> Self {
        let flags =
            ["-D", "metrics.listen=off", "-D", "node.shards=2", "--log-level", level].map(String::from);
        let software = Software::Diwan(diwan.to_owned());
        Self::of(software, folder, count, place, keys, &flags)
    }

    /// As [`Ensemble::new`], of any software, with further arguments of its program.
    #[must_use]
    pub fn of(
        software: Software,
        folder: &Path,
        count: usize,
        place: &Place,
        keys: &[(&str, &str)],
        flags: &[String],
    ) -> Self {
        let line = |number: usize| {
            let host = place.address(number);
            (format!("server.{number}"), format!("{host}:{PEER_PORT}:{ELECTION_PORT}"))
        };
        let everywhere = [("tickTime", "2000"), ("maxClientCnxns", "0"), ("admin.enableServer", "false")];
        let keys: Vec<_> = everywhere
            .iter()
            .chain(keys)
            .map(|(key, value)| (String::from(*key), String::from(*value)))
            .chain((1..=count).map(line))
            .collect();
        let member = |number| Member {
            number,
            config: Config {
                folder: folder.join(number_text(number)),
                client: SocketAddr::new(place.address(number), CLIENT_PORT),
                namespace: place.namespace(number).map(String::from),
                heap_mb: 0,
                keys: keys.clone(),
                flags: flags.to_vec(),
                environment: Vec::new(),
            },
            software: software.clone(),
            server: None,
            condition: Condition::Down,
        };
        Self { members: (1..=count).map(member).collect(), folder: folder.to_owned() }
    }

    /// The heap limit of each member that is a JVM and was not started yet.
    #[must_use]
    pub fn with_heap(mut self, heap_mb: u32) -> Self {
        self.members.iter_mut().for_each(|member| member.config.heap_mb = heap_mb);
        self
    }

    /// The last so many have no vote; none was started yet.
    #[must_use]
    pub fn with_observers(mut self, observers: usize) -> Self {
        let voters = self.members.len() - observers;
        let is_one = |text: &str| text.parse().is_ok_and(|number: usize| number > voters);
        for (place, member) in self.members.iter_mut().enumerate() {
            for (key, value) in &mut member.config.keys {
                if key.strip_prefix("server.").is_some_and(is_one) {
                    value.push_str(":observer");
                }
            }
            if place >= voters {
                member.config.keys.push((String::from("peerType"), String::from("observer")));
            }
        }
        self
    }

    /// Starts these members, without waiting for anything.
    ///
    /// # Errors
    /// A program cannot be started.
    pub fn launch(&mut self, numbers: impl IntoIterator<Item = usize>) -> Result<(), Failure> {
        for number in numbers {
            let member = &mut self.members[number - 1];
            let data = member.config.folder.join("data");
            fs::create_dir_all(&data).map_err(Failure::io("a data directory"))?;
            fs::write(data.join("myid"), number_text(member.number)).map_err(Failure::io("`myid`"))?;
            match &mut member.server {
                Some(server) => server.relaunch()?,
                None => member.server = Some(Server::launch(&member.software, member.config.clone())?),
            }
            member.condition = Condition::Up;
        }
        Ok(())
    }

    /// Starts every member that is down and waits until all serve.
    ///
    /// # Errors
    /// A member does not.
    pub fn start_all(&mut self) -> Result<(), Failure> {
        let down: Vec<_> = self.in_condition(Condition::Down);
        self.launch(down)?;
        self.wait_for(self.all())
    }

    /// Starts a member that is down and waits until it serves; how long that took.
    ///
    /// # Errors
    /// It does not.
    pub fn start(&mut self, number: usize) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.launch([number])?;
        self.wait_for([number])?;
        Ok(began.elapsed())
    }

    /// Waits until these serve clients.
    ///
    /// # Errors
    /// One of them does not.
    pub fn wait_for(&mut self, numbers: impl IntoIterator<Item = usize>) -> Result<(), Failure> {
        for number in numbers {
            self.server(number)?.wait_until_serving()?;
        }
        Ok(())
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self, number: usize) -> Result<(), Failure> {
        self.server(number)?.kill()?;
        self.members[number - 1].condition = Condition::Down;
        Ok(())
    }

    /// SIGTERM, and until the process has ended.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self, number: usize) -> Result<(), Failure> {
        self.server(number)?.stop()?;
        self.members[number - 1].condition = Condition::Down;
        Ok(())
    }

    /// Sends SIGSTOP, and waits until the process is stopped; its sockets stay open.
    ///
    /// # Errors
    /// The host could not.
    pub fn pause(&mut self, number: usize) -> Result<(), Failure> {
        self.server(number)?.pause()?;
        self.members[number - 1].condition = Condition::Paused;
        Ok(())
    }

    /// SIGCONT.
    ///
    /// # Errors
    /// The host could not.
    pub fn resume(&mut self, number: usize) -> Result<(), Failure> {
        self.server(number)?.resume()?;
        self.members[number - 1].condition = Condition::Up;
        Ok(())
    }

    /// Empties the data directory of a member that is down.
    ///
    /// # Errors
    /// The host could not.
    pub fn wipe(&self, number: usize) -> Result<(), Failure> {
        fs::remove_dir_all(self.data(number)).map_err(Failure::io("a data directory"))
    }

    /// Waits until a running member says that it leads, and no other in a later term.
    ///
    /// # Errors
    /// No member does for long.
    pub fn leader(&self) -> Result<usize, Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(leader) = self.leader_now() {
                return Ok(leader);
            }
            if Instant::now() > deadline {
                return Err(Failure::broken(format!("no member leads after {PATIENCE:?}")));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The member that says that it leads and serves, in the latest term that any running member knows.
    #[must_use]
    pub fn leader_now(&self) -> Option<usize> {
        let parts = self.in_condition(Condition::Up).into_iter().filter_map(|number| self.part(number));
        let latest = parts.max_by_key(|part| (part.term, part.leads))?;
        (latest.leads && latest.serves).then_some(latest.number)
    }

    /// Waits until one of these says, asked by a client, that it leads: members of any software do.
    ///
    /// # Errors
    /// No member does for long.
    pub fn leader_as_asked(&self, among: &[usize]) -> Result<usize, Failure> {
        let began = Instant::now();
        loop {
            let leads = |number: &&usize| {
                let answer = || word(self.address(**number), "srvr", ANSWER_DEADLINE);
                self.is_up(**number)
                    && answer()
                        .is_ok_and(|text| ["leader", "standalone"].iter().any(|mode| text.contains(mode)))
            };
            if let Some(leader) = among.iter().find(leads) {
                return Ok(*leader);
            }
            if began.elapsed() > PATIENCE {
                return Err(Failure::broken(format!("no member leads for {PATIENCE:?}")));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until all running members serve under one leader.
    ///
    /// # Errors
    /// They do not for long.
    pub fn settle(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if self.is_settled() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Failure::broken(format!(
                    "the members do not follow one leader after {PATIENCE:?}"
                )));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether all running members serve under one leader, as far as they have said.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let up = self.in_condition(Condition::Up);
        let parts: Vec<_> = up.iter().filter_map(|number| self.part(*number)).collect();
        let one_term = parts.iter().all(|part| part.serves && part.term == parts[0].term);
        parts.len() == up.len() && one_term && parts.iter().any(|part| part.leads)
    }

    /// What a member said of its part last, if it has one now.
    fn part(&self, number: usize) -> Option<Part> {
        Part::last_in(&fs::read_to_string(self.log(number)).ok()?, number)
    }

    /// Whether a member has logged this.
    #[must_use]
    pub fn has_said(&self, number: usize, what: &str) -> bool {
        fs::read_to_string(self.log(number)).is_ok_and(|log| log.contains(what))
    }

    /// The lines that a member has logged with this in them.
    #[must_use]
    pub fn said(&self, number: usize, what: &str) -> Vec<String> {
        let log = fs::read_to_string(self.log(number)).unwrap_or_default();
        log.lines().filter(|line| line.contains(what)).map(String::from).collect()
    }

    fn log(&self, number: usize) -> PathBuf {
        self.members[number - 1].config.folder.join("log")
    }

    /// The members that were started.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.members.iter().filter_map(|member| member.server.as_ref())
    }

    /// All numbers.
    #[must_use]
    pub fn all(&self) -> Vec<usize> {
        (1..=self.members.len()).collect()
    }

    /// All members except one.
    #[must_use]
    pub fn others(&self, number: usize) -> Vec<usize> {
        self.all().into_iter().filter(|other| *other != number).collect()
    }

    /// Where a member's clients connect.
    #[must_use]
    pub fn address(&self, number: usize) -> SocketAddr {
        self.members[number - 1].config.client
    }

    /// A connect string of these members, in this order.
    #[must_use]
    pub fn connect_string(&self, numbers: &[usize]) -> String {
        let texts: Vec<_> = numbers.iter().map(|number| self.address(*number).to_string()).collect();
        texts.join(",")
    }

    /// Where all of their files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A member's data directory.
    #[must_use]
    pub fn data(&self, number: usize) -> PathBuf {
        self.members[number - 1].config.folder.join("data")
    }

    /// Further keys for a member that was not started yet.
    pub fn set_keys(&mut self, number: usize, keys: impl IntoIterator<Item = (String, String)>) {
        self.members[number - 1].config.keys.extend(keys);
    }

    /// Further arguments of the program of a member that was not started yet.
    pub fn add_flags(&mut self, number: usize, flags: impl IntoIterator<Item = String>) {
        self.members[number - 1].config.flags.extend(flags);
    }

    /// What a member that was not started yet finds in its environment.
    pub fn set_environment(&mut self, number: usize, name: &str, value: impl Into<OsString>) {
        self.members[number - 1].config.environment.push((name.to_owned(), value.into()));
    }

    /// Whether members' clocks may say something else than this machine's.
    #[must_use]
    pub fn has_own_clocks(&self) -> bool {
        self.members.iter().any(|member| !member.config.environment.is_empty())
    }

    /// Of all `server.` lines, a member that was not started yet has only these.
    pub fn set_lines(&mut self, number: usize, of: &[usize]) {
        self.members[number - 1].config.keys.retain(|(key, _)| {
            key.strip_prefix("server.").is_none_or(|line| of.iter().any(|one| number_text(*one) == line))
        });
    }

    /// The last of all, which was not started yet, is no further member but a machine that takes itself for this one: it has
    /// the same configuration, with its own address in the line of that number.
    #[must_use]
    pub fn with_double(mut self, of: usize) -> Self {
        let double = self.members.len();
        let key = |number: usize| format!("server.{number}");
        let certificate = |number: usize| format!("member-{number}.pem");
        for member in &mut self.members {
            member.config.keys.retain(|(name, _)| *name != key(double));
        }
        let host = self.host(double);
        let member = &mut self.members[double - 1];
        member.number = of;
        for (name, value) in &mut member.config.keys {
            if *name == key(of) {
                *value = format!("{host}:{PEER_PORT}:{ELECTION_PORT}");
            }
            *value = value.replace(&certificate(double), &certificate(of));
        }
        self
    }

    /// The last of all is killed and forgotten.
    pub fn dismiss_last(&mut self) {
        self.members.pop();
    }

    /// The number that a member says it has.
    #[must_use]
    pub fn number(&self, place: usize) -> usize {
        self.members[place - 1].number
    }

    /// Whether a member answers clients now.
    #[must_use]
    pub fn serves(&self, number: usize) -> bool {
        serves(self.address(number))
    }

    /// Another build serves from the next start of a member that is down.
    pub fn set_software(&mut self, number: usize, software: Software) {
        let member = &mut self.members[number - 1];
        member.software = software;
        member.server = None;
    }

    /// Whether a member is meant to run.
    #[must_use]
    pub fn is_up(&self, number: usize) -> bool {
        self.members[number - 1].condition == Condition::Up
    }

    /// Where other members dial a member.
    #[must_use]
    pub fn host(&self, number: usize) -> IpAddr {
        self.address(number).ip()
    }

    /// A member as `reconfig` takes it and `/zookeeper/config` shows it.
    #[must_use]
    pub fn line(&self, number: usize, role: &str) -> String {
        let host = self.host(number);
        format!("server.{number}={host}:{PEER_PORT}:{ELECTION_PORT}:{role};0.0.0.0:{CLIENT_PORT}")
    }

    /// Whether a member's process has ended by itself.
    #[must_use]
    pub fn has_ended(&mut self, number: usize) -> bool {
        self.members[number - 1].server.as_mut().is_some_and(Server::has_ended)
    }

    /// A member ended that was not asked to.
    #[must_use]
    pub fn died(&mut self) -> Vec<String> {
        let running: Vec<_> = self
            .all()
            .into_iter()
            .filter(|number| self.members[number - 1].condition != Condition::Down)
            .collect();
        let mut died = Vec::new();
        for number in running {
            if self.has_ended(number) {
                died.push(format!("member {number} ended by itself:\n{}", self.log_tail(number)));
            }
        }
        died
    }

    /// The last lines of a member's log.
    #[must_use]
    pub fn log_tail(&self, number: usize) -> String {
        self.members[number - 1].server.as_ref().map(Server::log_tail).unwrap_or_default()
    }

    fn in_condition(&self, condition: Condition) -> Vec<usize> {
        self.all().into_iter().filter(|number| self.members[number - 1].condition == condition).collect()
    }

    fn server(&mut self, number: usize) -> Result<&mut Server, Failure> {
        let server = self.members[number - 1].server.as_mut();
        server.ok_or_else(|| Failure::broken(format!("member {number} was never started")))
    }
}

fn number_text(number: usize) -> String {
    number.to_string()
}
