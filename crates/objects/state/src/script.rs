//! An object as a script: the arguments of its constructor, and calls that give a new object what this one holds. It is what an
//! export carries, and an import plays. Whatever it says is checked like any other call, so no file can bring what no call could.

use crate::command::Invocation;
use crate::limits::{
    EXPORT_BYTES_MAX, IMPORT_CALLS_MAX, IMPORT_ITEMS_MAX, ITEMS_PER_CALL_MAX, VALUE_BYTES_MAX,
};
use crate::reply::{Reply, quoted};

/// Bytes that a call takes in an export beside its name and arguments, about.
const CALL_BYTES: usize = 32;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    calls: Vec<Invocation>,
    items: usize,
    bytes: usize,
    left_out: Vec<&'static str>,
}

impl Script {
    /// A call of that method.
    pub(crate) fn call(&mut self, method: &str, args: Reply) {
        self.call_of(method, args.finish(), 1);
    }

    /// Calls of a method that takes many items at a time: `{"name":[items]}`.
    pub(crate) fn items(&mut self, method: &str, name: &str, items: impl Iterator<Item = String>) {
        self.grouped(items, |group| (method.into(), Reply::new().list(name, group).finish()));
    }

    /// The same of a method that takes pairs of a key and a value: `{"name":{key:value}}`.
    pub(crate) fn pairs<'a>(
        &mut self,
        method: &str,
        name: &str,
        pairs: impl Iterator<Item = (&'a str, String)>,
    ) {
        let pairs = pairs.map(|(key, value)| format!("{}:{value}", quoted(key)));
        self.grouped(pairs, |group| {
            (method.into(), Reply::new().raw(name, &format!("{{{}}}", group.join(","))).finish())
        });
    }

    fn grouped(&mut self, items: impl Iterator<Item = String>, call: impl Fn(&[String]) -> (String, String)) {
        let (mut group, mut bytes) = (Vec::new(), 0);
        let end = |script: &mut Self, group: &mut Vec<String>| {
            if !group.is_empty() {
                let (method, args) = call(group);
                script.call_of(&method, args, group.len());
                group.clear();
            }
        };
        for item in items {
            if self.is_too_large() {
                return;
            }
            if group.len() as i64 == ITEMS_PER_CALL_MAX || bytes + item.len() > VALUE_BYTES_MAX {
                end(self, &mut group);
                bytes = 0;
            }
            bytes += item.len() + 1;
            group.push(item);
        }
        end(self, &mut group);
    }

    fn call_of(&mut self, method: &str, args: String, items: usize) {
        self.bytes += CALL_BYTES + method.len() + args.len();
        self.items = self.items.saturating_add(items);
        if !self.is_too_large() {
            self.calls.push(Invocation { method: method.into(), args: args.into_bytes() });
        }
    }

    /// There are so many items: too many are not even looked at.
    pub(crate) const fn expect(&mut self, items: u64) {
        if items > IMPORT_ITEMS_MAX as u64 {
            self.items = usize::MAX;
        }
    }

    /// These arguments of the constructor are in it, too.
    pub(crate) const fn begin(&mut self, arguments: &str) {
        self.bytes += arguments.len();
    }

    /// Its calls, and what is not in it, as JSON.
    pub(crate) fn shown(&self, reply: Reply) -> Reply {
        let calls = self.calls.iter().map(|call| {
            let args = core::str::from_utf8(&call.args).unwrap_or("{}");
            Reply::new().text("method", &call.method).raw("args", args).finish()
        });
        reply.list("calls", calls).list("left_out", self.left_out.iter().map(|what| quoted(what)))
    }

    /// Something that is not in it.
    pub(crate) fn leave_out(&mut self, what: &'static str) {
        self.left_out.push(what);
    }

    /// Whether no import would take it.
    pub(crate) const fn is_too_large(&self) -> bool {
        self.bytes > EXPORT_BYTES_MAX || self.items > IMPORT_ITEMS_MAX || self.calls.len() >= IMPORT_CALLS_MAX
    }
}
