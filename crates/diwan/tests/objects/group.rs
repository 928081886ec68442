//! Members in processes, each with a server of the council beside its objects, at an address of this test alone.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::PATIENCE;
use super::server::{Folder, diwan};

/// An address of loopback's that no other test has, so that no other takes a port between being found and being used.
fn own_host() -> Ipv4Addr {
    static COUNT: AtomicU8 = AtomicU8::new(1);
    let [high, low] = ((std::process::id() % 0xffff) as u16).to_be_bytes();
    Ipv4Addr::new(127, high.max(1), low, COUNT.fetch_add(1, Ordering::Relaxed))
}

struct Place {
    data: PathBuf,
    peers: u16,
    clients: String,
    http: String,
    metrics: String,
    names: String,
    process: Option<Child>,
}

/// See the module. Dropping it ends all.
pub(crate) struct Group {
    folder: Folder,
    host: Ipv4Addr,
    places: Vec<Place>,
    answers_names: bool,
    /// How many of them begin: the further ones are to be added.
    founders: usize,
    /// Further settings of all.
    settings: Vec<String>,
}

impl Group {
    /// So many members, once they serve.
    pub(crate) fn start(members: usize) -> Self {
        let mut group = Self::prepare(members, &[]);
        group.restart_all();
        group
    }

    /// So many that answer queries for names, too.
    pub(crate) fn start_with_names(members: usize) -> Self {
        let mut group = Self::prepare(members, &[]);
        group.answers_names = true;
        group.restart_all();
        group
    }

    /// So many members, which do not run yet, with further settings.
    pub(crate) fn prepare(members: usize, settings: &[String]) -> Self {
        let (folder, host) = (Folder::new(), own_host());
        // Held until all are found, so that none is found twice.
        let mut held = Vec::new();
        let mut port = || {
            let listener = TcpListener::bind((host, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            held.push(listener);
            port
        };
        let places = (1..=members)
            .map(|number| Place {
                data: folder.path().join(number.to_string()),
                peers: port(),
                clients: format!("{host}:{}", port()),
                http: format!("{host}:{}", port()),
                metrics: format!("{host}:{}", port()),
                names: format!("{host}:{}", port()),
                process: None,
            })
            .collect();
        drop(held);
        let (founders, settings) = (members, settings.to_vec());
        Self { folder, host, places, answers_names: false, founders, settings }
    }

    /// The address that all members are at.
    pub(crate) const fn host(&self) -> Ipv4Addr {
        self.host
    }

    /// What a member has logged.
    pub(crate) fn log_of(&self, number: usize) -> String {
        std::fs::read_to_string(self.log(number)).unwrap()
    }

    /// Where the members serve objects.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.places.iter().map(|place| place.http.clone()).collect()
    }

    /// The first so many begin a group.
    pub(crate) fn start_first(&mut self, founders: usize) {
        self.founders = founders;
        self.start_up_to(founders);
    }

    /// Where the members answer queries for names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.places.iter().map(|place| place.names.clone()).collect()
    }

    /// Starts members that do not run, and waits until all serve.
    pub(crate) fn restart_all(&mut self) {
        self.start_up_to(self.places.len());
    }

