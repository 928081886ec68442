//! Prices from sums: what each thing must cost so that what was done costs what was measured. Least squares of the relative
//! errors, no price below nothing; what no sum tells apart stays near what was believed before. Knows no threads.

/// How much the belief counts, beside one sum.
const BELIEF: f64 = 0.002;
const ROUNDS: usize = 5000;

/// One sum: how often each thing was done, and what that cost together.
pub(super) struct Sum<const N: usize> {
    pub(super) times: [f64; N],
    pub(super) cost: f64,
}

/// The prices.
pub(super) fn solve<const N: usize>(sums: &[Sum<N>], believed: &[f64; N]) -> [f64; N] {
    // In units of what is believed, each sum in units of its cost.
    let scale = believed.map(|price| price.max(1.0));
    let row = |sum: &Sum<N>| std::array::from_fn::<f64, N, _>(|k| sum.times[k] * scale[k] / sum.cost);
    let rows: Vec<[f64; N]> = sums.iter().map(row).collect();
    let mut prices: [f64; N] = std::array::from_fn(|k| believed[k] / scale[k]);
    let belief = prices;
    for _ in 0..ROUNDS {
        for k in 0..N {
            let weight = BELIEF + rows.iter().map(|row| row[k] * row[k]).sum::<f64>();
            let rest = |row: &[f64; N]| 1.0 - row.iter().zip(&prices).map(|(a, x)| a * x).sum::<f64>();
            let slope =
                rows.iter().map(|row| row[k] * rest(row)).sum::<f64>() + BELIEF * (belief[k] - prices[k]);
            prices[k] = (prices[k] + slope / weight).max(0.0);
        }
    }
    std::array::from_fn(|k| prices[k] * scale[k])
}

#[cfg(test)]
mod tests {
    use super::{Sum, solve};

    #[test]
    fn prices_are_found_again_and_none_is_negative() {
        let prices = [500.0, 30.0, 0.0];
        let sum = |times: [f64; 3]| Sum { times, cost: times.iter().zip(prices).map(|(t, p)| t * p).sum() };
        let sums =
            [[1.0, 0.0, 5.0], [1.0, 10.0, 1.0], [2.0, 1.0, 0.0], [0.0, 3.0, 9.0], [1.0, 40.0, 20.0]].map(sum);
        let solved = solve(&sums, &[300.0, 60.0, 10.0]);
        for (solved, price) in solved.iter().zip(prices) {
            assert!((solved - price).abs() < 10.0, "{solved} {price}");
        }
        let contradictory =
            [Sum { times: [1.0, 2.0, 0.0], cost: 10.0 }, Sum { times: [1.0, 1.0, 0.0], cost: 20.0 }];
        assert!(solve(&contradictory, &[1.0; 3]).iter().all(|price| *price >= 0.0));
    }
}
