//! Tokens signed by keys that are made here, and what others would try.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

use super::*;

const NOW_MS: i64 = 1_700_000_000_000;

struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self { pair: pair.expect("a key"), random }
    }

    fn key(&self, id: &str) -> String {
        let point = self.pair.public_key().as_ref();
        let (x, y) = (BASE64.encode(&point[1..33]), BASE64.encode(&point[33..]));
        format!(r#"{{"kty":"EC","crv":"P-256","kid":"{id}","use":"sig","x":"{x}","y":"{y}"}}"#)
    }

    fn sign(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims));
        let signature = self.pair.sign(&self.random, signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", BASE64.encode(signature))
    }
}

const HEADER: &str = r#"{"alg":"ES256","kid":"1"}"#;
const CLAIMS: &str = r#"{"sub":"bob","exp":1700000100,"iat":1699999990,"aud":["x","kafka"],"iss":"me"}"#;

fn validator(keys: &[String], config: OauthConfig) -> (tempfile::TempDir, Arc<Validator>) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keys.json");
    std::fs::write(&path, format!(r#"{{"keys":[{}]}}"#, keys.join(","))).expect("written");
    let made = Validator::new(OauthConfig { keys: Some(path), ..config }).expect("keys");
    (directory, made)
}

fn why(validator: &Validator, token: &str, now_ms: i64) -> &'static str {
    validator.validate(token, now_ms).map_or_else(|BadToken(why)| why, |_| "good")
}

