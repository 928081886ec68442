//! An engine whose modules are words: small, deterministic, and able to do everything that a module may.
//!
//! An object's memory is a counter (page 0) and a list of tickets (page 1). A module's text may hold words that make it
//! misbehave; `reject` makes it no version.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![allow(unreachable_pub, reason = "shared by test files")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use objects_state::Json;
use objects_state::guest::{
    Act, Ended, Engine, Entry, Failure, Host, LINE_BYTES, OwnPage, PAGE_BYTES, Pages as Changes, Progress,
    Rejected, Run, RunId, Version, VersionHash,
};

type Pages = BTreeMap<u32, Vec<u8>>;

/// See the module.
#[derive(Default)]
pub struct FakeEngine {
    /// Whether memory is kept between runs.
    keeps: bool,
    /// It is not done with anything before this. Whoever runs something then would stand still: the test fails.
    gate: Option<&'static AtomicBool>,
    /// How often it is asked for a run that was begun before it says that this has ended, at the most.
    patience: u64,
    /// From then on modules with the word `fragile` are rejected.
    is_later: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    modules: BTreeMap<VersionHash, String>,
    resident: BTreeMap<u64, (VersionHash, u64, Pages)>,
    /// How often memory was made again from records.
    loads: usize,
    /// How often something was run where commands are applied, or taken from what was begun.
    runs: usize,
    /// Which objects were forgiven, and up to which positions.
    forgiven: Vec<(u64, u64)>,
    /// What was begun, by object.
    begun: BTreeMap<u64, Begun>,
    /// Queries that take long: how each has ended, and how often it was asked for.
    queries: BTreeMap<u64, (Ended, u64)>,
    last_query: u64,
}

/// A run that was begun beside the commands.
struct Begun {
    run: RunId,
    /// How it has ended. It would end so whenever it is carried out.
    ended: Ended,
    /// How often it was asked for.
    asked: u64,
}

/// Engines that are slow are not done before this.
static FINISHED: AtomicBool = AtomicBool::new(false);

impl FakeEngine {
    /// One that is done with nothing until [`Self::finish_all`]. For one test of a process.
    pub fn slow() -> Self {
        Self::gated(&FINISHED)
    }

    /// One that is done with nothing until this is set.
    pub fn gated(gate: &'static AtomicBool) -> Self {
        Self { gate: Some(gate), ..Self::new(true) }
    }

    pub fn finish_all() {
        FINISHED.store(true, Ordering::SeqCst);
    }

    pub fn new(keeps: bool) -> Self {
        Self { keeps, gate: None, patience: 0, is_later: AtomicBool::new(false), inner: Mutex::default() }
    }

    /// One whose runs beside the commands take a while: it is asked for each up to so many times.
    pub fn patient(patience: u64) -> Self {
        Self { patience, ..Self::new(true) }
    }

    /// A later build, whose limits are others.
    pub fn later(self) -> Self {
        self.become_later(true);
        self
    }

    pub fn become_later(&self, is_later: bool) {
        self.is_later.store(is_later, Ordering::SeqCst);
    }

    pub fn forgiven(&self) -> Vec<(u64, u64)> {
        self.inner.lock().unwrap().forgiven.clone()
    }

    fn is_open(&self) -> bool {
        self.gate.is_none_or(|gate| gate.load(Ordering::SeqCst))
    }

    pub fn versions(&self) -> usize {
        self.inner.lock().unwrap().modules.len()
    }

    pub fn residents(&self) -> usize {
        self.inner.lock().unwrap().resident.len()
    }

    pub fn runs(&self) -> usize {
        self.inner.lock().unwrap().runs
    }

    pub fn loads(&self) -> usize {
        self.inner.lock().unwrap().loads
    }

