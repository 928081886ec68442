//! What two members prove to each other before either believes who the other says it is: that both know the ensemble's
//! secret.
//!
//! Each side draws a nonce for each connection and sends `HMAC-SHA256(secret, transcript)`. The transcript holds, in this
//! order: which side proves, the greetings of both sides with their nonces, what the prover says of itself (and, from
//! the side that answers, what the dialler said), and the binding to the channel. So a proof is of no use
//!
//! - on another connection: the verifier's nonce is new each time;
//! - in the other direction: the side that proves is named first;
//! - with another claim: number, id, ensemble and the member that is wanted are in it;
//! - on another TLS connection: the binding is keying material exported from this one.
//!
//! Without TLS the binding is empty and nothing that follows the handshake is protected: the secret keeps out who
//! reaches the port, not who sits on the path between two members. Knows no socket, no clock and no source of
//! randomness.

use ring::hmac;

use crate::secret::EnsembleSecret;

/// Bytes that a side draws for each connection.
pub(crate) const NONCE_BYTES: usize = 32;
/// Bytes of a proof.
pub(crate) const PROOF_BYTES: usize = 32;

/// A number that is used once.
pub(crate) type Nonce = [u8; NONCE_BYTES];
/// What a side sends to prove that it knows the secret.
pub(crate) type Proof = [u8; PROOF_BYTES];
/// Names one TLS connection (its channel binding); zeros without TLS.
pub(crate) type Binding = [u8; 32];

/// Separates these proofs from everything else that a secret may ever be used for.
const DOMAIN: &[u8] = b"diwan members 2";

/// Which side proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that opened the connection.
    Dialler,
    /// The other one.
    Answerer,
}

/// A secret, ready for use.
#[derive(Clone)]
pub(crate) struct Prover(hmac::Key);

impl Prover {
    pub(crate) fn new(secret: &EnsembleSecret) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.bytes()))
    }

    /// A side's proof. Every part has a fixed length, or all parts before the last have.
    pub(crate) fn prove(&self, side: Side, binding: &Binding, transcript: &[&[u8]]) -> Proof {
        let mut context = hmac::Context::with_key(&self.0);
        parts(side, binding)
            .into_iter()
            .chain(transcript.iter().copied())
            .for_each(|part| context.update(part));
        let mut proof = [0; PROOF_BYTES];
        proof.copy_from_slice(context.sign().as_ref());
        proof
    }

    /// Whether a proof is the one of that side; takes the same time wherever it differs.
    pub(crate) fn verify(&self, side: Side, binding: &Binding, transcript: &[&[u8]], proof: &Proof) -> bool {
        let whole: Vec<u8> =
            parts(side, binding).into_iter().chain(transcript.iter().copied()).flatten().copied().collect();
        hmac::verify(&self.0, &whole, proof).is_ok()
    }
}

fn parts(side: Side, binding: &Binding) -> [&[u8]; 3] {
    let side: &[u8] = match side {
        Side::Dialler => b"dials  ",
        Side::Answerer => b"answers",
    };
    [DOMAIN, side, binding]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prover(byte: u8) -> Prover {
        Prover::new(&EnsembleSecret::new(&[byte; 32]).expect("long enough"))
    }

    #[test]
    fn proof_holds_for_one_side_one_binding_one_transcript_and_one_secret() {
        let (one, transcript) = (prover(1), [&b"hello"[..], b"there"]);
        let proof = one.prove(Side::Dialler, &[7; 32], &transcript);
        assert!(one.verify(Side::Dialler, &[7; 32], &transcript, &proof));
        assert!(!one.verify(Side::Answerer, &[7; 32], &transcript, &proof), "reflected");
        assert!(!one.verify(Side::Dialler, &[8; 32], &transcript, &proof), "another binding");
        assert!(!one.verify(Side::Dialler, &[7; 32], &[b"hello", b"where"], &proof), "another claim");
        assert!(!prover(2).verify(Side::Dialler, &[7; 32], &transcript, &proof), "another secret");
        for at in 0..PROOF_BYTES {
            let mut damaged = proof;
            damaged[at] ^= 0x80;
            assert!(!one.verify(Side::Dialler, &[7; 32], &transcript, &damaged), "{at}");
        }
    }
}
