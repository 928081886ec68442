//! Which requests of a session have been answered, as the server is told of them.

use std::fmt;

/// All up to a floor, and ranges above it.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    floor: u64,
    /// First and last number of each, in order and apart. There are no more of them than requests without an answer.
    above: Vec<(u64, u64)>,
}

impl Acknowledged {
    /// A request is answered.
    pub(crate) fn add(&mut self, number: u64) {
        let at = self.above.partition_point(|&(first, _)| first <= number);
        if number <= self.floor || (at > 0 && self.above[at - 1].1 >= number) {
            return;
        }
        let (mut first, mut last, mut from, mut to) = (number, number, at, at);
        if self.above.get(to).is_some_and(|range| range.0 == number + 1) {
            last = self.above[to].1;
            to += 1;
        }
        if from > 0 && self.above[from - 1].1 == number - 1 {
            from -= 1;
            first = self.above[from].0;
        }
        self.above.splice(from..to, [(first, last)]);
        if self.above[0].0 == self.floor + 1 {
            self.floor = self.above.remove(0).1;
        }
    }

    /// How many of the requests up to that one are not answered.
    pub(crate) fn unanswered(&self, last: u64) -> u64 {
        self.above.iter().fold(last - self.floor, |left, (first, last)| left - (last - first + 1))
    }
}

impl fmt::Display for Acknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.floor)?;
        for (first, last) in &self.above {
            if first == last {
                write!(f, ", {first}")?;
            } else {
                write!(f, ", {first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Acknowledged;

    #[test]
    fn answers_in_any_order_become_a_floor_and_ranges() {
        let mut answers = Acknowledged::default();
        for (number, told) in [(2, "0, 2"), (5, "0, 2, 5"), (3, "0, 2-3, 5"), (3, "0, 2-3, 5"), (4, "0, 2-5")]
        {
            answers.add(number);
            assert_eq!(answers.to_string(), told);
        }
        assert_eq!(answers.unanswered(7), 3);
        answers.add(1);
        assert_eq!((answers.to_string().as_str(), answers.unanswered(5)), ("5", 0));
        answers.add(4);
        answers.add(6);
        assert_eq!(answers.to_string(), "6");
    }
}
