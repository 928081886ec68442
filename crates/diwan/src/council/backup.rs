//! `diwan council backup`: writes a snapshot of a running server to a file, which gets its name only when it is
//! complete.

use std::io::{self, BufRead as _, IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{BackupArguments, Failure, show};
use crate::http::{self, Page};
use crate::partial::{self, Partial};

/// Where servers answer by default: Diwan's own default, and a `zoo.cfg`'s.
const USUAL: [&str; 2] = ["127.0.0.1:7000", "127.0.0.1:8080"];
/// How long a server may take to begin its answer: longer than it gives a snapshot itself.
const PATIENCE: Duration = Duration::from_secs(16 * 60);
/// What names the file.
const OPTION: &str = "--output";
/// Bytes of an answer that is no backup.
const REFUSAL_BYTES_MAX: u64 = 64 << 10;

/// The command.
pub(super) fn run(arguments: &BackupArguments, out: &mut impl Write) -> io::Result<Result<(), Failure>> {
    match keep(arguments) {
        Ok((file, summary)) => show::tell(out, &file, &summary).map(Ok),
        Err(failure) => Ok(Err(failure)),
    }
}

fn keep(arguments: &BackupArguments) -> Result<(PathBuf, council_service::backup::Summary), Failure> {
    if let Some(target) = arguments.output.as_deref().filter(|_| !arguments.force) {
        partial::refuse_existing(target, OPTION)?;
    }
    let address = match &arguments.server {
        Some(address) => address.clone(),
        None => agreed_address(&arguments.login.user)?,
    };
    let authorization = arguments.login.authorization()?;
    let mut page = http::ask(&address, "GET", "/commands/snapshot", &authorization, None, PATIENCE)
        .map_err(|error| Failure::new(format!("`{address}` gives no backup: {error}")))?;
    let bytes = accepted(&address, &mut page)?;
    let announced = announced(&address, &page)?;
    let named = || PathBuf::from(format!("council-0x{announced:x}.snap"));
    let target = arguments.output.clone().unwrap_or_else(named);
    if !arguments.force {
        partial::refuse_existing(&target, OPTION)?;
    }
    let partial = receive(&target, &mut page.body, bytes)?;
    let backup = council_service::backup::read(&partial.path)
        .map_err(|error| Failure::new(format!("what `{address}` sent is no sound backup: {error}")))?;
    let summary = backup.summary;
    if summary.last_zxid.0 != announced {
        let sent = summary.last_zxid.0;
        return Err(Failure::new(format!(
            "`{address}` announced the zxid 0x{announced:x} and sent 0x{sent:x}"
        )));
    }
    partial.publish(&target, arguments.force, OPTION)?;
    Ok((target, summary))
}

/// The usual address that answers, if the person at the terminal agrees to it: any program may answer there, and it gets
/// the password.
fn agreed_address(user: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new("no server is named, and the password is sent to none that is only found")
            .hint("name the AdminServer with `--server HOST:PORT`"));
    }
    let address = usual_address()?;
    eprint!("a server answers at {address}; send it the password of `{user}`? [y/N] ");
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(format!("cannot read the answer: {error}")))?;
    match is_yes(&answer) {
        true => Ok(address),
        false => Err(Failure::new("nothing was sent").hint("name the AdminServer with `--server HOST:PORT`")),
    }
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

fn usual_address() -> Result<String, Failure> {
    let answers =
        |address: &&str| http::get(address, "/commands/ruok", Duration::from_secs(6), &None).is_ok();
    USUAL.iter().find(|address| answers(address)).map(|address| String::from(*address)).ok_or_else(|| {
        Failure::new(format!("no server answers at the usual places ({})", USUAL.join(", ")))
            .hint("name the AdminServer with `--server HOST:PORT`")
    })
}

/// How many bytes come, if it is a snapshot that comes.
fn accepted(address: &str, page: &mut Page) -> Result<u64, Failure> {
    let length = page.header("content-length").and_then(|text| text.parse().ok());
    match (page.status, page.header("content-type"), length) {
        (200, Some("application/octet-stream"), Some(bytes)) => Ok(bytes),
        (200, ..) => Err(Failure::new(format!("`{address}` answers, but sends no snapshot"))
            .hint("is it the address of an AdminServer?")),
        _ => Err(refusal(address, page)),
    }
}

/// The zxid in the head of the answer. It becomes part of a file's name, so that only a number will do.
fn announced(address: &str, page: &Page) -> Result<i64, Failure> {
    let digits = page.header("last_zxid").and_then(|text| text.strip_prefix("0x"));
    let zxid = digits.and_then(|digits| i64::from_str_radix(digits, 16).ok());
    zxid.ok_or_else(|| Failure::new(format!("`{address}` does not say the zxid of what it sends")))
}

/// A server's text, without control characters.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// What an AdminServer says when it refuses.
pub(super) fn refusal(address: &str, page: &mut Page) -> Failure {
    let mut body = Vec::new();
    // An answer that cannot be read is taken as empty.
    let _ = (&mut page.body).take(REFUSAL_BYTES_MAX).read_to_end(&mut body);
    let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let why = said["error"].as_str().map_or_else(|| format!("status {}", page.status), printable);
    let failure = Failure::new(format!("`{address}` refuses: {why}"));
    match said["hint"].as_str() {
        Some(hint) => failure.hint(printable(hint)),
        None if page.status == 404 => failure.hint("is it the address of an AdminServer?"),
        None => failure,
    }
}

/// Takes in exactly so many bytes, beside the file that they are for.
fn receive(target: &Path, body: &mut impl Read, bytes: u64) -> Result<Partial, Failure> {
    let mut partial = Partial::create(target, &format!(".partial-{}", std::process::id()))?;
    let came = io::copy(&mut body.take(bytes), &mut partial.file).map_err(|error| {
        Failure::new(format!("the backup broke off: {error}")).hint("nothing was kept; run it again")
    })?;
    if came != bytes {
        let what = format!("the backup broke off after {came} of {bytes} bytes");
        return Err(Failure::new(what).hint("nothing was kept; run it again"));
    }
    Ok(partial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_sends_the_password_to_a_server_that_was_found() {
        assert!(["y\n", "Yes\n", " y"].iter().all(|answer| is_yes(answer)));
        assert!(["", "\n", "n\n", "yesterday\n", "y y\n"].iter().all(|answer| !is_yes(answer)));
    }
}