    fn memory(&self, run: &Run<'_>, host: &dyn Host) -> (String, Pages) {
        assert!(self.is_open(), "a member stands still, for its engine is not done");
        let mut inner = self.inner.lock().unwrap();
        let module = inner.modules.get(&run.version).expect("a version that was prepared").clone();
        let is_it = |(version, changed, _): &&(VersionHash, u64, Pages)| {
            self.keeps && (*version, *changed) == (run.version, run.changed)
        };
        if let Some((.., pages)) = inner.resident.get(&run.space).filter(is_it) {
            return (module, pages.clone());
        }
        inner.loads += 1;
        let page = |number: u32| {
            let mut page = vec![0; PAGE_BYTES];
            OwnPage::of(host.page(number).expect("it is listed")).put_into(&mut page);
            (number, page)
        };
        (module, host.pages().into_iter().map(page).collect())
    }
}

/// Queries that may be under way at a time.
const QUERIES_MAX: usize = 2;
/// Units of fuel of a run, of a module that does not say how much it wants.
const FUEL: u64 = 200_000_000;
/// What most runs take.
const LITTLE: u64 = 1_000;
/// What is more than a slice, and less than the least that a run may take.
const MUCH: u64 = 10_000_000;

/// What a run takes: a call as much as its argument `fuel` says, others much if their module says so.
fn fuel_of(entry: Entry<'_>, module: &str) -> u64 {
    let if_said = |word: &str| if module.contains(word) { MUCH } else { LITTLE };
    match entry {
        Entry::Call { method: "burn", .. } => u64::MAX,
        Entry::Call { method: "flip", args } => {
            if args.starts_with(b"long") {
                MUCH
            } else {
                LITTLE
            }
        }
        Entry::Call { args, .. } => argument(args, "fuel").max(LITTLE as i64) as u64,
        Entry::Init(_) => if_said("longinit"),
        Entry::Timer(_) => if_said("longtimer"),
        Entry::SessionExpired(_) => if_said("longexpiry"),
        Entry::TicketEnded(_) => if_said("longend"),
        Entry::Save => if_said("longsave"),
        Entry::Migrate(_) => if_said("longmigrate"),
    }
}

/// One run.
struct Machine<'a> {
    module: String,
    pages: Pages,
    host: &'a dyn Host,
    acts: Vec<Act>,
    position: u64,
    /// Whether it comes to other results than elsewhere.
    lies: bool,
}

fn argument(args: &[u8], name: &str) -> i64 {
    let Ok(Json::Object(fields)) = Json::parse(args) else { return 0 };
    fields.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.integer()).unwrap_or(0)
}

