//! The file of `objects.root-token-file`: a way back for whoever has the machine, if no token is left that administers.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Checked, Problem};

/// Bytes of the file.
const BYTES_MAX: u64 = 4_096;
const KEY: &str = "`objects.root-token-file`";

/// The SHA-256 of the token in it.
///
/// # Errors
/// It cannot be read, others can read it, or there is no token in it.
pub(super) fn read(path: &Path) -> Checked<[u8; 32]> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Problem::new(format!("{KEY}: cannot read `{shown}`: {error}"))
            .hint(format!("make it: `(umask 077; echo diwan_$(openssl rand -hex 32) > {shown})`"))
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & 0o077 != 0 {
        let what = format!("{KEY}: others than its owner can read or change `{shown}`, and so administer");
        return Err(Problem::new(what).hint(format!("`chmod 600 {shown}`")));
    }
    let mut text = String::new();
    file.by_ref().take(BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    objects_service::hash_of_token(text.trim()).ok_or_else(|| {
        Problem::new(format!("{KEY}: in `{shown}` is no token: `diwan_` and 64 hexadecimal digits"))
            .hint(format!("make one: `(umask 077; echo diwan_$(openssl rand -hex 32) > {shown})`"))
    })
}
