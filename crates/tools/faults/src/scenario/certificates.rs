//! Members that speak encrypted to each other, with the keys that `diwan certificates` makes.

use std::process::{Command, Stdio};

use tools_testbed::{Ensemble, Failure, PeerError};

use super::{Play, Setting};

/// Gives each member, none of which was started yet, a key of its own.
pub(super) fn encrypt(setting: &Setting, ensemble: &mut Ensemble) -> Result<(), Failure> {
    // A scenario may have several ensembles.
    let folder = setting.folder.join(format!("certificates-{}", ensemble.all().len()));
    let mut command = Command::new(&setting.diwan);
    command.arg("certificates").arg("--dir").arg(&folder).stdin(Stdio::null());
    for number in ensemble.all() {
        command.arg("--member").arg(format!("{number}={}", ensemble.host(number)));
    }
    let output = command.output().map_err(Failure::io("`diwan certificates`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        return Err(Failure::broken(format!("`diwan certificates` failed: {said}")));
    }
    let file = |name: &str| {
        let path = std::path::absolute(folder.join(name)).map_err(PeerError::io(&folder))?;
        Ok::<_, PeerError>(path.display().to_string())
    };
    for number in ensemble.all() {
        let keys = [
            ("sslQuorum", String::from("true")),
            ("ssl.quorum.keyStore.location", file(&format!("member-{number}.pem"))?),
            ("ssl.quorum.trustStore.location", file("ca.pem")?),
            ("diwan.ensembleSecretFile", file("ensemble.secret")?),
        ];
        ensemble.set_keys(number, keys.map(|(key, value)| (String::from(key), value)));
    }
    Ok(())
}

/// Members that speak encrypted die in turn and lose a disk.
pub(super) fn encrypted(setting: &Setting) -> Result<Vec<String>, Failure> {
    let setting = Setting { encrypted: true, ..setting.clone() };
    let mut play = Play::open(&setting, 3)?;
    // Each start in plain text warns of it.
    let in_plain = |number: &usize| play.ensemble.has_said(*number, "members speak in plain text");
    if play.ensemble.all().iter().any(in_plain) {
        return Err(Failure::broken("members speak in plain text"));
    }
    let (mut writes, mut returns) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds {
        for number in play.ensemble.all() {
            let killed = std::time::Instant::now();
            play.ensemble.kill(number)?;
            writes.push(play.next_write(killed)?);
            if number == 3 {
                play.ensemble.wipe(number)?;
            }
            returns.push(play.ensemble.start(number)?);
            play.crowd.all_write()?;
        }
    }
    play.note_all("any member killed, until the next write", &writes);
    play.note_all("started again, the last with an empty disk, until it serves", &returns);
    play.close()
}