impl Machine<'_> {
    fn read(&self, page: u32, at: usize) -> u64 {
        let page = self.pages.get(&page);
        page.map_or(0, |page| u64::from_le_bytes(page[8 * at..8 * at + 8].try_into().unwrap()))
    }

    fn write(&mut self, page: u32, at: usize, value: u64) {
        let page = self.pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES]);
        page[8 * at..8 * at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn send(&mut self, target: &str, method: &str, args: &[u8]) {
        let args = if args.is_empty() { b"{}" } else { args }.to_vec();
        self.acts.push(Act::Send { target: target.into(), method: method.into(), args });
    }

    fn add(&mut self, by: u64) -> Vec<u8> {
        let value = self.read(0, 0) + by + u64::from(self.lies);
        self.write(0, 0, value);
        format!("{{\"value\":{value}}}").into_bytes()
    }

    /// Takes the oldest ticket that still waits out of the list.
    fn next(&mut self) -> Option<u64> {
        let count = self.read(1, 0) as usize;
        let list: Vec<_> = (1..=count).map(|at| self.read(1, at)).collect();
        let first = list.iter().copied().find(|ticket| self.host.is_waiting(*ticket));
        self.keep(
            list.into_iter()
                .filter(|ticket| Some(*ticket) != first && self.host.is_waiting(*ticket))
                .collect(),
        );
        first
    }

    fn keep(&mut self, list: Vec<u64>) {
        self.write(1, 0, list.len() as u64);
        (1..).zip(list).for_each(|(at, ticket)| self.write(1, at, ticket));
    }

    #[expect(clippy::too_many_lines, reason = "a list: an arm for each method")]
    fn called(&mut self, method: &str, args: &[u8]) -> Result<Vec<u8>, Failure> {
        let done = || Ok(b"{}".to_vec());
        match method {
            "add" => return Ok(self.add(argument(args, "by").max(1) as u64)),
            // The bytes that it is given, the last one first.
            "flip" => {
                self.add(args.len() as u64);
                return Ok(args.iter().rev().copied().collect());
            }
            "peek" => return Ok([args, &[0xff, self.read(0, 0) as u8]].concat()),
            "give_bytes" => {
                let ticket = self.next().unwrap_or(0);
                self.acts.push(Act::Wake { ticket, result: args.to_vec() });
                return Ok(Vec::new());
            }
            "send_bytes" => self.acts.push(Act::Send {
                target: "hits/b".into(),
                method: "flip".into(),
                args: vec![0xff, 0, 1],
            }),
            "touch" => self.write(argument(args, "page") as u32, 1, 7),
            "clear" => {
                let page = argument(args, "page") as u32;
                self.pages.remove(&page);
            }
            "wait" => {
                let count = self.read(1, 0);
                self.write(1, 0, count + 1);
                self.write(1, count as usize + 1, self.position);
                let asked = argument(args, "own");
                self.acts.push(Act::Park { tag: 9, wait_ms: if asked > 0 { asked } else { -1 } });
                if argument(args, "twice") > 0 {
                    self.acts.push(Act::Park { tag: 9, wait_ms: -1 });
                }
                // Of a call that waits nobody reads the result.
                return Ok(Vec::new());
            }
            "give" => {
                let value = argument(args, "value");
                return Ok(match self.next() {
                    Some(ticket) => {
                        let result = format!("{{\"got\":{value}}}").into_bytes();
                        self.acts.push(Act::Wake { ticket, result });
                        format!("{{\"woken\":{ticket}}}").into_bytes()
                    }
                    None => b"{\"woken\":null}".to_vec(),
                });
            }
            "deny" => {
                let ticket = self.next().unwrap_or(0);
                self.acts.push(Act::Fail { ticket, code: "no-luck".into(), detail: "not today".into() });
            }
            "wake" => {
                self.add(1);
                let ticket = argument(args, "ticket") as u64;
                self.acts.push(Act::Wake { ticket, result: b"1".to_vec() });
            }
            "timer" => {
                let (id, after_ms) = (argument(args, "id") as u64, argument(args, "after"));
                self.acts.push(Act::SetTimer { id, after_ms });
            }
            "untimer" => self.acts.push(Act::ClearTimer(argument(args, "id") as u64)),
            "send" => self.send("hits/b", "add", args),
            "send_none" => self.send("hits/none", "add", args),
            "send_counter" => self.send("counter/c", "increment", b"{\"by\":3}"),
            "send_wrong" => self.send("hits", "add", args),
            "send_and_trap" => {
                self.send("hits/b", "add", args);
                return Err(Failure::OutOfMemory);
            }
            "ping" => {
                self.add(1);
                self.send("hits/a", "ping", b"{}");
            }
            "emit" => self.acts.push(Act::Emit { topic: "news".into(), body: args.to_vec() }),
            "refuse" => {
                return Err(Failure::Refused { code: "no-funds".into(), detail: "it is empty".into() });
            }
            "trap" => return Err(Failure::Trapped { detail: "unreachable in `trap`".into() }),
            "burn" => return Err(Failure::OutOfFuel),
            "grow" => return Err(Failure::OutOfMemory),
            "deep" => return Err(Failure::StackExhausted),
            "die" => return Err(Failure::Deadly { detail: "the process has died twice".into() }),
            "bad" => {
                self.add(1);
                self.acts.push(Act::SetTimer { id: 3, after_ms: 5 });
                return Ok(b"not json".to_vec());
            }
            "get" => return Ok(format!("{{\"value\":{}}}", self.read(0, 0)).into_bytes()),
            other => return Err(Failure::Trapped { detail: format!("no method {other}") }),
        }
        done()
    }

    #[expect(clippy::too_many_lines, reason = "a list: an arm for each entry")]
    fn entered(&mut self, entry: Entry<'_>) -> Result<Vec<u8>, Failure> {
        match entry {
            Entry::Init(args) => {
                if argument(args, "start") < 0 {
                    return Err(Failure::Refused { code: "bad-start".into(), detail: "below 0".into() });
                }
                if argument(args, "start") == 666 {
                    return Err(Failure::Deadly { detail: "the process has died twice".into() });
                }
                let start = argument(args, "start") as u64;
                if start > 0 {
                    self.write(0, 0, start);
                }
                Ok(Vec::new())
            }
            Entry::Call { method, args } => self.called(method, args),
            Entry::Save if self.module.contains("nosave") => {
                Err(Failure::Broken { detail: "no `save`".into() })
            }
            Entry::Save => Ok(format!("{{\"value\":{}}}", self.read(0, 0)).into_bytes()),
            Entry::Migrate(_) if self.module.contains("nomigrate") => {
                Err(Failure::Refused { code: "unknown".into(), detail: "not mine".into() })
            }
            Entry::Migrate(state) => {
                let Ok(Json::Object(fields)) = Json::parse(state) else { panic!("{state:?}") };
                let text = fields.iter().find(|(key, _)| key == "state").unwrap().1.canonical();
                if argument(text.as_bytes(), "value") == 666 {
                    return Err(Failure::Deadly { detail: "the process has died twice".into() });
                }
                self.write(0, 0, 1_000 + argument(text.as_bytes(), "value") as u64);
                Ok(Vec::new())
            }
            Entry::SessionExpired(_) => {
                self.add(100);
                if let Some(ticket) = self.next() {
                    self.acts.push(Act::Wake { ticket, result: b"{\"got\":\"inherited\"}".to_vec() });
                }
                Ok(Vec::new())
            }
            Entry::Timer(666) => {
                self.add(1);
                Err(Failure::Trapped { detail: "unreachable in `timer`".into() })
            }
            Entry::Timer(667) => Err(Failure::Deadly { detail: "the process has died twice".into() }),
            Entry::Timer(_) => Ok(self.add(10)),
            Entry::TicketEnded(_) if self.module.contains("endtrap") => Err(Failure::OutOfFuel),
            Entry::TicketEnded(_) if self.module.contains("endwrong") => {
                self.add(1_000);
                self.acts.push(Act::Wake { ticket: 0, result: b"1".to_vec() });
                Ok(Vec::new())
            }
            Entry::TicketEnded(ticket) => {
                assert!(!self.host.is_waiting(ticket), "it has ended");
                let count = self.read(1, 0) as usize;
                let list = (1..=count).map(|at| self.read(1, at)).filter(|known| *known != ticket).collect();
                self.keep(list);
                if self.module.contains("endgive")
                    && let Some(ticket) = self.next()
                {
                    self.acts.push(Act::Wake { ticket, result: b"{\"got\":\"the end\"}".to_vec() });
                }
                Ok(b"{\"timed_out\":true}".to_vec())
            }
        }
    }
}

