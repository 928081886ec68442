//! A majority is lost, one survivor begins a new ensemble by `force-new-ensemble`, and the majority comes back with its data.
//!
//! Then there are two ensembles. Clients of either are served, and a client that knew both would be served by both: no
//! member can know which one counts. What is tried here is that the two have nothing to do with each other, and say so.

use std::process::Command;
use std::time::{Duration, Instant};

use council_client::{Client, CreateMode, Error, ErrorCode, Options, SessionId};
use tools_testbed::{Ensemble, Failure, Place, word};

use super::{Play, SESSION, Setting, members};
use crate::crowd::Crowd;
use crate::ledger::register;
use crate::logs::council_data;
use crate::verdict::Earlier;

/// Who begins the new ensemble, and who is lost meanwhile.
const SURVIVOR: usize = 1;
const LOST: [usize; 2] = [2, 3];
/// Clients at work. Fewer than in other stories: this one takes long, and its log is judged by every entry.
const WRITERS: usize = 3;
/// A session that is short enough for its end to be waited for.
const SHORT: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(500);
/// How long an operation, a message in a log or the end of a session may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What a member logs of one of another ensemble, at this level.
const APART: &str = "has data of another ensemble";
const LEVEL: &str = "ERROR";
/// What a member logs when another that has its data in hand is connected to it.
const CONNECTED: &str = "connected to a member";
const SEATED: &str = "seated=true";
const GAUGE: &str = "zk_diwan_council_members_of_other_ensembles";

pub(super) fn forced(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = open(setting)?;
    let (kept, gone) =
        (Side::open(&play.ensemble, &[SURVIVOR], "kept")?, Side::open(&play.ensemble, &LOST, "gone")?);
    play.crowd.work_for(Duration::from_millis(500))?;
    let revived = revive(setting, &mut play, &gone)?;
    play.note("the majority lost, until the next write in the new ensemble", revived);
    kept.write("kept")?;

    let connected = connections(&play.ensemble);
    let returned = Instant::now();
    play.ensemble.launch(LOST)?;
    play.ensemble.wait_for(LOST)?;
    play.note("the majority came back with its data, until it serves", returned.elapsed());
    expect_apart(&play, &kept, &gone)?;
    let told = expect_told(&play.ensemble, returned)?;
    play.note("until all members said so", told);
    expect_status(setting, &play.ensemble)?;
    expect_strangers(&play.ensemble, connected)?;
    expect_ended(&play.ensemble, &kept, &gone)?;

    let emptied = Instant::now();
    for number in LOST {
        play.ensemble.kill(number)?;
        play.ensemble.wipe(number)?;
    }
    play.ensemble.launch(LOST)?;
    play.ensemble.wait_for(LOST)?;
    play.ensemble.settle()?;
    play.note("the majority emptied, until it serves in the new ensemble", emptied.elapsed());
    gone.expect_expired()?;
    play.crowd.all_write()?;
    kept.client.close();
    let data = council_data(&play.ensemble, SURVIVOR).join("put-aside").join("1");
    play.close_behind(Some(&Earlier { member: SURVIVOR, data }))
}

/// Three members, and clients that know the survivor alone, as those of the new ensemble do.
fn open(setting: &Setting) -> Result<Play, Failure> {
    let mut ensemble = members(setting, 3, &Place::loopback())?;
    for number in ensemble.all() {
        let keys = [
            ("4lw.commands.whitelist", String::from("srvr,hash,mntr")),
            // Sessions end by the grain of this.
            ("tickTime", TICK.as_millis().to_string()),
            ("admin.enableServer", String::from("true")),
            ("admin.serverAddress", ensemble.host(number).to_string()),
        ];
        ensemble.set_keys(number, keys.map(|(key, value)| (String::from(key), value)));
    }
    let began = Instant::now();
    ensemble.start_all()?;
    let founded = began.elapsed();
    let crowd = Crowd::start(&ensemble, &[SURVIVOR], WRITERS, SESSION)?;
    let mut play = Play { ensemble, crowd, notes: Vec::new() };
    play.note("founded", founded);
    Ok(play)
}

/// Loses the majority so that the survivor has all that was acknowledged, and begins anew with it. How long it took until
/// something was written.
fn revive(setting: &Setting, play: &mut Play, gone: &Side) -> Result<Duration, Failure> {
    play.ensemble.kill(LOST[1])?;
    // From here on nothing is acknowledged that the survivor does not have on its disk, and what was before lies below that.
    play.crowd.all_write()?;
    gone.write("acknowledged last")?;
    play.ensemble.kill(LOST[0])?;
    let lost = Instant::now();
    play.ensemble.stop(SURVIVOR)?;
    let looked = force(setting, &play.ensemble, &[])?;
    if !looked.contains("Nothing was changed") {
        return Err(Failure::broken(format!("without `--yes`, `force-new-ensemble` says:\n{looked}")));
    }
    let forced = force(setting, &play.ensemble, &["--yes"])?;
    if !forced.contains("Empty their data directories first") {
        return Err(Failure::broken(format!("`force-new-ensemble --yes` says:\n{forced}")));
    }
    play.ensemble.start(SURVIVOR)?;
    play.crowd.all_write()?;
    play.next_write(lost)
}

