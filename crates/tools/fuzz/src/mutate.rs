//! Changes inputs in the ways that find bugs in decoders: numbers at the ends of their ranges, lengths that are a
//! little off, pieces cut out, doubled, and taken from elsewhere. Decided by a seed.

use sim_council::random::Random;

/// Where decoders count and compare.
const NUMBERS: [i64; 20] = [
    -1,
    0,
    1,
    2,
    4,
    16,
    31,
    127,
    128,
    255,
    256,
    4096,
    32_767,
    65_535,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    i64::MAX,
    i64::MIN,
    i32::MAX as i64 - 1,
];

/// What protocols compare with.
const WORDS: [&[u8]; 19] = [
    b"/",
    b"//",
    b"/zookeeper",
    b"/zookeeper/quota",
    b"/zookeeper/quota/a/zookeeper_limits",
    b"/zookeeper/config",
    b"zookeeper_stats",
    b"count=-1,bytes=9223372036854775807;byteHardLimit=1",
    b"world",
    b"anyone",
    b"digest",
    b"auth",
    b"super",
    b"ip",
    b"255.255.255.255/33",
    b"sasl",
    b"x509",
    b"ruok",
    b"\xff\xff\xff\xff",
];

/// The longest input that is made.
const BYTES_MAX: usize = 64 << 10;

/// An input made of the seeds.
#[must_use]
pub fn input(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = pick(seeds, random).map(<[u8]>::to_vec).unwrap_or_default();
    // Mostly a few changes, now and then many.
    let changes = if random.chance(10) { 1 + random.below(64) } else { 1 + random.below(5) };
    for _ in 0..changes {
        change(&mut bytes, seeds, random);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn pick<'a>(seeds: &'a [Vec<u8>], random: &mut Random) -> Option<&'a [u8]> {
    seeds.get(random.below(seeds.len() as u64) as usize).map(Vec::as_slice)
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    match random.below(12) {
        0 | 1 => flip(bytes, random),
        2 | 3 => write_over(bytes, &[random.number() as u8], random),
        4 | 5 => write_number(bytes, random),
        6 => add_a_little(bytes, random),
        7 => {
            let word = WORDS[random.below(WORDS.len() as u64) as usize];
            if random.chance(50) { insert(bytes, word, random) } else { write_over(bytes, word, random) }
        }
        8 => drop(bytes.drain(range(bytes.len(), random))),
        9 => {
            let doubled = bytes[range(bytes.len(), random)].to_vec();
            insert(bytes, &doubled, random);
        }
        10 => {
            let other = pick(seeds, random).unwrap_or_default();
            insert(bytes, &other[range(other.len(), random)], random);
        }
        _ => bytes.truncate(below(bytes.len() + 1, random)),
    }
}

fn below(bound: usize, random: &mut Random) -> usize {
    random.below(bound as u64) as usize
}

/// Somewhere in so many bytes, mostly short.
fn range(length: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = below(length + 1, random);
    let most = if random.chance(50) { 16 } else { length };
    start..start + below((length - start).min(most) + 1, random)
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    if !bytes.is_empty() {
        let at = below(bytes.len(), random);
        bytes[at] ^= 1 << random.below(8);
    }
}

fn write_over(bytes: &mut [u8], new: &[u8], random: &mut Random) {
    let at = below(bytes.len(), random);
    bytes.iter_mut().skip(at).zip(new).for_each(|(byte, new)| *byte = *new);
}

fn insert(bytes: &mut Vec<u8>, new: &[u8], random: &mut Random) {
    let at = below(bytes.len() + 1, random);
    bytes.splice(at..at, new.iter().copied());
}

fn write_number(bytes: &mut [u8], random: &mut Random) {
    let number = match random.below(4) {
        // About as long as what follows: the lengths that are nearly right.
        0 => bytes.len() as i64 - random.below(9) as i64,
        _ => NUMBERS[below(NUMBERS.len(), random)],
    };
    let mut new = number.to_be_bytes();
    if random.chance(30) {
        new.reverse();
        write_over(bytes, &new[..1 << random.below(4)], random);
    } else {
        write_over(bytes, &new[8 - (1 << random.below(4))..], random);
    }
}

fn add_a_little(bytes: &mut [u8], random: &mut Random) {
    if !bytes.is_empty() {
        let at = below(bytes.len(), random);
        bytes[at] = bytes[at].wrapping_add(random.below(9) as u8).wrapping_sub(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_every_input() {
        let seeds = vec![b"one".to_vec(), b"another, longer".to_vec()];
        let inputs = |seed| {
            let mut random = Random::new(seed);
            (0..50).map(|_| input(&seeds, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(3), inputs(3));
        assert_ne!(inputs(3), inputs(4));
        assert!(inputs(3).iter().filter(|input| !seeds.contains(input)).count() > 25);
    }

    #[test]
    fn nothing_to_begin_with_still_gives_inputs() {
        let mut random = Random::new(1);
        assert!((0..100).any(|_| !input(&[], &mut random).is_empty()));
    }
}
