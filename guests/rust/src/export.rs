//! The macro that makes a module of a struct.

/// Names the type, its constructor, and the methods that may be called:
///
/// - `command`: may change the object. `fn method(&mut self, ..)`
/// - `query`: only reads. `fn method(&self, ..)`
/// - `blocking`: a command that may wait. It returns a [`Wait`](crate::Wait).
/// - `event`: what the cluster calls, not callers: `timer(id: u64)` when a timer is due, `session_expired(session: String)` when
///   the session of a caller has ended, `ticket_ended(ticket: Ticket)` when a waiting call has ended without the object's doing.
/// - `raw_command`, `raw_query`: the same, of a method that takes and gives bytes, no JSON. `fn method(&mut self, bytes: Vec<u8>)`, which
///   returns `Vec<u8>`, nothing, or a `Result` of either. It never waits.
///
/// Arguments come by their names; those of type `Option` may be left out.
///
/// A type whose objects shall move on to a later version has two more events. `save()` is `fn save(&self) -> impl Serialize`, and
/// `migrate(description: Value, state: State)` is `fn migrate(description: Value, state: State) -> Self`, a constructor of the
/// later version: it gets the earlier one's description, and what the earlier one's `save` gave.
///
#[macro_export]
macro_rules! export {
    ($object:ident as $name:literal {
        new($($new:ident: $new_type:ty),* $(,)?);
        $($kind:ident $method:ident($($argument:ident: $argument_type:ty),* $(,)?);)*
    }) => {
        /// What the engine enters. On other machines nobody does: the author's own tests call the methods.
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::expanded;

            static OBJECT: expanded::Slot<$object> = expanded::Slot::new();

            const PARTS: &[&str] = &[
                "{\"name\":\"", $name, "\",\"codec\":\"json\",\"constructor\":{\"args\":{\"type\":\"object\",\"properties\":{",
                $("\"", stringify!($new), "\":{\"description\":\"", stringify!($new_type), "\"},",)*
                "}}},\"methods\":{",
                $($crate::export!(@description $kind $method($($argument: $argument_type),*)),)*
                "},",
                $($crate::export!(@told $kind $method),)*
                "}",
            ];
            #[unsafe(link_section = "diwan.type")]
            static DESCRIPTION: [u8; expanded::length(PARTS)] = expanded::joined(PARTS);

            #[unsafe(no_mangle)]
            extern "C" fn init(start: *const u8, length: usize) {
                let construct = |mut arguments: $crate::Arguments| {
                    $(let $new: $new_type = arguments.take(stringify!($new))?;)*
                    arguments.finish()?;
                    $crate::Constructed::<$object>::constructed($object::new($($new),*))
                };
                // SAFETY: the engine's contract.
                unsafe { expanded::init(&OBJECT, start, length, construct) }
            }

            #[unsafe(no_mangle)]
            extern "C" fn call(method: *const u8, method_length: usize, start: *const u8, length: usize) -> u64 {
                // SAFETY: the engine's contract.
                let (method, given) = unsafe {
                    (expanded::read_text(method, method_length), expanded::read(start, length))
                };
                expanded::call(&OBJECT, |object| {
                    $($crate::export!(@bytes $kind $object object method given $method($($argument: $argument_type),*));)*
                    #[allow(unused_mut, reason = "a method without arguments takes none")]
                    let mut arguments = $crate::Arguments::parse(given)?;
                    $($crate::export!(@method $kind $object object method arguments $method($($argument: $argument_type),*));)*
                    Err($crate::Refused::new("no-such-method", format!("the type has no method `{method}`")))
                })
            }

            $($crate::export!(@event $kind $object OBJECT $method($($argument: $argument_type),*));)*
        };
    };

    (@description event $method:ident $arguments:tt) => { "" };
    (@description raw_command $method:ident $arguments:tt) => {
        concat!("\"", stringify!($method), "\":{\"kind\":\"command\",\"codec\":\"raw\"},")
    };
    (@description raw_query $method:ident $arguments:tt) => {
        concat!("\"", stringify!($method), "\":{\"kind\":\"query\",\"codec\":\"raw\"},")
    };
    (@description $kind:ident $method:ident($($argument:ident: $argument_type:ty),*)) => {
        concat!(
            "\"", stringify!($method), "\":{\"kind\":\"", stringify!($kind),
            "\",\"args\":{\"type\":\"object\",\"properties\":{",
            $("\"", stringify!($argument), "\":{\"description\":\"", stringify!($argument_type), "\"},",)*
            "}}},",
        )
    };

    // Whether the cluster has to tell the end of sessions.
    (@told event session_expired) => { "\"session_expired\":true," };
    (@told $kind:ident $method:ident) => { "" };

    (@bytes raw_command $type:ident $object:ident $called:ident $given:ident $method:ident($bytes:ident: $bytes_type:ty)) => {
        if $called == stringify!($method) {
            let $bytes: $bytes_type = $given.to_vec();
            return $crate::Bytes::bytes($object.$method($bytes));
        }
    };
    (@bytes raw_query $type:ident $object:ident $called:ident $given:ident $method:ident($bytes:ident: $bytes_type:ty)) => {
        if $called == stringify!($method) {
            let $bytes: $bytes_type = $given.to_vec();
            let object: &$type = $object;
            return $crate::Bytes::bytes(object.$method($bytes));
        }
    };
    (@bytes $($rest:tt)*) => {};

    (@method event $($rest:tt)*) => {};
    (@method raw_command $($rest:tt)*) => {};
    (@method raw_query $($rest:tt)*) => {};
    (@method $kind:ident $type:ident $object:ident $called:ident $arguments:ident
        $method:ident($($argument:ident: $argument_type:ty),*)) => {
        if $called == stringify!($method) {
            $(let $argument: $argument_type = $arguments.take(stringify!($argument))?;)*
            $arguments.finish()?;
            return $crate::Answer::answer($crate::export!(@receiver $kind $type $object $method($($argument),*)));
        }
    };

    // That a query reads only is judged by the compiler here, and by the engine again.
    (@receiver query $type:ident $object:ident $method:ident($($argument:ident),*)) => {{
        let object: &$type = $object;
        object.$method($($argument),*)
    }};
    (@receiver command $type:ident $object:ident $method:ident($($argument:ident),*)) => {
        $object.$method($($argument),*)
    };
    (@receiver blocking $type:ident $object:ident $method:ident($($argument:ident),*)) => {
        $object.$method($($argument),*)
    };

    (@event event $type:ident $slot:ident timer($($argument:tt)*)) => {
        #[unsafe(no_mangle)]
        extern "C" fn timer(id: u64) {
            expanded::call(&$slot, |object| {
                $type::timer(object, id);
                Ok(None)
            });
        }
    };
    (@event event $type:ident $slot:ident ticket_ended($($argument:tt)*)) => {
        #[unsafe(no_mangle)]
        extern "C" fn ticket_ended(ticket: u64) {
            expanded::call(&$slot, |object| {
                $type::ticket_ended(object, $crate::Ticket(ticket));
                Ok(None)
            });
        }
    };
    (@event event $type:ident $slot:ident session_expired($($argument:tt)*)) => {
        #[unsafe(no_mangle)]
        extern "C" fn session_expired(start: *const u8, length: usize) {
            // SAFETY: the engine's contract.
            let session = unsafe { expanded::read_text(start, length) };
            expanded::call(&$slot, |object| {
                $type::session_expired(object, session.into_owned());
                Ok(None)
            });
        }
    };
    (@event event $type:ident $slot:ident save()) => {
        #[unsafe(no_mangle)]
        extern "C" fn save() -> u64 {
            expanded::call(&$slot, |object| $crate::Answer::answer($type::save(object)))
        }
    };
    (@event event $type:ident $slot:ident
        migrate($description:ident: $description_type:ty, $state:ident: $state_type:ty)) => {
        #[unsafe(no_mangle)]
        extern "C" fn migrate(start: *const u8, length: usize) {
            let migrate = |mut told: $crate::Arguments| {
                let $description: $description_type = told.take("description")?;
                let $state: $state_type = told.take("state")?;
                $crate::Constructed::<$type>::constructed($type::migrate($description, $state))
            };
            // SAFETY: the engine's contract.
            unsafe { expanded::init(&$slot, start, length, migrate) }
        }
    };
    (@event $kind:ident $type:ident $slot:ident $method:ident $arguments:tt) => {};
}
