//! Statistics over the repetitions of one figure.

/// The middle value; the mean of the two in the middle of an even number.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The least and the greatest value.
#[must_use]
pub fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    Some((least, values.iter().copied().reduce(f64::max)?))
}

/// A mean and how far values lie from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// The standard deviation; 0 where there was one repetition.
    pub deviation: f64,
}

impl Mean {
    /// Of these values.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Self { value, deviation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_a_middle_a_spread_and_a_mean() {
        assert_eq!(
            [median(&[4.0, 1.0]), median(&[9.0, 1.0, 2.0]), median(&[])],
            [Some(2.5), Some(2.0), None]
        );
        assert_eq!([spread(&[9.0, 1.0, 2.0]), spread(&[])], [Some((1.0, 9.0)), None]);
        assert_eq!(Mean::of(&[1.0, 3.0]), Mean { value: 2.0, deviation: 2f64.sqrt() });
        assert_eq!(Mean::of(&[7.0]), Mean { value: 7.0, deviation: 0.0 });
    }
}
