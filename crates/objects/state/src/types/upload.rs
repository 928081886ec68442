//! Modules on their way: pieces in order, each a record. What no version uses is thrown away some time after its last
//! piece.

use sha2::{Digest as _, Sha256};

use super::{totals, update_totals};
use crate::codec::record;
use crate::deadline;
use crate::group::Core;
use crate::key::{self, Key};
use crate::limits::{MODULE_BYTES_MAX, MODULES_BYTES_MAX, PIECE_BYTES, UPLOAD_MS, UPLOADS_MAX};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;

record! {
    /// A module, or what there is of it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Module {
        pub(crate) size: u64,
        /// Bytes that have come.
        pub(crate) received: u64,
        /// Versions that are made of it.
        pub(crate) users: u32,
        /// When it is thrown away, if none is.
        pub(crate) until_ms: Option<i64>,
    }
}

/// One piece, as it came.
pub(crate) struct Piece<'a> {
    pub(crate) hash: [u8; 32],
    pub(crate) size: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
}

/// Takes a piece. One that is here already changes nothing, and so does one that is not the next: the answer says how many
/// bytes have come.
pub(crate) fn piece(core: &mut Core, piece: &Piece<'_>) -> Result<String, Problem> {
    check_form(piece)?;
    let key = key::module(piece.hash);
    let known: Option<Module> = core.read(&key);
    if known.is_none() {
        check_room(core, piece.size)?;
    }
    let new = Module { size: piece.size, received: 0, users: 0, until_ms: None };
    let is_new = known.is_none();
    let mut module = known.unwrap_or(new);
    if module.size != piece.size {
        return Err(Problem::argument("size", format!("the module has {} bytes", module.size)));
    }
    if piece.offset == module.received && module.received < module.size {
        let number = (piece.offset / PIECE_BYTES as u64) as u32;
        core.store.put(key::piece(piece.hash, number), piece.bytes);
        module.received += piece.bytes.len() as u64;
        if is_new {
            update_totals(core, |totals| {
                totals.uploads += 1;
                totals.module_bytes += piece.size;
            });
        }
        if module.received == module.size && digest(core, piece.hash) != piece.hash {
            core.write(key, &module);
            remove(core, piece.hash);
            return Err(Problem::argument("hash", "the bytes have another hash: upload them again"));
        }
        keep(core, piece.hash, &mut module);
    }
    Ok(Reply::new().number("received", module.received).number("size", module.size).finish())
}

fn check_form(piece: &Piece<'_>) -> Result<(), Problem> {
    if !(1..=MODULE_BYTES_MAX).contains(&piece.size) {
        let detail = format!("a module has 1 to {MODULE_BYTES_MAX} bytes");
        return Err(Problem::new(Slug::TooLarge, detail));
    }
    let rest = piece.size.saturating_sub(piece.offset);
    let is_whole = piece.bytes.len() as u64 == rest.min(PIECE_BYTES as u64);
    if rest == 0 || !piece.offset.is_multiple_of(PIECE_BYTES as u64) || !is_whole {
        let detail = format!("pieces have {PIECE_BYTES} bytes, only the last one is shorter");
        return Err(Problem::argument("offset", detail));
    }
    Ok(())
}

fn check_room(core: &Core, size: u64) -> Result<(), Problem> {
    let totals = totals(core);
    if totals.uploads >= UPLOADS_MAX {
        return Err(Problem::new(Slug::Quota, format!("{UPLOADS_MAX} uploads are under way")));
    }
    if totals.module_bytes + size > MODULES_BYTES_MAX {
        let detail =
            format!("all modules together have {MODULES_BYTES_MAX} bytes at the most: delete versions");
        return Err(Problem::new(Slug::Quota, detail));
    }
    Ok(())
}

/// Writes a module's record. One that nothing uses stays for a while from now.
fn keep(core: &mut Core, hash: [u8; 32], module: &mut Module) {
    if let Some(at) = module.until_ms.take() {
        deadline::clear(core, at, deadline::UPLOAD, &hash);
    }
    if module.users == 0 {
        let at = core.meta.stamp_ms.saturating_add(UPLOAD_MS);
        deadline::set(core, at, deadline::UPLOAD, &hash, &());
        module.until_ms = Some(at);
    }
    core.write(key::module(hash), module);
}

/// The bytes of a module that has come whole.
pub(crate) fn bytes(core: &Core, hash: [u8; 32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    core.store.prefix(&key::pieces(hash)).for_each(|(_, piece)| bytes.extend_from_slice(piece));
    bytes
}

pub(super) fn digest(core: &Core, hash: [u8; 32]) -> [u8; 32] {
    let mut digest = Sha256::new();
    core.store.prefix(&key::pieces(hash)).for_each(|(_, piece)| digest.update(piece));
    digest.finalize().into()
}

/// A version is made of a module that has come whole.
///
/// # Errors
/// It has not.
pub(super) fn begin_use(core: &mut Core, hash: [u8; 32]) -> Result<(), Problem> {
    let module: Option<Module> = core.read(&key::module(hash));
    let whole = module.filter(|module| module.received == module.size);
    let missing = || Problem::new(Slug::NoSuchModule, "the module is not here: upload it first");
    let mut module = whole.ok_or_else(missing)?;
    if module.users == 0 {
        update_totals(core, |totals| totals.uploads -= 1);
    }
    module.users += 1;
    keep(core, hash, &mut module);
    Ok(())
}

/// A version is gone that was made of it.
pub(super) fn end_use(core: &mut Core, hash: [u8; 32]) {
    let Some(mut module) = core.read::<Module>(&key::module(hash)) else { return };
    module.users = module.users.saturating_sub(1);
    core.write(key::module(hash), &module);
    if module.users == 0 {
        update_totals(core, |totals| totals.uploads += 1);
        remove(core, hash);
    }
}

/// Throws a module away that nothing uses.
fn remove(core: &mut Core, hash: [u8; 32]) {
    let Some(module) = core.read::<Module>(&key::module(hash)) else { return };
    if let Some(at) = module.until_ms {
        deadline::clear(core, at, deadline::UPLOAD, &hash);
    }
    let keys: Vec<_> = core.store.prefix(&key::pieces(hash)).map(|(key, _)| Key::from(key)).collect();
    for key in &keys {
        core.store.remove(key);
    }
    core.store.remove(&key::module(hash));
    update_totals(core, |totals| {
        totals.uploads = totals.uploads.saturating_sub(1);
        totals.module_bytes = totals.module_bytes.saturating_sub(module.size);
    });
}

/// The time of an upload is over.
pub(crate) fn expire(core: &mut Core, id: &[u8]) {
    if let Some(hash) = id.first_chunk() {
        remove(core, *hash);
    }
}
