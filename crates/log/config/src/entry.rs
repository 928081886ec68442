//! A configuration as DescribeConfigs shows it: its value, where the value comes from, and what would be in force without it.

use log_wire::messages::configs::{DescribeConfigsResourceResult, DescribeConfigsSynonym};
use log_wire::messages::topics::CreatableTopicConfigs;

use crate::definition::ValueType;

/// Where a value comes from. The numbers are those of DescribeConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Source {
    /// The topic sets it.
    Topic = 1,
    /// It was set for this broker while it ran.
    Broker = 2,
    /// It was set for all brokers while they ran.
    Cluster = 3,
    /// The broker's `server.properties`.
    File = 4,
    /// Nobody sets it.
    Default = 5,
    /// It is the level of a logger.
    Logger = 6,
    /// The subscription to client metrics sets it.
    ClientMetrics = 7,
    /// The group sets it.
    Group = 8,
}

/// A configuration with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its value; nothing if it has none, or if it is a secret.
    pub value: Option<String>,
    /// Its type.
    pub value_type: ValueType,
    /// Where the value comes from.
    pub source: Source,
    /// Whether it cannot be changed while the broker runs.
    pub is_read_only: bool,
    /// Whether the value is a secret.
    pub is_sensitive: bool,
    /// Every value that is set for it, the one in force first.
    pub synonyms: Vec<Synonym>,
    /// What it does; empty if that is not known.
    pub about: &'static str,
}

/// A value that is set somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// Under which name.
    pub name: String,
    /// As it was written; nothing if it is a secret.
    pub value: Option<String>,
    /// Where.
    pub source: Source,
}

impl Entry {
    /// As a response to DescribeConfigs carries it. `with` says whether the request asks for synonyms, and for documentation.
    #[must_use]
    pub fn described(self, with: Detail) -> DescribeConfigsResourceResult {
        let synonyms = if with.synonyms { self.synonyms } else { Vec::new() };
        DescribeConfigsResourceResult {
            name: self.name,
            value: self.value,
            read_only: self.is_read_only,
            config_source: self.source as i8,
            is_sensitive: self.is_sensitive,
            synonyms: synonyms.into_iter().map(Synonym::described).collect(),
            config_type: self.value_type as i8,
            documentation: (with.documentation && !self.about.is_empty()).then(|| self.about.into()),
        }
    }

    /// As a response to CreateTopics carries it.
    #[must_use]
    pub fn created(self) -> CreatableTopicConfigs {
        CreatableTopicConfigs {
            name: self.name,
            value: self.value,
            read_only: self.is_read_only,
            config_source: self.source as i8,
            is_sensitive: self.is_sensitive,
        }
    }
}

/// What a request for configurations asks for besides their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// `include_synonyms`.
    pub synonyms: bool,
    /// `include_documentation`.
    pub documentation: bool,
}

impl Synonym {
    fn described(self) -> DescribeConfigsSynonym {
        DescribeConfigsSynonym { name: self.name, value: self.value, source: self.source as i8 }
    }
}
