//! The messages that guests send. Each form is in their modules' memory, so that a number is all that a module needs of it.

use super::bytes::XOR;

/// Where a message goes and what it asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The target, as a type and a name; one without a name is none.
    pub(crate) target: (&'static str, &'static str),
    pub(crate) method: &'static str,
    /// The argument that has the number.
    argument: &'static str,
}

const fn form(of: &'static str, name: &'static str, method: &'static str) -> Form {
    Form { target: (of, name), method, argument: "by" }
}

/// All forms. What `send` and `flood` send is drawn from the first ones.
pub(crate) const FORMS: [Form; 19] = [
    form("tally", "g0", "chain"),
    form("tally", "g1", "chain"),
    form("rogue", "g0", "chain"),
    form("rogue", "g0", "much"),
    form("gate", "g0", "pass"),
    form("gate", "g0", "wait"),
    form("counter", "m", "increment"),
    Form { argument: "value", ..form("value", "m", "set") },
    form("tally", "g0", "trap"),
    form("gate", "g1", "later"),
    form("gate", "g0", "trap"),
    form("rogue", "g0", "refuse"),
    form("tally", "none", "chain"),
    form("nothing", "g0", "chain"),
    form("counter", "m", "nothing"),
    form("nowhere", "", "chain"),
    form("tally", "g0", XOR),
    form("tally", "g0", "echo"),
    form("gate", "g0", "echo"),
];

/// How many of them are drawn.
pub(crate) const DRAWN: u64 = 17;
/// The first of those that `echo` sends.
pub(crate) const ECHO: usize = 17;
/// What timers send.
pub(crate) const OF_TIMERS: usize = 0;

/// A message as its sender's run has asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) form: &'static Form,
    pub(crate) number: u64,
    /// How many messages led to it, itself included.
    pub(crate) hops: u32,
}

impl Message {
    /// What it carries.
    pub(crate) fn args(&self) -> String {
        format!("{{\"{}\":{}}}", self.form.argument, self.number)
    }
}

/// The forms as segments of a module's memory, and the globals that say where they are.
pub(super) fn segments() -> String {
    let mut text = format!("(global $drawn i64 (i64.const {DRAWN})) (global $echo i32 (i32.const {ECHO}))\n");
    for (number, form) in FORMS.iter().enumerate() {
        let (of, name) = form.target;
        let target = if name.is_empty() { of.to_owned() } else { format!("{of}/{name}") };
        let head = format!("{{\"{}\":", form.argument);
        for (offset, word) in [(0, target.as_str()), (32, form.method), (48, head.as_str())] {
            let place = 1024 + 64 * number + offset;
            let quoted = word.replace('"', "\\\"");
            text += &format!("(data (i32.const {place}) \"\\{:02x}{quoted}\")\n", word.len());
        }
    }
    text
}
