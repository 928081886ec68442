//! `keys FOLDER`: makes keys and certificates for servers and clients under test.

use std::env;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        eprintln!("usage: keys FOLDER");
        return ExitCode::from(2);
    };
    match tools_testbed::keys::write(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: no keys in `{}`: {error}", Path::new(folder).display());
            ExitCode::FAILURE
        }
    }
}
