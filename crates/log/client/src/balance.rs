//! What Diwan's controller shows of loads and of their balance: configurations that only it has, and only by name.

use log_wire::messages::configs::{DescribeConfigsRequest, DescribeConfigsResource};

use crate::topics::BROKER;
use crate::{Cluster, Result};

impl Cluster {
    /// What the controller shows under that name. Nothing if it knows no such thing: it is another broker by now, of another maker,
    /// or has not looked yet.
    ///
    /// # Errors
    /// No broker answers.
    pub fn shown_by_controller(&mut self, name: &str) -> Result<Option<String>> {
        let resource = DescribeConfigsResource {
            resource_type: BROKER,
            resource_name: self.controller().to_string(),
            configuration_keys: Some(vec![name.into()]),
        };
        let request =
            DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
        let results = self.call_controller(&request)?.results;
        let configs = results.into_iter().flat_map(|result| result.configs);
        Ok(configs.into_iter().find(|config| config.name == name).and_then(|config| config.value))
    }
}
