//! A password that is typed at the terminal, which does not show it.

use std::io::{self, BufRead as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Asks at the terminal on standard input, which does not show what is typed.
///
/// # Errors
/// Standard input is no terminal, or it ended.
pub fn prompted(prompt: &str) -> io::Result<String> {
    let mut line = String::new();
    {
        // Before the prompt: a user who sees that may begin to type.
        let _silence = Silence::begin()?;
        eprint!("{prompt}");
        io::stderr().flush()?;
        io::stdin().lock().read_line(&mut line)?;
    }
    eprintln!();
    Ok(String::from(line.trim_end_matches(['\r', '\n'])))
}

/// The terminal shows nothing of what is typed while this value exists.
struct Silence(Termios);

impl Silence {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing either.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
