//! The wall clock of one member jumps, as when somebody sets it or a time server corrects it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tools_testbed::fault::Clocks;
use tools_testbed::{Failure, Place};

use super::{Play, SESSION, Setting, members};

const HOUR_S: i64 = 3600;
/// How long clients work under a clock that is off: long enough for a session or a lease to end that is measured by it.
const MEANWHILE: Duration = Duration::from_secs(3);

/// The clock of whoever leads goes ahead and back by an hour: nobody loses the lead, a session or a write. Then the
/// leader dies while its clock is ahead, and lives again an hour before it died.
pub(super) fn clock_jumps(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut ensemble = members(setting, 3, &Place::loopback())?;
    let clocks = Clocks::give(&mut ensemble, &setting.folder.join("clocks"))?;
    ensemble.start_all()?;
    let mut play = Play::over(ensemble)?;
    let (mut writes, mut returns) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds {
        for ahead in [HOUR_S, 0, -HOUR_S, 0] {
            let leader = play.ensemble.leader()?;
            let jumped = Instant::now();
            clocks.set(leader, ahead)?;
            writes.push(play.next_write(jumped)?);
            expect_stamp(&play, ahead)?;
            play.crowd.work_for(MEANWHILE)?;
            if play.ensemble.leader_now() != Some(leader) {
                return Err(Failure::broken(format!(
                    "member {leader} lost the lead by a clock {ahead} s ahead"
                )));
            }
        }
        let leader = play.ensemble.leader()?;
        clocks.set(leader, HOUR_S)?;
        play.crowd.all_write()?;
        play.ensemble.kill(leader)?;
        play.crowd.all_write()?;
        clocks.set(leader, 0)?;
        returns.push(play.ensemble.start(leader)?);
        play.crowd.all_write()?;
    }
    play.note_all("clock moved, until the next write", &writes);
    play.note_all("started an hour before its death, until it serves", &returns);
    play.close()
}

/// What is written now is stamped with the leader's clock: else no clock has moved.
fn expect_stamp(play: &Play, ahead_s: i64) -> Result<(), Failure> {
    let servers = play.ensemble.connect_string(&play.ensemble.all());
    let client = council_client::Options::new().session_timeout(SESSION).connect(&servers);
    let client = client.map_err(|error| Failure::broken(error.to_string()))?;
    let stat = client.set_data("/queue", b"", -1).wait().map_err(Failure::client("cannot write"))?;
    client.close();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let off_ms = stat.mtime - now_ms - ahead_s * 1000;
    if off_ms.abs() < HOUR_S * 1000 / 4 {
        return Ok(());
    }
    Err(Failure::broken(format!("a clock {ahead_s} s ahead has stamped a write {off_ms} ms off that")))
}