#[test]
fn token_of_a_known_key_is_good_while_it_holds() {
    let signer = Signer::new();
    let (_directory, validator) = validator(&[signer.key("1")], OauthConfig::default());
    let token = signer.sign(HEADER, CLAIMS);
    let good = BearerToken { user: "bob".into(), expires_ms: 1_700_000_100_000 };
    assert_eq!(validator.validate(&token, NOW_MS), Ok(good.clone()));
    assert_eq!(validator.validate(&signer.sign(r#"{"alg":"ES256"}"#, CLAIMS), NOW_MS), Ok(good));
    assert_eq!(why(&validator, &token, NOW_MS + 129_000), "good", "within the skew");
    assert_eq!(why(&validator, &token, NOW_MS + 130_000), "it has expired");
    assert_eq!(why(&validator, &token, NOW_MS - 41_000), "it does not hold yet");
}

#[test]
fn token_of_another_key_or_changed_on_its_way_is_refused() {
    let (signer, other) = (Signer::new(), Signer::new());
    let (_directory, validator) = validator(&[signer.key("1")], OauthConfig::default());
    assert_eq!(why(&validator, &other.sign(HEADER, CLAIMS), NOW_MS), "its signature is wrong");
    let named = other.sign(r#"{"alg":"ES256","kid":"2"}"#, CLAIMS);
    assert_eq!(why(&validator, &named, NOW_MS), "it names a key that is not known");
    let token = signer.sign(HEADER, CLAIMS);
    let forged = token.replace(&BASE64.encode(CLAIMS), &BASE64.encode(CLAIMS.replace("bob", "eve")));
    assert_eq!(why(&validator, &forged, NOW_MS), "its signature is wrong");
    let (body, _) = token.rsplit_once('.').expect("a signature");
    for algorithm in ["none", "None", "HS256", "RS256", ""] {
        let header = BASE64.encode(format!(r#"{{"alg":"{algorithm}"}}"#));
        let unsigned = format!("{header}.{}.", body.split_once('.').expect("claims").1);
        assert_eq!(why(&validator, &unsigned, NOW_MS), "its signature is wrong", "{algorithm}");
    }
    for cut in 0..token.len() {
        assert_ne!(why(&validator, &token[..cut], NOW_MS), "good");
    }
}

#[test]
fn audience_issuer_and_user_are_those_that_are_wanted() {
    let signer = Signer::new();
    let check = |config: OauthConfig, claims: &str| {
        let (_directory, validator) = validator(&[signer.key("1")], config);
        why(&validator, &signer.sign(HEADER, claims), NOW_MS)
    };
    let wants = |audience: &str, issuer: &str| OauthConfig {
        audiences: vec![audience.into()],
        issuer: Some(issuer.into()),
        ..OauthConfig::default()
    };
    assert_eq!(check(wants("kafka", "me"), CLAIMS), "good");
    assert_eq!(check(wants("other", "me"), CLAIMS), "it is for another audience");
    assert_eq!(check(wants("kafka", "you"), CLAIMS), "it is of another issuer");
    assert_eq!(
        check(wants("kafka", "me"), r#"{"sub":"bob","exp":1700000100}"#),
        "it is for another audience"
    );
    assert_eq!(check(OauthConfig::default(), r#"{"exp":1700000100}"#), "it names no user");
    assert_eq!(check(OauthConfig::default(), r#"{"sub":"","exp":1700000100}"#), "it names no user");
    assert_eq!(check(OauthConfig::default(), r#"{"sub":"bob"}"#), "it does not say until when it holds");
    assert_eq!(check(OauthConfig::default(), r#"{"sub":"bob","exp":"x"}"#), "a time in it is no number");
}

#[test]
fn token_that_is_not_signed_is_good_only_where_that_is_set() {
    let validator = Validator::new(OauthConfig::default()).expect("no keys");
    let token = |header: &str| format!("{}.{}.", BASE64.encode(header), BASE64.encode(CLAIMS));
    assert_eq!(why(&validator, &token(r#"{"alg":"none"}"#), NOW_MS), "good");
    let signed = Signer::new().sign(HEADER, CLAIMS);
    assert_eq!(why(&validator, &signed, NOW_MS), "it is signed, and there are no keys to check that with");
}

/// A key and a token that OpenSSL signed with it.
const RSA_KEY: &str = r#"{"kty":"RSA","kid":"r","n":"kn80LxsKm3Kn4YgjXo7EXEeohtgS0sEBqVTvI7ZrIFUF6TsavfKlYTAyLQVEjAXB-9YgnrN2ob5AspRCxuzOMtamC-jXsaLMPNvVhKW19PeHFES0mGEDdXZ-zuVjWxWPXYfqKsQOH0kX-mQvaIzmlEWeU9GEnuX_4mOIgpgi5CkmAUX2PqI7B66vSFA_QQbOoiPCPwMfO5jeA-C6jCcX2K3QsxBgZTfe_pJERKyJVcPlewGwvWrfr2FaIY1f_0TPuypQ620cYUN54cLBYCu0Jy5qdxE00fFJJcAe33xwFYTP8knWP8qWrGW291_3uTG_M2iZ1_9RacZ-Np5CtIRHhQ","e":"AQAB"}"#;
const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJzdWIiOiJib2IiLCJleHAiOjE3MDAwMDAxMDB9.Onbtd2ugLX-huZ-EMB-YeXN_V6nuoHDNba9mbL6xeUgZeiK1qerumb91ZUj5sCmkrA2ltPKp9gqrgFzGoM83ISMfUFpIBbeomfYZEuGQXeUaBGceuaPiFsgIWgcASTwSL-LYYEpBw7qUbRXzFhewcASErjHvV74bEl3z2j4mZE6hgpMpH5qKvHUPAxQk9n9-1mY_5UEnFVXbPNJ6W4YV4DjhF8KAsYOxI8lxY0QeakMKMLQz202tndJsfoC-uA69LfRP3cz8FlYB50Fg8pnHqtOJnL5VC_H6kkuGGPptvOBxljPfHn2uE6sUmqzs9yuJ_2wfaJMdpEliJJ4LnxqW3g";

#[test]
fn token_that_another_program_signed_with_rsa_is_good() {
    let (_directory, validator) = validator(&[RSA_KEY.into()], OauthConfig::default());
    assert_eq!(why(&validator, RSA_TOKEN, NOW_MS), "good");
    let (body, signature) = RSA_TOKEN.rsplit_once('.').expect("a signature");
    let changed = format!("{body}.{}", signature.chars().rev().collect::<String>());
    assert_ne!(why(&validator, &changed, NOW_MS), "good");
}

#[test]
fn file_without_keys_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keys.json");
    for text in ["", "{}", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"oct"}]}"#] {
        std::fs::write(&path, text).expect("written");
        let config = OauthConfig { keys: Some(path.clone()), ..OauthConfig::default() };
        assert!(Validator::new(config).expect_err("refused").contains("keys.json"));
    }
}
