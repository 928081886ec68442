//! What `diwan up` says: a table whenever roles have changed, and a line for everything that happens.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use jiff::Zoned;

use super::child::{End, Member};
use super::layout::Layout;
use crate::answer::Answer;
use crate::table;

/// How long the members may take to elect a leader before the lack of one is reported.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a table waits for a member that has no role yet.
const SETTLING: Duration = Duration::from_secs(5);

/// What members have answered last, and what was reported of it.
#[derive(Debug, Default)]
pub(super) struct Standing {
    answers: Vec<Option<Answer>>,
    /// The processes that have answered.
    heard: BTreeSet<u64>,
    /// Roles and processes as the last table had them.
    shown: Vec<(String, Option<u32>)>,
    leader: Option<(u64, u64)>,
    /// Since when there is no leader, and whether that was reported.
    lost: Option<(Instant, bool)>,
    /// Since when a member has no role.
    unsettled: Option<Instant>,
    hinted: bool,
}

impl Standing {
    /// A member's latest answer; `None` if it does not answer.
    pub(super) fn hear(&mut self, place: usize, answer: Option<Answer>) {
        if self.answers.len() <= place {
            self.answers.resize(place + 1, None);
        }
        self.heard.extend(answer.as_ref().map(|answer| answer.pid));
        if let Some(known) = self.answers.get_mut(place) {
            *known = answer;
        }
    }

    /// The leader and its term: if several members say that they lead, the one in the latest term.
    fn leads(&self) -> Option<(u64, u64)> {
        let leaders =
            self.answers.iter().flatten().filter(|answer| answer.role == "leader" && answer.serving);
        leaders.map(|answer| (answer.term, answer.member)).max().map(|(term, member)| (member, term))
    }

    /// Says what has changed.
    pub(super) fn tell(
        &mut self,
        layout: &Layout,
        pids: &[Option<u32>],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let leader = self.leads();
        if leader.is_none() && self.leader.is_some() {
            let (since, said) = *self.lost.get_or_insert((Instant::now(), false));
            if !said && since.elapsed() > PATIENCE {
                self.lost = Some((since, true));
                line(out, "no leader: writes wait until a majority of the members run")?;
            }
        }
        let Some(now) = leader else { return Ok(()) };
        self.lost = None;
        if self.leader != Some(now) {
            self.leader = Some(now);
            line(out, &format!("member {} leads now (term {})", now.0, now.1))?;
        }
        let roles = self.roles(layout, pids);
        // A member that has just started has its role in a moment: one table for both.
        let settled = roles.iter().all(|(role, _)| !matches!(role.as_str(), "starting" | "looking"));
        if settled {
            self.unsettled = None;
        }
        let waits = !settled && self.unsettled.get_or_insert_with(Instant::now).elapsed() < SETTLING;
        if waits || roles == self.shown {
            return Ok(());
        }
        self.table(layout, &roles, out)?;
        self.shown = roles;
        if !std::mem::replace(&mut self.hinted, true) {
            hints(layout, out)?;
        }
        Ok(())
    }

    fn roles(&self, layout: &Layout, pids: &[Option<u32>]) -> Vec<(String, Option<u32>)> {
        let role = |place: usize| {
            let pid = pids.get(place).copied().flatten();
            let answer = self.answers.get(place).and_then(Option::as_ref);
            let role = match (pid, answer) {
                (None, _) => "down",
                (Some(pid), None) if self.heard.contains(&u64::from(pid)) => "silent",
                (Some(_), None) => "starting",
                (Some(_), Some(answer)) if !answer.serving => "looking",
                (Some(_), Some(answer)) => answer.role.as_str(),
            };
            (String::from(role), pid)
        };
        (0..layout.places.len()).map(role).collect()
    }

