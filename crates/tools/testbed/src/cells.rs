//! How often each cell of a table was seen, and which cells were expected and stay empty: an empty cell means that the scripts
//! of a test are too tame.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A row of the cells that are expected: its name, and its columns.
pub type Row<'a> = (&'a str, &'a [i32]);

/// Counts by row and column.
#[derive(Clone, Debug, Default)]
pub struct Cells(BTreeMap<(String, i32), usize>);

impl Cells {
    /// Counts one.
    pub fn add(&mut self, row: &str, column: i32) {
        *self.0.entry((row.to_owned(), column)).or_default() += 1;
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        for (cell, count) in &other.0 {
            *self.0.entry(cell.clone()).or_default() += count;
        }
    }

    /// How often it was seen.
    #[must_use]
    pub fn count(&self, row: &str, column: i32) -> usize {
        self.0.get(&(row.to_owned(), column)).copied().unwrap_or(0)
    }

    /// Expected cells that nothing filled.
    #[must_use]
    pub fn missing<'a>(&self, expected: &[Row<'a>]) -> Vec<(&'a str, i32)> {
        let cells =
            expected.iter().flat_map(|(row, columns)| columns.iter().map(move |column| (*row, *column)));
        cells.filter(|(row, column)| self.count(row, *column) == 0).collect()
    }

    /// Cells that were filled and not expected, which means that the expectation is wrong.
    #[must_use]
    pub fn unexpected(&self, expected: &[Row<'_>]) -> Vec<(String, i32)> {
        let is_expected = |row: &str, column: i32| {
            expected.iter().any(|(known, columns)| *known == row && columns.contains(&column))
        };
        self.0.keys().filter(|(row, column)| !is_expected(row, *column)).cloned().collect()
    }

    /// A line for each expected row: its columns, and how often each was seen.
    #[must_use]
    pub fn table(&self, expected: &[Row<'_>]) -> String {
        let mut table = String::new();
        for (row, columns) in expected {
            let _ = write!(table, "{row:<24}");
            for column in *columns {
                let _ = write!(table, " {column}:{}", self.count(row, *column));
            }
            table.push('\n');
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_stay_empty_and_cells_that_nobody_expected_are_named() {
        let expected: &[Row<'_>] = &[("get", &[0, 3]), ("set", &[0])];
        let mut cells = Cells::default();
        cells.add("get", 0);
        let mut more = Cells::default();
        more.add("get", 0);
        more.add("put", 1);
        cells.merge(&more);
        assert_eq!(cells.missing(expected), [("get", 3), ("set", 0)]);
        assert_eq!(cells.unexpected(expected), [(String::from("put"), 1)]);
        assert!(cells.table(expected).starts_with("get                      0:2 3:0\nset"));
    }
}
