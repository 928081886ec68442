//! The clients: sessions, keys and neither; calls that wait, their tickets, cancels; queries; the same again at another member
//! when an answer does not come; and leaving without a word.

mod admin;
mod asks;
mod guests;
mod own;
mod tokens;
mod wasm;

use base::Random;
use objects_http::{HttpResponse, Say};
use serde_json::Value;

use super::Members;
use super::edge::{FromClient, HttpCall};
use super::history::{About, By, Call, Errand, History};
use super::node::Modules;
use super::travel::{Flight, ToClient, Travel};
use crate::crowd::numbers_in;
use crate::guests::bytes::base64;
use crate::outcome::parsed;
use crate::told::{Answer, Object};
use own::Own;
use tokens::Tokens;

pub(super) use admin::{Admin, Run};
pub(crate) use tokens::ROOT_TOKEN;

/// How often, of a thousand moments, a backup is asked for where that is done.
const BACKUPS: u64 = 6;
/// Calls of one client that are under way.
const OPEN_MAX: usize = 3;
/// Numbers of objects' results that clients remember.
const NUMBERS_MAX: usize = 60;

/// Something that a client does later.
#[derive(Clone, Copy, Debug)]
struct Plan {
    at_ms: u64,
    call: usize,
    errand: Errand,
}

/// One client.
#[derive(Debug, Default)]
struct Client {
    own: Option<Own>,
    /// Its calls under way.
    open: Vec<usize>,
    /// Attempts whose connections are open.
    attempts: Vec<u64>,
    plans: Vec<Plan>,
    /// What it holds, and under which number.
    holds: Vec<(Object, u64)>,
    away_until_ms: u64,
    /// The member that it asks first.
    member: u64,
}

/// What clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// Whatever they like.
    Busy,
    /// They end what they have begun.
    Ending,
}

/// See the module.
pub(super) struct Clients {
    all: Vec<Client>,
    random: Random,
    travel: Travel,
    /// The objects of most calls.
    focus: Vec<Object>,
    numbers: Vec<(Object, u64)>,
    /// The highest position that they were told.
    seen: u64,
    sessions: u64,
    keys: u64,
    /// How often, of a thousand moments, a client begins something.
    eager: u64,
    /// Which types of users there are.
    modules: Modules,
    tokens: Tokens,
    admin: Admin,
    /// What objects of users' types were exported as, by their type.
    exports: Vec<(String, String)>,
    /// Whether they may ask for what kills the process of a member: while other things go wrong, too.
    may_kill: bool,
    /// What draws when a client asks for a backup, if any does.
    backups: Option<Random>,
}

impl Clients {
    pub(super) fn new((modules, has_access): (Modules, bool), mut admin: Admin, mut random: Random) -> Self {
        let count = 3 + random.below(5);
        let mut focus = asks::draw_focus(&mut random);
        admin.rename(&mut focus);
        let eager = 20 + random.below(80);
        let member = |random: &mut Random| Client { member: random.below(5), ..Client::default() };
        Self {
            all: (0..count).map(|_| member(&mut random)).collect(),
            focus,
            numbers: Vec::new(),
            seen: 0,
            sessions: 0,
            keys: 0,
            eager,
            modules,
            tokens: Tokens::new(has_access),
            admin,
            exports: Vec::new(),
            may_kill: false,
            backups: None,
            travel: Travel::default(),
            random,
        }
    }

    /// Some ask for backups, in some runs. Whether they do in this one.
    pub(super) fn may_ask_for_backups(&mut self, mut random: Random) -> bool {
        let asks = random.chance(40);
        self.backups = asks.then_some(random);
        asks
    }

    pub(super) fn setting(&self) -> String {
        let focus: Vec<_> = self.focus.iter().map(Object::path).collect();
        let (count, eager, admin) = (self.all.len(), self.eager, self.admin.setting());
        format!("{count} clients, eager {eager}, {admin}, mostly {}", focus.join(", "))
    }

    /// What they do in this moment.
    pub(super) fn moment(&mut self, members: &mut Members, history: &mut History, mood: Mood) {
        self.may_kill = members.has_deadly_calls();
        self.take_says(members);
        self.lives_end(members, history);
        self.deliver(members, history);
        if mood == Mood::Busy {
            self.back_up(members, history);
        }
        for index in 0..self.all.len() {
            self.lose_patience(index, members, history);
            self.carry_out(index, members, history);
            match mood {
                Mood::Busy if self.random.below(1000) < self.eager => self.begin(index, members, history),
                Mood::Ending => self.end(index, members, history),
                _ => {}
            }
        }
    }

