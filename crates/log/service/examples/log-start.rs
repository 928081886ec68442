//! Measures how the disk of a broker starts, and what its partitions cost when they are idle, without a network:
//!
//! ```sh
//! cargo run --release -p log-service --example log-start -- fill DIRECTORY partitions=1000 mib=10240 batch=16384
//! cargo run --release -p log-service --example log-start -- start DIRECTORY
//! cargo run --release -p log-service --example log-start -- idle DIRECTORY partitions=10000 seconds=3
//! cargo run --release -p log-service --example log-start -- journal DIRECTORY partitions=100 waiting=100 batch=10000 seconds=5
//! cargo run --release -p log-service --example log-start -- segments DIRECTORY partitions=100 waiting=100 batch=10000 seconds=5
//! ```
//! `fill` appends and then dies without an end, as by `kill -9`. `start` opens the directory, lets every partition begin a
//! leader epoch, and appends one batch. `idle` makes partitions and appends one small batch to each.
//! `journal` and `segments` compare two ways to make batches durable: as many as wait go each to the next partition, and all of
//! them are flushed, in the write-ahead log (segments are written behind), or each in the file of its partition's segment.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use base::{MonoTime, WallTime};
use log_broker::{DiskCommand, DiskEvent, DiskExecutor, Next, StoredPartition};
use log_partition::{LeaderEpoch, Offset, Partition, PartitionConfig, PartitionId, ReplicaId};
use log_storage::{Append, StoreConfig};
use log_wire::{Attributes, Batch, BatchBuilder, Producer};
use storage_dir_disk::DirDisk;
use storage_wal::LogId;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The partitions and the executor that serves them, turn by turn.
struct Host {
    executor: DiskExecutor<DirDisk>,
    partitions: BTreeMap<LogId, Partition>,
    began: Instant,
    commands: Vec<DiskCommand>,
    events: Vec<DiskEvent>,
    /// How many commands were given, and are durable.
    given: u64,
    durable: u64,
    is_waiting: bool,
}

impl Host {
    fn open(directory: &Path) -> Outcome<Self> {
        let began = Instant::now();
        let disk = DirDisk::open(directory)?;
        let (executor, stored) = DiskExecutor::open(disk, StoreConfig::default(), ([7; 16], "measured"))?;
        println!("opened {} partitions in {:?}", stored.len(), began.elapsed());
        let whole = |stored: StoredPartition| Some((stored.log, stored.partition?));
        let partitions = stored.into_iter().filter_map(whole).collect();
        let (commands, events) = (Vec::new(), Vec::new());
        Ok(Self { executor, partitions, began, commands, events, given: 0, durable: 0, is_waiting: false })
    }

    fn give(&mut self, command: DiskCommand) {
        self.commands.push(command);
        self.given += 1;
    }

    fn append(&mut self, log: LogId, batch: &[u8]) -> Outcome<()> {
        let now = WallTime::of_ms(1_700_000_000_000);
        let partition = self.partitions.get_mut(&log).ok_or("no such partition")?;
        let batch = Batch::read(batch)?.0;
        let new = partition.append(&batch, now).map_err(|error| format!("{error:?}"))?.new;
        let new = new.ok_or("a duplicate")?;
        let (at, end, batch, commit, index) = (new.at, new.end, new.bytes, new.commit, new.index);
        self.give(DiskCommand::Append(Append { log, at, end, now, begun: Vec::new(), batch, commit, index }));
        Ok(())
    }

    fn turn(&mut self) -> Outcome<Next> {
        let now = MonoTime::of_ms(self.began.elapsed().as_millis() as u64);
        self.executor.turn(&mut self.commands, &mut self.events, now)?;
        self.take_events();
        if self.durable == self.given && self.is_waiting {
            // The caller waits for no more than this.
            return Ok(Next::Now);
        }
        let next = self.executor.work(&mut self.events)?;
        self.take_events();
        Ok(next)
    }

