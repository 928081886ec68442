//! A token as it is written (RFC 7519): header, claims and signature, each in URL-safe base64, with points between.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Seconds(pub(super) f64);

impl Seconds {
    pub(super) fn ms(self) -> i64 {
        (self.0 * 1_000.0).clamp(0.0, 9e15) as i64
    }
}

/// A token whose parts were found.
pub(super) struct Jwt<'t> {
    /// What is signed.
    pub(super) signed: &'t str,
    claims: &'t str,
    pub(super) signature: Vec<u8>,
    pub(super) algorithm: String,
    /// The id of the key.
    pub(super) key: Option<String>,
}

impl<'t> Jwt<'t> {
    pub(super) fn read(token: &'t str) -> Result<Self, &'static str> {
        let (signed, signature) = token.rsplit_once('.').ok_or("it is no token")?;
        let (header, claims) =
            signed.split_once('.').filter(|(_, claims)| !claims.contains('.')).ok_or("it is no token")?;
        let header = object(header)?;
        let text = |name: &str| header.get(name).and_then(Value::as_str).map(String::from);
        if header.contains_key("crit") {
            return Err("its header demands something");
        }
        Ok(Self {
            signed,
            claims,
            signature: URL_SAFE_NO_PAD.decode(signature).map_err(|_| "its signature is not base64")?,
            algorithm: text("alg").ok_or("its header names no algorithm")?,
            key: text("kid"),
        })
    }

    /// It says of itself that it is not signed, and is not.
    pub(super) fn check_unsigned(&self) -> Result<(), &'static str> {
        if self.algorithm == "none" && self.signature.is_empty() {
            return Ok(());
        }
        Err("it is signed, and there are no keys to check that with")
    }

    pub(super) fn claims(&self) -> Result<Claims, &'static str> {
        object(self.claims).map(Claims)
    }
}

/// What a token claims.
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn seconds(&self, name: &str) -> Result<Option<Seconds>, &'static str> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => {
                value.as_f64().map(|seconds| Some(Seconds(seconds))).ok_or("a time in it is no number")
            }
        }
    }

    /// It holds now. Gives until when.
    pub(super) fn check_times(&self, now: Seconds, skew: Seconds) -> Result<Seconds, &'static str> {
        let expires = self.seconds("exp")?.ok_or("it does not say until when it holds")?;
        if expires.0 + skew.0 <= now.0 {
            return Err("it has expired");
        }
        for name in ["nbf", "iat"] {
            if self.seconds(name)?.is_some_and(|from| from.0 - skew.0 > now.0) {
                return Err("it does not hold yet");
            }
        }
        Ok(expires)
    }

    /// It is for one of these, and by that one.
    pub(super) fn check_party(&self, audiences: &[String], issuer: Option<&str>) -> Result<(), &'static str> {
        let is_wanted =
            |value: &Value| value.as_str().is_some_and(|one| audiences.iter().any(|known| known == one));
        let is_for_us = match self.0.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_wanted),
            Some(one) => is_wanted(one),
            None => false,
        };
        if !audiences.is_empty() && !is_for_us {
            return Err("it is for another audience");
        }
        if issuer.is_some_and(|wanted| self.text("iss") != Some(wanted)) {
            return Err("it is of another issuer");
        }
        Ok(())
    }
}

fn object(part: &str) -> Result<Map<String, Value>, &'static str> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| "a part of it is not base64")?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err("a part of it is no JSON object"),
    }
}
