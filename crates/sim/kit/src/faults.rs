//! Faults are numbered as they strike, so that a run can be played again without some of them: how one that fails is made
//! smaller. What a fault draws comes from a stream of its own, so that leaving it out disturbs the draws of others as
//! little as can be; what happens behind it differs all the same.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::random::Random;

/// What strikes single messages, too often to be numbered: left out altogether or not at all.
pub const OF_MESSAGES: [&str; 3] = ["loss", "repeat", "overtaking"];

/// How often, of a thousand messages, each of [`OF_MESSAGES`] strikes one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageFaults {
    /// It is lost.
    pub loss: u64,
    /// It comes twice.
    pub repeat: u64,
    /// It overtakes others.
    pub overtake: u64,
}

/// Which faults are left out: `3-17,20,loss`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// By their numbers.
    pub numbers: BTreeSet<u64>,
    /// Those of [`OF_MESSAGES`].
    pub of_messages: BTreeSet<&'static str>,
}

impl Without {
    /// What is left of these faults.
    #[must_use]
    pub fn apply(&self, mut faults: MessageFaults) -> MessageFaults {
        for name in &self.of_messages {
            match *name {
                "loss" => faults.loss = 0,
                "repeat" => faults.repeat = 0,
                _ => faults.overtake = 0,
            }
        }
        faults
    }

    /// Whether nothing is left out.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.numbers.is_empty() && self.of_messages.is_empty()
    }
}

impl FromStr for Without {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut without = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            if let Some(name) = OF_MESSAGES.into_iter().find(|name| *name == word) {
                without.of_messages.insert(name);
                continue;
            }
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            match (first.parse::<u64>(), last.parse::<u64>()) {
                (Ok(first), Ok(last)) => without.numbers.extend(first..=last),
                _ => {
                    return Err(format!(
                        "`{word}` is neither a number, nor a range, nor one of {OF_MESSAGES:?}"
                    ));
                }
            }
        }
        Ok(without)
    }
}

impl fmt::Display for Without {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        let mut numbers = self.numbers.iter().copied().peekable();
        while let Some(first) = numbers.next() {
            let mut last = first;
            while let Some(next) = numbers.next_if(|next| *next == last + 1) {
                last = next;
            }
            words.push(if first == last { first.to_string() } else { format!("{first}-{last}") });
        }
        words.extend(self.of_messages.iter().map(|name| (*name).to_owned()));
        out.write_str(&words.join(","))
    }
}

/// Counts them.
#[derive(Debug, Default)]
pub(crate) struct Strikes {
    pub(crate) count: u64,
    pub(crate) without: Without,
    /// The one that strikes now, until it is told.
    pub(crate) present: Option<u64>,
}

impl Strikes {
    /// Another fault is to strike. Gives what it draws from, unless it is left out.
    pub(crate) fn next(&mut self, chance: Random) -> Option<Random> {
        self.count += 1;
        let strikes = !self.without.numbers.contains(&self.count);
        self.present = strikes.then_some(self.count);
        strikes.then_some(chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_written_as_it_is_read() {
        let without: Without = "5,3-4,9,loss,11-12".parse().unwrap();
        assert_eq!(without.numbers, [3, 4, 5, 9, 11, 12].into());
        assert_eq!(without.to_string(), "3-5,9,11-12,loss");
        assert_eq!(without.to_string().parse(), Ok(without));
        assert!(Without::default().to_string().parse::<Without>().unwrap().is_nothing());
        assert!("3-x".parse::<Without>().unwrap_err().contains("`3-x` is neither"));
    }

    #[test]
    fn leaving_one_out_leaves_the_others_their_draws() {
        let draws = |without: &str| {
            let (mut random, mut strikes) = (Random::new(1), Strikes::default());
            strikes.without = without.parse().unwrap();
            [(); 3].map(|()| strikes.next(random.fork()).map(|mut own| own.number()))
        };
        let ([first, _, third], some) = (draws(""), draws("2"));
        assert_eq!(some, [first, None, third]);
    }
}
