//! Points on real processes: what a load saw, and what it cost each kind of thread. Knows no prices.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use client::load::{Load, Mix, Nodes, Pace, prepare, run};
use serde_json::{Value, json};
use sim::cost::{Part, Role};

use super::{Point, threads};
use crate::bench::Failure;
use crate::ensemble::{Ensemble, Place};
use crate::peer::{Config, Server, Software, port, word};

/// Nodes that there are: as many as a simulation has.
const NODES: u32 = 1000;
const WARM_UP: Duration = Duration::from_millis(700);
/// How long an ensemble may be without a leader.
const PATIENCE: Duration = Duration::from_secs(30);
/// What stands before the names of our threads.
const THREAD_PREFIX: &str = "diwan-";

/// What one point gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Requests answered a second.
    pub per_second: f64,
    /// Milliseconds.
    pub p50_ms: f64,
    /// See above.
    pub p99_ms: f64,
    /// Processor time of the servers, microseconds a request.
    pub cpu_us: f64,
    /// Nanoseconds a request, by the name of a part and a role: `Leader shard`.
    pub spent: BTreeMap<String, f64>,
}

/// All that was measured, by the points' names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded(pub BTreeMap<String, Measured>);

impl Measured {
    /// Nanoseconds a request of some threads, all together.
    #[must_use]
    pub fn spent(&self, part: Part, role: Role) -> Option<f64> {
        self.spent.get(&key(part, role.name())).copied()
    }
}

pub(super) fn key(part: Part, role: &str) -> String {
    format!("{part:?} {role}")
}

impl Recorded {
    /// As text that [`Recorded::parse`] reads.
    #[must_use]
    pub fn text(&self) -> String {
        let one = |measured: &Measured| {
            json!({
                "per_second": measured.per_second.round(),
                "p50_ms": measured.p50_ms,
                "p99_ms": measured.p99_ms,
                "cpu_us": (measured.cpu_us * 1000.0).round() / 1000.0,
                "spent_ns": measured.spent.iter().map(|(name, ns)| (name.clone(), json!(ns.round()))).collect::<serde_json::Map<_, _>>(),
            })
        };
        let all: serde_json::Map<_, _> =
            self.0.iter().map(|(name, measured)| (name.clone(), one(measured))).collect();
        serde_json::to_string_pretty(&Value::Object(all)).unwrap_or_default() + "\n"
    }

    /// Reads what [`Recorded::text`] wrote; nothing if it is of another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let one = |value: &Value| {
            let number = |name: &str| value.get(name)?.as_f64();
            let spent = value.get("spent_ns")?.as_object()?.iter();
            Some(Measured {
                per_second: number("per_second")?,
                p50_ms: number("p50_ms")?,
                p99_ms: number("p99_ms")?,
                cpu_us: number("cpu_us")?,
                spent: spent.map(|(name, ns)| Some((name.clone(), ns.as_f64()?))).collect::<Option<_>>()?,
            })
        };
        let all = value.as_object()?.iter();
        all.map(|(name, value)| Some((name.clone(), one(value)?))).collect::<Option<_>>().map(Self)
    }
}

/// Measures points on members that are started in `folder` and end with it.
///
/// # Errors
/// A server or a connection failed.
pub fn measure(
    diwan: &Path,
    folder: &Path,
    points: &[Point],
    each: Duration,
    mut done: impl FnMut(&Point, &Measured),
) -> Result<Recorded, Failure> {
    let mut recorded = Recorded::default();
    let mut groups: Vec<_> = points.iter().map(|point| (point.servers, point.value_bytes)).collect();
    groups.sort_unstable();
    groups.dedup();
    for (servers, value_bytes) in groups {
        let stage = Stage::start(diwan, folder, servers)?;
        prepare(stage.addresses()[0], Nodes { count: NODES, value_bytes })?;
        let of_group = |point: &&Point| (point.servers, point.value_bytes) == (servers, value_bytes);
        for point in points.iter().filter(of_group) {
            let measured = stage.measure(point, each)?;
            done(point, &measured);
            recorded.0.insert(point.name(), measured);
        }
    }
    Ok(recorded)
}

/// Nanoseconds by the name of a part and a role.
pub(super) type Spent = BTreeMap<String, u64>;

/// Members that run.
pub(super) enum Stage {
    Alone(Box<Server>),
    Ensemble(Ensemble),
}

