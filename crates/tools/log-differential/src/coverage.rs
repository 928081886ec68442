//! What the real broker was asked and answered: each version of each API, and each error code that an API can give a client
//! of a single broker. An empty cell means that the scripts are too tame.

use std::collections::BTreeSet;

use serde_json::Value;
use tools_testbed::cells::{Cells, Row};

use crate::play::{Seen, codes};
use crate::script::Call;
use crate::served::Served;

/// Stands for a connection that is closed instead of an answer.
const CLOSED: i32 = i32::MAX;

/// What has been seen.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    versions: Cells,
    codes: Cells,
}

/// Every code that scripts must see an API give, without those that need a second broker, a fault of the disk or a limit that
/// takes long to reach.
pub(crate) const CODES: &[Row<'static>] = &[
    ("AddOffsetsToTxn", &[0, 49, 90]),
    ("AddPartitionsToTxn", &[0, 3, 49, 55, 90]),
    ("AlterClientQuotas", &[0, 42]),
    ("AlterConfigs", &[0, 3, 40, 42]),
    ("AlterPartitionReassignments", &[0, 3, 39, 85]),
    ("AlterReplicaLogDirs", &[0, 57]),
    ("AlterUserScramCredentials", &[0, 33, 91, 92, 93]),
    ("ApiVersions", &[0, 42]),
    ("ConsumerGroupDescribe", &[0, 24, 69]),
    ("ConsumerGroupHeartbeat", &[0, 25, 42, 69, 82, 110, 111, 112, 128]),
    ("CreateAcls", &[0, 54, CLOSED]),
    ("CreateDelegationToken", &[64]),
    ("CreatePartitions", &[0, 3, 37, 39, 42]),
    ("CreateTopics", &[0, 17, 36, 37, 38, 39, 40, 42, CLOSED]),
    ("DeleteAcls", &[0, 54]),
    ("DeleteGroups", &[0, 68, 69]),
    ("DeleteRecords", &[0, 1, 3, 17, 44]),
    ("DeleteTopics", &[0, 3, 42, 100]),
    ("DescribeAcls", &[54, CLOSED]),
    ("DescribeClientQuotas", &[0, 35, 42]),
    ("DescribeCluster", &[0, 114, 115]),
    ("DescribeConfigs", &[0, 3, 17, 42]),
    ("DescribeDelegationToken", &[64]),
    ("DescribeGroups", &[0, 69]),
    ("DescribeLogDirs", &[0]),
    ("DescribeProducers", &[0, 3, 17]),
    ("DescribeQuorum", &[0, 3]),
    ("DescribeTopicPartitions", &[-1, 0, 3, 17, 42]),
    ("DescribeTransactions", &[0, 42, 105]),
    ("DescribeUserScramCredentials", &[0, 91, 92]),
    ("ElectLeaders", &[0, 3, 42, 84]),
    ("EndTxn", &[0, 47, 48, 49, 90]),
    ("ExpireDelegationToken", &[64]),
    ("Fetch", &[-1, 0, 1, 3, 70, 71, 75, 100, 106]),
    ("FindCoordinator", &[0, 42, CLOSED]),
    ("Heartbeat", &[0, 22, 24, 25, 27, 82]),
    ("IncrementalAlterConfigs", &[-1, 0, 3, 17, 40, 42]),
    ("InitProducerId", &[0, 42, 50, 90]),
    ("JoinGroup", &[0, 23, 24, 25, 26, 79, 82, CLOSED]),
    ("LeaveGroup", &[0, 24, 25, 82]),
    ("ListConfigResources", &[0, 35]),
    ("ListGroups", &[0]),
    ("ListOffsets", &[-1, 0, 3, 35, 42, 74, 75, CLOSED]),
    ("ListPartitionReassignments", &[0]),
    ("ListTransactions", &[0, 128]),
    ("Metadata", &[0, 3, 17, 42, 100, CLOSED]),
    ("OffsetCommit", &[0, 3, 12, 22, 25, 35, 113]),
    ("OffsetDelete", &[0, 3, 24, 69, 86]),
    ("OffsetFetch", &[0, 25, 88, 100, 113, CLOSED]),
    ("OffsetForLeaderEpoch", &[0, 3, 74, 75]),
    ("Produce", &[-1, 0, 2, 3, 10, 21, 32, 45, 47, 48, 53, 76, 87, 120]),
    ("RenewDelegationToken", &[64]),
    ("SaslAuthenticate", &[34]),
    ("SaslHandshake", &[34]),
    ("SyncGroup", &[0, 22, 23, 24, 25, 27, 82]),
    ("TxnOffsetCommit", &[0, 22, 25, 47, 48, 49, 120]),
    ("UpdateFeatures", &[0, 95]),
    ("WriteTxnMarkers", &[-1, 0, 3, 52]),
];

