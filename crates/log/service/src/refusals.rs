//! Clients that are refused: how many for each reason, and a line in the log once in a while for each.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use log_access::ConnectionLimit;
use log_broker::{Client, Refusal};
use node_metrics::{Measure, Sample};
use node_threads::RateLimit;

/// How often the log tells of refusals for one reason: a client that is refused tries again at once.
const TOLD: Duration = Duration::from_secs(10);

/// How many were refused for one reason.
#[derive(Debug, Default)]
struct Count {
    count: AtomicU64,
    told: RateLimit,
}

impl Count {
    /// One more. Gives how many there are if the log is to tell of it.
    fn one_more(&self) -> Option<u64> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.told.allow(Instant::now(), TOLD).then_some(count)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    connections: [Count; LIMITS.len()],
    without_descriptor: Count,
    clients: [Count; Refusal::ALL.len()],
}

/// The limits of connections, with their names in metrics and in settings.
const LIMITS: [(ConnectionLimit, &str, &str); 7] = [
    (ConnectionLimit::Broker, "broker", "there are as many connections as `max.connections` allows"),
    (
        ConnectionLimit::Listener,
        "listener",
        "there are as many connections as `max.connections` of its listener allows",
    ),
    (
        ConnectionLimit::Address,
        "address",
        "there are as many connections from this address as `max.connections.per.ip` allows",
    ),
    (ConnectionLimit::Strangers, "strangers", "too many clients have connected and not authenticated"),
    (
        ConnectionLimit::StrangersOfAddress,
        "strangers_of_address",
        "too many clients of this address have connected and not authenticated",
    ),
    (ConnectionLimit::Rate, "rate", "connections come faster than `max.connection.creation.rate` allows"),
    (
        ConnectionLimit::RateOfAddress,
        "rate_of_address",
        "connections come faster from this address than its quota `connection_creation_rate` allows",
    ),
];

impl Refusals {
    /// A connection met a limit: it waits, or is closed.
    pub(crate) fn connection(&self, ip: IpAddr, limit: ConnectionLimit) {
        let known = LIMITS.iter().zip(&self.connections).find(|((known, ..), _)| *known == limit);
        let Some(((_, _, why), count)) = known else { return };
        if let Some(refused) = count.one_more() {
            tracing::warn!(peer = %ip, refused, "a connection is not served now: {why}");
        }
    }

    /// A connection was closed, for the process has hardly a descriptor left.
    pub(crate) fn without_descriptor(&self, ip: IpAddr, limit: u64) {
        if let Some(refused) = self.without_descriptor.one_more() {
            tracing::warn!(
                peer = %ip,
                refused,
                "a connection is refused: the limit of {limit} open files is nearly reached; hint: raise it (`ulimit -n`, \
                 `LimitNOFILE`)"
            );
        }
    }

    /// A client is refused.
    pub(crate) fn client(&self, client: &Client, refusal: Refusal, why: &str) {
        let Some(count) = self.clients.get(refusal as usize) else { return };
        let told = count.one_more();
        let (peer, principal) = (client.address(), client.principal.text());
        match told {
            // What every client may do that is only silent is no trouble.
            Some(refused) if refusal != Refusal::Idle => {
                tracing::warn!(
                    peer,
                    principal,
                    refused,
                    "a client is refused, and its connection closed: {}",
                    why
                );
            }
            _ => tracing::debug!(peer, principal, "a connection is closed: {}", why),
        }
    }

    /// The counts, for metrics.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        const CONNECTIONS: (&str, &str) = (
            "diwan_log_connections_refused_total",
            "Connections that waited or were closed, by the limit they met",
        );
        const CLIENTS: (&str, &str) =
            ("diwan_log_clients_refused_total", "Clients whose connections were closed, by the reason");
        let sample =
            |(name, help): (&'static str, &'static str), of: &'static str, label: &str, count: &Count| {
                let value = Measure::Counter(count.count.load(Ordering::Relaxed));
                Sample { name, help, labels: vec![(of, label.into())], value }
            };
        let limits = LIMITS.iter().zip(&self.connections);
        let limits = limits.map(|((_, name, _), count)| sample(CONNECTIONS, "limit", name, count));
        let descriptors = sample(CONNECTIONS, "limit", "descriptors", &self.without_descriptor);
        let clients = Refusal::ALL.iter().zip(&self.clients);
        let clients = clients.map(|(why, count)| sample(CLIENTS, "reason", why.name(), count));
        limits.chain([descriptors]).chain(clients).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_their_reason() {
        let refusals = Refusals::default();
        let ip = IpAddr::from([10, 0, 0, 1]);
        let client = Client::of(&log_broker::Peer { ip, listener: 0, certified: None });
        LIMITS.iter().for_each(|(limit, ..)| refusals.connection(ip, *limit));
        Refusal::ALL.iter().for_each(|why| refusals.client(&client, *why, why.tell()));
        refusals.without_descriptor(ip, 24);
        refusals.client(&client, Refusal::SlowReader, "slow");
        let counts: Vec<u64> = refusals
            .samples()
            .iter()
            .map(|sample| match sample.value {
                Measure::Counter(count) => count,
                _ => 0,
            })
            .collect();
        assert_eq!(counts.len(), LIMITS.len() + 1 + Refusal::ALL.len());
        assert_eq!(counts.iter().sum::<u64>(), counts.len() as u64 + 1);
        assert!(counts.iter().all(|count| *count >= 1), "{counts:?}");
    }
}
