//! Prices of a machine from what was measured there. How often a thread does each thing is the simulation's word, and that
//! depends on the prices: so both take turns until neither changes much. Knows no processes.

use std::thread;

use sim::cost::{KINDS, Prediction, Profile, Role, predict};

use super::solve::{Sum, solve};
use super::{Point, Recorded};

/// A price goes so far towards what is solved for, each time: batches that shrink and grow in turn come to rest.
const STEP: f64 = 0.6;

/// Prices so that the simulation of these points costs what was measured of them; held-out points are not looked at.
#[must_use]
pub fn fit(
    profile: &Profile,
    points: &[Point],
    recorded: &Recorded,
    rounds: usize,
    told: impl Fn(&str),
) -> Profile {
    let points: Vec<_> = points.iter().filter(|point| !point.held_out).collect();
    let believed = profile.clone();
    let mut profile = profile.clone();
    for round in 1..=rounds {
        let predictions = side_by_side(&profile, &points);
        let mut error = 0.0;
        for role in Role::ALL {
            let sums = sums(role, &points, &predictions, recorded);
            let now = *profile.prices(role);
            error += sums.iter().map(|sum| error_of(sum, &now)).sum::<f64>() / sums.len().max(1) as f64;
            let solved = solve(&sums, believed.prices(role));
            let next = std::array::from_fn(|kind| now[kind] + STEP * (solved[kind] - now[kind]));
            profile = profile.with_prices(role, next);
        }
        told(&format!("round {round}: sums are off by {:.1} % on average", error / 4.0 * 100.0));
    }
    profile
}

/// Predictions of several points, two at a time.
pub(super) fn side_by_side(profile: &Profile, points: &[&Point]) -> Vec<Prediction> {
    let half = points.len().div_ceil(2);
    thread::scope(|scope| {
        let parts: Vec<_> = points
            .chunks(half.max(1))
            .map(|part| {
                scope.spawn(move || {
                    part.iter().map(|point| predict(profile, &point.setup())).collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("a simulation that is whole")).collect()
    })
}

fn error_of(sum: &Sum<KINDS>, prices: &[f64; KINDS]) -> f64 {
    let cost: f64 = sum.times.iter().zip(prices).map(|(times, price)| times * price).sum();
    (cost / sum.cost - 1.0).abs()
}

/// Of all points and parts: what threads of that role do for a request, and what that took.
fn sums(role: Role, points: &[&Point], predictions: &[Prediction], recorded: &Recorded) -> Vec<Sum<KINDS>> {
    let mut sums = Vec::new();
    for (point, prediction) in points.iter().zip(predictions) {
        let Some(measured) = recorded.0.get(&point.name()) else { continue };
        for spent in prediction.spent.iter().filter(|spent| spent.role == role) {
            let Some(cost) = measured.spent(spent.part, role) else { continue };
            let times = spent.count.0.map(|count| count / prediction.operations.max(1) as f64);
            // What is next to nothing says nothing but what the machine did beside.
            let matters = cost * measured.per_second > 2e6;
            if matters && times.iter().any(|times| *times > 0.0) {
                sums.push(Sum { times, cost });
            }
        }
    }
    sums
}