    fn take_events(&mut self) {
        for event in std::mem::take(&mut self.events) {
            match event {
                DiskEvent::Created(_, log) => {
                    let mut partition = Partition::new(PartitionConfig::default(), Offset(0));
                    let Ok(began) = partition.lead_alone(ReplicaId(1), LeaderEpoch(1)) else { continue };
                    self.partitions.insert(log, partition);
                    self.give(DiskCommand::Epoch(log, began.promised, began.begins));
                }
                DiskEvent::Durable(count) => self.durable = count,
                DiskEvent::Written(log, end, cuts) => {
                    if let Some(partition) = self.partitions.get_mut(&log) {
                        partition.persisted(partition.last_persist());
                        partition.written(end, cuts);
                    }
                }
                DiskEvent::StatesAsked(logs) => {
                    for log in logs {
                        if let Some(state) = self.partitions.get(&log).map(Partition::state) {
                            self.give(DiskCommand::State(log, state));
                        }
                    }
                }
                DiskEvent::Early(_) | DiskEvent::Room(_) | DiskEvent::Volume(_) => {}
            }
        }
    }

    /// Until everything that was given is durable.
    fn settle(&mut self) -> Outcome<()> {
        self.is_waiting = true;
        while self.durable < self.given {
            self.turn()?;
        }
        self.is_waiting = false;
        Ok(())
    }

    fn create(&mut self, count: i32) -> Outcome<()> {
        for index in 0..count {
            self.give(DiskCommand::Create(PartitionId { topic: [1; 16], index }, Offset(0)));
        }
        self.settle()
    }

