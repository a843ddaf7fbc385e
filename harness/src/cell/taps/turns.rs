//! Lets the lines of one direction through in their order.

use tokio::sync::mpsc;

use super::super::barriers::{Delayed, Passage};
use super::line::apply;
use crate::scenario::Direction;
use crate::tap::{Bytes, ToTap};

/// What waits for its turn in one direction.
pub(super) enum Waiting {
    Line {
        number: u64,
        bytes: Bytes,
        passage: Passage,
    },
    End,
}

/// Starts the one task that lets the lines of a direction through in their order. A barrier stops the
/// direction; a `hold_until` delays its own line alone.
pub(super) fn lane(
    direction: Direction,
    answers: &mpsc::UnboundedSender<ToTap>,
) -> mpsc::UnboundedSender<Waiting> {
    let (sender, mut waiting) = mpsc::unbounded_channel();
    let answers = answers.clone();
    tokio::spawn(async move {
        while let Some(next) = waiting.recv().await {
            match next {
                Waiting::Line {
                    number,
                    bytes,
                    passage,
                } => {
                    let delayed = passage.wait_for_barriers().await;
                    let free = delayed.is_free();
                    let forwarding = forward(direction, number, bytes, delayed, answers.clone());
                    if free {
                        forwarding.await;
                    } else {
                        tokio::spawn(forwarding);
                    }
                }
                Waiting::End => drop(answers.send(ToTap::End { direction })),
            }
        }
    });
    sender
}

async fn forward(
    direction: Direction,
    number: u64,
    bytes: Bytes,
    delayed: Delayed,
    answers: mpsc::UnboundedSender<ToTap>,
) {
    let faults = delayed.wait().await;
    let writes = (!faults.is_empty()).then(|| apply(bytes, faults));
    let _ = answers.send(ToTap::Forward {
        direction,
        number,
        writes,
    });
}
