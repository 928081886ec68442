//! JAAS files, as far as they name users of SASL and their passwords: a server's users, and the one of a client.
//!
//! ```text
//! Server {
//!     com.example.LoginModule required
//!     user_admin="adminsecret"
//!     user_bob="bobsecret";
//! };
//! Client {
//!     com.example.LoginModule required
//!     username="bob"
//!     password="bobsecret";
//! };
//! ```
//!
//! Takes the text, and opens no file. The service says which section it wants, and the class of its login module.

use base::Secret;

use crate::Passwords;
use crate::sasl::SaslUser;

/// Why a text does not give what is wanted of it. Shows no value of an option: it may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JaasError {
    /// There is no section of this name.
    #[error("no section `{0}`")]
    NoSection(String),
    /// The section's name is not followed by its beginning.
    #[error("no `{{` behind `{0}`")]
    NoBeginning(String),
    /// The section names another login module than the one that is wanted.
    #[error("login module `{0}` is not supported")]
    OtherModule(String),
    /// A quotation mark without another one.
    #[error("a text does not end")]
    OpenQuote,
    /// The text ends within an option of this name.
    #[error("it ends behind `{0}`")]
    Cut(String),
    /// An option without a value.
    #[error("no `=` behind `{0}`")]
    NoValue(String),
    /// The section names no user.
    #[error("no user in section `{0}`")]
    NoUser(String),
    /// The section lacks an option.
    #[error("no `{option}` in section `{section}`")]
    NoOption {
        /// The option.
        option: &'static str,
        /// The section.
        section: String,
    },
}

/// A section, of which the first login module is read.
pub struct Section {
    name: String,
    options: Vec<(String, String)>,
}

impl Section {
    /// The section of this name, whose login module is of this class; none if the text has no such section.
    ///
    /// # Errors
    /// What is read of the text has not the form of a JAAS file, or the module is another one.
    pub fn find(text: &str, name: &str, module: &str) -> Result<Option<Self>, JaasError> {
        let mut words = words(text)?.into_iter();
        if !skip_to(&mut words, name) {
            return Ok(None);
        }
        if words.next().as_deref() != Some("{") {
            return Err(JaasError::NoBeginning(String::from(name)));
        }
        let found = words.next().unwrap_or_default();
        if found != module {
            return Err(JaasError::OtherModule(found));
        }
        // `required`, or another flag.
        words.next();
        Ok(Some(Self { name: String::from(name), options: options(&mut words)? }))
    }

    /// The users of a server: `user_NAME="PASSWORD"`.
    ///
    /// # Errors
    /// There is none.
    pub fn users(&self) -> Result<Passwords, JaasError> {
        let named =
            self.options.iter().filter_map(|(name, value)| Some((name.strip_prefix("user_")?, value)));
        let users: Passwords = named.map(|(name, value)| (name, Secret(value.clone()))).collect();
        if users.is_empty() { Err(JaasError::NoUser(self.name.clone())) } else { Ok(users) }
    }

    /// The user of a client: `username="NAME" password="PASSWORD"`.
    ///
    /// # Errors
    /// One of the two is missing.
    pub fn user(&self) -> Result<SaslUser, JaasError> {
        Ok(SaslUser::new(self.option("username")?, self.option("password")?))
    }

    fn option(&self, wanted: &'static str) -> Result<&str, JaasError> {
        let found = self.options.iter().find(|(name, _)| name == wanted);
        let missing = || JaasError::NoOption { option: wanted, section: self.name.clone() };
        found.map(|(_, value)| value.as_str()).ok_or_else(missing)
    }
}

/// The users of a server's section.
///
/// # Errors
/// The section is not there, is not of the wanted form, or names no user.
pub fn users(text: &str, section: &str, module: &str) -> Result<Passwords, JaasError> {
    let missing = || JaasError::NoSection(String::from(section));
    Section::find(text, section, module)?.ok_or_else(missing)?.users()
}

/// The user of a client's section; none if there is no such section.
///
/// # Errors
/// The section is not of the wanted form, or names no user.
pub fn user(text: &str, section: &str, module: &str) -> Result<Option<SaslUser>, JaasError> {
    Section::find(text, section, module)?.map(|section| section.user()).transpose()
}

