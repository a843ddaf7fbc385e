use proptest::prelude::*;

use super::*;

fn start() -> ReplyAssembler {
    let mut reply = ReplyAssembler::default();
    let step = reply.apply(&json!({"type": "message_start", "message":
        {"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}}));
    assert_eq!(step, ReplyStep::Started);
    reply
}

fn open(reply: &mut ReplyAssembler, block: Value) {
    reply.apply(&json!({"type": "content_block_start", "index": 0, "content_block": block}));
}

fn delta(reply: &mut ReplyAssembler, delta: Value) -> ReplyStep {
    reply.apply(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

fn close(reply: &mut ReplyAssembler) -> Value {
    match reply.apply(&json!({"type": "content_block_stop", "index": 0})) {
        ReplyStep::BlockClosed { block, .. } => block,
        other => panic!("not closed: {other:?}"),
    }
}

fn tool_input(pieces: &[&str]) -> Value {
    let mut reply = start();
    open(
        &mut reply,
        json!({"type": "tool_use", "id": "t", "name": "n", "input": {"ignored": true}}),
    );
    for piece in pieces {
        delta(
            &mut reply,
            json!({"type": "input_json_delta", "partial_json": piece}),
        );
    }
    close(&mut reply)["input"].clone()
}

#[test]
fn inputs_are_read_as_observed() {
    assert_eq!(tool_input(&[]), json!({}));
    assert_eq!(tool_input(&["", "{}"]), json!({}));
    assert_eq!(tool_input(&["{\"a\":", " 1}"]), json!({"a": 1}));
    assert_eq!(tool_input(&["[1,2]"]), json!([1, 2]));
    assert_eq!(
        tool_input(&["{\"order_id\": "]),
        json!({"__unparsedToolInput": {"raw": "{\"order_id\": ", "len": 13}})
    );
}

#[test]
fn a_thought_without_a_signature_gets_an_empty_one() {
    let mut reply = start();
    open(&mut reply, json!({"type": "thinking", "thinking": ""}));
    delta(
        &mut reply,
        json!({"type": "thinking_delta", "thinking": "hm"}),
    );
    assert_eq!(
        close(&mut reply),
        json!({"type": "thinking", "thinking": "hm", "signature": ""})
    );
}

#[test]
fn a_delta_for_no_block_makes_the_reply_unreadable() {
    let mut reply = start();
    let step = delta(&mut reply, json!({"type": "text_delta", "text": "x"}));
    assert_eq!(step, ReplyStep::Unreadable);
}

#[test]
fn usage_of_the_end_replaces_that_of_the_beginning() {
    let mut reply = start();
    reply.apply(
        &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 7, "input_tokens": 0}}),
    );
    assert_eq!(
        reply.usage(),
        &json!({"input_tokens": 10, "output_tokens": 7})
    );
    assert!(reply.is_complete());
}

proptest! {
    #[test]
    fn any_split_of_an_input_reads_the_same(
        text in "[a-zé\"\\\\ ]{0,20}",
        cuts in proptest::collection::vec(0_usize..40, 0..6),
    ) {
        let whole = json!({"text": text}).to_string();
        let mut positions: Vec<usize> = cuts
            .into_iter()
            .map(|cut| cut.min(whole.len()))
            .filter(|cut| whole.is_char_boundary(*cut))
            .collect();
        positions.extend([0, whole.len()]);
        positions.sort_unstable();
        let pieces: Vec<&str> = positions.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
        prop_assert_eq!(tool_input(&pieces), json!({"text": text}));
    }

    #[test]
    fn no_event_panics(kind in "[a-z_]{0,20}", index in 0_u64..3, text in ".{0,10}") {
        let mut reply = start();
        for kind in [kind.as_str(), "content_block_start", "content_block_delta",
            "content_block_stop", "message_delta", "message_stop", "error"] {
            reply.apply(&json!({"type": kind, "index": index, "delta": text, "content_block": text}));
        }
    }
}