    /// Whether nothing of theirs is under way.
    pub(super) fn are_done(&self) -> bool {
        self.travel.is_empty()
            && self.all.iter().all(|client| client.open.is_empty() && client.attempts.is_empty())
    }

    /// What clients have not done, and what they were answered last.
    pub(super) fn describe(&self, history: &History) -> String {
        let mut text = String::new();
        for (index, client) in self.all.iter().enumerate() {
            for call in &client.open {
                let Call { http, attempts, .. } = &history.calls[*call];
                let last = attempts
                    .iter()
                    .rev()
                    .find_map(|number| history.attempts[*number as usize].answer.as_ref());
                let (method, target, count) = (http.method, &http.target, attempts.len());
                text +=
                    &format!("\nclient {index}: {method} {target}, {count} attempts, last answered {last:?}");
            }
            text += &format!("\nclient {index}: attempts {:?}, plans {:?}", client.attempts, client.plans);
        }
        text
    }

    /// What edges say sets out to their clients.
    fn take_says(&mut self, members: &mut Members) {
        let now_ms = members.sim.now_ms();
        for (_, say) in std::mem::take(&mut members.record.says) {
            let (attempt, flight) = match say {
                Say::Respond(attempt, response) => (attempt, ToClient::Response(response)),
                Say::Push(attempt, _) => (attempt, ToClient::More),
                Say::Finish(attempt) => (attempt, ToClient::Finished),
                Say::Abort(attempt) | Say::Backup(attempt, _) => (attempt, ToClient::Broken),
            };
            self.travel.send(now_ms, 0, attempt, Flight::ToClient(flight), &mut self.random);
        }
    }

    /// Connections end with their process. If only its power failed nobody hears of it.
    fn lives_end(&mut self, members: &mut Members, history: &History) {
        let now_ms = members.sim.now_ms();
        for (life, told) in std::mem::take(&mut members.record.ended) {
            let attempts = self.all.iter().flat_map(|client| client.attempts.iter().copied());
            let own: Vec<_> =
                attempts.filter(|number| history.attempts[*number as usize].at.1 == life).collect();
            for attempt in own.into_iter().filter(|_| told) {
                let flight = Flight::ToClient(ToClient::Broken);
                self.travel.send(now_ms, 0, attempt, flight, &mut self.random);
            }
        }
    }

    fn deliver(&mut self, members: &mut Members, history: &mut History) {
        let now_ms = members.sim.now_ms();
        while let Some((number, flight)) = self.travel.arrive(now_ms) {
            let at = history.attempt(number).at;
            if members.client_delay_ms(at.0).is_none() {
                self.travel.hold(now_ms, number, flight);
                continue;
            }
            match flight {
                Flight::ToEdge(from) => {
                    if !members.receive(at, from) {
                        let flight = Flight::ToClient(ToClient::Broken);
                        self.travel.send(now_ms, 0, number, flight, &mut self.random);
                    }
                }
                Flight::ToClient(to) => self.hear(number, to, members, history),
            }
        }
    }

    /// Something comes to a client.
    fn hear(&mut self, number: u64, to: ToClient, members: &mut Members, history: &mut History) {
        let (call, errand) = (history.attempt(number).call, history.attempt(number).errand);
        let index = history.calls[call].client;
        match to {
            ToClient::More => {}
            ToClient::Response(response) if response.is_stream => {}
            ToClient::Response(response) => {
                let answer = answer_of(response);
                let is_over = history.attempt(number).is_over;
                self.seen = self.seen.max(answer.position.unwrap_or_default());
                history.answered(members.sim.now_ms(), number, answer.clone());
                self.close(index, number);
                members.sim.count("answer", 1);
                if !is_over {
                    self.answered(index, (call, errand), &answer, members, history);
                }
            }
            ToClient::Finished => {
                self.close(index, number);
                history.attempt(number).is_over = true;
                self.done(index, call, history);
            }
            ToClient::Broken => {
                if self.close(index, number) {
                    members.sim.count("connection broken", 1);
                    history.attempt(number).is_over = true;
                    self.unanswered(index, call, members, history);
                }
            }
        }
    }

