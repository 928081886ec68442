//! The role that a member of a Diwan ensemble writes to its log.

/// What a member says of its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) number: usize,
    pub(crate) term: u64,
    pub(crate) leads: bool,
    pub(crate) serves: bool,
}

impl Part {
    /// The last role in that member's log, if it has one now.
    pub(crate) fn last_in(log: &str, number: usize) -> Option<Self> {
        let line = log.lines().rev().find(|line| {
            [" this member leads ", " this member follows ", " leader is lost", " is no leader", " started: "]
                .iter()
                .any(|what| line.contains(what))
        })?;
        let term = line.split_once(" term=")?.1.split(' ').next()?.parse().ok()?;
        let (leads, serves) = (line.contains(" leads "), line.contains(" serving=true "));
        Some(Self { number, term, leads, serves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_line_about_it_tells_the_part() {
        let leads = "INFO this member leads term=3 serving=true x=1\nINFO something else term=9\n";
        let part = Part { number: 2, term: 3, leads: true, serves: true };
        assert_eq!(Part::last_in(leads, 2), Some(part));
        assert_eq!(Part::last_in(&format!("{leads}WARN the leader is lost\n"), 2), None);
    }
}
