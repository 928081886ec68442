//! Shows what a backup holds.

use std::io::{self, Write};
use std::path::Path;

use council_service::backup::Summary;
use jiff::Timestamp;

/// Prints it.
pub(super) fn tell(out: &mut impl Write, file: &Path, summary: &Summary) -> io::Result<()> {
    let Summary { last_zxid, nodes, sessions, bytes, created, digest } = summary;
    writeln!(out, "file      {}", file.display())?;
    if let Ok(taken) = Timestamp::from_millisecond(created.ms()) {
        writeln!(out, "taken     {taken:.0}")?;
    }
    writeln!(out, "zxid      0x{:x}", last_zxid.0)?;
    writeln!(out, "nodes     {nodes}")?;
    writeln!(out, "sessions  {sessions}")?;
    writeln!(out, "bytes     {bytes}")?;
    writeln!(out, "digest    {digest:016x}")
}