/// Codes that some seeds see and others do not.
const SOMETIMES: &[Row<'static>] = &[
    ("AddOffsetsToTxn", &[47]),
    ("AddPartitionsToTxn", &[47]),
    ("InitProducerId", &[47]),
    ("Metadata", &[-1]),
    ("OffsetCommit", &[69, 100]),
    ("Produce", &[100]),
];

impl Coverage {
    /// Counts the answer to a request. What is answered to spoilt bytes depends on where they were spoilt.
    pub fn add(&mut self, call: &Call, seen: &Seen) {
        match seen {
            _ if call.spoil.is_some() => {}
            Seen::Reply(exchange) => {
                self.versions.add(&call.api, i32::from(call.version));
                self.codes(&call.api, &exchange.body);
            }
            Seen::Closed => self.codes.add(&call.api, CLOSED),
            _ => {}
        }
    }

    fn codes(&mut self, api: &str, body: &Value) {
        let mut codes = codes(body);
        codes.sort_unstable();
        codes.dedup();
        if codes.is_empty() {
            codes.push(0);
        }
        for code in codes {
            self.codes.add(api, i32::try_from(code).unwrap_or(CLOSED));
        }
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        self.versions.merge(&other.versions);
        self.codes.merge(&other.codes);
    }

    /// Cells that nothing filled, among the APIs that both brokers serve. Of an API that is used by scenes that were left out,
    /// some codes cannot be seen.
    #[must_use]
    pub fn missing(&self, served: &Served, untried: &BTreeSet<&str>) -> Vec<String> {
        let mut missing = Vec::new();
        for (api, columns) in versions(served) {
            let empty = columns.iter().filter(|version| self.versions.count(&api, **version) == 0);
            missing.extend(empty.map(|version| format!("{api} v{version}")));
        }
        let codes = self
            .codes
            .missing(CODES)
            .into_iter()
            .filter(|(api, _)| served.versions(api).is_some() && !untried.contains(api));
        missing.extend(codes.map(|(api, code)| format!("{api}: {}", code_text(code))));
        missing
    }

    /// Codes that were seen and not expected, which means that the table above is wrong.
    #[must_use]
    pub fn unexpected(&self) -> Vec<String> {
        let known = [CODES, SOMETIMES].concat();
        let unexpected = self.codes.unexpected(&known).into_iter();
        unexpected.map(|(api, code)| format!("{api}: {}", code_text(code))).collect()
    }

    /// The tables: how often each version was answered, and each code.
    #[must_use]
    pub fn tables(&self, served: &Served) -> String {
        let rows = versions(served);
        let rows: Vec<Row<'_>> =
            rows.iter().map(|(api, columns)| (api.as_str(), columns.as_slice())).collect();
        let codes: Vec<Row<'_>> =
            CODES.iter().filter(|(api, _)| served.versions(api).is_some()).copied().collect();
        let codes = self.codes.table(&codes).replace(&CLOSED.to_string(), "closed");
        format!(
            "API and version: how often\n{}\nAPI and error code: how often\n{codes}",
            self.versions.table(&rows)
        )
    }
}

fn versions(served: &Served) -> Vec<(String, Vec<i32>)> {
    let row = |(api, versions): (&str, crate::schema::Versions)| {
        (api.to_owned(), (i32::from(versions.lowest)..=i32::from(versions.highest)).collect())
    };
    served.iter().map(row).collect()
}

fn code_text(code: i32) -> String {
    if code == CLOSED { String::from("closed") } else { code.to_string() }
}
