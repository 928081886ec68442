//! What a client is told that it may do, where it asks: a bit for each operation of access control lists (KIP-430).

/// With a topic, if everybody may do everything: read, write, create, delete, alter, describe, and see and change its
/// configurations.
pub(crate) const ALL_OF_TOPIC: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);
/// With the cluster: create, alter, describe, act for it, see and change configurations, and write with a producer id.
pub(crate) const ALL_OF_CLUSTER: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);

const fn bits(operations: &[u32]) -> i32 {
    let mut bits = 0;
    let mut rest = operations;
    while let [first, behind @ ..] = rest {
        bits |= 1 << *first;
        rest = behind;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_kafka_without_an_authorizer() {
        assert_eq!((ALL_OF_TOPIC, ALL_OF_CLUSTER), (3_576, 8_096));
    }
}
