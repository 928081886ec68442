//! `diwan force-new-ensemble`: one survivor of a lost majority becomes a new ensemble, after its operator has seen what
//! may be lost.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use council_service::force_new_ensemble::{self, Survivor};

use crate::config::{self, Sources};

/// Says what would be done, or does it.
pub(crate) fn run(sources: &Sources, yes: bool, out: &mut impl Write) -> io::Result<ExitCode> {
    let config = match config::load_council(sources) {
        Ok(config) => config,
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("error: {problem}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    let done = match yes {
        true => force_new_ensemble::revive(&config).map(|revived| (revived.survivor, Some(revived.aside))),
        false => force_new_ensemble::inspect(&config).map(|survivor| (survivor, None)),
    };
    match done {
        Ok((survivor, aside)) => tell(&survivor, aside.as_deref(), out).map(|()| ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("error: {}", error.to_string().replace("; hint: ", "\nhint: "));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn tell(survivor: &Survivor, aside: Option<&Path>, out: &mut impl Write) -> io::Result<()> {
    let Survivor { voters, last_zxid, last_index, committed, nodes, sessions } = survivor;
    writeln!(out, "voters      {} when its log began", voters.len())?;
    writeln!(out, "znodes      {nodes}")?;
    writeln!(out, "sessions    {sessions}")?;
    writeln!(out, "last zxid   0x{:x}", last_zxid.0)?;
    writeln!(out, "log         up to entry {last_index}; known to be committed up to {committed}")?;
    writeln!(out)?;
    writeln!(
        out,
        "What other members acknowledged and this one never received is lost. What this one received and no majority \
         had acknowledged is kept."
    )?;
    if let Some(aside) = aside {
        writeln!(
            out,
            "Done: this member is an ensemble of its own now. Its data as it was is in `{aside}`: to go back, stop this \
             member and move `meta`, `log` and `snapshot` from there to where they were.\nStart it. The others must not \
             start with the data that they have: two of them could be a majority of the old ensemble, and clients would \
             write to both. Empty their data directories first; then this member lets them in.",
            aside = aside.display()
        )
    } else {
        writeln!(
            out,
            "Nothing was changed. Compare the last zxid of every member that is left, and take the one with the \
             highest.\nhint: run this again with `--yes` to make an ensemble of this member alone"
        )
    }
}
