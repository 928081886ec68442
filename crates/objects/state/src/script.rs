//! An object as a script: the arguments of its constructor, and calls that give a new object what this one holds. It is what an
//! export carries, and an import plays. Whatever it says is checked like any other call, so no file can bring what no call could.

use crate::command::Invocation;
use crate::key::table;
use crate::limits::{
    EXPORT_BYTES_MAX, IMPORT_CALLS_MAX, IMPORT_ITEMS_MAX, ITEMS_PER_CALL_MAX, VALUE_BYTES_MAX,
};
use crate::object::{Builtin, Live, View};
use crate::problem::{Problem, Slug};
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

    /// Something that is not in it.
    pub(crate) fn leave_out(&mut self, what: &'static str) {
        self.left_out.push(what);
    }

    /// Whether no import would take it.
    pub(crate) const fn is_too_large(&self) -> bool {
        self.bytes > EXPORT_BYTES_MAX || self.items > IMPORT_ITEMS_MAX || self.calls.len() >= IMPORT_CALLS_MAX
    }
}

/// The fields of an export of a built-in type's object.
///
/// # Errors
/// It holds too much.
pub(crate) fn written<K: Builtin>(live: &Live<K>, view: &View<'_>, reply: Reply) -> Result<Reply, Problem> {
    let mut script = Script::default();
    let arguments = K::arguments(live).finish();
    script.bytes += arguments.len();
    K::script(live, view, &mut script);
    if view.tickets > 0 {
        script.leave_out("calls that wait");
    }
    if view.table(table::HOLDER).next().is_some() {
        script.leave_out("what sessions hold");
    }
    if script.is_too_large() {
        let (mib, items) = (EXPORT_BYTES_MAX >> 20, IMPORT_ITEMS_MAX);
        let detail = format!(
            "an export has less than {} MiB and up to {items} items in {IMPORT_CALLS_MAX} calls: read this object page by page",
            mib + 1
        );
        return Err(Problem::new(Slug::TooLarge, detail));
    }
    let calls = script.calls.iter().map(|call| {
        let args = core::str::from_utf8(&call.args).unwrap_or("{}");
        Reply::new().text("method", &call.method).raw("args", args).finish()
    });
    let left_out = script.left_out.iter().map(|what| quoted(what));
    Ok(reply.raw("arguments", &arguments).list("calls", calls).list("left_out", left_out))
}
