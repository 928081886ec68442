//! What the real broker was asked and answered: each version of each API, and each error code that an API can give a client
//! of a single broker. An empty cell means that the scripts are too tame.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use tools_testbed::cells::{Cells, Row};

use crate::codes::{CLOSED, CODES, DRAWN, SOMETIMES, UNPROVOKED, Unprovoked};
use crate::codes_of_a_cluster;
use crate::play::{Seen, codes};
use crate::script::Call;
use crate::served::Served;

/// What has been seen.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    versions: Cells,
    codes: Cells,
}

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
    /// some codes cannot be seen. A `long` run must see more.
    #[must_use]
    pub fn missing(&self, served: &Served, untried: &BTreeSet<&str>, long: bool) -> Vec<String> {
        let mut missing = Vec::new();
        for (api, columns) in versions(served) {
            let empty = columns.iter().filter(|version| self.versions.count(&api, **version) == 0);
            missing.extend(empty.map(|version| format!("{api} v{version}")));
        }
        let codes = self
            .codes
            .missing(CODES)
            .into_iter()
            .chain(self.codes.missing(if long { DRAWN } else { &[] }))
            .filter(|(api, _)| served.versions(api).is_some() && !untried.contains(api));
        missing.extend(codes.map(|(api, code)| format!("{api}: {}", code_text(code))));
        missing
    }

    /// As [`Self::missing`], of the scripts for a cluster, from which not every version is wanted.
    #[must_use]
    pub fn missing_of_a_cluster(&self, served: &Served) -> Vec<String> {
        let empty = self.codes.missing(codes_of_a_cluster::CODES).into_iter();
        empty
            .filter(|(api, _)| served.versions(api).is_some())
            .map(|(api, code)| format!("{api} of a cluster: {}", code_text(code)))
            .collect()
    }

    /// As [`Self::unexpected`].
    #[must_use]
    pub fn unexpected_of_a_cluster(&self) -> Vec<String> {
        let known = [codes_of_a_cluster::CODES, codes_of_a_cluster::SOMETIMES].concat();
        let unexpected = self.codes.unexpected(&known).into_iter();
        unexpected.map(|(api, code)| format!("{api} of a cluster: {}", code_text(code))).collect()
    }

    /// As [`Self::tables`].
    #[must_use]
    pub fn tables_of_a_cluster(&self, served: &Served) -> String {
        let mut all = BTreeMap::<&str, Vec<i32>>::new();
        for (api, codes) in codes_of_a_cluster::CODES.iter().chain(codes_of_a_cluster::SOMETIMES) {
            all.entry(api).or_default().extend(*codes);
        }
        let codes: Vec<Row<'_>> = all.iter().map(|(api, codes)| (*api, codes.as_slice())).collect();
        let rows = versions(served);
        let rows: Vec<Row<'_>> =
            rows.iter().map(|(api, columns)| (api.as_str(), columns.as_slice())).collect();
        let codes = self.codes.table(&codes).replace(&CLOSED.to_string(), "closed");
        format!(
            "of a cluster, API and version: how often\n{}\nof a cluster, API and error code: how often\n{codes}",
            self.versions.table(&rows)
        )
    }

    /// Codes that were seen and not expected, which means that the table above is wrong.
    #[must_use]
    pub fn unexpected(&self) -> Vec<String> {
        let known = [CODES, DRAWN, SOMETIMES].concat();
        let unexpected = self.codes.unexpected(&known).into_iter();
        unexpected.map(|(api, code)| format!("{api}: {}", code_text(code))).collect()
    }

    /// The tables: how often each version was answered, and each code.
    #[must_use]
    pub fn tables(&self, served: &Served) -> String {
        let rows = versions(served);
        let rows: Vec<Row<'_>> =
            rows.iter().map(|(api, columns)| (api.as_str(), columns.as_slice())).collect();
        let all = expected();
        let codes: Vec<Row<'_>> = all
            .iter()
            .filter(|(api, _)| served.versions(api).is_some())
            .map(|(api, codes)| (*api, codes.as_slice()))
            .collect();
        let codes = self.codes.table(&codes).replace(&CLOSED.to_string(), "closed");
        let mut text = format!(
            "API and version: how often\n{}\nAPI and error code: how often\n{codes}\ncodes that are not provoked:\n",
            self.versions.table(&rows)
        );
        for Unprovoked { reason, cells } in UNPROVOKED {
            let cells: Vec<String> = cells.iter().map(|(api, codes)| format!("{api} {codes:?}")).collect();
            let _ = writeln!(text, "  {reason}: {}", cells.join(", "));
        }
        text
    }
}

/// All codes that scripts see, by API.
fn expected() -> BTreeMap<&'static str, Vec<i32>> {
    let mut all = BTreeMap::<&str, Vec<i32>>::new();
    for (api, codes) in CODES.iter().chain(DRAWN).chain(SOMETIMES) {
        all.entry(api).or_default().extend(*codes);
    }
    all.values_mut().for_each(|codes| codes.sort_unstable());
    all
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
