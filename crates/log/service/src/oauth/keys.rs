//! The keys that tokens are signed with: a JSON Web Key Set (RFC 7517) in a file.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use super::claims::Jwt;

/// See the module.
#[derive(Debug)]
pub(super) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
}

#[derive(Deserialize)]
struct SetNode {
    keys: Vec<KeyNode>,
}

#[derive(Deserialize)]
struct KeyNode {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Keys {
    /// Reads a file. Keys of kinds that are not known are passed over.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read(path).map_err(|error| format!("`{shown}`: {error}"))?;
        let set: SetNode = serde_json::from_slice(&text)
            .map_err(|error| format!("`{shown}` is no JSON Web Key Set: {error}"))?;
        let keys: Vec<Key> = set.keys.iter().filter_map(KeyNode::key).collect();
        if keys.is_empty() {
            return Err(format!("`{shown}` has no key for RS256 or ES256"));
        }
        Ok(Self(keys))
    }

    /// Checks the signature of a token by the key that it names, or by all if it names none.
    pub(super) fn verify(&self, jwt: &Jwt<'_>) -> Result<(), &'static str> {
        let is_named = |key: &&Key| jwt.key.is_none() || key.id == jwt.key;
        let mut named = self.0.iter().filter(is_named).peekable();
        named.peek().ok_or("it names a key that is not known")?;
        if named.any(|key| key.material.verifies(jwt)) { Ok(()) } else { Err("its signature is wrong") }
    }
}

impl Material {
    /// The algorithm is that of the key, whatever the token would like.
    fn verifies(&self, jwt: &Jwt<'_>) -> bool {
        let signed = jwt.signed.as_bytes();
        match self {
            Self::Rsa { modulus, exponent } if jwt.algorithm == "RS256" => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, &jwt.signature).is_ok()
            }
            Self::P256(point) if jwt.algorithm == "ES256" => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, &jwt.signature).is_ok()
            }
            _ => false,
        }
    }
}

impl KeyNode {
    fn key(&self) -> Option<Key> {
        if self.purpose.as_ref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        let material = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { modulus: bytes(&self.n)?, exponent: bytes(&self.e)? },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(&self.x)?, bytes(&self.y)?);
                Material::P256([&[4][..], &x, &y].concat())
            }
            _ => return None,
        };
        Some(Key { id: self.kid.clone(), material })
    }
}
