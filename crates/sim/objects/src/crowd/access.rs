//! Who asks: principals with the tokens that they have, or had, and what those who administer change.

use base::Random;
use objects_state::{ANONYMOUS, AccessChange, Authority, Command, Grant, Principal, ROOT, TokenNumber};

use crate::model::{TYPES, Told};

/// A holder of a certificate, for whose name the member vouches.
const CERTIFIED: &str = "cert:CN=ann";
/// Principals that ask, some more often than others.
const NAMES: [&str; 9] = ["ann", "ann", "ann", "bob", "bob", CERTIFIED, "cy", ANONYMOUS, "admin"];
/// Tokens that clients remember.
const TOKENS_MAX: usize = 60;

#[derive(Debug)]
struct Token {
    number: TokenNumber,
    principal: String,
    hash: [u8; 32],
    /// As far as clients were told.
    is_over: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Principals {
    /// There are tokens and rights in this run.
    is_used: bool,
    tokens: Vec<Token>,
    made: u64,
}

impl Principals {
    pub(super) const fn new(is_used: bool) -> Self {
        Self { is_used, tokens: Vec::new(), made: 0 }
    }

    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// The name of a principal.
    pub(super) fn name(&self, random: &mut Random) -> String {
        match self.is_used {
            false => ["ann", "ann", "ann", "bob", "cy"][random.below(5) as usize].into(),
            true if random.chance(4) => ROOT.into(),
            true => NAMES[random.below(NAMES.len() as u64) as usize].into(),
        }
    }

    /// How one of that name asks: by a token, as a rule one of its own that is valid. A command that has been under way for long
    /// comes by one that is over.
    pub(super) fn principal(&self, random: &mut Random, name: &str) -> Principal {
        if !self.is_used || name == ANONYMOUS || name.starts_with("cert:") {
            return name.into();
        }
        if name == ROOT {
            return Principal::root();
        }
        let odd = random.below(100);
        let fits = |token: &&Token| match odd {
            0..4 => token.principal == name && token.is_over,
            4 => token.principal != name,
            _ => token.principal == name && !token.is_over,
        };
        let own: Vec<_> = self.tokens.iter().filter(fits).collect();
        match own.get(random.below(own.len() as u64) as usize) {
            Some(token) => Principal { name: name.into(), authority: Authority::Token(token.number) },
            // It has no token: then it shows a certificate.
            None => format!("cert:CN={name}").into(),
        }
    }

    /// A change of access by an administrator, or by a client that is none.
    pub(super) fn change(&mut self, random: &mut Random, is_closed: bool) -> (Principal, AccessChange) {
        let name = match random.below(10) {
            0..4 => ROOT.into(),
            4..8 => "admin".into(),
            _ => self.name(random),
        };
        let by = self.principal(random, &name);
        let change = match random.below(100) {
            0..34 => self.create(random),
            34..62 => {
                AccessChange::Allow { principal: Self::subject(random), grants: Self::grants(random, 1, 40) }
            }
            62..72 => {
                let least = u64::from(random.chance(75));
                AccessChange::Deny {
                    principal: Self::subject(random),
                    grants: Self::grants(random, least, 25),
                }
            }
            72..82 => AccessChange::RevokeToken { number: self.number(random) },
            82..86 => AccessChange::RevokePrincipal { principal: Self::subject(random) },
            _ => AccessChange::Set { closed: random.chance(if is_closed { 85 } else { 95 }) },
        };
        (by, change)
    }

    /// Whom a change is about.
    fn subject(random: &mut Random) -> String {
        match random.below(60) {
            0 => ROOT.into(),
            1 => String::new(),
            2 => "n".repeat(255),
            3..6 => "a b".into(),
            6..8 => ANONYMOUS.into(),
            8..16 => "admin".into(),
            _ => NAMES[random.below(6) as usize].into(),
        }
    }

    fn create(&mut self, random: &mut Random) -> AccessChange {
        self.made += 1;
        let mut hash = [0xcd; 32];
        hash[..8].copy_from_slice(&self.made.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let name = match random.below(40) {
            0 => ["", ROOT, "a b", CERTIFIED, "ü"][random.below(5) as usize].into(),
            1 => "n".repeat(63 + random.below(3) as usize),
            2..12 => "admin".into(),
            _ => NAMES[random.below(NAMES.len() as u64) as usize].into(),
        };
        if let Some(known) = self.tokens.last().filter(|_| random.chance(6)) {
            hash = known.hash;
        }
        let lives_ms = match random.below(40) {
            0 => Some([0, -1, 999, i64::MAX][random.below(4) as usize]),
            1..12 => Some(1_000 + random.below(20_000) as i64),
            _ => None,
        };
        let mut grants = Self::grants(random, 0, 60);
        if name == "admin" && random.chance(80) {
            grants.extend("*:admin".parse());
        }
        AccessChange::CreateToken { name, hash, lives_ms, grants }
    }

    fn number(&self, random: &mut Random) -> TokenNumber {
        let is_over = random.chance(15);
        let tokens: Vec<_> = self.tokens.iter().filter(|token| token.is_over == is_over).collect();
        tokens.get(random.below(tokens.len() as u64) as usize).map_or(random.below(500), |token| token.number)
    }

    pub(super) fn grants(random: &mut Random, least: u64, percent_of_all: u64) -> Vec<Grant> {
        (0..least + random.below(3)).map(|_| Self::grant(random, percent_of_all)).collect()
    }

    /// On all or a few of the objects that there are.
    fn grant(random: &mut Random, percent_of_all: u64) -> Grant {
        if random.chance(percent_of_all) {
            return ["*:*", "*:query,call", "*/a*:*"][random.below(3) as usize].parse().expect("a right");
        }
        if random.below(80) == 0 {
            // It says no right.
            return Grant::default();
        }
        let (kind, _, methods) = TYPES[random.below(TYPES.len() as u64) as usize];
        let kind = if random.chance(55) { "*" } else { kind };
        let name = ["*", "*", "*", "a", "a*", "b", "b*", "ü*", "ab"][random.below(9) as usize];
        let mut words = Vec::new();
        for _ in 0..1 + random.below(3) {
            words.push(match random.below(14) {
                0..5 => "*",
                5..7 => "query",
                7..9 => "call",
                9 => "create",
                10 if random.chance(50) => "admin",
                _ => methods[random.below(methods.len() as u64) as usize].0,
            });
        }
        format!("{kind}/{name}:{}", words.join(",")).parse().expect("a right as it is written")
    }

    /// Those who administer learn of tokens.
    pub(super) fn heard(&mut self, command: &Command, told: &[Told]) {
        let Command::Access { change, .. } = command else { return };
        let Some(Told::Answered(_, Ok(result))) = told.last() else { return };
        let mut end = |is_it: &dyn Fn(&Token) -> bool| {
            self.tokens.iter_mut().filter(|token| is_it(token)).for_each(|token| token.is_over = true);
        };
        match change {
            AccessChange::CreateToken { name, hash, .. } => {
                let number = result["number"].as_u64().unwrap_or_default();
                self.tokens.retain(|token| token.number != number);
                if self.tokens.len() >= TOKENS_MAX {
                    self.tokens.remove(0);
                }
                let (principal, hash) = (name.clone(), *hash);
                self.tokens.push(Token { number, principal, hash, is_over: false });
            }
            AccessChange::RevokeToken { number } => end(&|token| token.number == *number),
            AccessChange::RevokePrincipal { principal } => end(&|token| token.principal == *principal),
            _ => {}
        }
    }
}