impl core::fmt::Debug for Section {
    /// Without its options.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Section").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Passes over other sections; whether there is the one of this name.
fn skip_to(words: &mut impl Iterator<Item = String>, name: &str) -> bool {
    loop {
        match words.next() {
            None => return false,
            Some(word) if word == name => return true,
            Some(_) if words.by_ref().any(|word| word == "}") => {
                words.next();
            }
            Some(_) => return false,
        }
    }
}

/// The options of a login module, up to its end.
fn options(words: &mut impl Iterator<Item = String>) -> Result<Vec<(String, String)>, JaasError> {
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        if word == ";" || word == "}" {
            break;
        }
        let (Some(equals), Some(value)) = (words.next(), words.next()) else {
            return Err(JaasError::Cut(word));
        };
        if equals != "=" {
            return Err(JaasError::NoValue(word));
        }
        options.push((word, value));
    }
    Ok(options)
}

/// Words, quoted texts without their quotes, and the signs `{ } ; =`; comments are nothing.
fn words(text: &str) -> Result<Vec<String>, JaasError> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after = if first == '#' || rest.starts_with("//") {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else if rest.starts_with("/*") {
            rest.split_once("*/").map_or("", |(_, after)| after)
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (word, after) = until_quote(quoted).ok_or(JaasError::OpenQuote)?;
            words.push(word);
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

/// A text up to its closing quotation mark, in which a backslash takes the meaning from the next character, and what is behind.
fn until_quote(quoted: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return Some((word, characters.as_str())),
            '\\' => word.push(characters.next()?),
            character => word.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "com.example.LoginModule";
    const FILE: &str = r#"
        // the client's own part
        Client { com.example.LoginModule required username="x" password="y"; };
        /* the server's */ Server {
            com.example.LoginModule required
            user_super = "admin secret" # comment
            user_bob="b;{}=" ;
        };
        Kerberos { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true; };
    "#;

    fn users_in(text: &str, section: &str) -> Result<Passwords, JaasError> {
        users(text, section, MODULE)
    }

    #[test]
    fn users_of_a_section_are_found() {
        let users = users_in(FILE, "Server").unwrap();
        let plain: Vec<_> = users.iter().map(|(name, secret)| (name, secret.0.as_str())).collect();
        assert_eq!(plain, [("bob", "b;{}="), ("super", "admin secret")]);
    }

    #[test]
    fn backslash_takes_the_meaning_from_a_quotation_mark() {
        let users =
            users_in(r#"S { com.example.LoginModule required user_a="x\"y\\z" user_b=""; };"#, "S").unwrap();
        let plain: Vec<_> = users.iter().map(|(name, secret)| (name, secret.0.as_str())).collect();
        assert_eq!(plain, [("a", "x\"y\\z"), ("b", "")]);
        assert_eq!(users_in("S { a \"b\\\"", "S"), Err(JaasError::OpenQuote));
    }

    #[test]
    fn client_section_names_one_user() {
        let found = |section| user(FILE, section, MODULE);
        assert_eq!(found("Client"), Ok(Some(SaslUser::new("x", "y"))));
        assert_eq!(found("Other"), Ok(None));
        assert_eq!(found("Server").unwrap_err().to_string(), "no `username` in section `Server`");
    }

    #[test]
    fn what_cannot_be_honoured_is_said() {
        for (section, said) in [
            ("Other", "no section `Other`"),
            ("Client", "no user in section `Client`"),
            ("Kerberos", "login module `com.sun.security.auth.module.Krb5LoginModule` is not supported"),
        ] {
            assert_eq!(users_in(FILE, section).unwrap_err().to_string(), said);
        }
        assert_eq!(users_in("Server { a \"", "Server"), Err(JaasError::OpenQuote));
        assert_eq!(users_in("Server", "Server").unwrap_err().to_string(), "no `{` behind `Server`");
    }

    #[test]
    fn text_cut_anywhere_is_read_without_panic_and_no_error_shows_a_password() {
        for cut in 0..FILE.len() {
            for section in ["Server", "Client", "Kerberos"] {
                let error = users_in(&FILE[..cut], section).err().map(|error| format!("{error:?} {error}"));
                let shown = error.unwrap_or_default();
                assert!(!shown.contains("admin secret") && !shown.contains("b;{}"), "{shown}");
            }
        }
    }

    #[test]
    fn section_does_not_show_its_options() {
        let section = Section::find(FILE, "Server", MODULE).unwrap().unwrap();
        assert!(!format!("{section:?}").contains("secret"));
    }
}
