//! Two machines that take themselves for the same member: a restored image beside its original, or a replacement for one
//! that only seemed to be dead.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use tools_testbed::fault::Network;
use tools_testbed::{Ensemble, Failure, Place};

use super::{Play, SESSION, Setting, WRITERS, copy, members};
use crate::crowd::Crowd;

/// The member that there are two of, and the place of the second.
const NUMBER: usize = 2;
const DOUBLE: usize = 4;
/// How long both run: longer than a lease, and than it takes until one has the other's place.
const BESIDE: Duration = Duration::from_millis(2_500);
/// What a member logs each time that it is connected to another, and how often it may be so in a story.
const CONNECTED: &str = "connected to a member";
const CONNECTED_MAX: usize = 100;
/// How long a member serves without hearing of a leader, unless configured.
const LEASE: Duration = Duration::from_secs(2);
/// A loaded machine may be late in answering what was asked in time.
const SLACK: Duration = Duration::from_secs(1);
/// How long a message in a log may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// In plain text a member is known by its address: no member lets the copy in.
pub(super) fn elsewhere(setting: &Setting) -> Result<Vec<String>, Failure> {
    let setting = Setting { encrypted: false, ..setting.clone() };
    let mut play = open(members(&setting, DOUBLE, &Place::loopback())?)?;
    copy_disk(&mut play.ensemble)?;
    play.ensemble.launch([NUMBER, DOUBLE])?;
    play.ensemble.wait_for([NUMBER])?;
    let began = Instant::now();
    while began.elapsed() < BESIDE {
        if play.ensemble.serves(DOUBLE) || !play.ensemble.serves(NUMBER) {
            return Err(Failure::broken("the copy serves, or the original does not"));
        }
        play.crowd.work_for(LOOK_EVERY)?;
    }
    let stranger = "a connection from an address of no member was not let in";
    let host = play.ensemble.host(DOUBLE).to_string();
    for number in [1, 3] {
        expect_said(&play, number, &[stranger, &host])?;
    }
    expect_said(
        &play,
        DOUBLE,
        &["it ended the connection before both knew each other; hint: its log says why"],
    )?;
    close(play)
}

/// With a secret, the copy is as good as the original wherever it is, and takes its place: it started last. Its vote and its
/// log count from then on: the leader is killed, and what the copy and one other acknowledge is to stay. Then the original
/// comes back as it is told to, with an empty disk. With its old data it could elect a leader that lacks what only the copy
/// and one other have, as every disk could that was set back.
pub(super) fn proved(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = open(with_secret(setting, members(setting, DOUBLE, &Place::loopback())?)?)?;
    copy_disk(&mut play.ensemble)?;
    play.ensemble.start(NUMBER)?;
    play.ensemble.launch([DOUBLE])?;
    let overlap = watch(&play, BESIDE)?;
    play.note("both served for at most", overlap);
    expect_one(&play, DOUBLE, NUMBER)?;
    play.ensemble.stop(NUMBER)?;
    let leader = play.ensemble.leader()?;
    let killed = Instant::now();
    play.ensemble.kill(leader)?;
    let written = play.next_write(killed)?;
    play.note("leader killed, until the next write", written);
    play.ensemble.start(leader)?;
    play.ensemble.wipe(NUMBER)?;
    let emptied = play.ensemble.start(NUMBER)?;
    play.note("the original emptied, until it serves", emptied);
    expect_one(&play, NUMBER, DOUBLE)?;
    close(play)
}

/// The member is cut off while its clients reach it, an empty disk gets its number, and then the member is back.
pub(super) fn emptied(setting: &Setting) -> Result<Vec<String>, Failure> {
    let network = Network::lay(DOUBLE)?;
    let mut play = open(with_secret(setting, members(setting, DOUBLE, &network.place())?)?)?;
    network.cut_off(NUMBER);
    let began = Instant::now();
    play.ensemble.launch([DOUBLE])?;
    let overlap = watch(&play, LEASE * 2)?;
    play.ensemble.wait_for([DOUBLE])?;
    play.note("an empty disk in the place of one that is cut off, until it serves", began.elapsed());
    play.note("both served for at most", overlap);
    network.heal();
    let overlap = watch(&play, BESIDE)?;
    play.note("the member is back, both served for at most", overlap);
    expect_one(&play, DOUBLE, NUMBER)?;
    close(play)
}

