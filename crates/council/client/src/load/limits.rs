//! How many sockets this process may have open.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the connections and what is open already: polls, timers, and whatever the program opens meanwhile.
const MARGIN: u64 = 32;

/// Sees to it that so many more may be opened; raises the limit as far as the system allows if it is too low.
///
/// # Errors
/// The system does not allow that many.
pub(super) fn allow_sockets(count: usize) -> io::Result<()> {
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
    let wanted = (count as u64).saturating_add(open).saturating_add(MARGIN);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if let Some(most) = maximum.filter(|most| *most < wanted) {
        return Err(io::Error::other(format!(
            "{count} connections need {wanted} open files, and this process may have {most}\n\
             hint: raise the hard limit, as with `ulimit -Hn {wanted}` or `LimitNOFILE={wanted}`, or use fewer connections"
        )));
    }
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_allow_is_said_with_what_to_do() {
        assert!(allow_sockets(1).is_ok());
        if getrlimit(Resource::Nofile).maximum.is_some() {
            let text = allow_sockets(usize::MAX).unwrap_err().to_string();
            assert!(text.contains("open files") && text.contains("\nhint: raise the hard limit"), "{text}");
        }
    }
}