impl Engine for FakeEngine {
    fn prepare(&self, version: &Version<'_>) {
        let mut text = String::from_utf8(version.module.to_vec()).expect("a fake module is text");
        if let Some(source) = version.source {
            text = format!("{text} source {}", String::from_utf8_lossy(source));
        }
        self.inner.lock().unwrap().modules.insert(version.hash, text);
    }

    fn ready(&self, version: VersionHash) -> Result<(), Rejected> {
        assert!(self.is_open(), "a member stands still, for its engine is not done");
        let inner = self.inner.lock().unwrap();
        let module = inner.modules.get(&version).expect("a version that was prepared");
        let is_fragile = module.contains("fragile") && self.is_later.load(Ordering::SeqCst);
        if module.contains("reject") || is_fragile {
            return Err(Rejected { detail: "rule 7: function `x`".into() });
        }
        Ok(())
    }

    fn description(&self, version: VersionHash) -> Option<Vec<u8>> {
        let inner = self.inner.lock().unwrap();
        let source = inner.modules.get(&version)?.split_once("source ")?.1;
        Some(format!("{{\"methods\":{{\"{source}\":{{\"kind\":\"command\"}}}}}}").into_bytes())
    }

    fn is_done(&self, version: VersionHash) -> bool {
        self.is_open() && self.inner.lock().unwrap().modules.contains_key(&version)
    }

