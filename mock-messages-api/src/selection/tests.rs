use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    reply::RenderedMessage,
    request::validate_body,
    script::{Block, MessageReply},
};

/// Any JSON of moderate size, with the keys of a request where it has keys.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        prop::sample::select(vec![
            "user",
            "assistant",
            "system",
            "text",
            "tool_use",
            "tool_result",
            "toolu_1_1",
            "hello",
            "",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let key = prop::sample::select(vec![
            "model",
            "max_tokens",
            "messages",
            "role",
            "content",
            "type",
            "text",
            "id",
            "tool_use_id",
            "name",
            "tools",
            "system",
            "stream",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|entries| {
                Value::Object(
                    entries
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

/// Conversations: for each, the number of blocks of every reply, `true` where the block is a call.
fn conversations() -> impl Strategy<Value = Vec<Vec<Vec<bool>>>> {
    let reply = prop::collection::vec(any::<bool>(), 1..4);
    let conversation = prop::collection::vec(reply, 1..4);
    prop::collection::vec(conversation, 1..4)
}

fn script_of(conversations: &[Vec<Vec<bool>>]) -> Script {
    let mut script = Script::new();
    for (number, replies) in conversations.iter().enumerate() {
        for (step, blocks) in replies.iter().enumerate() {
            let position = script.exchanges().len();
            let content: Vec<_> = blocks
                .iter()
                .enumerate()
                .map(|(block, is_call)| {
                    if *is_call {
                        Block::call("look", json!({}))
                    } else {
                        Block::text(format!("answer {position}.{block}"))
                    }
                })
                .collect();
            script = script.exchange(match step {
                0 => Exchange::user(format!("question {number}"), content),
                _ => Exchange::follows(content),
            });
        }
    }
    script
}

fn whole_reply(script: &Script, choice: Choice, history: &History<'_>) -> Value {
    let identity = ReplyIdentity::new(choice.exchange, 0, choice.occurrence);
    match script.exchanges()[choice.exchange].reply.attempt(0) {
        Reply::Message(reply) => reply_content(reply, identity, history),
        other => panic!("a message, not {other:?}"),
    }
}

fn reply_content(reply: &MessageReply, identity: ReplyIdentity, history: &History<'_>) -> Value {
    RenderedMessage::new(reply, identity, history).whole()["content"].clone()
}

/// What a client adds after a reply: the results of its calls, or a word to make it go on.
fn client_turn(content: &Value) -> Value {
    let results: Vec<_> = content
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .map(|block| json!({"type": "tool_result", "tool_use_id": block["id"], "content": "seen"}))
        .collect();
    if results.is_empty() {
        json!({"role": "user", "content": "go on"})
    } else {
        json!({"role": "user", "content": results})
    }
}

proptest! {
    #[test]
    fn any_request_is_chosen_for_refused_or_explained(body in json_value()) {
        let script = script_of(&[vec![vec![true], vec![false]]]);
        let history = History::new(&body);
        // Total: neither panics, whatever the body is.
        let _ = validate_body(&body, true);
        if let Err(explanation) = choose(&script, &history) {
            prop_assert!(explanation.contains("nearest: exchange"));
        }
    }

    #[test]
    fn a_client_is_led_through_every_conversation_twice(conversations in conversations()) {
        let script = script_of(&conversations);
        prop_assert_eq!(script.problems(), vec![]);
        let mut messages: Vec<Value> = Vec::new();
        for round in 0..2 {
            let mut position = 0;
            for (number, replies) in conversations.iter().enumerate() {
                messages.push(json!({"role": "user", "content": format!("question {number}")}));
                for _ in replies {
                    let body = json!({"model": "m", "max_tokens": 1, "messages": messages.clone()});
                    prop_assert_eq!(validate_body(&body, true), Ok(()));
                    let history = History::new(&body);
                    let choice = choose(&script, &history);
                    let expected = Choice { exchange: position, occurrence: round };
                    prop_assert_eq!(choice, Ok(expected));
                    let content = whole_reply(&script, expected, &history);
                    messages.push(json!({"role": "assistant", "content": content.clone()}));
                    messages.push(client_turn(&content));
                    position += 1;
                }
            }
        }
    }
}
