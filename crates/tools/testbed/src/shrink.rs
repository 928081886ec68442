//! Makes a failing sequence shorter: drops runs of its parts, long ones first, as long as what is left still fails.

/// Which of `parts` are enough for `fails`, which is asked at most `attempts` times.
///
/// # Errors
/// Those of `fails`.
pub fn shrink<E>(
    parts: Vec<usize>,
    attempts: usize,
    mut fails: impl FnMut(&[usize]) -> Result<bool, E>,
) -> Result<Vec<usize>, E> {
    let (mut keep, mut left) = (parts, attempts);
    let mut size = keep.len().div_ceil(2);
    while size > 0 && left > 0 {
        let mut start = 0;
        while start < keep.len() && left > 0 {
            left -= 1;
            let mut candidate = keep.clone();
            candidate.drain(start..(start + size).min(keep.len()));
            if fails(&candidate)? {
                keep = candidate;
            } else {
                start += size;
            }
        }
        size /= 2;
    }
    Ok(keep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parts_that_matter_are_left() {
        let needs = |parts: &[usize]| Ok::<bool, ()>(parts.contains(&3) && parts.contains(&11));
        assert_eq!(shrink((0..20).collect(), 100, needs), Ok(vec![3, 11]));
    }

    #[test]
    fn attempts_are_bounded_and_an_error_ends_it() {
        let mut asked = 0;
        let all: Vec<usize> = (0..64).collect();
        let never = |_: &[usize]| {
            asked += 1;
            Ok::<bool, ()>(false)
        };
        assert_eq!(shrink(all.clone(), 10, never), Ok(all));
        assert_eq!(asked, 10);
        assert_eq!(shrink(vec![1], 10, |_| Err("gone")), Err("gone"));
    }
}