    fn table(
        &self,
        layout: &Layout,
        roles: &[(String, Option<u32>)],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut rows = vec![["MEMBER", "ROLE", "PID", "CLIENTS", "HTTP"].map(String::from).to_vec()];
        rows.extend(layout.places.iter().zip(roles).map(|(place, (role, pid))| {
            vec![
                place.number.to_string(),
                role.clone(),
                pid.map_or_else(|| String::from("-"), |pid| pid.to_string()),
                place.clients.to_string(),
                format!("http://{}/", place.http),
            ]
        }));
        if layout.bootstrap().is_some() {
            let kafka =
                layout.places.iter().map(|place| place.kafka.map_or_else(String::new, |of| of.to_string()));
            let column = std::iter::once(String::from("KAFKA")).chain(kafka);
            rows.iter_mut().zip(column).for_each(|(row, cell)| row.insert(4, cell));
        }
        writeln!(out)?;
        table::write(out, 2, &rows)?;
        writeln!(out)?;
        let pid = roles.iter().find_map(|(role, pid)| pid.filter(|_| role == "leader"));
        if let Some(pid) = pid {
            writeln!(out, "  kill -9 {pid}    ends the leader: watch another take over\n")?;
        }
        Ok(())
    }
}

/// Before a member has answered.
pub(super) fn begin(layout: &Layout, out: &mut impl Write) -> io::Result<()> {
    let folder = layout.places.first().and_then(|place| place.folder.parent());
    let folder = folder.map_or_else(String::new, |folder| folder.display().to_string());
    line(out, &format!("starting {} members; their data and logs are in {folder}", layout.places.len()))?;
    out.flush()
}

fn hints(layout: &Layout, out: &mut impl Write) -> io::Result<()> {
    let (clients, pages) = (layout.connection_string(), layout.status_string());
    writeln!(out, "  connect   {clients}")?;
    writeln!(out, "  try       diwan shell --server {clients}")?;
    if let Some(kafka) = layout.bootstrap() {
        writeln!(out, "  kafka     {kafka}")?;
        writeln!(out, "            diwan log status --bootstrap-server {kafka}")?;
    }
    if let Some(objects) = layout.objects() {
        writeln!(out, "  objects   curl -XPOST {objects}/v1/objects/counter/visits/increment")?;
        writeln!(out, "            diwan object list --server {objects}")?;
    }
    if let Some(names) = layout.names() {
        writeln!(out, "  names     dig @{} -p {} leader.diwan.internal", names.ip(), names.port())?;
    }
    writeln!(out, "  look      diwan status --server {pages}")?;
    writeln!(out, "  stop      ctrl-c\n")
}

/// A member's process has ended.
pub(super) fn ended(
    member: &Member,
    end: &End,
    next: Option<Duration>,
    out: &mut impl Write,
) -> io::Result<()> {
    let (number, End { pid, how }) = (member.place.number, end);
    let next = next.map_or_else(
        || String::from("it stays down (`--no-restart`)"),
        |pause| format!("it starts again in {:.1} s", pause.as_secs_f64()),
    );
    line(out, &format!("member {number} (pid {pid}) {how}; {next}"))?;
    if how.starts_with("failed") {
        if let Some(said) = member.last_words() {
            line(out, &format!("member {number} said last: {said}"))?;
        }
        line(out, &format!("hint: see {}", member.place.log().display()))?;
    }
    out.flush()
}

/// A member's process has been started again.
pub(super) fn started(member: &Member, out: &mut impl Write) -> io::Result<()> {
    let pid = member.pid().unwrap_or(0);
    line(out, &format!("member {} starts again (pid {pid})", member.place.number))?;
    out.flush()
}

/// All are asked to stop.
pub(super) fn stopping(out: &mut impl Write) -> io::Result<()> {
    line(out, "stopping all members; ctrl-c again ends them at once")?;
    out.flush()
}

/// One has.
pub(super) fn stopped(member: &Member, end: &End, out: &mut impl Write) -> io::Result<()> {
    line(out, &format!("member {} {}", member.place.number, end.how))?;
    out.flush()
}

fn line(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "{} {text}", Zoned::now().strftime("%H:%M:%S"))
}
