//! How the engine comes in.

use std::cell::RefCell;

use serde::Serialize;

use crate::arguments::Arguments;
use crate::buffers::{self, Output};
use crate::host::{log, output};
use crate::refused::Refused;
use crate::ticket::{self, Ticket};

/// What a blocking method returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait<T> {
    /// The result: the call does not wait.
    Done(T),
    /// The call waits under this ticket, which [`park`](crate::park) gave.
    Parked(Ticket),
}

/// Forms of what a method returns.
pub mod form {
    use std::marker::PhantomData;

    /// What serde can write.
    #[derive(Debug)]
    pub struct Value;

    /// A [`Wait`](super::Wait).
    #[derive(Debug)]
    pub struct Waiting;

    /// A `Result`.
    #[derive(Debug)]
    pub struct Refusable<Form>(PhantomData<Form>);
}

/// What a method may return: anything that serde can write, a [`Wait`] for it, or a `Result` of either. The parameter keeps these
/// three apart; the compiler finds it.
pub trait Answer<Form> {
    /// The result as JSON; nothing if the call waits.
    ///
    /// # Errors
    /// The method refuses.
    fn answer(self) -> Result<Option<Output>, Refused>;
}

impl<T: Serialize> Answer<form::Value> for T {
    fn answer(self) -> Result<Option<Output>, Refused> {
        Ok(Some(output(&self)))
    }
}

impl<T: Serialize> Answer<form::Waiting> for Wait<T> {
    fn answer(self) -> Result<Option<Output>, Refused> {
        match self {
            Self::Done(result) => result.answer(),
            Self::Parked(_) => Ok(None),
        }
    }
}

impl<Form, T: Answer<Form>> Answer<form::Refusable<Form>> for Result<T, Refused> {
    fn answer(self) -> Result<Option<Output>, Refused> {
        self?.answer()
    }
}

/// What a method may return that gives bytes.
pub trait Bytes {
    /// The result.
    ///
    /// # Errors
    /// The method refuses.
    fn bytes(self) -> Result<Option<Output>, Refused>;
}

impl Bytes for Vec<u8> {
    fn bytes(self) -> Result<Option<Output>, Refused> {
        Ok(Some(self.into()))
    }
}

impl Bytes for () {
    fn bytes(self) -> Result<Option<Output>, Refused> {
        Ok(Some(Output::new()))
    }
}

impl<T: Bytes> Bytes for Result<T, Refused> {
    fn bytes(self) -> Result<Option<Output>, Refused> {
        self?.bytes()
    }
}

/// What `new` may return: the object, or a `Result` of it.
pub trait Constructed<T> {
    /// The object.
    ///
    /// # Errors
    /// The constructor refuses.
    fn constructed(self) -> Result<T, Refused>;
}

impl<T> Constructed<T> for T {
    fn constructed(self) -> Result<T, Refused> {
        Ok(self)
    }
}

impl<T> Constructed<T> for Result<T, Refused> {
    fn constructed(self) -> Result<T, Refused> {
        self
    }
}

/// Where a module keeps its object.
#[derive(Debug)]
pub struct Slot<T>(RefCell<Option<T>>);

// SAFETY: a module has one thread; and on other machines nobody enters it (see `export!`).
unsafe impl<T> Sync for Slot<T> {}

impl<T> Slot<T> {
    /// Empty until `init`.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "for a static")]
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }
}

/// What the engine enters when it makes a version's image, which all objects begin with. So what is set here belongs to the image: were it set
/// by an object, it would be the earlier version's when that object goes on with a later one.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
#[unsafe(no_mangle)]
extern "C" fn _initialize() {
    tell_panics();
}

/// A panic ends the entry: what the engine tells people is what was logged last.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| log(&panic.to_string())));
}

/// Runs one entry; a refusal ends it.
pub fn enter<R>(entry: impl FnOnce() -> Result<R, Refused>) -> R {
    if cfg!(not(target_os = "unknown")) {
        // There `_initialize` is another's.
        tell_panics();
    }
    let result = entry();
    buffers::forget();
    match result {
        Ok(result) => result,
        Err(refused) => {
            ticket::refuse(0, &refused);
            unreachable!("a refusal does not return")
        }
    }
}

/// The entry `init`.
///
/// # Safety
/// `length` bytes at `start` are the module's.
pub unsafe fn init<T>(
    slot: &Slot<T>,
    start: *const u8,
    length: usize,
    construct: impl FnOnce(Arguments) -> Result<T, Refused>,
) {
    // SAFETY: the caller says so.
    let json = unsafe { buffers::read(start, length) };
    enter(|| {
        *slot.0.borrow_mut() = Some(construct(Arguments::parse(json)?)?);
        Ok(())
    });
}

/// An entry with an object, and a result.
pub fn call<T>(slot: &Slot<T>, run: impl FnOnce(&mut T) -> Result<Option<Output>, Refused>) -> u64 {
    enter(|| {
        let mut object = slot.0.borrow_mut();
        let object = object.as_mut().expect("an object is created before it is called");
        // Nobody reads what a call gives that waits; but a call without JSON is taken for a broken one.
        Ok(buffers::hand_over(run(object)?.unwrap_or_else(|| b"null".to_vec().into())))
    })
}

#[cfg(test)]
mod tests {
    use super::{Answer, Bytes, Constructed, Wait};
    use crate::buffers::Output;
    use crate::{Refused, Ticket};

    /// What is handed over.
    fn told(answer: Result<Option<Output>, Refused>) -> Result<Option<Vec<u8>>, Refused> {
        answer.map(|output| output.map(|output| output.bytes()))
    }

    #[test]
    fn methods_return_values_waits_and_refusals() {
        let refused = Refused::new("no", "no");
        assert_eq!(told(7.answer()), Ok(Some(b"7".to_vec())));
        assert_eq!(told(().answer()), Ok(Some(b"null".to_vec())));
        assert_eq!(told(Ok::<_, Refused>("a").answer()), Ok(Some(b"\"a\"".to_vec())));
        assert_eq!(told(Err::<i64, _>(refused.clone()).answer()), Err(refused.clone()));
        assert_eq!(told(Wait::Done(true).answer()), Ok(Some(b"true".to_vec())));
        assert_eq!(told(Wait::<bool>::Parked(Ticket(1)).answer()), Ok(None));
        assert_eq!(told(Ok::<_, Refused>(Wait::<bool>::Parked(Ticket(1))).answer()), Ok(None));
        assert_eq!(told(vec![255].bytes()), Ok(Some(vec![255])));
        assert_eq!(told(Ok::<_, Refused>(()).bytes()), Ok(Some(Vec::new())));
        assert_eq!(told(Err::<Vec<u8>, _>(refused.clone()).bytes()), Err(refused.clone()));
        assert_eq!(Constructed::<i64>::constructed(Err::<i64, _>(refused.clone())), Err(refused));
    }
}
