//! Makes what two servers said comparable: times, session ids and passwords, the order of children, and the distance of
//! zxids to the server's own start are taken out; every other byte stays. Writes the same thing as text on the way.
//!
//! A field that cannot be read leaves the rest of the frame as it is: nonsense is compared byte for byte.

use std::fmt::Write as _;

use council_wire::{ErrorCode, EventType, Malformed, OpCode, Reader, Stat};

use super::op::Bytes;

/// What is particular to one server's run of a script.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its last zxid before the script, and after each of its steps.
    pub marks: &'a [i64],
    /// The step that is looked at: the one between `marks[step]` and `marks[step + 1]`.
    pub step: usize,
    /// Its session ids in the order given out.
    pub sessions: &'a [i64],
}

impl Side<'_> {
    /// The step that a zxid came from, and its number within the step. Thus a step that takes more zxids on one server
    /// than on the other differs itself, and those after it do not.
    fn place(&self, zxid: i64) -> (usize, i64) {
        let step = self.marks.partition_point(|mark| *mark < zxid);
        (step, zxid - self.marks.get(step.saturating_sub(1)).copied().unwrap_or(0))
    }

    /// How far the server was past the start of this step.
    fn progress(&self, zxid: i64) -> i64 {
        zxid - self.marks.get(self.step).copied().unwrap_or(0)
    }
}

/// Comparable bytes, and the same for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normal {
    /// What must be equal.
    pub bytes: Vec<u8>,
    /// What is shown.
    pub text: String,
}

/// Results that one reply carried: the operation's name and its code, for coverage.
pub type Results = Vec<(String, i32)>;

/// Not session ids, and not the zxids that are no points in a history: 0 and negative ones.
const OFFSET: i64 = 1 << 40;

/// Where a rewritten frame grows.
struct Walk<'a, 's> {
    side: Side<'s>,
    reader: Reader<'a>,
    out: Normal,
    results: Results,
}

/// The reply to a request with this operation code.
#[must_use]
pub fn reply(side: Side<'_>, opcode: i32, frame: &[u8]) -> (Normal, Results) {
    walk(side, frame, |walk| walk.reply(opcode))
}

/// A watch event.
#[must_use]
pub fn event(side: Side<'_>, frame: &[u8]) -> (Normal, Results) {
    walk(side, frame, Walk::event)
}

/// The answer to a handshake.
#[must_use]
pub fn handshake(side: Side<'_>, frame: &[u8]) -> (Normal, Results) {
    walk(side, frame, Walk::handshake)
}

fn walk<'a, 's>(
    side: Side<'s>,
    frame: &'a [u8],
    each: impl FnOnce(&mut Walk<'a, 's>) -> Result<(), Malformed>,
) -> (Normal, Results) {
    let mut walk = Walk { side, reader: Reader::new(frame), out: Normal::default(), results: Vec::new() };
    if let Err(malformed) = each(&mut walk) {
        let _ = write!(walk.out.text, " <{malformed}>");
    }
    let rest = walk.reader.rest();
    if !rest.is_empty() {
        walk.out.bytes.extend_from_slice(rest);
        let _ = write!(walk.out.text, " then {} bytes: {}", rest.len(), Bytes(Some(rest)));
    }
    (walk.out, walk.results)
}

