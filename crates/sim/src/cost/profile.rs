//! What hardware costs, as data: a small TOML file a machine. Knows no event and no machine of ours.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::count::{Count, KINDS, Role};

/// Hardware, and what each thing costs on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What it is, in words.
    pub about: String,
    /// Processor cores of each host.
    pub cores: usize,
    /// From when a sleeping thread is woken until it runs, if a core is free; nanoseconds.
    pub wake_latency_ns: u64,
    /// After how long a thread that has more to do lets another one run that waits; nanoseconds.
    pub slice_ns: u64,
    /// The disk of a host.
    pub disk: DiskCosts,
    /// What lies between hosts.
    pub network: NetworkCosts,
    /// Nanoseconds for one of each kind, by role.
    prices: [[f64; KINDS]; 4],
}

/// A disk.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskCosts {
    /// How long a flush of little takes, microseconds: evenly spaced quantiles, from the shortest to the longest.
    pub flush_us: Vec<f64>,
    /// What is flushed beyond that, MiB a second.
    pub mib_per_second: f64,
    /// By which part of itself a flush takes longer for each other one that is under way.
    pub contention: f64,
}

/// A network.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkCosts {
    /// From one host to another, one way, microseconds.
    pub latency_us: f64,
    /// Gigabit a second, of each host, in each direction.
    pub gigabit_per_second: f64,
}

/// A profile's file says something else.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileError(pub String);

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the profile cannot be used: {}", self.0)
    }
}

impl std::error::Error for ProfileError {}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    cores: usize,
    wake_latency_us: f64,
    slice_us: f64,
    /// Every price times this: a slower or faster processor of which no more is known.
    #[serde(default)]
    times: Option<f64>,
    /// The name of the built-in profile whose prices these are.
    #[serde(default)]
    like: Option<String>,
    disk: DiskCosts,
    network: NetworkCosts,
    #[serde(default)]
    cost: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The profiles that come with the program.
const BUILT_IN: [(&str, &str); 3] = [
    ("this-machine", include_str!("../../costs/this-machine.toml")),
    ("paper-2010", include_str!("../../costs/paper-2010.toml")),
    ("modern", include_str!("../../costs/modern.toml")),
];

impl Profile {
    /// One that comes with the program.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(text),
            None => {
                let names: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
                Err(ProfileError(format!("there is no profile `{name}`, but {names:?}")))
            }
        }
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let file: File = toml::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        let mut prices = match &file.like {
            Some(name) => Self::named(name)?.prices,
            None => prices(&file.cost)?,
        };
        let times = file.times.unwrap_or(1.0);
        prices.iter_mut().flatten().for_each(|price| *price *= times);
        if file.disk.flush_us.is_empty() || file.cores == 0 {
            return Err(ProfileError(String::from("it wants a core and a time for flushes")));
        }
        Ok(Self {
            about: file.about,
            cores: file.cores,
            wake_latency_ns: nanoseconds(file.wake_latency_us),
            slice_ns: nanoseconds(file.slice_us),
            disk: file.disk,
            network: file.network,
            prices,
        })
    }

    /// The same with other prices for a role: nanoseconds for one of each kind.
    #[must_use]
    pub fn with_prices(mut self, role: Role, prices: [f64; KINDS]) -> Self {
        self.prices[role as usize] = prices;
        self
    }

    /// Nanoseconds for one of each kind.
    #[must_use]
    pub const fn prices(&self, role: Role) -> &[f64; KINDS] {
        &self.prices[role as usize]
    }

    /// What that costs, nanoseconds.
    #[must_use]
    pub fn price(&self, role: Role, count: &Count) -> u64 {
        let sum: f64 = count.0.iter().zip(self.prices(role)).map(|(times, price)| times * price).sum();
        sum as u64
    }
}

fn nanoseconds(microseconds: f64) -> u64 {
    (microseconds * 1000.0) as u64
}

/// Every kind of every role, none else.
fn prices(costs: &BTreeMap<String, BTreeMap<String, f64>>) -> Result<[[f64; KINDS]; 4], ProfileError> {
    let mut prices = [[0.0; KINDS]; 4];
    for role in Role::ALL {
        let given = costs.get(role.name()).ok_or_else(|| missing(role, "everything"))?;
        for (place, (name, _)) in role.kinds().iter().enumerate() {
            let price = given.get(*name).ok_or_else(|| missing(role, name))?;
            if !(0.0..1e6).contains(price) {
                return Err(ProfileError(format!("`{}.{name}` costs {price} microseconds", role.name())));
            }
            prices[role as usize][place] = price * 1000.0;
        }
        if let Some(other) = given.keys().find(|name| role.kind(name).is_none()) {
            return Err(ProfileError(format!("a {} does nothing that is called `{other}`", role.name())));
        }
    }
    Ok(prices)
}

fn missing(role: Role, name: &str) -> ProfileError {
    ProfileError(format!("it does not say what `{name}` costs a {}", role.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_can_be_read_and_prices_scale() {
        for (name, _) in BUILT_IN {
            let profile = Profile::named(name).expect(name);
            assert!(profile.prices(Role::Shard)[of_read()] > 0.0, "{name}");
        }
        let one = Count([1.0; KINDS]);
        let text = "about = 'x'\ncores = 1\nwake_latency_us = 0\nslice_us = 1\nlike = 'this-machine'\ntimes = 3\n\
                    disk = { flush_us = [1.0], mib_per_second = 1, contention = 0 }\n\
                    network = { latency_us = 1, gigabit_per_second = 1 }";
        let (this, slow) = (Profile::named("this-machine").unwrap(), Profile::parse(text).unwrap());
        let (fast, slow) = (this.price(Role::Core, &one) as f64, slow.price(Role::Core, &one) as f64);
        assert!((slow / fast - 3.0).abs() < 0.01, "{fast} {slow}");
    }

    fn of_read() -> usize {
        Role::Shard.kind("read").expect("a kind")
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let text = include_str!("../../costs/this-machine.toml");
        let without = text.replacen("round = ", "rounds = ", 1);
        let error = Profile::parse(&without).unwrap_err().to_string();
        assert!(error.contains("`round`"), "{error}");
        assert!(Profile::parse(&text.replacen("\ncores = ", "\nhorses = ", 1)).is_err());
        assert!(Profile::named("no-such-machine").unwrap_err().to_string().contains("this-machine"));
    }
}
