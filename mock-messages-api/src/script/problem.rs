//! Scripts that can be read but cannot mean what they say.

use std::{collections::HashMap, fmt};

use super::{Block, Exchange, Reply, Script};
use crate::selection::can_be_followed;

/// Something in a script that cannot mean what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    /// Position of the exchange, from 1.
    pub exchange: usize,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "exchange {}: {}", self.exchange, self.message)
    }
}

impl Script {
    /// What in this script cannot mean what it says, exchange by exchange.
    #[must_use]
    pub fn problems(&self) -> Vec<ScriptProblem> {
        let mut problems: Vec<_> = self
            .exchanges
            .iter()
            .enumerate()
            .flat_map(|(index, exchange)| {
                let previous = index.checked_sub(1).map(|index| &self.exchanges[index]);
                unreachable_exchange(exchange, previous)
                    .into_iter()
                    .chain(exchange.reply.iter().flat_map(reply_problems))
                    .map(move |message| ScriptProblem {
                        exchange: index + 1,
                        message,
                    })
            })
            .collect();
        problems.extend(repeated_ids(&self.exchanges));
        problems.sort_by_key(|problem| problem.exchange);
        problems
    }
}

fn unreachable_exchange(exchange: &Exchange, previous: Option<&Exchange>) -> Option<String> {
    if exchange.user.is_some() {
        return None;
    }
    let Some(previous) = previous else {
        return Some(
            "it follows nothing, since it is the first; give it a `user` text to answer".to_owned(),
        );
    };
    (!previous.reply.iter().any(can_be_followed)).then(|| {
        "it follows a reply that leaves nothing in the history by which to know it; \
         give it a `user` text to answer, or write both as `attempts` of one exchange"
            .to_owned()
    })
}

fn reply_problems(reply: &Reply) -> Vec<String> {
    let headers = match reply {
        Reply::Message(reply) => &reply.headers,
        Reply::Status(reply) => &reply.headers,
        Reply::Events(reply) => &reply.headers,
    };
    headers
        .iter()
        .filter(|(name, value)| {
            hyper::header::HeaderName::try_from(*name).is_err()
                || hyper::header::HeaderValue::from_str(value).is_err()
        })
        .map(|(name, value)| format!("`{name}: {value}` is no valid header"))
        .collect()
}

fn repeated_ids(exchanges: &[Exchange]) -> Vec<ScriptProblem> {
    let mut first_use = HashMap::new();
    exchanges
        .iter()
        .enumerate()
        .flat_map(|(index, exchange)| {
            exchange
                .reply
                .iter()
                .flat_map(written_ids)
                .map(move |id| (index + 1, id))
        })
        .filter_map(|(exchange, id)| {
            let first = *first_use.entry(id).or_insert(exchange);
            (first != exchange).then(|| ScriptProblem {
                exchange,
                message: format!(
                    "the tool use id `{id}` is also that of exchange {first}, so what follows either cannot be told apart; \
                     send a repeated id on purpose as a `block`"
                ),
            })
        })
        .collect()
}

fn written_ids(reply: &Reply) -> Vec<&str> {
    match reply {
        Reply::Message(reply) => reply
            .content
            .iter()
            .filter_map(|block| match block {
                Block::Call(call) => call.id.as_deref(),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}