impl Stage {
    pub(super) fn start(diwan: &Path, folder: &Path, servers: u64) -> Result<Self, Failure> {
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        let software = Software::Diwan(diwan.to_owned());
        let keys =
            [("maxClientCnxns", "0"), ("maxSessionTimeout", "600000"), ("admin.enableServer", "false")];
        if servers == 1 {
            let [client_port] = port::free()?;
            let owned = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let config = Config {
                folder: folder.to_owned(),
                client: (std::net::Ipv4Addr::LOCALHOST, client_port).into(),
                namespace: None,
                heap_mb: 0,
                keys: owned.collect(),
                flags: Vec::new(),
                environment: Vec::new(),
            };
            return Ok(Self::Alone(Box::new(Server::start(&software, config)?)));
        }
        let flags = ["-D", "metrics.listen=off"].map(String::from);
        let mut ensemble =
            Ensemble::of(software, folder, servers as usize, &Place::loopback(), &keys[1..2], &flags);
        ensemble.start_all()?;
        Ok(Self::Ensemble(ensemble))
    }

    fn servers(&self) -> Vec<&Server> {
        match self {
            Self::Alone(server) => vec![server],
            Self::Ensemble(ensemble) => ensemble.servers().collect(),
        }
    }

    pub(super) fn addresses(&self) -> Vec<std::net::SocketAddr> {
        self.servers().into_iter().map(Server::address).collect()
    }

    /// The place of who leads.
    pub(super) fn leader(&self) -> Result<usize, Failure> {
        let began = std::time::Instant::now();
        let addresses = self.addresses();
        while addresses.len() > 1 && began.elapsed() < PATIENCE {
            let leads = |address: &std::net::SocketAddr| {
                let answer = word(*address, "srvr", Duration::from_secs(1));
                answer.is_ok_and(|text| text.contains("Mode: leader"))
            };
            if let Some(place) = addresses.iter().position(leads) {
                return Ok(place);
            }
        }
        if addresses.len() == 1 { Ok(0) } else { Err(Failure(format!("nobody leads for {PATIENCE:?}"))) }
    }

    fn measure(&self, point: &Point, each: Duration) -> Result<Measured, Failure> {
        let leader = self.leader()?;
        let addresses = match point.at_leader {
            true => vec![self.addresses()[leader]],
            false => self.addresses(),
        };
        let pace = match point.per_second {
            0 => Pace::Closed { outstanding: point.outstanding },
            rate => Pace::Open { per_second: f64::from(rate) },
        };
        let load = Load {
            servers: addresses.into(),
            connections: point.connections,
            pace,
            mix: Mix { writes_per_mille: point.writes_per_mille },
            nodes: Nodes { count: NODES, value_bytes: point.value_bytes },
            seed: 1,
            checks: false,
        };
        let mut readings = Vec::new();
        let seen = run(&load, WARM_UP, each, || readings.push(self.spent(leader)))?;
        let readings: Vec<_> = readings.into_iter().collect::<Result<_, _>>()?;
        let [before, after] = &readings[..] else { return Err(Failure("no processor time".into())) };
        if seen.operations == 0 || seen.errors > 0 {
            return Err(Failure(format!("{} requests were answered with errors", seen.errors)));
        }
        let per_request = |(name, ns): (&String, &u64)| {
            let spent = ns - before.get(name).copied().unwrap_or_default();
            (name.clone(), spent as f64 / seen.operations as f64)
        };
        let spent: BTreeMap<_, _> = after.iter().map(per_request).collect();
        let of_servers = spent.iter().filter(|(name, _)| !name.starts_with("Client"));
        Ok(Measured {
            per_second: seen.per_second(),
            p50_ms: seen.latency_ms(50.0),
            p99_ms: seen.latency_ms(99.0),
            cpu_us: of_servers.map(|(_, ns)| ns / 1000.0).sum(),
            spent,
        })
    }

    /// What every kind of thread has spent, and the load's.
    pub(super) fn spent(&self, leader: usize) -> std::io::Result<Spent> {
        let mut spent = BTreeMap::from([(key(Part::Client, Role::Load.name()), threads::of_this()?)]);
        for (place, server) in self.servers().into_iter().enumerate() {
            let part = if place == leader { Part::Leader } else { Part::Follower };
            for (name, ns) in threads::of_process(server.pid())? {
                let role = name.strip_prefix(THREAD_PREFIX).unwrap_or(&name);
                *spent.entry(key(part, role)).or_default() += ns;
            }
        }
        Ok(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_read_again() {
        let spent = BTreeMap::from([(key(Part::Leader, "core"), 250.0)]);
        let measured = Measured { per_second: 1000.0, p50_ms: 1.5, p99_ms: 2.5, cpu_us: 3.25, spent };
        assert_eq!(measured.spent(Part::Leader, Role::Core), Some(250.0));
        let recorded = Recorded(BTreeMap::from([(String::from("a point"), measured)]));
        assert_eq!(Recorded::parse(&recorded.text()), Some(recorded));
        assert_eq!(Recorded::parse("{\"a\": 1}"), None);
    }
}