    fn unfinished(&self) -> usize {
        if self.is_open() { 0 } else { self.inner.lock().unwrap().modules.len() }
    }

    fn takes_memory_over(&self, from: VersionHash, to: VersionHash, host: &dyn Host) -> Result<(), String> {
        let inner = self.inner.lock().unwrap();
        assert!(inner.modules.contains_key(&from) && host.pages().is_sorted());
        match inner.modules.get(&to) {
            Some(module) if !module.contains("elsewhere") => Ok(()),
            _ => Err(String::from("its static data lies elsewhere")),
        }
    }

    fn forgive(&self, space: u64, position: u64) {
        self.inner.lock().unwrap().forgiven.push((space, position));
    }

    fn run(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        self.inner.lock().unwrap().runs += 1;
        if run.slice.is_none() {
            let begun = self.inner.lock().unwrap().begun.remove(&run.space);
            if let Some(begun) = begun.filter(|begun| begun.run == run.id()) {
                let (ended, _) = self.carried_out(run, host);
                assert_eq!(ended, begun.ended, "a run ends the same whenever it is carried out");
            }
        }
        let (ended, now) = self.carried_out(run, host);
        if let Some(now) = now.filter(|_| self.keeps) {
            let at = if ended.pages.is_empty() { run.changed } else { run.kept_at };
            self.inner.lock().unwrap().resident.insert(run.space, (run.version, at, now));
        }
        ended
    }

    fn begin(&self, run: &Run<'_>, host: &dyn Host) {
        let is_known = |begun: &Begun| begun.run == run.id();
        if self.inner.lock().unwrap().begun.get(&run.space).is_none_or(|begun| !is_known(begun)) {
            let (ended, _) = self.carried_out(run, host);
            let begun = Begun { run: run.id(), ended, asked: 0 };
            self.inner.lock().unwrap().begun.insert(run.space, begun);
        }
    }

    fn progress(&self, space: u64, run: RunId) -> Progress {
        let mut inner = self.inner.lock().unwrap();
        match inner.begun.get_mut(&space).filter(|begun| begun.run == run) {
            None => Progress::Unknown,
            Some(begun) if begun.asked < run.seed % (self.patience + 1) => {
                begun.asked += 1;
                Progress::UnderWay
            }
            Some(_) => Progress::Ended,
        }
    }

    fn begin_query(&self, run: &Run<'_>, host: &dyn Host) -> Option<u64> {
        let ended = match run.entry {
            Entry::Call { .. } => self.query(run, host),
            _ => self.carried_out(run, host).0,
        };
        let mut inner = self.inner.lock().unwrap();
        if inner.queries.len() >= QUERIES_MAX {
            return None;
        }
        inner.last_query += 1;
        let number = inner.last_query;
        inner.queries.insert(number, (ended, 0));
        Some(number)
    }

