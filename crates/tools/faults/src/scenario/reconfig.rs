//! Members come, go, and are given a vote while others die.

use std::time::{Duration, Instant};

use council_client::{Client, CreateMode, ErrorCode, Options};
use tools_testbed::dice::Dice;
use tools_testbed::{Ensemble, Failure, Place};

use super::{Play, SESSION, Setting, WRITERS, members};
use crate::crowd::Crowd;

/// Who may write `/zookeeper/config`, and the digest of the password.
const SUPER: &[u8] = b"super:secret";
const SUPER_DIGEST: &str = "super:lK75jTNcA+U9vtVEw5vB51mj/w4=";
const FOUNDERS: [usize; 3] = [1, 2, 3];
/// How long one change may be refused for want of members that are here and have caught up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Writes that are under way at once before a change, and behind it.
const WRITES: usize = 5;
/// Between two attempts. Not a synchronisation: what is waited for shows by the attempt alone.
const AGAIN: Duration = Duration::from_millis(50);

/// Three grow to five, the leader is removed and comes back, one goes from voter to observer and back; during each
/// change some member is killed.
pub(super) fn reconfig(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut ensemble = members(setting, 5, &Place::loopback())?;
    for number in ensemble.all() {
        let keys = [("reconfigEnabled", "true"), ("DigestAuthenticationProvider.superDigest", SUPER_DIGEST)];
        ensemble.set_keys(number, keys.map(|(key, value)| (String::from(key), String::from(value))));
        // Who comes later names itself and the founders.
        let mut lines = FOUNDERS.to_vec();
        lines.push(number);
        ensemble.set_lines(number, &lines);
    }
    ensemble.launch(FOUNDERS)?;
    ensemble.wait_for(FOUNDERS)?;
    let everybody = ensemble.all();
    let crowd = Crowd::start(&ensemble, &everybody, WRITERS, SESSION)?;
    let mut play = Play { ensemble, crowd, notes: Vec::new() };
    let mut dice = Dice::new(setting.seed);
    let mut changes = Vec::new();
    for _ in 0..setting.rounds {
        for number in [4, 5] {
            if !play.ensemble.is_up(number) {
                play.ensemble.launch([number])?;
            }
            changes.push(change(&mut play, &mut dice, Some((number, "observer")), None)?);
            changes.push(change(&mut play, &mut dice, Some((number, "participant")), None)?);
        }
        changes.push(change(&mut play, &mut dice, Some((2, "observer")), None)?);
        changes.push(change(&mut play, &mut dice, Some((2, "participant")), None)?);
        let leader = play.ensemble.leader()?;
        changes.push(change(&mut play, &mut dice, None, Some(leader))?);
        changes.push(change(&mut play, &mut dice, Some((leader, "participant")), None)?);
        for number in [4, 5] {
            changes.push(change(&mut play, &mut dice, None, Some(number))?);
        }
        for number in [4, 5] {
            changes.push(change(&mut play, &mut dice, Some((number, "participant")), None)?);
        }
    }
    play.note_all("changes, each under a death, until all write", &changes);
    play.close()
}

/// One change, a death while it is under way, and until it is done and all is well again.
fn change(
    play: &mut Play,
    dice: &mut Dice,
    joining: Option<(usize, &str)>,
    leaving: Option<usize>,
) -> Result<Duration, Failure> {
    let began = Instant::now();
    let client = connect(&play.ensemble)?;
    let line = joining.map(|(number, role)| play.ensemble.line(number, role));
    let leaving = leaving.map(|number| number.to_string());
    // The second time a leader knows what of this session is in its log, and what would leave a gap.
    write(&client)?;
    write(&client)?;
    ask(play, &client, line.as_deref(), leaving.as_deref())?;
    write(&client)?;
    let up: Vec<_> = play.ensemble.all().into_iter().filter(|number| play.ensemble.is_up(*number)).collect();
    let victim = up[dice.below(up.len())];
    play.ensemble.kill(victim)?;
    play.crowd.all_write()?;
    play.ensemble.launch([victim])?;
    expect(play, &client, line.as_deref(), leaving.as_deref())?;
    play.crowd.all_write()?;
    client.close();
    Ok(began.elapsed())
}

