//! Settings from a TOML file: every key by its full name, with its line number.

use toml::de::{DeTable, DeValue};

/// A setting: its line, its whole name, and its value as text, if it is text, a number, a flag or a list of these.
pub type TomlSetting = (usize, String, Option<String>);

/// All settings of a file, in order.
///
/// # Errors
/// Why it is no TOML.
pub fn toml_settings(bytes: &[u8]) -> Result<Vec<TomlSetting>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| String::from("not UTF-8"))?;
    let table = DeTable::parse(text).map_err(|error| String::from(error.to_string().trim_end()))?;
    let mut settings = Vec::new();
    flatten(table.get_ref(), "", &mut settings);
    settings.sort_by_key(|(at, ..)| *at);
    let line = |at: usize| text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
    Ok(settings.into_iter().map(|(at, name, value)| (line(at), name, value)).collect())
}

/// The keys of a table and of those inside it, by their whole names: where each stands, and its value if that is one.
fn flatten(table: &DeTable<'_>, above: &str, settings: &mut Vec<(usize, String, Option<String>)>) {
    for (key, value) in table {
        let name = format!("{above}{}", key.get_ref());
        match value.get_ref().as_table() {
            Some(inner) => flatten(inner, &format!("{name}."), settings),
            None => settings.push((key.span().start, name, toml_text(value.get_ref()))),
        }
    }
}

/// A value as a file of keys and values would have it, so that all files share one way in.
fn toml_text(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok()?.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Array(elements) => {
            let texts: Option<Vec<String>> =
                elements.iter().map(|element| toml_text(element.get_ref())).collect();
            texts?.join(",")
        }
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_tables_have_whole_names_and_lines() {
        let read =
            toml_settings(b"a = 1\n[b]\nc = [\"x\", 0x10]\n[b.d]\ne = true\nf = 1.5\ng = 1979-05-27\n")
                .expect("TOML");
        let of = |line, name: &str, value: Option<&str>| (line, String::from(name), value.map(String::from));
        let all = [
            of(1, "a", Some("1")),
            of(3, "b.c", Some("x,16")),
            of(5, "b.d.e", Some("true")),
            of(6, "b.d.f", Some("1.5")),
            of(7, "b.d.g", None),
        ];
        assert_eq!(read, all);
        assert!(toml_settings(b"a = ").is_err() && toml_settings(b"\xff").is_err());
    }
}
