//! How certain a difference is: Student's interval for one figure, and a correction for how many figures were looked at.
//!
//! Of figures that are looked at with a certainty of 95 % each, one in twenty differs by chance. What counts here is
//! therefore decided for all of them together, by the step-up procedure of Benjamini and Hochberg (1995): of the figures
//! that it holds for certain one in twenty at most is expected to be chance, and where nothing differs at all, it finds
//! something in one comparison of twenty at most.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// What may be chance.
const CHANCE_MAX: f64 = 0.05;

/// What repeated observations say of their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    /// Between these the mean lies with a certainty of 95 %; nothing if there was one observation.
    pub(super) interval: Option<(f64, f64)>,
    /// The probability of a mean at least as far from 0 if it were 0: 1 if there was one observation.
    pub(super) chance: f64,
}

impl Estimate {
    pub(super) fn of(values: &[f64]) -> Self {
        let (mean, count) = (mean(values), values.len() as f64);
        let Ok(student) = StudentsT::new(0.0, 1.0, count - 1.0) else {
            return Self { mean, interval: None, chance: 1.0 };
        };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let reach = student.inverse_cdf(1.0 - CHANCE_MAX / 2.0) * error;
        let chance = match error > 0.0 {
            true => 2.0 * student.sf(mean.abs() / error),
            // All alike: no chance, unless they say that nothing differs.
            false => f64::from(mean == 0.0),
        };
        Self { mean, interval: Some((mean - reach, mean + reach)), chance }
    }
}

/// Which of these are no chance, judged for all of them together.
pub(super) fn certain(chances: &[f64]) -> Vec<bool> {
    let mut sorted = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let of_all = |place: usize| CHANCE_MAX * (place + 1) as f64 / chances.len() as f64;
    let last = (0..sorted.len()).rfind(|place| sorted[*place] <= of_all(*place));
    let greatest = last.map_or(-1.0, |place| sorted[place]);
    chances.iter().map(|chance| *chance <= greatest).collect()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Student's t of five observations: 2.776.
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let (low, high) = estimate.interval.unwrap();
        let reach = 2.776 * (2.5_f64 / 5.0).sqrt();
        assert!((low - 3.0 + reach).abs() < 0.001 && (high - 3.0 - reach).abs() < 0.001, "{estimate:?}");
        // t = 4.243 with four degrees of freedom.
        assert!((estimate.chance - 0.0132).abs() < 0.0001, "{estimate:?}");
    }

    #[test]
    fn one_observation_and_equal_ones_are_told_apart() {
        assert_eq!(Estimate::of(&[2.0]), Estimate { mean: 2.0, interval: None, chance: 1.0 });
        assert_eq!(Estimate::of(&[2.0; 3]), Estimate { mean: 2.0, interval: Some((2.0, 2.0)), chance: 0.0 });
        assert_eq!(Estimate::of(&[0.0; 3]).chance, 1.0);
    }

    #[test]
    fn what_one_figure_would_show_is_chance_among_twenty() {
        let mut chances = vec![0.5; 20];
        chances[7] = 0.03;
        assert_eq!(certain(&chances[7..8]), [true]);
        assert!(certain(&chances).iter().all(|certain| !certain));
        chances[7] = 0.002;
        assert_eq!(certain(&chances).iter().position(|certain| *certain), Some(7));
        // Where most differ, the bar is lower for each.
        let most: Vec<_> = (0..20).map(|place| if place < 15 { 0.03 } else { 0.8 }).collect();
        assert_eq!(certain(&most).iter().filter(|certain| **certain).count(), 15);
        assert!(certain(&[]).is_empty());
    }
}
