//! What fails is not the brokers' processes but what is around them: networks, clocks, disks, and the council.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log_client::{NewRecord, NewTopic, Producer};
use tools_testbed::fault::{Clocks, Network, SmallDisk};
use tools_testbed::{BrokerSoftware, Failure, Surroundings};

use crate::crowd::Crowd;
use crate::shared::lock;

use super::{BROKERS, CALM, IDS, PAUSE, Play, Setting};

const HOUR_S: i64 = 3_600;
/// A disk on which a broker and its council have room, with what is written here.
const DISK_MB: usize = 400;
/// Where large records go, and how large they are.
const BULK: &str = "bulk";
const BULK_BYTES: usize = 64 << 10;
/// A client to which nothing was acknowledged for so long has met the full disk.
const HELD_UP: Duration = Duration::from_secs(2);
/// How long a broker may take to end that must not serve, and replicas to be moved.
const REPAIR_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn links_cut(setting: &Setting) -> Result<Vec<String>, Failure> {
    let network = Network::lay(BROKERS)?;
    let around = Surroundings { place: Some(network.place()), ..Surroundings::default() };
    let mut play = Play::open_in(setting, &around)?;
    for _ in 0..setting.rounds {
        for is_one_way in [false, true] {
            let leader = play.crowd.leader()?;
            let number = usize::try_from(leader).unwrap_or_default();
            if is_one_way {
                (1..=BROKERS).filter(|other| *other != number).for_each(|other| network.cut(number, other));
            } else {
                network.cut_off(number);
            }
            play.crowd.work_for(PAUSE)?;
            network.heal();
            let how = if is_one_way { "not heard by the others" } else { "cut off" };
            play.go_on(&format!("{leader} {how} for {PAUSE:?}, then until everybody went on"))?;
        }
    }
    let notes = play.close();
    drop(network);
    notes
}

pub(super) fn clock_jumps(setting: &Setting) -> Result<Vec<String>, Failure> {
    let clocks = Clocks::make(&setting.folder.join("clocks"), BROKERS)?;
    let environment = (1..=BROKERS).map(|number| clocks.environment(number).to_vec()).collect();
    let mut play = Play::open_in(setting, &Surroundings { environment, ..Surroundings::default() })?;
    for _ in 0..setting.rounds {
        for ahead_s in [HOUR_S, 0, -HOUR_S, 0] {
            let leader = play.crowd.leader()?;
            clocks.set(usize::try_from(leader).unwrap_or_default(), ahead_s)?;
            play.go_on(&format!("the clock of {leader} {ahead_s} s ahead, until everybody went on"))?;
            play.crowd.work_for(CALM)?;
            // Nobody leads by the clock.
            if play.crowd.leader()? != leader {
                return Err(Failure::broken(format!("{leader} lost the lead by a clock {ahead_s} s ahead")));
            }
        }
    }
    play.close()
}

/// The leader has no room for what one client writes, and it has again later.
pub(super) fn disk_full(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mount = |id: i32| SmallDisk::mount(&setting.folder.join(id.to_string()).join("data"), DISK_MB);
    let disks = IDS.into_iter().map(mount).collect::<Result<Vec<_>, _>>()?;
    let mut play = Play::open(setting)?;
    for _ in 0..setting.rounds {
        let (bulk, leader) = Bulk::start(&play.crowd)?;
        let disk = &disks[usize::try_from(leader - 1).unwrap_or_default()];
        disk.fill()?;
        let filled = Instant::now();
        wait(|| Ok((bulk.quiet() > HELD_UP).then_some(())), "a disk is not full")?;
        play.note(&format!("the disk of {leader} full, and nothing written there after"), filled.elapsed());
        play.crowd.work_for(CALM)?;
        disk.empty()?;
        play.go_on("room again, until everybody went on")?;
        wait(|| Ok((bulk.quiet() < HELD_UP).then_some(())), "nothing is written to a disk with room")?;
        bulk.stop()?;
    }
    let notes = play.close();
    drop(disks);
    notes
}

/// A client that writes large records to a partition of its own.
struct Bulk {
    is_over: Arc<AtomicBool>,
    last: Arc<Mutex<Instant>>,
    thread: JoinHandle<log_client::Result<()>>,
}