/// `diwan force-new-ensemble` for the survivor; what it says.
fn force(setting: &Setting, ensemble: &Ensemble, flags: &[&str]) -> Result<String, Failure> {
    let config = ensemble.folder().join(SURVIVOR.to_string()).join("zoo.cfg");
    let mut command = Command::new(&setting.diwan);
    command.arg("force-new-ensemble").arg("--config").arg(config).args(flags);
    let output = command.output().map_err(Failure::io("`diwan force-new-ensemble`"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Failure::broken(format!("`diwan force-new-ensemble` failed:\n{why}")))
}

/// Each ensemble has what was acknowledged before the split and what its own clients wrote since, and nothing of the other's.
fn expect_apart(play: &Play, kept: &Side, gone: &Side) -> Result<(), Failure> {
    gone.expect_own("acknowledged last")?;
    gone.write("behind the split")?;
    kept.expect_foreign(gone, "acknowledged last")?;
    gone.expect_foreign(kept, "before")?;
    let before = gone.registers()?;
    play.crowd.all_write()?;
    play.crowd.all_write()?;
    let (behind, new) = (gone.registers()?, kept.registers()?);
    if before != behind {
        return Err(Failure::broken(format!(
            "the old ensemble went from {before:?} to {behind:?} with the new one"
        )));
    }
    if before.iter().zip(&new).any(|(old, new)| old >= new) {
        return Err(Failure::broken(format!("{before:?} in the old ensemble, and {new:?} in the new one")));
    }
    kept.expect_foreign(gone, "acknowledged last")?;
    gone.expect_foreign(kept, "before")
}

/// Every member says that it hears of the other ensemble, in its log and by its gauge; how long after the majority came back.
fn expect_told(ensemble: &Ensemble, since: Instant) -> Result<Duration, Failure> {
    for (number, others) in [(SURVIVOR, &LOST[..]), (LOST[0], &[SURVIVOR]), (LOST[1], &[SURVIVOR])] {
        for other in others {
            let what = format!("member {other} {APART}");
            wait(&format!("the log of member {number} says `{what}` at {LEVEL}"), || {
                Ok(ensemble.said(number, &what).iter().any(|line| line.contains(LEVEL)))
            })?;
        }
        let count = others.len().to_string();
        wait(&format!("{GAUGE} of member {number} is {count}"), || {
            let text =
                word(ensemble.address(number), "mntr", PATIENCE).map_err(Failure::io("the word `mntr`"))?;
            let mut lines = text.lines().filter_map(|line| line.split_once('\t'));
            Ok(lines.any(|(name, value)| name == GAUGE && value.trim() == count))
        })?;
    }
    Ok(since.elapsed())
}

/// `diwan status` warns, whichever ensemble is asked.
fn expect_status(setting: &Setting, ensemble: &Ensemble) -> Result<(), Failure> {
    for number in [SURVIVOR, LOST[0]] {
        let mut command = Command::new(&setting.diwan);
        command.arg("status").arg("--server").arg(format!("{}:8080", ensemble.host(number)));
        let output = command.output().map_err(Failure::io("`diwan status`"))?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if !said.contains("belongs to another ensemble") {
            return Err(Failure::broken(format!("`diwan status` of member {number} does not warn:\n{said}")));
        }
    }
    Ok(())
}

/// How often the survivor was connected to the others since its log began. What says that it has no data in hand, as every
/// member does for a moment when it starts, is told nothing but whether the survivor has some.
fn connections(ensemble: &Ensemble) -> usize {
    ensemble.said(SURVIVOR, CONNECTED).iter().filter(|line| line.contains(SEATED)).count()
}

/// Since these were counted, no two members of different ensembles were connected: neither data nor votes go between them.
fn expect_strangers(ensemble: &Ensemble, before: usize) -> Result<(), Failure> {
    let now = connections(ensemble);
    if before > 0 && now == before {
        return Ok(());
    }
    Err(Failure::broken(format!(
        "the survivor was connected to the others {before} times before they came back, and {now} times behind it"
    )))
}

/// Each session goes on where its client is, and ends in the other ensemble, which hears nothing of it.
fn expect_ended(ensemble: &Ensemble, kept: &Side, gone: &Side) -> Result<(), Failure> {
    for (side, other, members) in [(kept, gone, &[SURVIVOR][..]), (gone, kept, &LOST)] {
        side.expect_alive()?;
        let servers = ensemble.connect_string(members);
        wait(&format!("the session of `{}` ends at {servers}", other.name), || {
            side.client
                .sync("/")
                .wait_for(PATIENCE)
                .map_err(|_| stuck())?
                .map_err(Failure::client("cannot sync"))?;
            Ok(side.find(&other.ephemeral())?.is_none())
        })?;
    }
    Ok(())
}

/// A client that knows the members on one side of the split, with a session, an ephemeral node, and a node of its own.
struct Side {
    name: &'static str,
    client: Client,
    session: SessionId,
}

impl Side {
    fn open(ensemble: &Ensemble, members: &[usize], name: &'static str) -> Result<Self, Failure> {
        let options = Options::new().session_timeout(SHORT);
        let client = options.connect(&ensemble.connect_string(members));
        let client = client.map_err(|error| Failure::broken(error.to_string()))?;
        if !client.wait_connected(PATIENCE) {
            return Err(Failure::broken(format!("`{name}` finds no server")));
        }
        let session = client.session_id();
        let side = Self { name, client, session };
        for (path, mode) in [(side.path(), CreateMode::Persistent), (side.ephemeral(), CreateMode::Ephemeral)]
        {
            let created =
                side.client.create(&path, "before", mode).wait_for(PATIENCE).map_err(|_| stuck())?;
            created.map_err(Failure::client("cannot create a node"))?;
        }
        Ok(side)
    }

    fn path(&self) -> String {
        format!("/side-{}", self.name)
    }

    fn ephemeral(&self) -> String {
        format!("/ephemeral-{}", self.name)
    }

    fn write(&self, data: &str) -> Result<(), Failure> {
        self.ask(|| self.client.set_data(&self.path(), data, -1)).map(drop)
    }

    /// Reads behind a sync, so that all that was acknowledged is there.
    fn read(&self, path: &str) -> Result<String, Failure> {
        self.ask(|| self.client.sync(path))?;
        let (data, _) = self.ask(|| self.client.data(path))?;
        Ok(String::from_utf8_lossy(&data.unwrap_or_default()).into_owned())
    }

    fn find(&self, path: &str) -> Result<Option<council_client::Stat>, Failure> {
        self.ask(|| self.client.exists(path))
    }

    /// The writers' registers, as this side has them.
    fn registers(&self) -> Result<Vec<u64>, Failure> {
        (0..WRITERS).map(|name| Ok(self.read(&register(name))?.parse().unwrap_or(0))).collect()
    }

    fn expect_own(&self, data: &str) -> Result<(), Failure> {
        self.expect(&self.path(), data)
    }

    fn expect_foreign(&self, other: &Self, data: &str) -> Result<(), Failure> {
        self.expect(&other.path(), data)
    }

    fn expect(&self, path: &str, data: &str) -> Result<(), Failure> {
        let found = self.read(path)?;
        if found == data {
            return Ok(());
        }
        Err(Failure::broken(format!(
            "`{}` reads `{found}` in {path}, where `{data}` was expected",
            self.name
        )))
    }

    /// Its session is the one that it was given before the split, and so is its ephemeral node.
    fn expect_alive(&self) -> Result<(), Failure> {
        let owner = self.find(&self.ephemeral())?.map(|stat| stat.ephemeral_owner);
        if owner == Some(self.session.0) && self.client.session_id() == self.session {
            return Ok(());
        }
        Err(Failure::broken(format!(
            "the ephemeral node of `{}` belongs to {owner:?}; its session was {}, and is {}",
            self.name,
            self.session,
            self.client.session_id()
        )))
    }

    /// Where its session has ended it is told so.
    fn expect_expired(&self) -> Result<(), Failure> {
        wait(&format!("`{}` is told that its session ended", self.name), || {
            match self.client.exists("/").wait_for(PATIENCE).map_err(|_| stuck())? {
                Err(error) if error.is(ErrorCode::SessionExpired) => Ok(true),
                Err(Error::ConnectionLost) => Ok(false),
                other => {
                    Err(Failure::broken(format!("`{}` is answered {other:?} in the new ensemble", self.name)))
                }
            }
        })
    }

    /// Asks until it is answered.
    fn ask<T>(&self, operation: impl Fn() -> council_client::Pending<T>) -> Result<T, Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match operation().wait_for(PATIENCE).map_err(|_| stuck())? {
                Err(Error::ConnectionLost) if Instant::now() < deadline => {
                    let _ = self.client.wait_connected(PATIENCE);
                }
                other => return other.map_err(Failure::client(&format!("`{}` is refused", self.name))),
            }
        }
    }
}

fn stuck() -> Failure {
    Failure::broken("an operation is stuck")
}

/// Looks until it is so.
fn wait(what: &str, mut is_so: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so()? {
        if Instant::now() > deadline {
            return Err(Failure::broken(format!("not so after {PATIENCE:?}: {what}")));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
