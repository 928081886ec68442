//! `diwan up`: a whole ensemble on this machine, for trying out. Each member is a process like any `diwan serve`; here
//! they are started, watched and, if they end, started again.

mod child;
mod layout;
mod show;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::answer::{self, Answer};
use child::Member;
pub(crate) use layout::UpOptions;
use layout::{Layout, Place};
use show::Standing;

/// How often members are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long one may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long members may take to stop in good order.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// What happens around the members.
enum News {
    Signal,
    /// What a member answers, or that it does not answer.
    Answer(usize, Option<Box<Answer>>),
}

/// The command.
pub(crate) fn run(options: &UpOptions, out: &mut impl Write) -> io::Result<ExitCode> {
    // Otherwise each member would fail by itself, again and again.
    if let Err(problem) = crate::config::check_properties(&options.properties) {
        eprintln!("error: {problem}");
        return Ok(ExitCode::FAILURE);
    }
    let layout = match Layout::make(options) {
        Ok(layout) => layout,
        Err(message) => {
            eprintln!("error: {message}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let (sender, news) = mpsc::channel();
    heed_signals(sender.clone())?;
    let member = |place: &Place| Member::new(place.clone(), options.properties.clone());
    let members = layout.places.iter().map(member).collect();
    let mut up = Up { layout, members, standing: Standing::default(), restart: options.restart };
    let outcome = up.start(out).and_then(|()| {
        up.look(&sender)?;
        up.watch(&news, out)
    });
    let stopped = up.stop(&news, out);
    outcome?;
    stopped
}

fn heed_signals(sender: Sender<News>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name(String::from("signals")).spawn(move || {
        for _ in signals.forever() {
            if sender.send(News::Signal).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

struct Up {
    layout: Layout,
    members: Vec<Member>,
    /// What is known and was reported of them.
    standing: Standing,
    restart: bool,
}

impl Up {
    fn start(&mut self, out: &mut impl Write) -> io::Result<()> {
        show::begin(&self.layout, out)?;
        self.members.iter_mut().try_for_each(Member::start)
    }

    /// Asks each member again and again how it is, on a thread of its own: one that hangs delays no other.
    fn look(&self, sender: &Sender<News>) -> io::Result<()> {
        for (place, member) in self.members.iter().enumerate() {
            let (address, sender) = (member.place.http.to_string(), sender.clone());
            thread::Builder::new().name(String::from("look")).spawn(move || {
                loop {
                    let answer = answer::ask(&address, ANSWER_TIMEOUT, &None).ok().map(Box::new);
                    if sender.send(News::Answer(place, answer)).is_err() {
                        return;
                    }
                    thread::sleep(LOOK);
                }
            })?;
        }
        Ok(())
    }

    /// Until a signal.
    fn watch(&mut self, news: &Receiver<News>, out: &mut impl Write) -> io::Result<()> {
        loop {
            match news.recv_timeout(LOOK) {
                Ok(News::Signal) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(News::Answer(place, answer)) => {
                    // An answer of a process that is gone by now does not count for the next one.
                    let pid = self.members.get(place).and_then(Member::pid).map(u64::from);
                    let answer = answer.filter(|answer| Some(answer.pid) == pid);
                    self.standing.hear(place, answer.map(|answer| *answer));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.tend(out)?;
            self.standing.tell(&self.layout, &self.pids(), out)?;
            out.flush()?;
        }
    }

    /// Notices members that ended, and starts those again that are due.
    fn tend(&mut self, out: &mut impl Write) -> io::Result<()> {
        for (place, member) in self.members.iter_mut().enumerate() {
            if let Some(end) = member.ended()? {
                let next = self.restart.then(|| member.rest());
                self.standing.hear(place, None);
                show::ended(member, &end, next, out)?;
            }
            if member.is_due() {
                member.start()?;
                show::started(member, out)?;
            }
        }
        Ok(())
    }

    fn pids(&self) -> Vec<Option<u32>> {
        self.members.iter().map(Member::pid).collect()
    }

    /// Stops all in good order; a second signal, or too long a time, ends them at once.
    fn stop(&mut self, news: &Receiver<News>, out: &mut impl Write) -> io::Result<ExitCode> {
        show::stopping(out)?;
        self.members.iter().for_each(|member| member.signal(Signal::TERM));
        let (mut deadline, mut clean) = (Instant::now() + STOP_TIMEOUT, true);
        while self.members.iter().any(|member| member.pid().is_some()) {
            for member in &mut self.members {
                if let Some(end) = member.ended()? {
                    clean &= end.how == "stopped";
                    show::stopped(member, &end, out)?;
                }
            }
            let pressed = matches!(news.recv_timeout(LOOK / 5), Ok(News::Signal));
            if pressed || Instant::now() > deadline {
                clean = false;
                deadline = Instant::now() + STOP_TIMEOUT;
                self.members.iter().for_each(|member| member.signal(Signal::KILL));
            }
        }
        out.flush()?;
        Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
