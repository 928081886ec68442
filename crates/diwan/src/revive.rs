//! `diwan force-new-ensemble`: one survivor of a lost majority begins anew, once its operator knows what may be lost.

use std::io::{self, Write};
use std::process::ExitCode;

use server::revival::{self, Survivor};

use crate::config::{self, Sources};

/// Says what would be done, or does it.
pub(crate) fn run(sources: &Sources, yes: bool, out: &mut impl Write) -> io::Result<ExitCode> {
    let config = match config::load(sources).result {
        Ok((config, _)) => config,
        Err(problems) => {
            for problem in problems {
                eprintln!("error: {}", problem.what);
                if let Some(hint) = &problem.hint {
                    eprintln!("hint: {hint}");
                }
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let done = if yes { revival::revive(&config) } else { revival::inspect(&config) };
    match done {
        Ok(survivor) => tell(&survivor, yes, out).map(|()| ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("error: {}", error.to_string().replace("; hint: ", "\nhint: "));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn tell(survivor: &Survivor, done: bool, out: &mut impl Write) -> io::Result<()> {
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
    if done {
        writeln!(
            out,
            "Done: this member is an ensemble of its own now; its data as it was is in `put-aside`.\nStart it; then \
             start the others with empty data directories: it lets them in."
        )
    } else {
        writeln!(
            out,
            "Nothing was changed. Compare the last zxid of every member that is left, and take the one with the \
             highest.\nhint: run this again with `--yes` to make an ensemble of this member alone"
        )
    }
}
