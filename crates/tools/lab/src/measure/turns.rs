//! Whose turn it is: each repetition, each contestant once.

/// The first contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Always the same one: what each leaves on the disk meets the same successor every time.
    Same,
    /// Another one each repetition: none always has the warmer machine.
    Next,
}

/// Turns of some contestants.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// The first contestant.
    pub first: First,
    /// How often each has its turn.
    pub repetitions: u32,
}

impl Turns {
    /// The repetitions, counted from 1.
    pub fn repetitions(&self) -> impl Iterator<Item = u32> + use<> {
        1..=self.repetitions
    }

    /// The places of so many contestants, in the order of that repetition.
    pub fn order(&self, repetition: u32, contestants: usize) -> impl Iterator<Item = usize> + use<> {
        let first = match self.first {
            First::Same => 0,
            First::Next => repetition as usize,
        };
        (0..contestants).map(move |place| (first + place) % contestants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_a_turn_and_the_first_one_changes_if_asked_for() {
        let order = |first, repetition| -> Vec<usize> {
            Turns { first, repetitions: 2 }.order(repetition, 3).collect()
        };
        assert_eq!([order(First::Same, 1), order(First::Same, 2)], [[0, 1, 2], [0, 1, 2]]);
        assert_eq!([order(First::Next, 1), order(First::Next, 2)], [[1, 2, 0], [2, 0, 1]]);
        assert_eq!(Turns { first: First::Next, repetitions: 2 }.order(1, 0).count(), 0);
    }
}
