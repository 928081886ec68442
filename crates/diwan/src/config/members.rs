//! The members of an ensemble as files write them, and which of them this server is.

use std::path::Path;

use council_service::config::{MemberConfig, MemberNumber};

use node_config::{Checked, Problem};

/// One member, as a line `key` writes it: its number and where it is.
pub(crate) fn member(key: &str, number: &str, value: &str) -> Checked<MemberConfig> {
    let member = MemberConfig::parse(number, value).and_then(|member| member.check().map(|()| member));
    member.map_err(|what| {
        Problem::new(format!("`{key}` is `{value}`: {what}"))
            .hint("write it like `server.1=host:2888:3888:participant;2181`")
    })
}

/// This server's number, as its data directory's file `myid` says.
pub(crate) fn own_number(data_dir: &Path) -> Checked<MemberNumber> {
    let file = data_dir.join("myid");
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Problem::new(format!("cannot read `{}`: {error}", file.display()))
            .hint("several servers are named: write the number of this one into that file")
    })?;
    let number = text.trim().parse().ok().filter(|number| *number != 0).map(MemberNumber);
    number.ok_or_else(|| {
        Problem::new(format!("`{}` holds `{}`", file.display(), text.trim()))
            .hint("write the number of this server into it, from 1 to 255, and nothing else")
    })
}