    /// A connection is not open any more. False if it was not.
    fn close(&mut self, index: usize, number: u64) -> bool {
        let before = self.all[index].attempts.len();
        self.all[index].attempts.retain(|open| *open != number);
        self.all[index].attempts.len() < before
    }

    /// Whether a call may be refused so for ever: its object is in quarantine, its type has no version that may run, or it waits for
    /// a position that comes only if somebody does something.
    fn may_stay_so(&self, body: &Value, call: &Call) -> bool {
        let is_ahead = matches!(call.about, About::Query { min_position: Some(at), .. } if at > self.seen);
        asks::is_stopped(body) || asks::is_not_ready(body) || is_ahead
    }

    /// A call is answered.
    fn answered(
        &mut self,
        index: usize,
        (call, errand): (usize, Errand),
        answer: &Answer,
        members: &mut Members,
        history: &mut History,
    ) {
        if history.calls[call].is_done {
            return;
        }
        let body = parsed(&answer.body);
        match (answer.status, errand) {
            (202, _) => {
                history.calls[call].ticket = body["ticket"].as_u64();
                members.sim.count("answered by a ticket", 1);
                self.follow_ticket(index, call, members, history);
            }
            (503, _) if self.may_stay_so(&body, &history.calls[call]) && self.random.chance(50) => {
                self.done(index, call, history);
            }
            (503 | 504, _) => self.unanswered(index, call, members, history),
            // The member has too much to do; what else is too many, the log says, and says it again.
            (429, _) if asks::is_of_member(&body) => self.unanswered(index, call, members, history),
            // It is not known any more, or was never: ask again.
            (404, Errand::Collect(_)) => self.plan(index, call, Errand::Ask, members),
            (_, Errand::Cancel(_)) => self.plan(index, call, Errand::Ask, members),
            _ => {
                if let (About::Export { object }, 200) = (&history.calls[call].about, answer.status) {
                    self.exported(object, &answer.body);
                }
                self.learn(index, call, answer.status, &body, history);
                self.done(index, call, history);
                self.repeat_elsewhere(index, call, members, history);
            }
        }
    }

    /// What to do about a call that waits: collect its result, ask again, or cancel it.
    fn follow_ticket(&mut self, index: usize, call: usize, members: &mut Members, history: &History) {
        let Some(ticket) = history.calls[call].ticket else { return };
        let errand = match self.random.below(10) {
            0..6 => Errand::Collect(ticket),
            6..9 => Errand::Ask,
            _ => Errand::Cancel(ticket),
        };
        self.plan(index, call, errand, members);
    }

    /// No answer comes on that connection: the same again elsewhere, if it may be.
    fn unanswered(&mut self, index: usize, call: usize, members: &mut Members, history: &mut History) {
        if history.calls[call].is_done {
            return;
        }
        if history.calls[call].is_repeatable && !self.gives_up(&history.calls[call]) {
            self.all[index].member += 1;
            self.plan(index, call, Errand::Ask, members);
        } else {
            self.done(index, call, history);
        }
    }

    fn plan(&mut self, index: usize, call: usize, errand: Errand, members: &Members) {
        let at_ms = members.sim.now_ms() + self.random.below(300);
        self.all[index].plans.push(Plan { at_ms, call, errand });
    }

    fn done(&mut self, index: usize, call: usize, history: &mut History) {
        history.calls[call].is_done = true;
        let client = &mut self.all[index];
        client.open.retain(|open| *open != call);
        client.plans.retain(|plan| plan.call != call);
        if let (Some(own), Some(request)) = (&mut client.own, history.calls[call].request)
            && history.calls[call].session == Some(own.id)
        {
            own.answered(request);
        }
    }

    /// The same request once more, although it was answered: the answer must be the same.
    fn repeat_elsewhere(&mut self, index: usize, call: usize, members: &mut Members, history: &mut History) {
        let asked = &history.calls[call];
        let is_kept = asked.is_repeatable && matches!(asked.about, About::Command { .. });
        if is_kept && self.random.chance(20) {
            members.sim.count("repeat of what was answered", 1);
            let member = self.random.below(5);
            self.send(index, (call, Errand::Ask), member, members, history);
        }
    }

