//! The network between members fails, in ways that no process notices by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use council_client::{Client, Options};
use tools_testbed::Failure;
use tools_testbed::fault::Network;

use super::{Play, SESSION, Setting, members};

/// How long a member serves without hearing of a leader, unless configured.
const LEASE: Duration = Duration::from_secs(2);
/// A loaded machine may be late in answering what was asked in time.
const SLACK: Duration = Duration::from_secs(1);

/// Three members in namespaces of their own, and clients at work.
fn open(setting: &Setting) -> Result<(Play, Network), Failure> {
    let network = Network::lay(3)?;
    let mut ensemble = members(setting, 3, &network.place())?;
    let began = Instant::now();
    ensemble.start_all()?;
    let founded = began.elapsed();
    let mut play = Play::over(ensemble)?;
    play.note("founded", founded);
    Ok((play, network))
}

/// A client that can reach one member only, and reads all the time.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Option<Instant>>,
}

impl Reader {
    fn start(servers: &str) -> Result<Self, Failure> {
        let client = Options::new().session_timeout(SESSION).connect(servers);
        let client = client.map_err(|error| Failure::broken(error.to_string()))?;
        if !client.wait_connected(SESSION) {
            return Err(Failure::broken("a reader finds no server"));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let read = move || read_on(&client, &stopped);
        let thread = std::thread::Builder::new().name(String::from("reader")).spawn(read);
        Ok(Self { stop, thread: thread.map_err(Failure::io("a thread"))? })
    }

    /// When the last read was asked for that was answered.
    fn last(self) -> Result<Option<Instant>, Failure> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().map_err(|_| Failure::broken("a reader panicked"))
    }
}

fn read_on(client: &Client, stop: &AtomicBool) -> Option<Instant> {
    let mut last = None;
    while !stop.load(Ordering::SeqCst) {
        let asked = Instant::now();
        match client.exists("/queue").wait_for(Duration::from_millis(500)) {
            Ok(Ok(_)) => last = Some(asked),
            _ => {
                let _ = client.wait_connected(Duration::from_millis(100));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // It may have no server to say goodbye to.
    client.abandon();
    last
}

pub(super) fn leader_cut_off(setting: &Setting) -> Result<Vec<String>, Failure> {
    let (mut play, network) = open(setting)?;
    let (mut writes, mut served) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds {
        let leader = play.ensemble.leader()?;
        let reader = Reader::start(&play.ensemble.connect_string(&[leader]))?;
        play.crowd.work_for(Duration::from_millis(300))?;
        let cut = Instant::now();
        network.cut_off(leader);
        writes.push(play.next_write(cut)?);
        play.next_leader(leader)?;
        play.crowd.work_for((LEASE + SLACK * 2).saturating_sub(cut.elapsed()))?;
        let last = reader.last()?.map_or(Duration::ZERO, |last| last.saturating_duration_since(cut));
        if last > LEASE + SLACK {
            return Err(Failure::broken(format!(
                "the leader answered its clients for {} ms after it was cut off, with a lease of {} ms",
                last.as_millis(),
                LEASE.as_millis()
            )));
        }
        served.push(last);
        network.heal();
        play.ensemble.settle()?;
        play.crowd.all_write()?;
    }
    play.note_all("leader cut off, until the next write", &writes);
    play.note_all("until it stopped answering", &served);
    play.close()
}

/// Once the leader hears nobody and is heard, once it is not heard and hears.
pub(super) fn one_way(setting: &Setting) -> Result<Vec<String>, Failure> {
    let (mut play, network) = open(setting)?;
    let (mut deaf, mut mute, mut follower) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setting.rounds {
        for (hears, times) in [(false, &mut deaf), (true, &mut mute)] {
            let leader = play.ensemble.leader()?;
            let cut = Instant::now();
            for other in play.ensemble.others(leader) {
                let (from, to) = if hears { (leader, other) } else { (other, leader) };
                network.cut(from, to);
            }
            times.push(play.next_write(cut)?);
            play.next_leader(leader)?;
            play.crowd.work_for(Duration::from_secs(1))?;
            network.heal();
            play.ensemble.settle()?;
            play.crowd.all_write()?;
        }
        // A follower that the leader does not hear, while it hears the leader.
        let leader = play.ensemble.leader()?;
        let other = leader % 3 + 1;
        let cut = Instant::now();
        network.cut(other, leader);
        follower.push(play.next_write(cut)?);
        play.crowd.work_for(Duration::from_secs(3))?;
        network.heal();
        play.ensemble.settle()?;
        play.crowd.all_write()?;
    }
    play.note_all("leader deaf, until the next write", &deaf);
    play.note_all("leader mute, until the next write", &mute);
    play.note_all("follower mute, until the next write", &follower);
    play.close()
}

pub(super) fn lossy(setting: &Setting) -> Result<Vec<String>, Failure> {
    let (mut play, network) = open(setting)?;
    network.impair(Duration::from_millis(50), 5);
    let (began, before) = (Instant::now(), play.crowd.writes());
    let mut leaders = std::collections::BTreeSet::new();
    while began.elapsed() < Duration::from_secs(4) * u32::try_from(setting.rounds).unwrap_or(1) {
        leaders.extend(play.ensemble.leader_now());
        play.crowd.work_for(Duration::from_millis(200))?;
    }
    let writes = play.crowd.writes() - before;
    if writes == 0 {
        return Err(Failure::broken("nothing was written"));
    }
    play.notes.push(format!("{writes} writes at 50 ms and 5 % lost, {} leaders", leaders.len()));
    network.heal();
    play.crowd.all_write()?;
    play.close()
}
