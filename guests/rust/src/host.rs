//! What a module may ask of the cluster. All of it is the same at every member.

use serde::Serialize;
use serde_json::Value;

use crate::buffers::Output;

/// The functions of the import module `diwan_1`.
#[cfg(target_arch = "wasm32")]
pub(crate) mod imports {
    #[link(wasm_import_module = "diwan_1")]
    unsafe extern "C" {
        pub(crate) safe fn now_ms() -> i64;
        pub(crate) safe fn position() -> u64;
        pub(crate) fn random(start: *mut u8, length: usize);
        pub(crate) fn caller(start: *mut u8, length: usize) -> usize;
        pub(crate) safe fn park(tag: u64, wait_ms: i64) -> u64;
        pub(crate) fn wake(ticket: u64, start: *const u8, length: usize) -> i32;
        pub(crate) fn fail(
            ticket: u64,
            code: *const u8,
            code_length: usize,
            detail: *const u8,
            detail_length: usize,
        ) -> i32;
        pub(crate) safe fn timer_set(id: u64, after_ms: i64);
        pub(crate) safe fn timer_clear(id: u64);
        pub(crate) fn emit(topic: *const u8, topic_length: usize, start: *const u8, length: usize);
        pub(crate) fn send(
            target: *const u8,
            target_length: usize,
            method: *const u8,
            method_length: usize,
            start: *const u8,
            length: usize,
        );
        pub(crate) fn log(start: *const u8, length: usize);
    }
}

/// There is no cluster around a test of the author's: a method that asks it for something panics there.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod imports {
    fn none(name: &str) -> ! {
        panic!("`{name}` is there in a cluster only")
    }

    pub(crate) fn now_ms() -> i64 {
        none("now_ms")
    }

    pub(crate) fn position() -> u64 {
        none("position")
    }

    pub(crate) unsafe fn random(_: *mut u8, _: usize) {
        none("random")
    }

    pub(crate) unsafe fn caller(_: *mut u8, _: usize) -> usize {
        none("caller")
    }

    pub(crate) fn park(_: u64, _: i64) -> u64 {
        none("park")
    }

    pub(crate) unsafe fn wake(_: u64, _: *const u8, _: usize) -> i32 {
        none("wake")
    }

    pub(crate) unsafe fn fail(_: u64, _: *const u8, _: usize, _: *const u8, _: usize) -> i32 {
        none("fail")
    }

    pub(crate) fn timer_set(_: u64, _: i64) {
        none("set_timer")
    }

    pub(crate) fn timer_clear(_: u64) {
        none("clear_timer")
    }

    pub(crate) unsafe fn emit(_: *const u8, _: usize, _: *const u8, _: usize) {
        none("emit")
    }

    pub(crate) unsafe fn send(_: *const u8, _: usize, _: *const u8, _: usize, _: *const u8, _: usize) {
        none("send")
    }

    pub(crate) unsafe fn log(_: *const u8, _: usize) {
        none("log")
    }
}

/// The time of the command, in milliseconds since 1970; a query sees that of the last command. It never goes back.
#[must_use]
pub fn now_ms() -> i64 {
    imports::now_ms()
}

/// The number of the command in the order of all commands of its group.
#[must_use]
pub fn position() -> u64 {
    imports::position()
}

/// Random bytes. They are not secret: every member computes the same.
pub fn random_bytes(bytes: &mut [u8]) {
    // SAFETY: the bytes are the caller's.
    unsafe { imports::random(bytes.as_mut_ptr(), bytes.len()) }
}

/// A random number, as [`random_bytes`].
#[must_use]
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    random_bytes(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Who calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The caller's session, if it has one: 32 hexadecimal digits.
    pub session: Option<String>,
    /// Who the caller is.
    pub principal: Option<String>,
    /// The number of the request in its session, or its key.
    pub request: Option<String>,
}

impl Caller {
    fn parse(json: &[u8]) -> Self {
        let told: Value = serde_json::from_slice(json).unwrap_or_default();
        let member = |name: &str| match told.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        Self { session: member("session"), principal: member("principal"), request: member("request") }
    }
}

/// Who calls.
#[must_use]
pub fn caller() -> Caller {
    let mut json = vec![0; 256];
    loop {
        // SAFETY: the bytes are ours.
        let length = unsafe { imports::caller(json.as_mut_ptr(), json.len()) };
        if length <= json.len() {
            return Caller::parse(&json[..length]);
        }
        json.resize(length, 0);
    }
}

/// Asks for a call of the method `timer(&mut self, id: u64)` after that time, in the place of an earlier timer of that id.
pub fn set_timer(id: u64, after_ms: i64) {
    imports::timer_set(id, after_ms);
}

/// Does not ask for it any more.
pub fn clear_timer(id: u64) {
    imports::timer_clear(id);
}

/// Tells something to those who listen to the object, if the call succeeds.
///
/// # Panics
/// The body cannot be written as JSON.
pub fn emit(topic: &str, body: &impl Serialize) {
    let body = json(body);
    // SAFETY: both are ours.
    unsafe { imports::emit(topic.as_ptr(), topic.len(), body.as_ptr(), body.len()) }
}

/// Has a method of another object called later, once, if this call succeeds: `target` is `TYPE/NAME`, the arguments a JSON
/// object. Nobody hears of its result.
///
/// # Panics
/// The arguments cannot be written as JSON.
pub fn send(target: &str, method: &str, arguments: &impl Serialize) {
    send_bytes(target, method, &json(arguments));
}

/// The same, of a method that takes bytes. The object must be there.
pub fn send_bytes(target: &str, method: &str, body: &[u8]) {
    // SAFETY: all three are ours.
    unsafe {
        imports::send(target.as_ptr(), target.len(), method.as_ptr(), method.len(), body.as_ptr(), body.len())
    }
}

/// Writes a line to the member's log, for finding faults.
pub fn log(line: &str) {
    // SAFETY: the line is ours.
    unsafe { imports::log(line.as_ptr(), line.len()) }
}

/// A map whose keys are no texts is a mistake in the type: a trap, not a refusal.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a value that JSON can tell")
}

/// The same, of a result.
///
/// # Panics
/// As all of them.
#[must_use]
pub fn output(value: &impl Serialize) -> Output {
    let mut output = Output::new();
    serde_json::to_writer(&mut output, value).expect("a value that JSON can tell");
    output
}

#[cfg(test)]
mod tests {
    use super::Caller;

    #[test]
    fn callers_may_have_no_session_and_numbers_for_requests() {
        let anonymous = Caller::parse(br#"{"session":null,"principal":"ci"}"#);
        assert_eq!(anonymous, Caller { principal: Some("ci".into()), ..Caller::default() });
        let request = Caller::parse(br#"{"session":"9f","request":7}"#).request;
        assert_eq!(request, Some("7".into()));
        assert_eq!(Caller::parse(b""), Caller::default());
    }
}