    /// What a client learns from an answer.
    fn learn(&mut self, index: usize, call: usize, status: u16, body: &Value, history: &History) {
        let asked = &history.calls[call];
        if let Some(change) = &asked.change {
            self.tokens.heard(change, status, body);
        }
        // A session that is another's, or whose end is refused, is of no use.
        let is_refused = [401, 403].contains(&status) && (asks::closes(asked) || self.random.chance(30));
        let client = &mut self.all[index];
        let own = client.own.as_mut().filter(|own| asked.session == Some(own.id));
        if let Some(own) = own {
            let is_closed = is_refused || (status == 200 && asks::closes(asked));
            if is_closed
                || status == 410
                    && body["type"].as_str().is_some_and(|kind| kind.ends_with("session-expired"))
            {
                (client.own, client.holds) = (None, Vec::new());
                return;
            }
            own.is_open |= status == 201;
        }
        let About::Command { object: Some(object), method } = &asked.about else { return };
        if status != 200 {
            return;
        }
        let mut found = Vec::new();
        numbers_in(body, &mut found);
        self.numbers.extend(found.into_iter().map(|number| (object.clone(), number)));
        let beyond = self.numbers.len().saturating_sub(NUMBERS_MAX);
        self.numbers.drain(..beyond);
        if matches!(method, Some("release" | "resign" | "leave" | "ack")) {
            client.holds.retain(|held| held.0 != *object);
        }
        let held = body["fence"].as_u64().or_else(|| body["items"][0]["id"].as_u64());
        if let Some(fence) = held.filter(|_| asked.session.is_some() && method.is_some()) {
            client.holds.push((object.clone(), fence));
        }
    }

    /// A client that has waited for long enough hangs up.
    fn lose_patience(&mut self, index: usize, members: &mut Members, history: &mut History) {
        let now_ms = members.sim.now_ms();
        for number in self.all[index].attempts.clone() {
            let attempt = history.attempt(number);
            if now_ms < attempt.until_ms {
                continue;
            }
            let call = attempt.call;
            attempt.is_over = true;
            self.hang_up(index, number, 0, members, history);
            members.sim.count("client gives up waiting", 1);
            match history.calls[call].about {
                About::Stream => self.done(index, call, history),
                _ => self.unanswered(index, call, members, history),
            }
        }
    }

    fn hang_up(
        &mut self,
        index: usize,
        number: u64,
        later_ms: u64,
        members: &Members,
        history: &mut History,
    ) {
        self.close(index, number);
        let at = history.attempt(number).at;
        let extra_ms = members.client_delay_ms(at.0).unwrap_or(0) + later_ms;
        let flight = Flight::ToEdge(FromClient::Gone(number));
        self.travel.send(members.sim.now_ms(), extra_ms, number, flight, &mut self.random);
    }

    /// A client does what it has planned.
    fn carry_out(&mut self, index: usize, members: &mut Members, history: &mut History) {
        let now_ms = members.sim.now_ms();
        let due = |plan: &mut Plan| plan.at_ms <= now_ms;
        let due: Vec<_> = self.all[index].plans.extract_if(.., due).collect();
        for plan in due {
            let member = self.all[index].member;
            self.send(index, (plan.call, plan.errand), member, members, history);
        }
    }

    /// A request sets out to that member, or to the next one that runs.
    fn send(
        &mut self,
        index: usize,
        (call, errand): (usize, Errand),
        member: u64,
        members: &mut Members,
        history: &mut History,
    ) {
        let now_ms = members.sim.now_ms();
        let running = members.running();
        let place = running.get(member as usize % running.len().max(1)).copied();
        let Some((number, life)) = place.and_then(|number| Some((number, members.life(number)?))) else {
            let at_ms = now_ms + 50;
            return self.all[index].plans.push(Plan { at_ms, call, errand });
        };
        let edges = members.node(number).map_or(1, |node| u64::from(node.edges()));
        let edge = self.random.below(edges) as u16;
        let until_ms = now_ms + asks::patience_ms(&mut self.random, &history.calls[call].about);
        let attempt = history.send((call, errand), (number, life, edge), (now_ms, until_ms));
        let http = asks::errand_call(&mut self.random, &history.calls[call], errand);
        members.sim.trace.bytes(http.target.as_bytes());
        let extra_ms = members.client_delay_ms(number).unwrap_or(0);
        let flight = Flight::ToEdge(FromClient::Request(attempt, http));
        self.all[index].attempts.push(attempt);
        self.travel.send(now_ms, extra_ms, attempt, flight, &mut self.random);
    }

    /// A new call.
    fn start(&mut self, index: usize, mut call: Call, members: &mut Members, history: &mut History) {
        self.tokens.sign(&mut self.random, index, &mut call);
        let call = history.begin(call);
        self.all[index].open.push(call);
        let member = self.all[index].member;
        self.send(index, (call, Errand::Ask), member, members, history);
    }

