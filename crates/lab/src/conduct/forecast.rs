//! What no machine here holds: the simulator's cost mode says how it would be, and the report that it was not measured.

use std::collections::BTreeMap;

use sim::cost::{Profile, Work, predict};

use super::{Conductor, News, PREDICTED};
use crate::experiment::{Experiment, Forecast, Plan, figure};
use crate::record::{Checked, Key, Origin, Point, StoreError};

/// Whose prices: those measured on processes of ours.
const PROFILE: &str = "this-machine";

/// Simulated time: ensembles without a load beside them do millions of reads a second, each of which is played.
const WARM_UP_MS: u64 = 100;
const MEASURED_MS: u64 = 150;

impl Conductor<'_, '_> {
    pub(super) fn forecasts(&mut self, experiment: &Experiment, plan: &Plan) -> Result<(), StoreError> {
        for forecast in &plan.forecasts {
            let key = Key {
                experiment: experiment.id.to_owned(),
                system: PREDICTED.to_owned(),
                series: forecast.series.clone(),
                at: forecast.at.clone(),
                repetition: 1,
            };
            if self.is_stopped() || self.run.has(&key) {
                continue;
            }
            let text = format!("{} {PREDICTED}: {} {}", experiment.id, forecast.series, forecast.at);
            (self.tell)(News::Doing(&text));
            match Profile::named(PROFILE) {
                Ok(profile) => self.run.add(point(key, forecast, &profile, self.options.seed))?,
                Err(error) => self.skip(experiment.id, PREDICTED, error.to_string())?,
            }
        }
        Ok(())
    }
}

fn point(key: Key, forecast: &Forecast, profile: &Profile, seed: u64) -> Point {
    let setup =
        sim::cost::Setup { seed, warm_up_ms: WARM_UP_MS, measured_ms: MEASURED_MS, ..forecast.setup.clone() };
    let prediction = predict(profile, &setup);
    let mut figures = BTreeMap::new();
    let mut add = |name: &str, value: f64| {
        figures.insert(name.to_owned(), value);
    };
    if setup.work == Work::Watches {
        add(figure::RATE, prediction.events_per_second());
    } else {
        add(figure::RATE, prediction.per_second());
        add(figure::MEAN, prediction.mean_latency_ms());
        add(figure::P50, prediction.latency_ms(50.0));
        add(figure::P99, prediction.latency_ms(99.0));
        add(figure::CPU, prediction.cpu_us());
    }
    Point { key, origin: Origin::Predicted, figures, curves: BTreeMap::new(), checked: Checked::default() }
}
