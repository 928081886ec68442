//! JAAS files, as far as they name the users of SASL DIGEST-MD5: a server's, and the one of a client. `net_auth::jaas`
//! knows their form.

use std::path::Path;

use net_auth::Passwords;
use net_auth::jaas::{self, JaasError};
use net_auth::sasl::SaslUser;

use crate::{Checked, Problem};

/// The class whose options name users of DIGEST-MD5.
const DIGEST_MODULE: &str = "org.apache.zookeeper.server.auth.DigestLoginModule";

/// The users of one section of a server's file.
///
/// # Errors
/// The file cannot be read, or does not name any there.
pub fn users(file: &Path, section: &str) -> Checked<Passwords> {
    let text = read(file)?;
    let form = "user_NAME=\"PASSWORD\"";
    jaas::users(&text, section, DIGEST_MODULE).map_err(|error| problem(file, section, form, &error))
}

/// The user that a client's section of a file names; none if the file has no such section, as in ZooKeeper's client.
pub(crate) fn client_user(file: &Path, section: &str) -> Checked<Option<SaslUser>> {
    let text = read(file)?;
    let form = "username=\"NAME\" password=\"PASSWORD\"";
    jaas::user(&text, section, DIGEST_MODULE).map_err(|error| problem(file, section, form, &error))
}

fn read(file: &Path) -> Checked<String> {
    std::fs::read_to_string(file).map_err(|error| {
        Problem::new(format!("cannot read `{}`: {error}", file.display()))
            .hint("`java.security.auth.login.config` names the file with SASL's users")
    })
}

/// What is wrong with a file, and how the section must look.
fn problem(file: &Path, section: &str, form: &str, error: &JaasError) -> Problem {
    let what = match error {
        JaasError::OtherModule(module) => {
            format!("`{module}` is not supported: of SASL there is DIGEST-MD5 here")
        }
        other => other.to_string(),
    };
    Problem::new(format!("`{}`: {what}", file.display()))
        .hint(format!("it must look like `{section} {{ {DIGEST_MODULE} required {form}; }};`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_names_the_file_and_shows_the_form() {
        let file = Path::new("jaas.conf");
        let other = JaasError::OtherModule(String::from("a.Krb5LoginModule"));
        let text = problem(file, "Server", "user_NAME=\"PASSWORD\"", &other).to_string();
        assert!(text.contains("`jaas.conf`: `a.Krb5LoginModule` is not supported"), "{text}");
        assert!(text.contains(&format!("Server {{ {DIGEST_MODULE} required user_NAME")), "{text}");
    }

    #[test]
    fn file_that_is_not_there_is_named() {
        let error = users(Path::new("/nowhere/jaas.conf"), "Server").unwrap_err().to_string();
        assert!(error.contains("cannot read `/nowhere/jaas.conf`"), "{error}");
    }
}