    /// A client that may do everything asks some member for a backup.
    fn back_up(&mut self, members: &mut Members, history: &mut History) {
        let Some(random) = self.backups.as_mut().filter(|_| !self.all.is_empty()) else { return };
        if random.below(1000) >= BACKUPS {
            return;
        }
        let (index, member) = (random.below(self.all.len() as u64) as usize, random.below(5));
        let fields = vec![("authorization", format!("Bearer {ROOT_TOKEN}"))];
        let http = bare("GET", "/v1/backup".into(), fields);
        let call = Call { by: By::Root, ..asks::of(index, About::Backup, http, None) };
        let call = history.begin(call);
        self.all[index].open.push(call);
        self.send(index, (call, Errand::Ask), member, members, history);
    }

    /// A client begins something.
    fn begin(&mut self, index: usize, members: &mut Members, history: &mut History) {
        let now_ms = members.sim.now_ms();
        let client = &self.all[index];
        if now_ms < client.away_until_ms {
            return;
        }
        if self.random.chance(2) {
            return self.leave(index, members, history);
        }
        let is_changing = index == 0 && history.calm_from_ms.is_none() && client.open.len() <= OPEN_MAX;
        if let Some(call) = self.administer(index, is_changing) {
            return self.start(index, call, members, history);
        }
        let client = &self.all[index];
        if client.open.len() < OPEN_MAX
            && let Some(call) = self.next_call(index)
        {
            self.start(index, call, members, history);
        }
    }

    /// A client changes who may do what and have how much, if it is the one that does, or looks at it.
    fn administer(&mut self, index: usize, is_changing: bool) -> Option<Call> {
        if is_changing && let Some(call) = self.admin.change(index) {
            return Some(call);
        }
        if is_changing && self.tokens.are_used() && self.random.chance(40) {
            return Some(self.tokens.change(&mut self.random, index));
        }
        self.admin.look(index).filter(|_| self.all[index].open.len() < OPEN_MAX)
    }

    /// A client leaves without a word: its connections are closed by its system, or some time later by the server's.
    pub(super) fn leave(&mut self, index: usize, members: &mut Members, history: &mut History) {
        let now_ms = members.sim.now_ms();
        let later_ms = if self.random.chance(50) { 0 } else { self.random.below(3_000) };
        for number in self.all[index].attempts.clone() {
            history.attempt(number).is_over = true;
            self.hang_up(index, number, later_ms, members, history);
        }
        for call in self.all[index].open.clone() {
            self.done(index, call, history);
        }
        let away_ms = 500 + self.random.below(8_000);
        let client = &mut self.all[index];
        client.away_until_ms = now_ms + away_ms;
        client.holds.clear();
        if let Some(own) = client.own.take() {
            history.left_ms.insert(own.id, now_ms + later_ms);
            members.sim.count("session left without a word", 1);
        }
    }

    /// All of them leave, some with a word.
    pub(super) fn leave_all(&mut self, members: &mut Members, history: &mut History) {
        for index in 0..self.all.len() {
            if self.random.chance(60) {
                self.leave(index, members, history);
            }
        }
    }

    /// A client ends what it has begun: its session is closed, and with that all that waits in its name.
    fn end(&mut self, index: usize, members: &mut Members, history: &mut History) {
        let client = &self.all[index];
        let is_closing = client.open.iter().any(|call| asks::closes(&history.calls[*call]));
        let Some(own) = client.own.as_ref().filter(|_| !is_closing) else { return };
        let call = asks::close(index, own);
        self.start(index, call, members, history);
    }

    /// What the results of an object had in them.
    fn numbers_of(&self, object: &Object) -> Vec<u64> {
        self.numbers.iter().filter(|known| known.0 == *object).map(|known| known.1).collect()
    }
}

fn answer_of(response: HttpResponse) -> Answer {
    // As texts of JSON have bytes.
    let bytes = response.bytes.map(|bytes| format!("\"{}\"", base64(&bytes)));
    Answer { status: response.status, body: bytes.unwrap_or(response.body), position: response.position }
}

/// A request without a body.
fn bare(method: &'static str, target: String, fields: Vec<(&'static str, String)>) -> HttpCall {
    HttpCall { method, target, fields, body: Vec::new() }
}
