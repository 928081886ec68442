//! A reader that took no part in a load and checks what it left: one session, many reads under way.

use std::io;
use std::time::Instant;

use council_wire::OpCode;

use super::{Heard, Runner, append};

/// Reads on their way at a time.
const OUTSTANDING: usize = 500;

/// A session that reads; see the module.
pub struct Reader {
    runner: Runner,
}

impl Reader {
    /// In a session of its own, which has then seen all earlier writes.
    ///
    /// # Errors
    /// The connection failed, or patience is at its end.
    pub fn open(runner: Runner) -> io::Result<Self> {
        let mut reader = Self { runner };
        reader.read_all(OpCode::Sync, [(0, String::from("/"))].into_iter(), |_, _, _| {})?;
        Ok(reader)
    }

    /// Asks of each path; `seen` is told the tag that came with it, the error and what was read.
    ///
    /// # Errors
    /// The connection failed, or patience is at its end.
    pub fn read_all(
        &mut self,
        opcode: OpCode,
        mut paths: impl Iterator<Item = (u64, String)>,
        mut seen: impl FnMut(u64, i32, &[u8]),
    ) -> io::Result<()> {
        let mut more = true;
        self.runner.until_heard(
            |runner| {
                let connection = &mut runner.connections[0];
                while more && connection.outstanding() < OUTSTANDING {
                    let Some((tag, path)) = paths.next() else {
                        more = false;
                        break;
                    };
                    connection.ask_tagged(Instant::now(), tag, |xid, out| {
                        append(out, xid, opcode, |writer| {
                            writer.text(&path);
                            if opcode != OpCode::Sync {
                                writer.bool(false);
                            }
                        });
                    });
                }
                Ok(!more && connection.outstanding() == 0)
            },
            |_, heard, _| {
                if let Heard::Answer(answer) = heard {
                    seen(answer.tag, answer.error, answer.body);
                }
            },
        )
    }

    /// How many children each of these has, by the list of them; nothing where there is no such node.
    ///
    /// # Errors
    /// The connection failed, or patience is at its end.
    pub fn children(&mut self, paths: Vec<String>) -> io::Result<Vec<Option<i32>>> {
        let mut counts = vec![None; paths.len()];
        let paths = paths.into_iter().enumerate().map(|(place, path)| (place as u64, path));
        self.read_all(OpCode::GetChildren, paths, |place, error, body| {
            counts[place as usize] =
                council_wire::Reader::new(body).i32().ok().filter(|_| error == 0).map(|count| count.max(0));
        })?;
        Ok(counts)
    }

    /// Closes the session.
    ///
    /// # Errors
    /// The connection failed.
    pub fn close(self) -> io::Result<()> {
        self.runner.close()
    }
}