/// Of the two, `later` serves and `earlier` says why it does not, without filling its log.
fn expect_one(play: &Play, later: usize, earlier: usize) -> Result<(), Failure> {
    play.crowd.all_write()?;
    if !play.ensemble.serves(later) || play.ensemble.serves(earlier) {
        let who = format!("machine {later} started last, and does not serve alone as member {NUMBER}");
        return Err(Failure::broken(who));
    }
    let why = format!("another machine that says that it is member {NUMBER} started later");
    expect_said(play, earlier, &["it refuses", &why])?;
    let lines = play.ensemble.said(earlier, CONNECTED).len();
    if lines > CONNECTED_MAX {
        return Err(Failure::broken(format!("machine {earlier} was connected to others {lines} times")));
    }
    Ok(())
}

/// Three members that serve, a fourth machine that is to be the double of one, and clients that know all four.
fn open(ensemble: Ensemble) -> Result<Play, Failure> {
    let mut ensemble = ensemble.with_double(NUMBER);
    let three = ensemble.others(DOUBLE);
    let began = Instant::now();
    ensemble.launch(three.clone())?;
    ensemble.wait_for(three)?;
    let founded = began.elapsed();
    let crowd = Crowd::start(&ensemble, &ensemble.all(), WRITERS, SESSION)?;
    crowd.work_for(Duration::from_millis(500))?;
    let mut play = Play { ensemble, crowd, notes: Vec::new() };
    play.note("founded", founded);
    Ok(play)
}

/// The double is stopped by its operator: all goes on without it.
fn close(mut play: Play) -> Result<Vec<String>, Failure> {
    play.ensemble.dismiss_last();
    let began = Instant::now();
    play.ensemble.wait_for([NUMBER])?;
    play.ensemble.settle()?;
    play.note("the double stopped, until all serve", began.elapsed());
    play.close()
}

/// Members that know each other by a secret, if not by certificates.
fn with_secret(setting: &Setting, mut ensemble: Ensemble) -> Result<Ensemble, Failure> {
    if setting.encrypted {
        return Ok(ensemble);
    }
    fs::create_dir_all(&setting.folder).map_err(Failure::io("a folder"))?;
    let file =
        std::path::absolute(setting.folder.join("ensemble.secret")).map_err(Failure::io("a secret"))?;
    fs::write(&file, "ab".repeat(32)).map_err(Failure::io("a secret"))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).map_err(Failure::io("a secret"))?;
    for place in ensemble.all() {
        let value = file.display().to_string();
        ensemble.set_keys(place, [(String::from("diwan.ensembleSecretFile"), value)]);
    }
    Ok(ensemble)
}

/// Stops the member, so that its disk is one moment's, and copies that.
fn copy_disk(ensemble: &mut Ensemble) -> Result<(), Failure> {
    ensemble.stop(NUMBER)?;
    copy(&ensemble.data(NUMBER), &ensemble.data(DOUBLE))
}

/// Looks for a while who of the two serves; for how long both did at a time.
fn watch(play: &Play, time: Duration) -> Result<Duration, Failure> {
    let (began, mut since, mut longest) = (Instant::now(), None, Duration::ZERO);
    while began.elapsed() < time {
        let now = Instant::now();
        if play.ensemble.serves(NUMBER) && play.ensemble.serves(DOUBLE) {
            longest = longest.max(now - *since.get_or_insert(now));
        } else {
            since = None;
        }
        play.crowd.work_for(LOOK_EVERY)?;
    }
    if longest > LEASE + SLACK {
        let (both, lease) = (longest.as_millis(), LEASE.as_millis());
        return Err(Failure::broken(format!("both served for {both} ms, with a lease of {lease} ms")));
    }
    Ok(longest)
}

/// Waits until a machine has logged a line with all of this.
fn expect_said(play: &Play, place: usize, what: &[&str]) -> Result<(), Failure> {
    let began = Instant::now();
    let says = |line: &String| what.iter().all(|what| line.contains(what));
    while !play.ensemble.said(place, what[0]).iter().any(says) {
        if began.elapsed() > PATIENCE {
            let log = play.ensemble.log_tail(place);
            return Err(Failure::broken(format!("machine {place} does not say {what:?}:\n{log}")));
        }
        play.crowd.work_for(LOOK_EVERY)?;
    }
    Ok(())
}