    fn take_query(&self, number: u64) -> Option<Ended> {
        let mut inner = self.inner.lock().unwrap();
        let (_, asked) = inner.queries.get_mut(&number)?;
        *asked += 1;
        let is_done = *asked > number % (self.patience + 1);
        is_done.then(|| inner.queries.remove(&number)).flatten().map(|(ended, _)| ended)
    }

    fn query(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        let (module, pages) = self.memory(run, host);
        if run.slice.is_some_and(|slice| fuel_of(run.entry, &module) > slice) {
            let (outcome, pages) = (Err(Failure::Unfinished), Changes::default());
            return Ended { outcome, pages, registers: None, acts: Vec::new(), fuel: 0 };
        }
        let (acts, position) = (Vec::new(), run.position);
        let mut machine = Machine { module, pages, host, acts, position, lies: false };
        let outcome = machine.entered(run.entry);
        Ended { outcome, pages: Changes::default(), registers: None, acts: Vec::new(), fuel: 1 }
    }

    fn forget_version(&self, version: VersionHash) {
        self.inner.lock().unwrap().modules.remove(&version);
    }

    fn forget_all(&self) {
        let mut inner = self.inner.lock().unwrap();
        inner.resident.clear();
        inner.begun.clear();
    }

    fn forget(&self, space: u64) {
        let mut inner = self.inner.lock().unwrap();
        inner.resident.remove(&space);
        inner.begun.remove(&space);
    }
}

/// What has changed, of a page that there was by lines.
fn changes(before: &Pages, now: &Pages) -> Changes {
    let numbers: std::collections::BTreeSet<u32> = before.keys().chain(now.keys()).copied().collect();
    let mut changes = Changes::default();
    for number in numbers {
        match (before.get(&number), now.get(&number)) {
            (old, Some(page)) if old != Some(page) => {
                // Of a new page: from the image, which is empty.
                let was = |at: usize| old.map_or(&[0; LINE_BYTES][..], |old| &old[at..][..LINE_BYTES]);
                let differs = |at: usize| *was(at) != page[at..][..LINE_BYTES];
                let lines = (0..PAGE_BYTES / LINE_BYTES)
                    .filter(|line| differs(line * LINE_BYTES))
                    .fold(0, |all, line| all | 1 << line);
                let page = page[..].try_into().expect("a page is whole");
                match old {
                    Some(_) => changes.lines(number, lines, page),
                    None => changes.new_page(number, lines, page),
                }
            }
            (Some(_), None) => changes.gone(number),
            _ => {}
        }
    }
    changes
}

impl FakeEngine {
    /// What a run comes to, and its memory then.
    fn carried_out(&self, run: &Run<'_>, host: &dyn Host) -> (Ended, Option<Pages>) {
        let (module, pages) = self.memory(run, host);
        let (fuel, most) = (fuel_of(run.entry, &module), run.fuel_max.min(FUEL));
        let stop = match run.slice.filter(|slice| *slice < most) {
            Some(slice) if fuel > slice => Some((Failure::Unfinished, slice)),
            _ if fuel > most => Some((Failure::OutOfFuel, most)),
            _ => None,
        };
        if let Some((failure, fuel)) = stop {
            let (pages, registers, acts) = (Changes::default(), None, Vec::new());
            return (Ended { outcome: Err(failure), pages, registers, acts, fuel }, None);
        }
        let before = pages.clone();
        let lies = module.contains("moody") && self.is_later.load(Ordering::SeqCst);
        let mut machine = Machine { module, pages, host, acts: Vec::new(), position: run.position, lies };
        let outcome = machine.entered(run.entry);
        if outcome.is_err() {
            return (
                Ended { outcome, pages: Changes::default(), registers: None, acts: Vec::new(), fuel },
                None,
            );
        }
        let Machine { pages: now, acts, .. } = machine;
        let pages = changes(&before, &now);
        let registers = (!pages.is_empty()).then(|| vec![now.len() as u8]);
        (Ended { outcome, pages, registers, acts, fuel }, Some(now))
    }
}
