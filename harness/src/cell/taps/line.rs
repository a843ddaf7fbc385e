//! A line as an observation, and what faults make of it.

use serde_json::Value;

use crate::scenario::{Direction, FaultEffect};
use crate::tap::Bytes;
use crate::trace::Observation;

/// A line as an observation: its names as fields, the whole as payload.
pub(super) fn frame(observation: Observation, direction: Direction, bytes: &Bytes) -> Observation {
    let text = bytes.lossy();
    let observation = observation.field("direction", direction.wire_name());
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        return observation
            .field("type", "not_json")
            .payload(Value::String(text));
    };
    let names = [
        ("type", "/type"),
        ("subtype", "/subtype"),
        ("subtype", "/request/subtype"),
        ("subtype", "/response/subtype"),
        ("method", "/request/message/method"),
        ("request_id", "/request_id"),
        ("request_id", "/response/request_id"),
    ];
    let named = names
        .iter()
        .fold(observation, |observation, (name, pointer)| {
            match value.pointer(pointer).and_then(Value::as_str) {
                Some(found) => observation.field(name, found),
                None => observation,
            }
        });
    named.payload(value)
}

/// What is written in the place of a line.
pub(super) fn apply(bytes: Bytes, faults: Vec<FaultEffect>) -> Vec<Bytes> {
    faults
        .into_iter()
        .fold(vec![bytes], |writes, fault| match fault {
            FaultEffect::Drop => Vec::new(),
            FaultEffect::Duplicate { times } => writes
                .iter()
                .flat_map(|write| std::iter::repeat_n(write.clone(), times))
                .collect(),
            FaultEffect::Inject { lines } => lines
                .into_iter()
                .map(|line| Bytes::new(format!("{line}\n").into_bytes()))
                .chain(writes)
                .collect(),
            FaultEffect::Split { after } => writes
                .into_iter()
                .flat_map(|write| split(write, after))
                .collect(),
            FaultEffect::Argv { .. }
            | FaultEffect::HoldUntil(_)
            | FaultEffect::Reset
            | FaultEffect::Truncate => writes,
        })
}

fn split(bytes: Bytes, after: usize) -> [Bytes; 2] {
    let mut bytes = bytes.into_bytes();
    let rest = bytes.split_off(after.min(bytes.len()));
    [Bytes::new(bytes), Bytes::new(rest)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_split_keeps_every_byte(bytes in proptest::collection::vec(any::<u8>(), 0..32), after in 0usize..40) {
            let [head, tail] = split(Bytes::new(bytes.clone()), after);
            prop_assert_eq!([head.into_bytes(), tail.into_bytes()].concat(), bytes);
        }
    }
}