impl Bulk {
    /// With the broker that leads the partition.
    fn start(crowd: &Crowd) -> Result<(Self, i32), Failure> {
        let mut client = crowd.client()?;
        let new = NewTopic { name: BULK.into(), partitions: 1, replicas: 3, settings: BTreeMap::new() };
        // In later rounds it is there.
        let _ = client.create_topic(&new);
        let failed = || Failure::client("large records cannot be written");
        client.topic(BULK, false).map_err(failed())?;
        let leader = client.leader(BULK, 0).unwrap_or(1);
        let mut producer = Producer::new(client, BULK).map_err(failed())?;
        let (is_over, last) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Instant::now())));
        let (ends, told) = (Arc::clone(&is_over), Arc::clone(&last));
        let work = move || {
            while !ends.load(Ordering::SeqCst) {
                producer.send(&NewRecord { value: Some(vec![7; BULK_BYTES]), ..NewRecord::default() })?;
                producer.flush()?;
                *lock(&told) = Instant::now();
            }
            Ok(())
        };
        let thread = thread::Builder::new().spawn(work).map_err(Failure::io("a thread"))?;
        Ok((Self { is_over, last, thread }, leader))
    }

    /// How long nothing was acknowledged.
    fn quiet(&self) -> Duration {
        lock(&self.last).elapsed()
    }

    fn stop(self) -> Result<(), Failure> {
        self.is_over.store(true, Ordering::SeqCst);
        let ended = self.thread.join().map_err(|_| Failure::broken("a client of large records panicked"))?;
        ended.map_err(Failure::client("large records cannot be written"))
    }
}

pub(super) fn disk_wiped(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting)?;
    let (wiped, next) = (play.crowd.leader()?, 10);
    play.cluster.kill(wiped)?;
    play.cluster.wipe(wiped)?;
    play.go_on(&format!("{wiped} killed and wiped, until everybody went on"))?;
    // It would vote with an empty log.
    play.cluster.launch(wiped)?;
    let refusal = wait(|| Ok(play.cluster.last_words(wiped)?), "a broker serves with a wiped disk")?;
    if !refusal.contains("another data directory") {
        return Err(Failure::broken(format!("a broker with a wiped disk says: {refusal}")));
    }
    play.cluster.kill(wiped)?;
    play.cluster.renumber(usize::try_from(wiped).unwrap_or_default(), next)?;
    play.cluster.restart(wiped)?;
    let began = Instant::now();
    replace(&play, wiped, next)?;
    play.note(&format!("{next} in place of {wiped} everywhere after"), began.elapsed());
    play.go_on("then until everybody went on")?;
    play.close()
}

/// One broker gets all replicas of another one.
fn replace(play: &Play, former: i32, next: i32) -> Result<(), Failure> {
    let refused = || Failure::client("replicas cannot be moved");
    wait(
        || {
            let mut client = play.crowd.client()?;
            let Ok(topics) = client.look(None, false) else { return Ok(None) };
            let mut left = topics.is_empty();
            for topic in topics {
                let name = topic.name.unwrap_or_default();
                for partition in topic.partitions.iter().filter(|of| of.replica_nodes.contains(&former)) {
                    left = true;
                    let put = |id: &i32| if *id == former { next } else { *id };
                    let mut wanted: Vec<i32> = partition.replica_nodes.iter().map(put).collect();
                    wanted.sort_unstable();
                    wanted.dedup();
                    let key = (name.clone(), partition.partition_index);
                    let moved = client.reassign(&BTreeMap::from([(key, wanted)]));
                    match moved {
                        Err(error) if !error.is_retriable() => return Err(refused()(error)),
                        _ => {}
                    }
                }
            }
            Ok((!left).then_some(()))
        },
        "replicas are not moved from a broker that is gone",
    )
}

/// Until it is there.
fn wait<T>(mut look: impl FnMut() -> Result<Option<T>, Failure>, what: &str) -> Result<T, Failure> {
    let began = Instant::now();
    while began.elapsed() < REPAIR_MAX {
        if let Some(found) = look()? {
            return Ok(found);
        }
        thread::sleep(LOOK_EVERY);
    }
    Err(Failure::broken(format!("{what} after {REPAIR_MAX:?}")))
}

/// Nothing changes place without the council, and everything else goes on.
pub(super) fn council_lost(setting: &Setting, long: Duration) -> Result<Vec<String>, Failure> {
    let software = BrokerSoftware::Diwan(setting.diwan.clone());
    let mut play = Play::open_with(setting, &software, &Surroundings::default())?;
    for _ in 0..setting.rounds {
        play.cluster.kill_council()?;
        let began = Instant::now();
        while began.elapsed() < long {
            play.crowd.all_go_on()?;
            play.crowd.work_for(CALM)?;
        }
        play.cluster.restart_council()?;
        play.go_on(&format!("no council for {long:?}, then until everybody went on"))?;
    }
    play.close()
}
