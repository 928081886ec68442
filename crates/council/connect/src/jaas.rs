//! JAAS files, as far as they name the users of SASL DIGEST-MD5: a server's, and the one of a client.
//!
//! ```text
//! Server {
//!     org.apache.zookeeper.server.auth.DigestLoginModule required
//!     user_super="adminsecret"
//!     user_bob="bobsecret";
//! };
//! Client {
//!     org.apache.zookeeper.server.auth.DigestLoginModule required
//!     username="bob"
//!     password="bobsecret";
//! };
//! ```

use std::path::Path;

use base::Secret;

use crate::{Checked, Problem};

const DIGEST_MODULE: &str = "org.apache.zookeeper.server.auth.DigestLoginModule";

/// The users of one section of a server's file.
///
/// # Errors
/// The file cannot be read, or does not name any there.
pub fn users(file: &Path, section: &str) -> Checked<Vec<(String, Secret)>> {
    read(file, section, "user_NAME=\"PASSWORD\"", users_in)
}

/// The user whom a client's section of a file names; none if the file has no such section, as in ZooKeeper's client.
pub(crate) fn client_user(file: &Path, section: &str) -> Checked<Option<(String, Secret)>> {
    read(file, section, "username=\"NAME\" password=\"PASSWORD\"", client_user_in)
}

fn read<T>(
    file: &Path,
    section: &str,
    form: &str,
    find: impl Fn(&str, &str) -> Result<T, String>,
) -> Checked<T> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Problem::new(format!("cannot read `{}`: {error}", file.display()))
            .hint("`java.security.auth.login.config` names the file with SASL's users")
    })?;
    find(&text, section).map_err(|what| {
        Problem::new(format!("`{}`: {what}", file.display()))
            .hint(format!("it must look like `{section} {{ {DIGEST_MODULE} required {form}; }};`"))
    })
}

fn users_in(text: &str, section: &str) -> Result<Vec<(String, Secret)>, String> {
    let options = options_in(text, section)?.ok_or_else(|| format!("no section `{section}`"))?;
    let users: Vec<_> = options
        .into_iter()
        .filter_map(|(name, value)| Some((String::from(name.strip_prefix("user_")?), Secret(value))))
        .collect();
    if users.is_empty() { Err(format!("no user in section `{section}`")) } else { Ok(users) }
}

fn client_user_in(text: &str, section: &str) -> Result<Option<(String, Secret)>, String> {
    let Some(options) = options_in(text, section)? else { return Ok(None) };
    let option = |wanted: &str| {
        let found = options.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone()).ok_or_else(|| format!("no `{wanted}` in section `{section}`"))
    };
    Ok(Some((option("username")?, Secret(option("password")?))))
}

/// The options of a section's login module, if there is such a section.
fn options_in(text: &str, section: &str) -> Result<Option<Vec<(String, String)>>, String> {
    let mut words = words(text)?.into_iter();
    loop {
        match words.next() {
            None => return Ok(None),
            Some(word) if word == section => break,
            Some(_) if words.by_ref().any(|word| word == "}") => {
                words.next();
            }
            Some(_) => return Ok(None),
        }
    }
    if words.next().as_deref() != Some("{") {
        return Err(format!("no `{{` behind `{section}`"));
    }
    let module = words.next().unwrap_or_default();
    if module != DIGEST_MODULE {
        return Err(format!("`{module}` is not supported: of SASL there is DIGEST-MD5 here"));
    }
    let mut options = Vec::new();
    words.next();
    while let Some(word) = words.next() {
        if word == ";" || word == "}" {
            break;
        }
        let (Some(equals), Some(value)) = (words.next(), words.next()) else {
            return Err(format!("it ends behind `{word}`"));
        };
        if equals != "=" {
            return Err(format!("no `=` behind `{word}`"));
        }
        options.push((word, value));
    }
    Ok(Some(options))
}

/// Words, quoted texts without their quotes, and the signs `{ } ; =`; comments are nothing.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after = if first == '#' || rest.starts_with("//") {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else if rest.starts_with("/*") {
            rest.split_once("*/").map_or("", |(_, after)| after)
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (word, after) = quoted.split_once('"').ok_or("a text that does not end")?;
            words.push(String::from(word));
            after
        } else if matches!(first, '{' | '}' | ';' | '=') {
            words.push(String::from(first));
            &rest[1..]
        } else {
            let ends = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ';' | '=' | '"');
            let end = rest.find(ends).unwrap_or(rest.len());
            words.push(String::from(&rest[..end]));
            &rest[end..]
        };
        rest = after.trim_start();
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        // the client's own part
        Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="x" password="y"; };
        /* the server's */ Server {
            org.apache.zookeeper.server.auth.DigestLoginModule required
            user_super = "admin secret" # comment
            user_bob="b;{}=" ;
        };
        Kerberos { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true; };
    "#;

    #[test]
    fn the_users_of_a_section_are_found() {
        let users = users_in(FILE, "Server").unwrap();
        let plain: Vec<(&str, &str)> =
            users.iter().map(|(name, secret)| (name.as_str(), secret.0.as_str())).collect();
        assert_eq!(plain, [("super", "admin secret"), ("bob", "b;{}=")]);
    }

    #[test]
    fn client_section_names_one_user() {
        let user = client_user_in(FILE, "Client").unwrap().unwrap();
        assert_eq!((user.0.as_str(), user.1.0.as_str()), ("x", "y"));
        assert_eq!(client_user_in(FILE, "Other").unwrap(), None);
        assert_eq!(client_user_in(FILE, "Server").unwrap_err(), "no `username` in section `Server`");
    }

    #[test]
    fn what_cannot_be_honoured_is_said() {
        assert_eq!(users_in(FILE, "Other").unwrap_err(), "no section `Other`");
        assert_eq!(users_in(FILE, "Client").unwrap_err(), "no user in section `Client`");
        assert!(users_in(FILE, "Kerberos").unwrap_err().contains("not supported"));
        assert!(users_in("Server { a \"", "Server").is_err());
        assert!(users_in("Server", "Server").is_err());
    }
}
