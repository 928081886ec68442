//! Which operation gave which code, and which it could have given: an empty cell means that the scripts are too tame.

use tools_testbed::cells::{Cells, Row};

use super::normalise::{Results, error_name};

/// What has been seen, by operation and code.
#[derive(Clone, Debug, Default)]
pub struct Coverage(Cells);

/// Every code that an operation can give a client of a single server, apart from those that need a fault or a limit.
/// `multi>` is an operation inside a multi; `... then close` is a connection closed in answer.
const EXPECTED: &[Row<'_>] = &[
    ("create", &[0, -5, -6, -8, -101, -102, -108, -110, -114, -125]),
    ("create2", &[0, -5, -6, -8, -101, -102, -108, -110, -114, -125]),
    ("createContainer", &[0, -5, -6, -8, -101, -102, -108, -110, -114, -125]),
    ("createTTL", &[0, -5, -6, -8, -101, -102, -108, -110, -114]),
    ("delete", &[0, -5, -8, -101, -102, -103, -111]),
    ("deleteContainer", &[0, -8, -101, -103, -111]),
    ("exists", &[0, -5, -8, -101, -102]),
    ("getData", &[0, -5, -101, -102]),
    ("setData", &[0, -5, -8, -101, -102, -103, -125]),
    ("getACL", &[0, -5, -101, -102]),
    ("setACL", &[0, -5, -8, -101, -102, -103, -114]),
    ("getChildren", &[0, -5, -101, -102]),
    ("getChildren2", &[0, -5, -101, -102]),
    ("getAllChildrenNumber", &[0, -5, -101, -102]),
    ("getEphemerals", &[0, -5]),
    ("sync", &[0, -5]),
    ("ping", &[0]),
    ("whoAmI", &[0]),
    ("check", &[-6]),
    ("multi", &[0, -5]),
    ("multi>", &[0, -2, -6, -8, -101, -102, -103, -108, -110, -111, -114, -125]),
    ("multi>create", &[0]),
    ("multi>create2", &[0]),
    ("multi>delete", &[0]),
    ("multi>setData", &[0]),
    ("multi>check", &[0]),
    ("multiRead", &[0, -5]),
    ("multiRead>", &[-101, -102]),
    ("multiRead>getData", &[0]),
    ("multiRead>getChildren", &[0]),
    ("reconfig", &[-5, -6, -123]),
    ("checkWatches", &[0, -5, -121]),
    ("removeWatches", &[0, -5, -121]),
    ("addWatch", &[0, -5]),
    ("setWatches", &[0, -5]),
    ("setWatches2", &[0, -5]),
    ("auth", &[0, -115]),
    ("sasl", &[0]),
    ("unknown", &[-6]),
    ("closeSession", &[0]),
    ("connect", &[0, -112]),
    ("event NodeCreated", &[0]),
    ("event NodeDeleted", &[0]),
    ("event NodeDataChanged", &[0]),
    ("event NodeChildrenChanged", &[0]),
    ("auth then close", &[0]),
    ("bytes then close", &[0]),
    ("check then close", &[0]),
    ("closeSession then close", &[0]),
    ("connect then close", &[0]),
    ("sasl then close", &[0]),
    ("unknown then close", &[0]),
    ("word then close", &[0]),
    ("page", &[0]),
];

impl Coverage {
    /// Counts results.
    pub fn add(&mut self, results: &Results) {
        for (name, code) in results {
            self.0.add(name, *code);
        }
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Coverage) {
        self.0.merge(&other.0);
    }

    /// Expected cells that nothing filled.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let missing = self.0.missing(EXPECTED).into_iter();
        missing.map(|(name, code)| format!("{name}: {}", error_name(code))).collect()
    }

    /// Cells that were filled and not expected, which means that the table above is wrong.
    #[must_use]
    pub fn unexpected(&self) -> Vec<String> {
        let unexpected = self.0.unexpected(EXPECTED).into_iter();
        unexpected.map(|(name, code)| format!("{name}: {}", error_name(code))).collect()
    }

    /// The table: a line for each operation, its codes and how often each was seen.
    #[must_use]
    pub fn table(&self) -> String {
        self.0.table(EXPECTED)
    }
}
