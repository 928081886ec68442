//! Names in a description as names in a program.

use std::collections::BTreeMap;

/// Longest name of a method or an argument.
const NAME_BYTES_MAX: usize = 128;

/// A name of which a program can make one: letters, digits, `_` and `-`, and a letter first.
pub(super) fn word(name: &str) -> Result<String, String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(is_part);
    match is_word {
        true => Ok(name.into()),
        false => {
            Err(format!("{name:?} is no name in a program: call that by `call` of the library's objects"))
        }
    }
}

/// The name of a package, as Go and Java have them.
pub(super) fn package(name: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    match name.len() <= NAME_BYTES_MAX && name.split('.').all(is_part) {
        true => Ok(name.into()),
        false => Err(String::from("a package has letters, digits, `_` and points, as `com.example.hits`")),
    }
}

/// Whether they differ also in the form that a program gives them.
pub(super) fn are_different<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> Result<(), String> {
    let mut seen = BTreeMap::new();
    for name in names {
        if let Some(other) = seen.insert(pascal(name).to_ascii_lowercase(), name) {
            return Err(format!("the {what} `{other}` and `{name}` would have the same name in a program"));
        }
    }
    Ok(())
}

/// `compareAndSet` and `compare-and-set` as parts.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if letter == '_' || letter == '-' {
            parts.push(String::new());
        } else {
            if letter.is_ascii_uppercase() && was_small {
                parts.push(String::new());
            }
            parts.iter_mut().next_back().into_iter().for_each(|part| part.push(letter.to_ascii_lowercase()));
        }
        was_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// `CompareAndSet`.
pub(super) fn pascal(name: &str) -> String {
    let upper = |part: &String| {
        let (first, rest) = part.split_at(1);
        first.to_ascii_uppercase() + rest
    };
    parts(name).iter().map(upper).collect()
}

/// `CompareAndSet`, and with `Type` behind it if that is one of these.
pub(super) fn class(name: &str, taken: &[&str]) -> String {
    let class = pascal(name);
    if taken.contains(&&*class) { class + "Type" } else { class }
}

/// `compareAndSet`, and with `_` behind it if that is one of these.
pub(super) fn camel(name: &str, taken: &[&str]) -> String {
    let pascal = pascal(name);
    let (first, rest) = pascal.split_at(1);
    free(first.to_ascii_lowercase() + rest, taken)
}

/// `compare_and_set`, and with `_` behind it if that is one of these.
pub(super) fn snake(name: &str, taken: &[&str]) -> String {
    free(parts(name).join("_"), taken)
}

fn free(name: String, taken: &[&str]) -> String {
    if taken.contains(&&*name) { name + "_" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_form_of_a_language() {
        for name in
            ["compare_and_set", "compare-and-set", "compareAndSet", "CompareAndSet", "compare__and_set-"]
        {
            assert_eq!(
                (pascal(name), camel(name, &[]), snake(name, &[])),
                ("CompareAndSet".into(), "compareAndSet".into(), "compare_and_set".into()),
                "{name}"
            );
        }
        assert_eq!((snake("class", &["class"]), camel("x2Y", &[])), ("class_".into(), "x2Y".into()));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for wrong in ["", "1st", "_", "-a", "a b", "a\"b", "a\n", "é", "a.b", "a(", &"a".repeat(200)] {
            assert!(word(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", ".", "a..b", "a;b", "1.a", "a b"] {
            assert!(package(wrong).is_err(), "{wrong}");
        }
        assert!(word("hit").is_ok() && package("com.example.hits2").is_ok());
    }

    #[test]
    fn two_names_that_become_one_are_refused() {
        assert!(are_different(["a_b", "aB"].into_iter(), "methods").is_err());
        assert!(are_different(["ab", "a_c"].into_iter(), "methods").is_ok());
    }
}
