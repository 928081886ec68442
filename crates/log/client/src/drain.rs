//! Brokers from which everything moves away: Diwan's `diwan.drain`.

use std::collections::BTreeMap;

use log_wire::messages::configs::{DescribeConfigsRequest, DescribeConfigsResource};

use crate::topics::{BROKER, alteration, check};
use crate::{Cluster, Result};

/// The configuration.
const DRAIN: &str = "diwan.drain";

impl Cluster {
    /// Has everything move away from a broker, or not any more. Any broker can be asked; it is refused if too few others are left.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn drain(&mut self, broker: i32, drains: bool) -> Result<()> {
        let settings = [(String::from(DRAIN), drains.then(|| String::from("true")))].into();
        let request = alteration((BROKER, &broker.to_string()), &settings);
        let done = self.call_controller(&request)?.responses.pop().unwrap_or_default();
        check(format!("broker {broker}"), done.error_code, done.error_message)
    }

    /// Which of these brokers drain. Those of other makers, which know nothing of that, are left out.
    ///
    /// # Errors
    /// No broker answers.
    pub fn drains(&mut self, brokers: &[i32]) -> Result<BTreeMap<i32, bool>> {
        let resource = |id: &i32| DescribeConfigsResource {
            resource_type: BROKER,
            resource_name: id.to_string(),
            configuration_keys: Some(vec![DRAIN.into()]),
        };
        let resources = brokers.iter().map(resource).collect();
        let request = DescribeConfigsRequest { resources, ..DescribeConfigsRequest::default() };
        let results = self.call_controller(&request)?.results;
        let told = results.iter().filter_map(|result| {
            let config = result.configs.iter().find(|config| config.name == DRAIN)?;
            Some((result.resource_name.parse().ok()?, config.value.as_deref() == Some("true")))
        });
        Ok(told.collect())
    }
}