    fn idle(&mut self, duration: Duration) -> Outcome<()> {
        let until = Instant::now() + duration;
        while Instant::now() < until {
            if self.turn()? != Next::Now {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

fn batch(bytes: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    for _ in 0..bytes.div_ceil(1_000) {
        builder.push(1_700_000_000_000, None, Some(&vec![b'v'; bytes.min(1_000)]), &[]);
    }
    builder.finish()
}

/// Resident bytes and open files of this process.
fn footprint() -> Outcome<(u64, usize)> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok((kib << 10, std::fs::read_dir("/proc/self/fd")?.count()))
}

fn show(what: &str) -> Outcome<()> {
    let (bytes, files) = footprint()?;
    println!("{what}: {:.1} MiB resident, {files} open files", bytes as f64 / 1_048_576.0);
    Ok(())
}

fn fill(directory: &Path, partitions: i32, bytes: u64, batch_bytes: usize) -> Outcome<()> {
    let mut host = Host::open(directory)?;
    host.create(partitions)?;
    let (batch, logs) = (batch(batch_bytes), host.partitions.keys().copied().collect::<Vec<_>>());
    let mut appended = 0;
    while appended < bytes {
        for log in &logs {
            host.append(*log, &batch)?;
            appended += batch.len() as u64;
            if appended.is_multiple_of(64) {
                host.turn()?;
            }
        }
        host.settle()?;
    }
    println!("appended {} MiB in {:?}", appended >> 20, host.began.elapsed());
    show("filled")?;
    std::process::exit(0)
}

fn start(directory: &Path) -> Outcome<()> {
    let mut host = Host::open(directory)?;
    show("opened")?;
    let logs: Vec<LogId> = host.partitions.keys().copied().collect();
    for log in &logs {
        let Some(partition) = host.partitions.get_mut(log) else { continue };
        let epoch = LeaderEpoch(partition.epoch().0 + 1);
        let began = partition.lead_alone(ReplicaId(1), epoch).map_err(|error| format!("{error:?}"))?;
        host.give(DiskCommand::Epoch(*log, began.promised, began.begins));
    }
    host.settle()?;
    println!("every partition leads after {:?}", host.began.elapsed());
    let first = *logs.first().ok_or("no partition")?;
    host.append(first, &batch(200))?;
    host.settle()?;
    println!("the first batch is durable after {:?}", host.began.elapsed());
    show("started")
}

fn idle(directory: &Path, partitions: i32, seconds: u64) -> Outcome<()> {
    let mut host = Host::open(directory)?;
    show("empty")?;
    host.create(partitions)?;
    show("created")?;
    let batch = batch(200);
    for log in host.partitions.keys().copied().collect::<Vec<_>>() {
        host.append(log, &batch)?;
    }
    host.settle()?;
    host.idle(Duration::from_secs(seconds))?;
    show("idle")
}

/// How batches are made durable in rounds: so many wait, and are flushed together.
struct Rounds {
    partitions: i32,
    waiting: usize,
    batch: Vec<u8>,
    seconds: u64,
}

impl Rounds {
    /// Plays rounds and shows how many batches became durable, how long a round took, and what it cost.
    fn play(&self, mut round: impl FnMut(&[usize]) -> Outcome<()>) -> Outcome<()> {
        let (began, cpu_began) = (Instant::now(), cpu_ms()?);
        let (mut took, mut next) = (Vec::new(), 0);
        while began.elapsed() < Duration::from_secs(self.seconds) {
            let places: Vec<usize> =
                (next..next + self.waiting).map(|at| at % self.partitions as usize).collect();
            next += self.waiting;
            let at = Instant::now();
            round(&places)?;
            took.push(at.elapsed().as_micros());
        }
        let seconds = began.elapsed().as_secs_f64();
        took.sort_unstable();
        let at = |share: f64| took.get((took.len() as f64 * share) as usize).copied().unwrap_or_default();
        println!(
            "{} partitions, {} waiting: {:.0} batches/s, a round p50 {} us, p99 {} us, CPU {:.1} us a batch",
            self.partitions,
            self.waiting,
            next as f64 / seconds,
            at(0.5),
            at(0.99),
            (cpu_ms()? - cpu_began) as f64 * 1_000.0 / next as f64
        );
        Ok(())
    }
}

/// User and system time of this process.
fn cpu_ms() -> Outcome<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().ok_or("no fields")?.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).ok_or("no time");
    // A tick is 10 ms.
    Ok((ticks(11)? + ticks(12)?) * 10)
}

fn journal(directory: &Path, rounds: &Rounds) -> Outcome<()> {
    let mut host = Host::open(directory)?;
    host.create(rounds.partitions)?;
    let logs: Vec<LogId> = host.partitions.keys().copied().collect();
    rounds.play(|places| {
        for place in places {
            host.append(*logs.get(*place).ok_or("no such partition")?, &rounds.batch)?;
        }
        host.settle()
    })
}

/// How many files are open at most: more than partitions that wait, fewer than partitions that there may be.
const OPEN_FILES_MAX: usize = 512;

fn segments(directory: &Path, rounds: &Rounds) -> Outcome<()> {
    std::fs::create_dir_all(directory)?;
    let mut open: BTreeMap<usize, File> = BTreeMap::new();
    rounds.play(|places| {
        let mut written = Vec::new();
        for place in places {
            if !open.contains_key(place) {
                if open.len() >= OPEN_FILES_MAX {
                    open.pop_first();
                }
                let path = directory.join(format!("{place}.log"));
                open.insert(*place, File::options().create(true).append(true).open(path)?);
            }
            open.get_mut(place).ok_or("it is open")?.write_all(&rounds.batch)?;
            written.push(*place);
        }
        written.sort_unstable();
        written.dedup();
        for place in written {
            match open.get(&place) {
                Some(file) => file.sync_data()?,
                None => File::open(directory.join(format!("{place}.log")))?.sync_data()?,
            }
        }
        Ok(())
    })
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "log-start fill|start|idle|journal|segments DIRECTORY key=value..";
    let (kind, directory) = (arguments.next().ok_or(usage)?, arguments.next().ok_or(usage)?);
    let keys: BTreeMap<String, u64> = arguments
        .filter_map(|argument| {
            let (key, value) = argument.split_once('=')?;
            Some((key.to_owned(), value.parse().ok()?))
        })
        .collect();
    let number = |key: &str, default: u64| keys.get(key).copied().unwrap_or(default);
    let directory = Path::new(&directory);
    let partitions = number("partitions", 1_000) as i32;
    let rounds = Rounds {
        partitions,
        waiting: number("waiting", 100) as usize,
        batch: batch(number("batch", 10_000) as usize),
        seconds: number("seconds", 5),
    };
    match kind.as_str() {
        "fill" => fill(directory, partitions, number("mib", 1_024) << 20, number("batch", 16_384) as usize),
        "start" => start(directory),
        "idle" => idle(directory, partitions, number("seconds", 3)),
        "journal" => journal(directory, &rounds),
        "segments" => segments(directory, &rounds),
        _ => Err(usage.into()),
    }
}
