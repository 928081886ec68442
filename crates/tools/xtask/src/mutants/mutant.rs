//! A planted bug as its file describes it: what is broken, which test should find it, and which lines replace which.
//! Knows neither how it is built nor what finds it.

use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::torture::{Finding, Torture};

/// Where the planted bugs of the council, of the log and of objects lie. Numbers of the log's begin at 301, those of objects
/// at 500.
const FOLDERS: [&str; 3] =
    ["crates/sim/council/mutants", "crates/sim/log/mutants", "crates/sim/objects/mutants"];
const EXTENSION: &str = "mutant";
/// Lines of source that stand for themselves are longer.
const KEYWORDS: [&str; 3] = ["replace", "by", "end"];

/// See the module.
#[derive(Debug)]
pub(super) struct Mutant {
    /// Of its file: a number and some words.
    pub(super) name: String,
    /// What is broken, in one sentence.
    pub(super) title: String,
    /// The class of bugs it stands for.
    pub(super) class: String,
    /// Any of the expected tests may find it.
    pub(super) expected: Vec<Finding>,
    pub(super) torture: Torture,
    /// The system that had a bug of that kind.
    pub(super) like: Option<String>,
    pub(super) edits: Vec<Edit>,
}

/// Whole lines of a file that give way to others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) file: String,
    old: Vec<String>,
    new: Vec<String>,
}

/// All of them, in the order of their numbers.
pub(super) fn all(root: &Path) -> anyhow::Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for folder in FOLDERS {
        for entry in
            std::fs::read_dir(root.join(folder)).with_context(|| format!("cannot read `{folder}`"))?
        {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != EXTENSION) {
                continue;
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read mutant {name}"))?;
            mutants.push(Mutant::parse(&name, &text).with_context(|| format!("mutant {name}"))?);
        }
    }
    mutants.sort_by(|one, other| (one.number(), &one.name).cmp(&(other.number(), &other.name)));
    Ok(mutants)
}

impl Mutant {
    fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let (head, rest) = text.split_once("\n\n").context("nothing stands behind its head")?;
        let title = head.lines().next().and_then(|line| line.strip_prefix("# ")).context("no title")?;
        let field = |name: &str| {
            let start = format!("{name}: ");
            head.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
        };
        let needed = |name: &str| field(name).with_context(|| format!("no line `{name}: ..`"));
        let expected = needed("rules")?.split(", ").map(Finding::parse).collect::<anyhow::Result<_>>()?;
        Ok(Self {
            name: name.into(),
            title: title.into(),
            class: needed("class")?,
            expected,
            torture: Torture::parse(&needed("found by")?)?,
            like: field("like"),
            edits: edits(rest)?,
        })
    }

    /// Whether the argument names it: by its number, or by words of its name.
    pub(super) fn is_called(&self, wanted: &str) -> bool {
        match (wanted.parse::<u32>(), self.number()) {
            (Ok(wanted), Some(number)) => number == wanted,
            _ => self.name.contains(wanted),
        }
    }

    fn number(&self) -> Option<u32> {
        self.name.split_once('-')?.0.parse().ok()
    }
}

fn edits(text: &str) -> anyhow::Result<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let file = line.strip_prefix("in ").with_context(|| format!("`in FILE` expected, not `{line}`"))?;
        ensure!(lines.next() == Some("replace"), "`replace` expected behind `{line}`");
        let old = until(&mut lines, "by")?;
        let new = until(&mut lines, "end")?;
        ensure!(!old.is_empty(), "nothing is to be replaced in `{file}`");
        edits.push(Edit { file: file.into(), old, new });
    }
    ensure!(!edits.is_empty(), "it changes nothing");
    Ok(edits)
}

fn until<'a>(lines: &mut impl Iterator<Item = &'a str>, end: &str) -> anyhow::Result<Vec<String>> {
    let mut taken = Vec::new();
    for line in lines {
        if line == end {
            return Ok(taken);
        }
        ensure!(!KEYWORDS.contains(&line), "`{end}` expected before `{line}`");
        taken.push(line.to_owned());
    }
    bail!("`{end}` is missing")
}

impl Edit {
    /// The text with the lines replaced.
    ///
    /// # Errors
    /// They are not there exactly once: the source has changed, and the bug must be planted again.
    pub(super) fn apply(&self, text: &str) -> anyhow::Result<String> {
        let (lines, old): (Vec<_>, Vec<_>) =
            (text.lines().collect(), self.old.iter().map(String::as_str).collect());
        let places: Vec<_> = (0..lines.len()).filter(|at| lines[*at..].starts_with(&old)).collect();
        let [place] = places[..] else {
            let times = places.len();
            bail!("the lines to replace are {times} times in `{}`, not once:\n{}", self.file, old.join("\n"));
        };
        let behind = &lines[place + old.len()..];
        let new = self.new.iter().map(String::as_str);
        let all = lines[..place].iter().copied().chain(new).chain(behind.iter().copied());
        Ok(all.map(|line| format!("{line}\n")).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const FILE: &str = "# It is broken.
class: watches
rules: 3, panic
found by: journal crash::everywhere
like: somebody

in a.rs
replace
    two
by
    2

    and a half
end

in b.rs
replace
    x
by
end
";

    #[test]
    fn a_file_is_read_and_changes_what_it_says() {
        let mutant = Mutant::parse("03-breaks", FILE).expect("it is one");
        assert_eq!((mutant.title.as_str(), mutant.class.as_str()), ("It is broken.", "watches"));
        assert_eq!(mutant.expected, [Finding::Rule(3), Finding::Panic]);
        assert_eq!(mutant.torture.to_string(), "journal crash::everywhere");
        assert!(mutant.is_called("3") && mutant.is_called("break") && !mutant.is_called("33"));
        let [first, second] = &mutant.edits[..] else { panic!("{:?}", mutant.edits) };
        let changed = first.apply("one\n    two\nthree\n").expect("it is there once");
        assert_eq!(changed, "one\n    2\n\n    and a half\nthree\n");
        assert_eq!(second.apply("    x\n").expect("it is there once"), "");
    }

    #[test]
    fn what_is_not_there_exactly_once_is_an_error() {
        let mutant = Mutant::parse("03-breaks", FILE).expect("it is one");
        let tell = |text: &str| mutant.edits[0].apply(text).expect_err("not once").to_string();
        assert!(tell("one\n").contains("0 times in `a.rs`"));
        assert!(tell("    two\n    two\n").contains("2 times"));
        assert!(tell("        two\n").contains("0 times"), "whole lines only");
    }

    #[test]
    fn a_file_that_makes_no_sense_is_refused() {
        for (from, to) in
            [("by\n", ""), ("rules: 3, panic\n", ""), ("replace", "replaces"), ("# It", "It"), ("panic", "p")]
        {
            let text = FILE.replacen(from, to, 1);
            assert!(Mutant::parse("03-breaks", &text).is_err(), "{text}");
        }
    }

    /// What a change of the source takes away from a planted bug is found here, and not months later.
    #[test]
    fn every_planted_bug_finds_its_lines() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let mut lost = Vec::new();
        for mutant in all(&root).expect("they can be read") {
            let mut texts = BTreeMap::new();
            for edit in &mutant.edits {
                let text = texts.entry(&edit.file).or_insert_with(|| {
                    std::fs::read_to_string(root.join(&edit.file)).expect("it names a file of ours")
                });
                match edit.apply(text) {
                    Ok(planted) => *text = planted,
                    Err(error) => lost.push(format!("{}: {error:#}", mutant.name)),
                }
            }
        }
        assert!(lost.is_empty(), "{}", lost.join("\n"));
    }
}
