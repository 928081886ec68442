//! Ids of topics, clusters and directories, as the protocol writes them in texts: 16 bytes in URL-safe base64 without padding.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The text of an id.
#[must_use]
pub fn id_text(id: &[u8; 16]) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

/// The id of a text, if it is one.
#[must_use]
pub fn id_of(text: &str) -> Option<[u8; 16]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
