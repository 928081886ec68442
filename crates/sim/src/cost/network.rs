//! Networks of hosts: a transfer leaves when those before it have left, travels, and has arrived when its last byte has.
//! Knows nobody's messages.

use super::profile::NetworkCosts;

/// Bytes of headers for each packet, and what a packet carries: Ethernet, IP, TCP.
const HEADER_BYTES: f64 = 78.0;
const PACKET_BYTES: f64 = 1448.0;

/// The links of all hosts. The same host is reached at once: loopback costs processor time alone.
#[derive(Debug)]
pub(super) struct Network {
    latency_ns: f64,
    ns_per_byte: f64,
    /// By host: until when its link is busy, out and in.
    busy: Vec<[f64; 2]>,
}

/// Where clients are: a host whose link is never busy.
pub(super) const AFAR: usize = usize::MAX;

impl Network {
    pub(super) fn new(hosts: usize, costs: &NetworkCosts) -> Self {
        Self {
            latency_ns: costs.latency_us * 1000.0,
            ns_per_byte: 8.0 / costs.gigabit_per_second,
            busy: vec![[0.0; 2]; hosts],
        }
    }

    /// So many bytes set out; gives when they have arrived.
    pub(super) fn transfer(&mut self, from: usize, to: usize, bytes: usize, now_ns: u64) -> u64 {
        if from == to {
            return now_ns;
        }
        let packets = (bytes as f64 / PACKET_BYTES).ceil();
        let takes = (bytes as f64 + packets * HEADER_BYTES) * self.ns_per_byte;
        let sent = self.pass(from, 0, now_ns as f64, takes);
        // Its first byte arrives a latency after it left, so that the two links work side by side.
        let arrived = self.pass(to, 1, sent - takes + self.latency_ns, takes);
        arrived as u64
    }

    fn pass(&mut self, host: usize, direction: usize, at: f64, takes: f64) -> f64 {
        let Some(busy) = self.busy.get_mut(host) else { return at + takes };
        busy[direction] = busy[direction].max(at) + takes;
        busy[direction]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_one_byte_after_the_other() {
        let costs = NetworkCosts { latency_us: 100.0, gigabit_per_second: 1.0 };
        let mut network = Network::new(3, &costs);
        let bytes = 1448 * 100;
        let alone = network.transfer(0, 1, bytes, 0);
        assert_eq!(alone, 100_000 + (1448 + 78) * 100 * 8);
        let behind = network.transfer(0, 2, bytes, 0);
        assert_eq!(behind - alone, (1448 + 78) * 100 * 8, "the sender's link is busy");
        assert_eq!(network.transfer(2, 2, bytes, 7), 7);
        let from_afar = network.transfer(AFAR, 0, 1, 0);
        assert_eq!(from_afar, 100_000 + 79 * 8, "what comes in does not wait for what goes out");
    }
}