/// Some writes at a time, before and behind a change in the same session: none of them may be stuck.
fn write(client: &Client) -> Result<(), Failure> {
    let began = Instant::now();
    let created = client.create("/changes", b"", CreateMode::Persistent);
    let written: Vec<_> = (0..WRITES).map(|_| client.set_data("/changes", b"", -1)).collect();
    let stuck = || Failure::broken("a write beside a change of members is stuck");
    match created.wait_for(PATIENCE).map_err(|_| stuck())? {
        Ok(_) | Err(council_client::Error::ConnectionLost) => {}
        Err(error) if error.is(ErrorCode::NodeExists) => {}
        Err(error) => return Err(Failure::client("cannot create a node")(error)),
    }
    for pending in written {
        match pending.wait_for(PATIENCE).map_err(|_| stuck())? {
            // A client that hears nothing for so long parts from its server by itself.
            Err(council_client::Error::ConnectionLost) if began.elapsed() >= SESSION * 2 / 3 => {
                return Err(stuck());
            }
            Ok(_) | Err(council_client::Error::ConnectionLost) => {}
            Err(error) => return Err(Failure::client("cannot write beside a change of members")(error)),
        }
    }
    Ok(())
}

fn connect(ensemble: &Ensemble) -> Result<Client, Failure> {
    let servers = ensemble.connect_string(&ensemble.all());
    let client = Options::new().session_timeout(SESSION).identity("digest", SUPER).connect(&servers);
    let client = client.map_err(|error| Failure::broken(error.to_string()))?;
    if client.wait_connected(PATIENCE) {
        Ok(client)
    } else {
        Err(Failure::broken("nobody to ask for a change"))
    }
}

/// Asks until it is taken: a change waits for those who are to make up the next majority.
fn ask(play: &Play, client: &Client, joining: Option<&str>, leaving: Option<&str>) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let asked = client.reconfig(joining, leaving, None, -1).wait_for(PATIENCE);
        match asked.map_err(|_| Failure::broken("a change of members is stuck"))? {
            Ok(_) => return Ok(()),
            Err(error)
                if Instant::now() < deadline
                    && (error.is(ErrorCode::NewConfigNoQuorum)
                        || error.is(ErrorCode::ReconfigInProgress)
                        || matches!(error, council_client::Error::ConnectionLost)) =>
            {
                play.crowd.work_for(AGAIN)?;
                let _ = client.wait_connected(PATIENCE);
            }
            Err(error) => {
                return Err(Failure::client(&format!("cannot change {joining:?} {leaving:?}"))(error));
            }
        }
    }
}

/// Waits until `/zookeeper/config` says it, and whoever is named there serves.
fn expect(
    play: &mut Play,
    client: &Client,
    joining: Option<&str>,
    leaving: Option<&str>,
) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (sync, read) = (client.sync("/zookeeper/config"), client.config(None));
        if let (Ok(Ok(())), Ok(Ok((text, _)))) = (sync.wait_for(PATIENCE), read.wait_for(PATIENCE)) {
            let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
            let named = |number: usize| text.contains(&format!("server.{number}="));
            let joined = joining.is_none_or(|line| text.lines().any(|one| one == line));
            if joined && leaving.is_none_or(|number| !text.contains(&format!("server.{number}="))) {
                let present: Vec<_> =
                    play.ensemble.all().into_iter().filter(|number| named(*number)).collect();
                let started = present.into_iter().filter(|number| play.ensemble.is_up(*number));
                let started: Vec<_> = started.collect();
                return play.ensemble.wait_for(started);
            }
        }
        if Instant::now() > deadline {
            return Err(Failure::broken(format!("`/zookeeper/config` does not say {joining:?} {leaving:?}")));
        }
        play.crowd.work_for(AGAIN)?;
        let _ = client.wait_connected(PATIENCE);
    }
}
