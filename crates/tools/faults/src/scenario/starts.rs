//! How an ensemble comes to be.

use std::time::{Duration, Instant};

use tools_testbed::{Failure, Place};

use super::{Play, SESSION, Setting, WRITERS, members};
use crate::crowd::Crowd;

pub(super) fn late_founder(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut ensemble = members(setting, 3, &Place::loopback())?;
    let began = Instant::now();
    ensemble.launch([1, 3])?;
    ensemble.wait_for([1, 3])?;
    let founded = began.elapsed();
    let crowd = Crowd::start(&ensemble, &[1, 3], WRITERS, SESSION)?;
    let mut play = Play { ensemble, crowd, notes: Vec::new() };
    play.note("two of three founded", founded);
    play.crowd.work_for(Duration::from_secs(1))?;
    let joined = play.ensemble.start(2)?;
    play.note("the third joined", joined);
    play.crowd.work_for(Duration::from_secs(1))?;
    play.close()
}

/// One server with data, then the same data directory as member 1 of three whose others are empty.
pub(super) fn grown(setting: &Setting) -> Result<Vec<String>, Failure> {
    let place = Place::loopback();
    let mut alone = members(setting, 1, &place)?;
    alone.start_all()?;
    let crowd = Crowd::start(&alone, &[1], WRITERS, SESSION)?;
    crowd.work_for(Duration::from_secs(1))?;
    let mut play = Play { ensemble: alone, crowd, notes: Vec::new() };
    play.ensemble.stop(1)?;
    // Its clients wait for it meanwhile.
    play.ensemble = members(setting, 3, &place)?;
    let began = Instant::now();
    play.ensemble.start_all()?;
    play.note("three serve", began.elapsed());
    play.crowd.work_for(Duration::from_secs(1))?;
    play.close()
}