impl<'a> Walk<'a, '_> {
    fn reply(&mut self, opcode: i32) -> Result<(), Malformed> {
        let operation = OpCode::from_code(opcode);
        let xid = self.int()?;
        let _ = write!(self.out.text, "reply #{xid} zxid=");
        self.zxid()?;
        let err = self.int()?;
        let _ = write!(self.out.text, " {}", error_name(err));
        self.results.push((operation.map_or("unknown", OpCode::name).to_owned(), err));
        if err == 0 || !self.reader.rest().is_empty() { self.body(operation) } else { Ok(()) }
    }

    fn body(&mut self, operation: Option<OpCode>) -> Result<(), Malformed> {
        let Some(operation) = operation else { return Ok(()) };
        match operation {
            OpCode::Create | OpCode::Sync => self.string(),
            OpCode::Create2 | OpCode::CreateContainer | OpCode::CreateTtl => {
                self.string().and_then(|()| self.stat())
            }
            OpCode::Exists | OpCode::SetData | OpCode::SetAcl => self.stat(),
            OpCode::GetData | OpCode::Reconfig => self.buffer().and_then(|()| self.stat()),
            OpCode::GetAcl => self.acl().and_then(|()| self.stat()),
            OpCode::GetChildren | OpCode::GetEphemerals => self.sorted_strings(),
            OpCode::GetChildren2 => self.sorted_strings().and_then(|()| self.stat()),
            OpCode::Multi | OpCode::MultiRead => self.multi(operation),
            OpCode::AddWatch | OpCode::GetAllChildrenNumber => self.shown_int("="),
            OpCode::WhoAmI => self.clients(),
            OpCode::Sasl => self.buffer(),
            _ => Ok(()),
        }
    }

    fn multi(&mut self, operation: OpCode) -> Result<(), Malformed> {
        loop {
            let opcode = self.int()?;
            let done = self.take(1)? != [0];
            let err = self.int()?;
            if done {
                let _ = write!(self.out.text, " | end type={opcode} err={err}");
                return Ok(());
            }
            let kind = OpCode::from_code(opcode);
            let _ = write!(self.out.text, " | type={opcode} err={err}");
            if opcode == -1 {
                let code = self.int()?;
                let _ = write!(self.out.text, " {}", error_name(code));
                self.results.push((operation.name().to_owned() + ">", code));
            } else {
                self.results
                    .push((format!("{}>{}", operation.name(), kind.map_or("unknown", OpCode::name)), err));
                self.body(kind)?;
            }
        }
    }

    fn event(&mut self) -> Result<(), Malformed> {
        let xid = self.int()?;
        let _ = write!(self.out.text, "event #{xid} zxid=");
        self.zxid()?;
        let err = self.int()?;
        let kind = self.int()?;
        let state = self.int()?;
        let name =
            EventType::from_code(kind).map_or_else(|| format!("type {kind}"), |kind| format!("{kind:?}"));
        let _ = write!(self.out.text, " err={err} {name} state={state}");
        self.results.push((format!("event {name}"), err));
        self.string()
    }

    fn handshake(&mut self) -> Result<(), Malformed> {
        self.shown_int("handshake version=")?;
        let timeout = self.int()?;
        let _ = write!(self.out.text, " timeout={timeout}");
        self.session()?;
        let password = self.reader.buffer()?.unwrap_or_default();
        let zero = password.iter().all(|byte| *byte == 0);
        self.out.bytes.extend_from_slice(&[u8::try_from(password.len()).unwrap_or(u8::MAX), u8::from(zero)]);
        let _ = write!(
            self.out.text,
            " password of {} bytes{}",
            password.len(),
            if zero { ", zero" } else { "" }
        );
        let rest = self.reader.rest().to_vec();
        let _ = write!(self.out.text, " readOnly={rest:?}");
        self.results
            .push(("connect".to_owned(), if timeout > 0 { 0 } else { ErrorCode::SessionExpired as i32 }));
        self.take(rest.len()).map(drop)
    }

    fn stat(&mut self) -> Result<(), Malformed> {
        let mut reader = self.reader.clone();
        let stat = Stat::read(&mut reader)?;
        self.reader = reader;
        self.out.text.push_str(" stat{");
        for (name, zxid) in [("c", stat.czxid), ("m", stat.mzxid), ("p", stat.pzxid)] {
            let _ = write!(self.out.text, "{name}zxid=");
            self.push_zxid(zxid);
            self.out.text.push(' ');
        }
        for time in [stat.ctime, stat.mtime] {
            self.out.bytes.push(u8::from(time != 0));
        }
        let _ = write!(self.out.text, "timed={},{}", stat.ctime != 0, stat.mtime != 0);
        for (name, value) in [
            ("version", stat.version),
            ("cversion", stat.cversion),
            ("aversion", stat.aversion),
            ("dataLength", stat.data_length),
            ("numChildren", stat.num_children),
        ] {
            self.out.bytes.extend_from_slice(&value.to_be_bytes());
            let _ = write!(self.out.text, " {name}={value}");
        }
        self.push_session(stat.ephemeral_owner);
        self.out.text.push('}');
        Ok(())
    }

    fn acl(&mut self) -> Result<(), Malformed> {
        let count = self.int()?;
        self.out.text.push_str(" acl[");
        for _ in 0..count {
            let perms = self.int()?;
            let _ = write!(self.out.text, "{perms}:");
            self.string()?;
            self.string()?;
            self.out.text.push(';');
        }
        self.out.text.push(']');
        Ok(())
    }

    fn clients(&mut self) -> Result<(), Malformed> {
        let count = self.int()?;
        let mut entries = Vec::new();
        for _ in 0..count {
            entries.push((self.reader.string()?, self.reader.string()?));
        }
        entries.sort_unstable();
        for (scheme, user) in entries {
            self.push_text(scheme);
            self.push_text(user);
        }
        Ok(())
    }

    fn sorted_strings(&mut self) -> Result<(), Malformed> {
        let count = self.int()?;
        let mut strings = Vec::new();
        for _ in 0..count {
            strings.push(self.reader.string()?);
        }
        strings.sort_unstable();
        let _ = write!(self.out.text, " {count}:");
        strings.into_iter().for_each(|string| self.push_text(string));
        Ok(())
    }

    fn string(&mut self) -> Result<(), Malformed> {
        let before = self.reader.clone();
        match self.reader.string() {
            Ok(string) => self.push_text(string),
            Err(_) => {
                // Not UTF-8, perhaps: still a buffer.
                self.reader = before;
                return self.buffer();
            }
        }
        Ok(())
    }

    fn buffer(&mut self) -> Result<(), Malformed> {
        let mut reader = self.reader.clone();
        let buffer = reader.buffer()?;
        self.reader = reader;
        self.push_buffer(buffer);
        let _ = write!(self.out.text, " {}", Bytes(buffer));
        Ok(())
    }

    fn push_text(&mut self, text: Option<&str>) {
        self.push_buffer(text.map(str::as_bytes));
        let _ = write!(self.out.text, " {}", Bytes(text.map(str::as_bytes)));
    }

    fn push_buffer(&mut self, bytes: Option<&[u8]>) {
        let length = bytes.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap_or(i32::MAX));
        self.out.bytes.extend_from_slice(&length.to_be_bytes());
        self.out.bytes.extend_from_slice(bytes.unwrap_or_default());
    }

    /// The zxid in a header: how far the server was.
    fn zxid(&mut self) -> Result<(), Malformed> {
        let zxid = self.reader.i64()?;
        let progress = self.side.progress(zxid);
        let comparable = if zxid > 0 { progress + OFFSET } else { zxid };
        self.out.bytes.extend_from_slice(&comparable.to_be_bytes());
        let _ = if zxid > 0 {
            write!(self.out.text, "start{progress:+}")
        } else {
            write!(self.out.text, "{zxid}")
        };
        Ok(())
    }

    /// The zxid of a change, at any time.
    fn push_zxid(&mut self, zxid: i64) {
        let (step, number) = if zxid > 0 { self.side.place(zxid) } else { (0, zxid) };
        self.out.bytes.extend_from_slice(&(step as u64).to_be_bytes());
        self.out.bytes.extend_from_slice(&number.to_be_bytes());
        let _ =
            if zxid > 0 { write!(self.out.text, "{step}:{number}") } else { write!(self.out.text, "{zxid}") };
    }

    fn session(&mut self) -> Result<(), Malformed> {
        let session = self.reader.i64()?;
        self.push_session(session);
        Ok(())
    }

    fn push_session(&mut self, session: i64) {
        let known = self.side.sessions.iter().position(|known| *known == session);
        let comparable = known.map_or(session, |index| OFFSET + index as i64);
        self.out.bytes.extend_from_slice(&comparable.to_be_bytes());
        let _ = match known {
            Some(index) => write!(self.out.text, " session {index}"),
            None => write!(self.out.text, " session {session:#x}"),
        };
    }

    fn shown_int(&mut self, label: &str) -> Result<(), Malformed> {
        let value = self.int()?;
        let _ = write!(self.out.text, " {label}{value}");
        Ok(())
    }

    fn int(&mut self) -> Result<i32, Malformed> {
        let value = self.reader.i32()?;
        self.out.bytes.extend_from_slice(&value.to_be_bytes());
        Ok(value)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let bytes = self.reader.take(count)?;
        self.out.bytes.extend_from_slice(bytes);
        Ok(bytes)
    }
}

