//! From the name in a client's certificate to a user: `ssl.principal.mapping.rules`.
//!
//! Rules are tried in order, and the first whose pattern is the whole name counts: `RULE:PATTERN/REPLACEMENT/`, with `L` or `U`
//! behind it for small or capital letters, or `DEFAULT`, which takes every name as it is. In a replacement `$1` is what the first
//! group of the pattern has matched. A slash in either is written `\/`.

use regex::Regex;

/// See the module.
#[derive(Clone, Debug)]
pub struct PrincipalRules(Vec<Rule>);

#[derive(Clone, Debug)]
enum Rule {
    Default,
    Rewrite { pattern: Regex, replacement: String, case: Case },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Kept,
    Lower,
    Upper,
}

/// Why rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadRules {
    /// A rule is not of the form.
    #[error(
        "`{0}` is no rule; hint: a rule is `RULE:PATTERN/REPLACEMENT/`, with `L` or `U` behind it, or `DEFAULT`"
    )]
    Form(String),
    /// A pattern cannot be used.
    #[error(
        "the pattern `{pattern}` cannot be used: {reason}; hint: what looks ahead or behind, and references to groups, are not served"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        reason: String,
    },
}

impl PrincipalRules {
    /// Reads rules. None are `DEFAULT`.
    ///
    /// # Errors
    /// They cannot be used.
    pub fn parse(text: &str) -> Result<Self, BadRules> {
        let (mut rules, mut rest) = (Vec::new(), text.trim());
        while !rest.is_empty() {
            let (rule, behind) = Rule::take(rest)?;
            rules.push(rule);
            let behind = behind.trim_start();
            rest = match behind.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None if behind.is_empty() => behind,
                None => return Err(BadRules::Form(rest.into())),
            };
        }
        if rules.is_empty() {
            rules.push(Rule::Default);
        }
        Ok(Self(rules))
    }

    /// The user of that name; nothing if no rule is about it.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<String> {
        self.0.iter().find_map(|rule| rule.apply(name))
    }
}

impl Rule {
    /// The rule at the beginning of a text, and what is behind it.
    fn take(text: &str) -> Result<(Self, &str), BadRules> {
        let bad = || BadRules::Form(text.into());
        if let Some(behind) = text.strip_prefix("DEFAULT") {
            return Ok((Self::Default, behind));
        }
        let rest = text.strip_prefix("RULE:").ok_or_else(bad)?;
        let (pattern, rest) = until_slash(rest).ok_or_else(bad)?;
        let (replacement, rest) = until_slash(rest).ok_or_else(bad)?;
        let (case, rest) = match rest.chars().next() {
            Some('L') => (Case::Lower, &rest[1..]),
            Some('U') => (Case::Upper, &rest[1..]),
            _ => (Case::Kept, rest),
        };
        let whole = Regex::new(&format!("^(?:{pattern})$")).map_err(|error| BadRules::Pattern {
            pattern: pattern.into(),
            reason: error.to_string().lines().last().unwrap_or_default().trim().into(),
        })?;
        Ok((Self::Rewrite { pattern: whole, replacement: replacement.into(), case }, rest))
    }

    fn apply(&self, name: &str) -> Option<String> {
        let Self::Rewrite { pattern, replacement, case } = self else { return Some(name.into()) };
        let groups = pattern.captures(name)?;
        let mut user = String::new();
        let mut characters = replacement.chars().peekable();
        while let Some(character) = characters.next() {
            let group = characters.peek().and_then(|digit| digit.to_digit(10)).map(|digit| digit as usize);
            match (character, group.filter(|group| *group < groups.len())) {
                ('\\', _) => user.extend(characters.next()),
                ('$', Some(group)) => {
                    characters.next();
                    user.push_str(groups.get(group).map_or("", |found| found.as_str()));
                }
                (other, _) => user.push(other),
            }
        }
        Some(match case {
            Case::Kept => user,
            Case::Lower => user.to_lowercase(),
            Case::Upper => user.to_uppercase(),
        })
    }
}

/// What stands before the next slash that has no backslash before it, and what is behind it.
fn until_slash(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let end = text.find(|character| {
        let ends = character == '/' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends
    })?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(rules: &str, name: &str) -> Option<String> {
        PrincipalRules::parse(rules).expect("they are rules").user(name)
    }

    #[test]
    fn first_rule_whose_pattern_is_the_whole_name_counts() {
        let rules = "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/L, \
                     RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,DEFAULT";
        assert_eq!(user(rules, "CN=Kafka1,OU=ServiceUsers,O=x").as_deref(), Some("Kafka1"));
        assert_eq!(user(rules, "CN=Bob,OU=Admin,O=x").as_deref(), Some("bob@admin"));
        assert_eq!(user(rules, "OU=x,CN=eve").as_deref(), Some("EVE"));
        assert_eq!(user(rules, "O=nobody").as_deref(), Some("O=nobody"));
        assert_eq!(user("RULE:^CN=(.*)$/$1/", "O=nobody"), None);
        assert_eq!(user("", "CN=a").as_deref(), Some("CN=a"));
    }

    #[test]
    fn slashes_and_groups_that_are_not_there_are_taken_as_they_are() {
        assert_eq!(user(r"RULE:^CN=(.*)\/x$/$1\/$2$/", "CN=a/x").as_deref(), Some("a/$2$"));
    }

    #[test]
    fn what_is_no_rule_is_refused_with_a_hint() {
        for bad in
            ["RULE:a/b", "RULE:a", "default", "DEFAULT x", "RULE:(/x/", "RULE:(?=a)b/x/", "RULE:a/b/LU"]
        {
            let told = PrincipalRules::parse(bad).expect_err(bad).to_string();
            assert!(told.contains("hint: "), "{told}");
        }
    }
}
