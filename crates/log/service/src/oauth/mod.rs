//! Who knows which tokens of OAUTHBEARER are good.

mod claims;
mod keys;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log_broker::{BadToken, BearerToken, TokenValidator};
use parking_lot::Mutex;

use claims::{Jwt, Seconds};
use keys::Keys;

/// How tokens are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthConfig {
    /// What a token must be signed with; nothing for tokens that are not signed, which anybody can make: for development only, as
    /// in Kafka where nothing else is set.
    pub keys: Option<PathBuf>,
    /// `sasl.oauthbearer.expected.audience`: a token must be for one of them; none for any.
    pub audiences: Vec<String>,
    /// `sasl.oauthbearer.expected.issuer`; nothing for any.
    pub issuer: Option<String>,
    /// `sasl.oauthbearer.sub.claim.name`: the claim that names the user.
    pub subject_claim: String,
    /// `sasl.oauthbearer.clock.skew.seconds`.
    pub clock_skew_seconds: u32,
}

impl Default for OauthConfig {
    fn default() -> Self {
        Self {
            keys: None,
            audiences: Vec::new(),
            issuer: None,
            subject_claim: String::from("sub"),
            clock_skew_seconds: 30,
        }
    }
}

/// How often the file of keys is looked at.
const LOOK: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Validator {
    config: OauthConfig,
    keys: Option<Mutex<KeysFile>>,
}

#[derive(Debug)]
struct KeysFile {
    path: PathBuf,
    keys: Arc<Keys>,
    modified: Option<std::time::SystemTime>,
    looked: Instant,
}

impl Validator {
    /// # Errors
    /// The file of keys cannot be used, in words.
    pub(crate) fn new(config: OauthConfig) -> Result<Arc<Self>, String> {
        let keys = config.keys.clone().map(KeysFile::open).transpose()?;
        Ok(Arc::new(Self { config, keys: keys.map(Mutex::new) }))
    }

    fn judge(&self, token: &str, now: Seconds) -> Result<BearerToken, &'static str> {
        let jwt = Jwt::read(token)?;
        match &self.keys {
            Some(file) => file.lock().current().verify(&jwt)?,
            None => jwt.check_unsigned()?,
        }
        let claims = jwt.claims()?;
        let skew = Seconds(f64::from(self.config.clock_skew_seconds));
        let expires = claims.check_times(now, skew)?;
        claims.check_party(&self.config.audiences, self.config.issuer.as_deref())?;
        let user = claims.text(&self.config.subject_claim).filter(|user| !user.is_empty());
        let user = user.ok_or("it names no user")?;
        Ok(BearerToken { user: user.into(), expires_ms: expires.ms() })
    }
}

impl TokenValidator for Validator {
    fn validate(&self, token: &str, now_ms: i64) -> Result<BearerToken, BadToken> {
        self.judge(token, Seconds(now_ms as f64 / 1_000.0)).map_err(|why| {
            tracing::debug!(why, "a bearer token is refused");
            BadToken(why)
        })
    }
}

impl KeysFile {
    fn open(path: PathBuf) -> Result<Self, String> {
        let modified = modified(&path);
        let keys = Arc::new(Keys::read(&path)?);
        Ok(Self { path, keys, modified, looked: Instant::now() })
    }

    /// The keys, read again if their file has changed. A file that cannot be used leaves those in force that were read before.
    fn current(&mut self) -> Arc<Keys> {
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            let modified = modified(&self.path);
            if modified != self.modified {
                self.modified = modified;
                match Keys::read(&self.path) {
                    Ok(keys) => self.keys = Arc::new(keys),
                    Err(error) => tracing::error!(
                        error,
                        "keys of tokens cannot be used; those read before stay in force"
                    ),
                }
            }
        }
        Arc::clone(&self.keys)
    }
}

fn modified(path: &std::path::Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

#[cfg(test)]
mod tests;
