//! Flags of the virtual machine of brokers that live as long as a test.

use tools_testbed::BrokerSoftware;

pub(crate) fn flags(software: &BrokerSoftware) -> Vec<String> {
    match software {
        // A short life: compiling for a long one costs the other processes more than it gains.
        BrokerSoftware::Kafka(_) => {
            ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"].map(String::from).to_vec()
        }
        BrokerSoftware::Diwan(_) | BrokerSoftware::Whole(_) => Vec::new(),
    }
}
