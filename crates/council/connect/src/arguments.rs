//! The options with which a client command says how to reach a server.

use std::path::PathBuf;
use std::sync::Arc;

use base::Secret;
use clap::Args;
use council_client::Access;
use net_auth::sasl::SaslUser;
use rustls::ClientConfig;

use crate::settings::Settings;
use crate::{Checked, Connection, Problem, secret, tls};

const HEADING: &str = "How to connect";

/// Which servers, and how they let a client in.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub struct ConnectArguments {
    /// Servers, and the node to take for the root.
    #[arg(
        short,
        long,
        value_name = "HOST:PORT[,..][/CHROOT]",
        default_value = "localhost:2181",
        global = true
    )]
    server: String,

    #[command(flatten)]
    access: AccessArguments,
}

/// How servers let a client in: TLS, SASL, identities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = HEADING)]
pub struct AccessArguments {
    /// An identity, like `digest:user:password`; without the password it is asked for.
    #[arg(short, long, value_name = "SCHEME:CREDENTIALS", global = true)]
    auth: Vec<String>,

    /// A file with identities, one a line; so does the variable `DIWAN_AUTH`.
    #[arg(long, value_name = "FILE", global = true)]
    auth_file: Vec<PathBuf>,

    /// Authenticate by SASL DIGEST-MD5; the password is asked for, or in `DIWAN_SASL_PASSWORD`.
    #[arg(long, value_name = "USER", global = true)]
    sasl_user: Option<String>,

    /// A file with the SASL user's password.
    #[arg(long, value_name = "FILE", requires = "sasl_user", global = true)]
    sasl_password_file: Option<PathBuf>,

    #[command(flatten)]
    tls: TlsArguments,
}

/// How it encrypts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = HEADING)]
pub struct TlsArguments {
    /// Encrypt; trust servers whose certificates these authorities signed (PEM or PKCS #12).
    #[arg(long, value_name = "FILE", global = true)]
    tls_ca: Option<PathBuf>,

    /// Encrypt; show this certificate (PEM with the key, or PKCS #12).
    #[arg(long, value_name = "FILE", global = true)]
    tls_cert: Option<PathBuf>,

    /// Properties of a ZooKeeper client: `zookeeper.client.secure`, `zookeeper.ssl.*`, ...
    #[arg(long, value_name = "FILE", global = true)]
    client_configuration: Option<PathBuf>,

    /// One such property; `CLIENT_JVMFLAGS` is read, too.
    #[arg(short = 'D', value_name = "KEY=VALUE", global = true)]
    properties: Vec<String>,
}

/// What is read of [`TlsArguments`] and of the properties that they name.
struct Read {
    tls: Option<Arc<ClientConfig>>,
    /// The user and the password of a JAAS file.
    sasl: Option<SaslUser>,
}

impl TlsArguments {
    /// Reads the files, and asks for the passwords that are missing.
    ///
    /// # Errors
    /// When a file or a property is of no use, or a password is missing and there is no terminal.
    pub fn resolve(self) -> Checked<Option<Arc<ClientConfig>>> {
        self.read().map(|read| read.tls)
    }

    fn read(self) -> Checked<Read> {
        let mut settings = Settings::default();
        settings.environment();
        if let Some(file) = &self.client_configuration {
            settings.file(file)?;
        }
        self.properties.iter().try_for_each(|property| settings.property(property))?;
        let files = tls::Files { authority: self.tls_ca, identity: self.tls_cert };
        let tls = tls::configure(&mut settings, files)?;
        let sasl = settings.sasl()?;
        settings.rest()?;
        Ok(Read { tls, sasl })
    }
}

impl AccessArguments {
    /// Whether none of these options was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the files, and asks for the passwords that are missing.
    ///
    /// # Errors
    /// When a file or a property is of no use, or a password is missing and there is no terminal.
    pub fn resolve(self) -> Checked<Access> {
        let Read { tls, sasl: from_jaas } = self.tls.read()?;
        let sasl = match self.sasl_user {
            Some(name) => {
                let password = sasl_password(&name, self.sasl_password_file)?;
                Some(SaslUser { name, password })
            }
            None => from_jaas,
        };
        let mut access = Access::default();
        for (scheme, credentials) in identities(self.auth, &self.auth_file)? {
            access = access.identity(&scheme, credentials.0.as_bytes());
        }
        if let Some(user) = &sasl {
            access = access.sasl(&user.name, &user.password.0);
        }
        Ok(match tls {
            Some(tls) => access.tls(tls),
            None => access,
        })
    }
}

impl ConnectArguments {
    /// Reads the files, and asks for the passwords that are missing.
    ///
    /// # Errors
    /// When a file or a property is of no use, or a password is missing and there is no terminal.
    pub fn resolve(self) -> Checked<Connection> {
        Ok(Connection { access: self.access.resolve()?, servers: self.server })
    }
}

fn sasl_password(user: &str, file: Option<PathBuf>) -> Checked<Secret> {
    if let Some(file) = file {
        return secret::from_file(&file);
    }
    match secret::from_environment(secret::SASL_PASSWORD) {
        Some(password) => Ok(password),
        None => secret::ask(
            &format!("password of the SASL user `{user}`"),
            "give it with `--sasl-password-file FILE`, or in the variable `DIWAN_SASL_PASSWORD`",
        ),
    }
}

fn identities(mut texts: Vec<String>, files: &[PathBuf]) -> Checked<Vec<(String, Secret)>> {
    if let Some(Secret(more)) = secret::from_environment(secret::AUTH) {
        texts.extend(more.lines().map(String::from));
    }
    for file in files {
        texts.extend(secret::lines(file)?);
    }
    texts.iter().map(|text| identity(text)).collect()
}

fn identity(text: &str) -> Checked<(String, Secret)> {
    let (scheme, credentials) = text.split_once(':').ok_or_else(|| {
        Problem::new("an identity without a scheme").hint("write it like `digest:user:password`")
    })?;
    if scheme != "digest" || credentials.contains(':') {
        return Ok((String::from(scheme), Secret(String::from(credentials))));
    }
    let Secret(password) = secret::ask(
        &format!("password of `{credentials}`"),
        "give it with `--auth-file FILE`, or in the variable `DIWAN_AUTH`, as `digest:USER:PASSWORD`",
    )?;
    Ok((String::from(scheme), Secret(format!("{credentials}:{password}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_needs_a_scheme_and_a_digest_a_password() {
        assert!(identity("digest").is_err());
        let (scheme, credentials) = identity("digest:bob:a:b").expect("an identity");
        assert_eq!((scheme.as_str(), credentials.0.as_str()), ("digest", "bob:a:b"));
        assert_eq!(identity("ip:").expect("an identity").0, "ip");
    }
}
