"""Asks each question of the script through the official Python client, and prints what it made of the reply."""

import json
import sys

import anthropic

base_url, *questions = sys.argv[1:]
client = anthropic.Anthropic(base_url=base_url, api_key="dummy", max_retries=0)


def parameters(question):
    return {
        "model": "claude-sonnet-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": question}],
    }


def streamed(question):
    with client.messages.stream(**parameters(question)) as stream:
        return stream.get_final_message()


def whole(question):
    return client.messages.create(**parameters(question))


def seen(ask, question):
    try:
        message = json.loads(ask(question).to_json())
    except Exception as error:
        return {"error": type(error).__name__, "status": getattr(error, "status_code", None)}
    kept = ("id", "type", "text", "thinking", "signature", "data", "name", "input")
    content = [{key: block[key] for key in kept if key in block} for block in message["content"]]
    usage = message["usage"]
    return {
        "content": content,
        "stop_reason": message["stop_reason"],
        "tokens": [usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]],
    }


json.dump(
    {question: {"streamed": seen(streamed, question), "whole": seen(whole, question)} for question in questions},
    sys.stdout,
)