    fn start_up_to(&mut self, members: usize) {
        for number in 0..members {
            if self.places[number].process.is_none() {
                let process = self.start_one(number);
                self.places[number].process = Some(process);
            }
        }
        let deadline = Instant::now() + PATIENCE;
        while !self.places[..members]
            .iter()
            .all(|place| figure(&place.metrics, "diwan_objects_serving") == Some(1))
        {
            assert!(Instant::now() < deadline, "the members never serve; {}", self.last_words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn start_one(&self, number: usize) -> Child {
        let Place { data, clients, http, metrics, names, .. } = &self.places[number];
        let mut command = diwan();
        command.args(["serve", "--log", "off", "--admin", "off", "--objects", http, "--metrics", metrics]);
        command.args(["--listen", clients, "--data-dir"]).arg(data);
        if self.answers_names {
            command.args(["--dns", names]);
        }
        if self.places.len() > 1 {
            let named = if number < self.founders { self.founders } else { self.places.len() };
            let members: Vec<_> = (0..named).map(|number| self.line_of(number)).collect();
            command.args(["-D", &format!("council.ensemble.number={}", number + 1)]);
            command.args(["-D", &format!("council.ensemble.members={}", members.join(","))]);
            // A busy machine must not make a member miss its leader.
            command.args(["-D", "council.ensemble.election-tick-ms=200"]);
        }
        command.args(self.settings.iter().flat_map(|setting| ["-D", setting.as_str()]));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log(number)).unwrap();
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// A member as a configuration names it.
    pub(crate) fn line_of(&self, number: usize) -> String {
        let Place { peers, clients, .. } = &self.places[number];
        format!("{}={}:{peers};{clients}", number + 1, self.host)
    }

    /// Where clients of a member's council connect.
    pub(crate) fn client_of(&self, number: usize) -> String {
        self.places[number].clients.clone()
    }

    fn log(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("{}.log", number + 1))
    }

    fn last_words(&self) -> String {
        let logs = (0..self.places.len())
            .map(|number| std::fs::read_to_string(self.log(number)).unwrap_or_default());
        logs.map(|log| log.lines().rev().take(15).collect::<Vec<_>>().join("\n"))
            .collect::<Vec<_>>()
            .join("\n--\n")
    }

    /// Which member leads the objects' group.
    pub(crate) fn leader(&self) -> usize {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let leads = |place: &Place| figure(&place.metrics, "diwan_objects_leading") == Some(1);
            if let Some(leader) = self.places.iter().position(leads) {
                return leader;
            }
            assert!(Instant::now() < deadline, "nobody leads; {}", self.last_words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The number of a member's process, which runs.
    pub(crate) fn process(&self, number: usize) -> u32 {
        self.places[number].process.as_ref().unwrap().id()
    }

    /// Ends a member as a crash does.
    pub(crate) fn kill(&mut self, number: usize) {
        if let Some(mut process) = self.places[number].process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Starts a member that does not run, and does not wait for it.
    pub(crate) fn begin(&mut self, number: usize) {
        self.places[number].process = Some(self.start_one(number));
    }

    /// Where the objects of a member lie.
    pub(crate) fn objects_of(&self, number: usize) -> PathBuf {
        self.places[number].data.join("objects")
    }

    /// Asks a member to stop; whether it did so in good order.
    pub(crate) fn stop(&mut self, number: usize) -> bool {
        let mut process = self.places[number].process.take().unwrap();
        kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
        process.wait().unwrap().success()
    }

    /// A figure of a member's page of metrics.
    pub(crate) fn figure(&self, number: usize, name: &str) -> Option<i64> {
        figure(&self.places[number].metrics, name)
    }

    /// Waits until a figure of a member, which counts now and then, is that.
    pub(crate) fn wait_for_figure(&self, number: usize, (name, expected): (&str, i64), what: &str) {
        self.wait_until(number, name, |found| found == expected, what);
    }

    /// The same until it is as it should be.
    pub(crate) fn wait_until(&self, number: usize, name: &str, is_so: impl Fn(i64) -> bool, what: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.figure(number, name);
            if found.is_some_and(&is_so) {
                return;
            }
            assert!(Instant::now() < deadline, "{what}: {name} is {found:?}; {}", self.last_words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes the objects of a member that does not run unreadable.
    pub(crate) fn damage(&self, number: usize) {
        std::fs::write(self.places[number].data.join("objects").join("meta"), "no meta").unwrap();
    }

    /// Starts a member whose objects cannot be read, and waits until it has said so.
    pub(crate) fn start_without_objects(&mut self, number: usize) {
        self.places[number].process = Some(self.start_one(number));
        let deadline = Instant::now() + PATIENCE;
        while !self.last_words().contains("the objects of this member have failed") {
            assert!(Instant::now() < deadline, "it never says so; {}", self.last_words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Removes all that a member that does not run has.
    pub(crate) fn forget(&self, number: usize) {
        std::fs::remove_dir_all(&self.places[number].data).unwrap();
    }

    /// Where all of a member's data lies.
    pub(crate) fn data_of(&self, number: usize) -> PathBuf {
        self.places[number].data.clone()
    }

    /// A file with the configuration of a member, but with its data there.
    pub(crate) fn configuration(&self, number: usize, data: &std::path::Path) -> PathBuf {
        let Place { clients, http, .. } = &self.places[number];
        let members: Vec<_> =
            (0..self.places.len()).map(|number| format!("\"{}\"", self.line_of(number))).collect();
        let text = format!(
            "node.data-dir = \"{}\"\ncouncil.listen.client = \"{clients}\"\nobjects.listen = \"{http}\"\n\
             council.ensemble.number = {}\ncouncil.ensemble.members = [{}]\n",
            data.display(),
            number + 1,
            members.join(", ")
        );
        let file = self.folder.path().join(format!("{}.toml", number + 1));
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Waits until a member serves objects.
    pub(crate) fn wait_serving(&self, number: usize) {
        self.wait_for_figure(number, ("diwan_objects_serving", 1), "it serves");
    }

    /// Removes the objects of a member that does not run.
    pub(crate) fn empty(&self, number: usize) {
        std::fs::remove_dir_all(self.places[number].data.join("objects")).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for number in 0..self.places.len() {
            self.kill(number);
        }
        if std::thread::panicking() {
            eprintln!("{}", self.last_words());
        }
    }
}

/// A figure of a page of metrics, if there is such a page.
fn figure(address: &str, name: &str) -> Option<i64> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
