//! A line as words, and words as a verb's options and arguments.

/// Splits a line as zkCli does: at spaces, except between equal quotes that open a word.
pub(super) fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted =
            rest.get(1..).filter(|_| first == '"' || first == '\'').and_then(|text| text.split_once(first));
        let (word, after) = match quoted {
            Some(found) => found,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(String::from(word));
        rest = after.trim_start();
    }
    words
}

/// The words behind a verb.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    options: Vec<(&'static str, String)>,
    /// What is no option, in order.
    pub(super) words: Vec<String>,
}

impl Arguments {
    /// Reads words by the options a verb has: `name` for a flag, `name=` for one with a value.
    pub(super) fn read(words: &[String], known: &[&'static str]) -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let option =
                word.strip_prefix('-').filter(|rest| !rest.is_empty() && word.parse::<i64>().is_err());
            match option {
                None => arguments.words.push(word.clone()),
                Some("-") => {
                    arguments.words.extend(words.cloned());
                    break;
                }
                Some(option) => arguments.option(option, known, &mut words)?,
            }
        }
        Ok(arguments)
    }

    fn option<'w>(
        &mut self,
        option: &str,
        known: &[&'static str],
        words: &mut impl Iterator<Item = &'w String>,
    ) -> Result<(), String> {
        if let Some(flag) = known.iter().find(|name| **name == option) {
            self.options.push((flag, String::new()));
            return Ok(());
        }
        if let Some(name) =
            known.iter().find_map(|name| name.strip_suffix('=').filter(|name| *name == option))
        {
            let value = words.next().ok_or_else(|| format!("Missing argument for option: {name}"))?;
            self.options.push((name, value.clone()));
            return Ok(());
        }
        // Several flags in one word: `-sw`.
        let mut flags = Vec::new();
        for character in option.chars() {
            let flag = known.iter().find(|name| name.len() == 1 && name.starts_with(character));
            flags.push((*flag.ok_or_else(|| format!("Unrecognized option: -{option}"))?, String::new()));
        }
        self.options.extend(flags);
        Ok(())
    }

    /// Whether an option is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(found, _)| *found == name).map(|(_, value)| value.as_str())
    }

    /// An argument by its place.
    pub(super) fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, known: &[&'static str]) -> Result<Arguments, String> {
        Arguments::read(&split(line), known)
    }

    #[test]
    fn quotes_join_words() {
        assert_eq!(split("set /a 'b c'  \"d 'e\" "), ["set", "/a", "b c", "d 'e"]);
        assert_eq!(split("set /a ''"), ["set", "/a", ""]);
        assert_eq!(split("set /a b'c d"), ["set", "/a", "b'c", "d"]);
        assert_eq!(split("set \"open"), ["set", "\"open"]);
        assert_eq!(split("  "), [""; 0]);
    }

    #[test]
    fn options_may_stand_anywhere() {
        let arguments = read("/a data -s -v 3", &["s", "v="]).unwrap();
        assert_eq!((arguments.has("s"), arguments.value("v")), (true, Some("3")));
        assert_eq!(arguments.words, ["/a", "data"]);
        assert_eq!(read("-v -1 /a", &["v="]).unwrap().value("v"), Some("-1"));
        assert_eq!(read("/a -- -s", &["s"]).unwrap().words, ["/a", "-s"]);
        assert_eq!(read("-5 -", &[]).unwrap().words, ["-5", "-"]);
        assert!(read("-sw /a", &["s", "w"]).unwrap().has("w"));
    }

    #[test]
    fn unknown_options_and_missing_values_are_said() {
        assert_eq!(read("-q", &["s"]).unwrap_err(), "Unrecognized option: -q");
        assert_eq!(read("-sq", &["s"]).unwrap_err(), "Unrecognized option: -sq");
        assert_eq!(read("-v", &["v="]).unwrap_err(), "Missing argument for option: v");
    }
}
