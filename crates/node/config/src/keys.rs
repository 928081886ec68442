//! The keys of a configuration, one row each: what a key is called in our own file and in the file of the system that a
//! service takes the place of, and what it means.

use crate::problem::Checked;
use crate::setting::Setting;

/// From how much likeness on a name may have been meant.
const LIKENESS_MIN: f64 = 0.86;

/// Takes a setting into the draft of a configuration.
pub type Apply<D> = fn(&mut D, Setting<'_>) -> Checked<()>;

/// What a key means here.
#[derive(Debug)]
pub enum Meaning<D> {
    /// It is honoured.
    Honoured(Apply<D>),
    /// It does nothing, and the start goes on with a warning.
    NoMeaningHere(/* why */ &'static str),
    /// The server does not start: a silently ignored key would mislead its operator.
    RefusesStart(/* why */ &'static str, /* what to do */ &'static str),
}

impl<D> Clone for Meaning<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Meaning<D> {}

/// One key.
#[derive(Debug)]
pub struct Row<D> {
    /// Its name in the other system's file; empty for what only we have. One that ends in `*` stands for all with that
    /// beginning.
    pub foreign: &'static str,
    /// Our own name, `service.section.key`; empty for what only the other system's file has.
    pub own: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What it means here.
    pub meaning: Meaning<D>,
}

impl<D> Row<D> {
    /// A key that both files have.
    #[must_use]
    pub const fn both(
        foreign: &'static str,
        own: &'static str,
        about: &'static str,
        apply: Apply<D>,
    ) -> Self {
        Self { foreign, own, about, meaning: Meaning::Honoured(apply) }
    }

    /// A key that only the other system's file has.
    #[must_use]
    pub const fn foreign(name: &'static str, about: &'static str, apply: Apply<D>) -> Self {
        Self::both(name, "", about, apply)
    }

    /// A key that only our own file has.
    #[must_use]
    pub const fn own(name: &'static str, about: &'static str, apply: Apply<D>) -> Self {
        Self::both("", name, about, apply)
    }

    /// A key of the other system's that does nothing here.
    #[must_use]
    pub const fn nothing(foreign: &'static str, why: &'static str) -> Self {
        Self { foreign, own: "", about: "", meaning: Meaning::NoMeaningHere(why) }
    }

    /// A key of the other system's that refuses the start.
    #[must_use]
    pub const fn refuses(foreign: &'static str, why: &'static str, hint: &'static str) -> Self {
        Self { foreign, own: "", about: "", meaning: Meaning::RefusesStart(why, hint) }
    }

    fn is_foreign(&self, key: &str) -> bool {
        match self.foreign.strip_suffix('*') {
            Some(beginning) => key.starts_with(beginning),
            None => !self.foreign.is_empty() && self.foreign == key,
        }
    }
}

/// Which names a file uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The other system's.
    Foreign,
    /// Ours.
    Own,
}

impl Names {
    /// The name of a row.
    #[must_use]
    pub const fn of<D>(self, row: &Row<D>) -> &'static str {
        match self {
            Self::Foreign => row.foreign,
            Self::Own => row.own,
        }
    }
}

/// All keys of a configuration. Where two rows fit a key, the first does.
#[derive(Debug)]
pub struct Keys<D: 'static>(pub &'static [&'static [Row<D>]]);

impl<D> Keys<D> {
    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row<D>> {
        self.0.iter().copied().flatten()
    }

    /// The row of a key.
    #[must_use]
    pub fn find(&self, names: Names, key: &str) -> Option<&'static Row<D>> {
        match names {
            Names::Foreign => self.rows().find(|row| row.is_foreign(key)),
            Names::Own => self.rows().find(|row| !row.own.is_empty() && row.own == key),
        }
    }

    /// The row with the name that is most similar to an unknown key, if one is similar at all.
    #[must_use]
    pub fn nearest(&self, names: Names, key: &str) -> Option<&'static Row<D>> {
        let lower = key.to_ascii_lowercase();
        self.rows()
            .filter(|row| !names.of(row).is_empty() && !names.of(row).ends_with('*'))
            .map(|row| (strsim::jaro_winkler(&lower, &names.of(row).to_ascii_lowercase()), row))
            .filter(|(likeness, _)| *likeness > LIKENESS_MIN)
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Keys<u32> = Keys(&[
        &[Row::both("maxClients", "a.clients-max", "clients", |draft, setting| {
            *draft = setting.count()?;
            Ok(())
        })],
        &[Row::nothing("debug.*", "there is nothing to see"), Row::refuses("old", "gone", "leave it out")],
    ]);

    #[test]
    fn a_row_is_found_by_either_name() {
        let mut draft = 0;
        for (names, key) in [(Names::Foreign, "maxClients"), (Names::Own, "a.clients-max")] {
            let Some(Row { meaning: Meaning::Honoured(apply), .. }) = KEYS.find(names, key) else {
                panic!("{key}");
            };
            apply(&mut draft, Setting { key, value: "7" }).expect("a number");
        }
        assert_eq!(draft, 7);
        assert!(KEYS.find(Names::Own, "maxClients").is_none());
        assert_eq!(KEYS.find(Names::Foreign, "debug.gc").map(|row| row.foreign), Some("debug.*"));
    }

    #[test]
    fn what_is_nearly_a_name_leads_to_it() {
        assert_eq!(KEYS.nearest(Names::Foreign, "maxClient").map(|row| row.foreign), Some("maxClients"));
        assert!(KEYS.nearest(Names::Own, "colour").is_none());
    }
}