/// The name of an error code, with its number.
#[must_use]
pub fn error_name(code: i32) -> String {
    ErrorCode::from_code(code)
        .map_or_else(|| format!("code {code}"), |known| format!("{}({code})", known.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exists_reply(zxid: i64, time: i64, owner: i64, version: i32) -> Vec<u8> {
        let mut frame = Vec::new();
        let mut writer = council_wire::Writer::new(&mut frame);
        writer.i32(5).i64(zxid).i32(0);
        Stat {
            czxid: zxid,
            mzxid: zxid,
            ctime: time,
            mtime: time,
            ephemeral_owner: owner,
            version,
            ..Stat::default()
        }
        .write(&mut writer);
        frame
    }

    #[test]
    fn times_sessions_and_the_distance_to_the_start_do_not_count() {
        let one =
            reply(Side { marks: &[10, 12], step: 0, sessions: &[7, 8] }, 3, &exists_reply(12, 1000, 8, 0)).0;
        let two =
            reply(Side { marks: &[70, 72], step: 0, sessions: &[1, 2] }, 3, &exists_reply(72, 2000, 2, 0)).0;
        assert_eq!(one, two);
    }

    #[test]
    fn everything_else_counts() {
        let side = Side { marks: &[10, 12], step: 0, sessions: &[7, 8] };
        let normal = |frame: &[u8]| reply(side, 3, frame).0;
        let usual = exists_reply(12, 1000, 8, 0);
        for other in [
            exists_reply(13, 1000, 8, 0),
            exists_reply(12, 0, 8, 0),
            exists_reply(12, 1000, 7, 0),
            exists_reply(12, 1000, 9, 0),
            exists_reply(12, 1000, 8, 1),
        ] {
            assert_ne!(normal(&usual), normal(&other));
        }
        let mut longer = usual.clone();
        longer.push(0);
        assert_ne!(normal(&usual), normal(&longer), "trailing bytes");
        assert_ne!(normal(&usual), normal(&usual[..usual.len() - 1]), "missing bytes");
    }

    #[test]
    fn a_step_that_takes_another_number_of_zxids_does_not_disturb_the_next() {
        let two = Side { marks: &[10, 12, 13], step: 1, sessions: &[] };
        let one = Side { marks: &[10, 11, 12], step: 1, sessions: &[] };
        let during =
            |side: Side<'_>, zxid| reply(Side { step: 0, ..side }, 3, &exists_reply(zxid, 1, 0, 0)).0;
        assert_ne!(during(two, 12), during(one, 11));
        assert_eq!(reply(two, 3, &exists_reply(13, 1, 0, 0)), reply(one, 3, &exists_reply(12, 1, 0, 0)));
    }

    #[test]
    fn the_order_of_children_does_not_count() {
        let reply_of = |names: [&str; 2]| {
            let mut frame = Vec::new();
            council_wire::Writer::new(&mut frame).i32(1).i64(3).i32(0).i32(2).text(names[0]).text(names[1]);
            reply(Side { marks: &[], step: 0, sessions: &[] }, 8, &frame).0
        };
        assert_eq!(reply_of(["a", "b"]), reply_of(["b", "a"]));
        assert_ne!(reply_of(["a", "b"]), reply_of(["b", "c"]));
    }
}
