//! Bodies of replies.

use council_wire::{Acl, AclList, Reader, Stat};

use crate::Error;
use crate::operation::Identity;
use crate::path::Chroot;

/// How a body becomes what the user gets.
pub type Decode<T> = fn(&mut Reader<'_>, &Chroot) -> Result<T, Error>;

pub(crate) fn nothing(_: &mut Reader<'_>, _: &Chroot) -> Result<(), Error> {
    Ok(())
}

pub(crate) fn path(reader: &mut Reader<'_>, chroot: &Chroot) -> Result<String, Error> {
    Ok(String::from(chroot.to_user(reader.text()?)))
}

pub(crate) fn path_and_stat(reader: &mut Reader<'_>, chroot: &Chroot) -> Result<(String, Stat), Error> {
    Ok((path(reader, chroot)?, Stat::read(reader)?))
}

pub(crate) fn stat(reader: &mut Reader<'_>, _: &Chroot) -> Result<Stat, Error> {
    Ok(Stat::read(reader)?)
}

pub(crate) fn data(reader: &mut Reader<'_>, _: &Chroot) -> Result<(Option<Vec<u8>>, Stat), Error> {
    Ok((reader.buffer()?.map(<[u8]>::to_vec), Stat::read(reader)?))
}

pub(crate) fn names(reader: &mut Reader<'_>, _: &Chroot) -> Result<Vec<String>, Error> {
    let count = reader.count()?;
    (0..count).map(|_| Ok(String::from(reader.text()?))).collect()
}

pub(crate) fn names_and_stat(reader: &mut Reader<'_>, chroot: &Chroot) -> Result<(Vec<String>, Stat), Error> {
    Ok((names(reader, chroot)?, Stat::read(reader)?))
}

pub(crate) fn paths(reader: &mut Reader<'_>, chroot: &Chroot) -> Result<Vec<String>, Error> {
    let count = reader.count()?;
    (0..count).map(|_| path(reader, chroot)).collect()
}

pub(crate) fn acl(reader: &mut Reader<'_>, _: &Chroot) -> Result<(Vec<Acl>, Stat), Error> {
    Ok((AclList::read(reader)?.to_vec(), Stat::read(reader)?))
}

pub(crate) fn number(reader: &mut Reader<'_>, _: &Chroot) -> Result<i32, Error> {
    Ok(reader.i32()?)
}

pub(crate) fn identities(reader: &mut Reader<'_>, _: &Chroot) -> Result<Vec<Identity>, Error> {
    let count = reader.count()?;
    (0..count)
        .map(|_| {
            Ok(Identity { scheme: reader.text()?.into(), user: reader.string()?.unwrap_or_default().into() })
        })
        .collect()
}
