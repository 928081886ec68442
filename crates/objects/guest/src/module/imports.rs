//! What a module may import, and the signatures.

use wasmparser::{FuncType, TypeRef, ValType};

/// Our own functions: name, parameters, result; `i` is an `i32`, `I` an `i64`.
const DIWAN: &[(&str, &str, &str)] = &[
    ("now_ms", "", "I"),
    ("position", "", "I"),
    ("random", "ii", ""),
    ("caller", "ii", "i"),
    ("park", "II", "I"),
    ("wake", "Iii", "i"),
    ("fail", "Iiiii", "i"),
    ("timer_set", "II", ""),
    ("timer_clear", "I", ""),
    ("emit", "iiii", ""),
    ("send", "iiiiii", ""),
    ("log", "ii", ""),
];

/// How a function of `wasi_snapshot_preview1` is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Arguments or environment: success; there are none.
    Nothing,
    /// Their number and size: two zeros are written.
    NoSizes,
    /// The resolution of a clock: a millisecond.
    Resolution,
    /// A clock: the stamp.
    Time,
    /// What a file descriptor is written: 1 and 2 go to the log.
    Write,
    /// Random bytes: the entry's.
    Random,
    /// The program ends: a trap.
    Exit,
    /// There is no such file.
    NoFile,
    /// There is no such function.
    NoFunction,
}

/// The functions of `wasi_snapshot_preview1`: name, parameters, answer. All but `proc_exit` give an `i32`.
pub(crate) const WASI: &[(&str, &str, Answer)] = &[
    ("args_get", "ii", Answer::Nothing),
    ("args_sizes_get", "ii", Answer::NoSizes),
    ("environ_get", "ii", Answer::Nothing),
    ("environ_sizes_get", "ii", Answer::NoSizes),
    ("clock_res_get", "ii", Answer::Resolution),
    ("clock_time_get", "iIi", Answer::Time),
    ("fd_advise", "iIIi", Answer::NoFile),
    ("fd_allocate", "iII", Answer::NoFile),
    ("fd_close", "i", Answer::NoFile),
    ("fd_datasync", "i", Answer::NoFile),
    ("fd_fdstat_get", "ii", Answer::NoFile),
    ("fd_fdstat_set_flags", "ii", Answer::NoFile),
    ("fd_fdstat_set_rights", "iII", Answer::NoFile),
    ("fd_filestat_get", "ii", Answer::NoFile),
    ("fd_filestat_set_size", "iI", Answer::NoFile),
    ("fd_filestat_set_times", "iIIi", Answer::NoFile),
    ("fd_pread", "iiiIi", Answer::NoFile),
    ("fd_prestat_get", "ii", Answer::NoFile),
    ("fd_prestat_dir_name", "iii", Answer::NoFile),
    ("fd_pwrite", "iiiIi", Answer::NoFile),
    ("fd_read", "iiii", Answer::NoFile),
    ("fd_readdir", "iiiIi", Answer::NoFile),
    ("fd_renumber", "ii", Answer::NoFile),
    ("fd_seek", "iIii", Answer::NoFile),
    ("fd_sync", "i", Answer::NoFile),
    ("fd_tell", "ii", Answer::NoFile),
    ("fd_write", "iiii", Answer::Write),
    ("path_create_directory", "iii", Answer::NoFile),
    ("path_filestat_get", "iiiii", Answer::NoFile),
    ("path_filestat_set_times", "iiiiIIi", Answer::NoFile),
    ("path_link", "iiiiiii", Answer::NoFile),
    ("path_open", "iiiiiIIii", Answer::NoFile),
    ("path_readlink", "iiiiii", Answer::NoFile),
    ("path_remove_directory", "iii", Answer::NoFile),
    ("path_rename", "iiiiii", Answer::NoFile),
    ("path_symlink", "iiiii", Answer::NoFile),
    ("path_unlink_file", "iii", Answer::NoFile),
    ("poll_oneoff", "iiii", Answer::NoFunction),
    ("proc_exit", "i", Answer::Exit),
    ("proc_raise", "i", Answer::NoFunction),
    ("random_get", "ii", Answer::Random),
    ("sched_yield", "", Answer::Nothing),
    ("sock_accept", "iii", Answer::NoFunction),
    ("sock_recv", "iiiiii", Answer::NoFunction),
    ("sock_send", "iiiii", Answer::NoFunction),
    ("sock_shutdown", "ii", Answer::NoFunction),
];

/// Whether a signature is the one that is written so.
pub(super) fn is_signature(ty: &FuncType, params: &str, results: &str) -> bool {
    let is = |types: &[ValType], words: &str| {
        let letters = words.bytes().map(|letter| if letter == b'i' { ValType::I32 } else { ValType::I64 });
        types.iter().copied().eq(letters)
    };
    is(ty.params(), params) && is(ty.results(), results)
}

/// Why an import is refused.
pub(super) fn refusal(import: &wasmparser::Import<'_>, types: &[FuncType]) -> Option<String> {
    let (module, name) = (import.module, import.name);
    let TypeRef::Func(ty) = import.ty else {
        return Some(format!("imports `{module}`.`{name}`, which is no function"));
    };
    let Some((params, results)) = signature(module, name) else {
        return Some(format!("imports `{module}`.`{name}`, which there is not"));
    };
    let is_right = types.get(ty as usize).is_some_and(|ty| is_signature(ty, params, results));
    (!is_right).then(|| format!("imports `{module}`.`{name}` with another signature"))
}

fn signature(module: &str, name: &str) -> Option<(&'static str, &'static str)> {
    match module {
        "diwan_1" => {
            let (_, params, results) = DIWAN.iter().find(|(own, ..)| *own == name)?;
            Some((params, results))
        }
        "wasi_snapshot_preview1" => {
            let (_, params, answer) = WASI.iter().find(|(own, ..)| *own == name)?;
            Some((params, if *answer == Answer::Exit { "" } else { "i" }))
        }
        _ => None,
    }
}
