//! The result of a test run: counts, and a line with the reason for everything that did not pass.

/// Adds up over all suites; its display is the last line of a test run.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    failures: Vec<String>,
    skips: Vec<String>,
}

impl Tally {
    pub(crate) fn fail(&mut self, why: impl Into<String>) {
        self.failed += 1;
        self.failures.push(why.into());
    }

    pub(crate) fn skip(&mut self, why: impl Into<String>) {
        self.skipped += 1;
        self.skips.push(why.into());
    }

    /// What was skipped was required.
    pub(crate) fn skips_fail(&mut self) {
        self.failed += std::mem::take(&mut self.skipped);
        self.failures.extend(self.skips.drain(..).map(|skip| format!("required, but skipped: {skip}")));
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    /// What failed, and why.
    #[cfg(test)]
    pub(crate) fn failures(&self) -> impl Iterator<Item = &str> {
        self.failures.iter().map(String::as_str)
    }

    /// Reads what `Display` writes: passed, failed, skipped.
    pub(crate) fn parse(line: &str) -> Option<(u64, u64, u64)> {
        let mut parts = line.trim().split(", ");
        let mut number = |what| parts.next()?.strip_suffix(what)?.strip_suffix(' ')?.parse().ok();
        Some((number("passed")?, number("failed")?, number("skipped")?))
    }

    /// Everything that did not pass, then the counts.
    pub(crate) fn print(&self) {
        for skip in &self.skips {
            println!("skipped: {skip}");
        }
        for failure in &self.failures {
            println!("FAILED: {}", failure.trim_end());
        }
        println!("{self}");
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn the_last_line_counts_every_part() {
        let mut all = Tally { passed: 2, ..Tally::default() };
        let mut part = Tally { passed: 1, ..Tally::default() };
        part.fail("a");
        part.skip("b");
        all.add(part);
        assert_eq!(all.to_string(), "3 passed, 1 failed, 1 skipped");
        assert_eq!(Tally::parse(&all.to_string()), Some((3, 1, 1)));
        assert_eq!(Tally::parse("3 passed, x failed, 1 skipped"), None);
    }
}
