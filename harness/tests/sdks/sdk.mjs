// The TypeScript SDK drives a CLI through its public doors; one case by name, an assertion for each thing it hands over.

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.OFFICIAL_CLIENTS_NODE, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { query, tool, createSdkMcpServer, InMemorySessionStore, getSessionMessages } = await load(
  "@anthropic-ai/claude-agent-sdk",
);
const { z } = await load("zod");

const PAY = "mcp__shop__pay";

// A server with one write, which counts what was paid.
function shop() {
  const paid = [];
  const pay = tool("pay", "Pays an order", { order: z.string() }, async ({ order }) => {
    paid.push(order);
    return { content: [{ type: "text", text: `paid ${order}` }] };
  });
  return { paid, mcpServers: { shop: createSdkMcpServer({ name: "shop", tools: [pay] }) } };
}

const options = (more = {}) => ({
  pathToClaudeCodeExecutable: process.env.CLI,
  model: "claude-sonnet-5",
  cwd: process.cwd(),
  // With all its tools the CLI would hide those of servers behind a search.
  tools: ["Bash", "Read"],
  ...more,
});

async function all(messages) {
  const collected = [];
  for await (const message of messages) collected.push(message);
  return collected;
}

const textOf = (messages) =>
  messages
    .filter((message) => message.type === "assistant")
    .flatMap((message) => message.message.content)
    .filter((block) => block.type === "text")
    .map((block) => block.text);

function resultOf(messages) {
  const results = messages.filter((message) => message.type === "result");
  assert.equal(results.length, 1, JSON.stringify(results));
  return results[0];
}

// A conversation: each prompt goes out when the caller asks for it.
function conversation(chosen) {
  const prompts = [];
  let wake = () => {};
  let over = false;
  async function* input() {
    while (true) {
      while (prompts.length > 0) yield prompts.shift();
      if (over) return;
      await new Promise((resolve) => (wake = resolve));
    }
  }
  const messages = query({ prompt: input(), options: chosen });
  const say = (text) => {
    prompts.push({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null });
    wake();
  };
  const untilResult = async (onMessage = async () => {}) => {
    const collected = [];
    while (true) {
      const { value, done } = await messages.next();
      assert.ok(!done, "the conversation ended without a result");
      collected.push(value);
      await onMessage(value);
      if (value.type === "result") return collected;
    }
  };
  const end = async () => {
    over = true;
    wake();
    await all(messages);
  };
  const ask = async (text) => {
    say(text);
    return untilResult();
  };
  return { messages, say, ask, untilResult, end };
}

const decision = (permissionDecision, more = {}) => ({
  hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...more },
});

const cases = {
  async query() {
    const messages = await all(query({ prompt: "hello", options: options() }));
    const first = messages.find((message) => message.type === "system" && message.subtype === "init");
    assert.equal(first.model, "claude-sonnet-5");
    assert.deepEqual(textOf(messages), ["Hello there."]);
    const result = resultOf(messages);
    assert.deepEqual([result.subtype, result.is_error, result.num_turns], ["success", false, 1]);
    assert.equal(result.result, "Hello there.");
    assert.equal(result.session_id, first.session_id);
    assert.ok(result.usage.output_tokens > 0 && result.total_cost_usd > 0);
  },

  async client() {
    const talk = conversation(options());
    const one = await talk.ask("hello");
    const two = await talk.ask("and again");
    await talk.end();
    assert.deepEqual([textOf(one), textOf(two)], [["Hello there."], ["Again."]]);
    assert.equal(resultOf(one).session_id, resultOf(two).session_id);
    assert.ok(resultOf(two).total_cost_usd > resultOf(one).total_cost_usd);
  },

  async tool() {
    const { paid, mcpServers } = shop();
    const talk = conversation(options({ mcpServers, allowedTools: [PAY] }));
    const messages = await talk.ask("pay order 7");
    await talk.end();
    assert.deepEqual(paid, ["7"]);
    assert.deepEqual(textOf(messages), ["Paying.", "Paid."]);
    assert.equal(resultOf(messages).num_turns, 2);
  },

  async hooks() {
    const { paid, mcpServers } = shop();
    const seen = [];
    const note = async (data) => {
      seen.push(data.hook_event_name);
      return {};
    };
    const gate = async (data, toolUseId) => {
      seen.push("PreToolUse");
      assert.ok(data.tool_name === PAY && toolUseId);
      return data.tool_input.order === "2"
        ? decision("allow", { updatedInput: { order: "two" } })
        : decision("deny", { permissionDecisionReason: "not this one" });
    };
    const hooks = { PreToolUse: [{ matcher: PAY, hooks: [gate] }] };
    for (const event of ["UserPromptSubmit", "PostToolUse", "Stop"]) hooks[event] = [{ hooks: [note] }];
    const talk = conversation(options({ mcpServers, hooks }));
    const messages = await talk.ask("pay two orders");
    await talk.end();
    assert.deepEqual(paid, ["two"]);
    assert.deepEqual(seen, ["UserPromptSubmit", "PreToolUse", "PreToolUse", "PostToolUse", "Stop"]);
    const denied = resultOf(messages).permission_denials.map((denial) => denial.tool_input);
    assert.deepEqual(denied, [{ order: "1" }]);
  },

  async permissions() {
    const { paid, mcpServers } = shop();
    const canUseTool = async (name, given, { toolUseID }) => {
      assert.ok(name === PAY && toolUseID);
      if (given.order === "1") return { behavior: "allow", updatedInput: { order: "one" } };
      if (given.order === "2") return { behavior: "deny", message: "not today" };
      return { behavior: "deny", message: "enough", interrupt: true };
    };
    const talk = conversation(options({ mcpServers, canUseTool }));
    const messages = await talk.ask("pay three orders");
    assert.deepEqual(paid, ["one"]);
    const result = resultOf(messages);
    assert.deepEqual([result.subtype, result.is_error], ["error_during_execution", true]);
    await talk.end().catch(() => {});
  },

  async deferral() {
    const { paid, mcpServers } = shop();
    let wanted = "defer";
    const hooks = { PreToolUse: [{ hooks: [async () => decision(wanted)] }] };
    const first = conversation(options({ mcpServers, hooks }));
    const parked = resultOf(await first.ask("pay order 7"));
    await first.end();
    assert.deepEqual([parked.stop_reason, parked.is_error], ["tool_deferred", false]);
    assert.deepEqual([parked.deferred_tool_use.name, parked.deferred_tool_use.input], [PAY, { order: "7" }]);
    assert.deepEqual(paid, []);
    // This SDK names its servers only once the CLI has looked for the tool: the call stays parked.
    wanted = "allow";
    const second = conversation(options({ mcpServers, hooks, resume: parked.session_id }));
    const again = resultOf(await second.untilResult());
    assert.equal(again.terminal_reason, "tool_deferred_unavailable");
    assert.equal(again.deferred_tool_use.id, parked.deferred_tool_use.id);
    assert.deepEqual(paid, []);
    await second.end().catch(() => {});
  },

  async store() {
    const store = new InMemorySessionStore();
    const first = conversation(options({ sessionStore: store }));
    const one = resultOf(await first.ask("hello"));
    await first.end();
    const stored = await getSessionMessages(one.session_id, { sessionStore: store, dir: process.cwd() });
    assert.deepEqual(stored.map((message) => message.type), ["user", "assistant"]);
    // Nothing of the first process's disk is left to the second.
    process.env.CLAUDE_CONFIG_DIR = mkdtempSync(join(dirname(process.env.CLAUDE_CONFIG_DIR), "config-"));
    const second = conversation(options({ sessionStore: store, resume: one.session_id }));
    const two = await second.ask("and again");
    await second.end();
    assert.deepEqual(textOf(two), ["Again."]);
    assert.equal(resultOf(two).session_id, one.session_id);
  },

  async fork() {
    const one = resultOf(await all(query({ prompt: "hello", options: options() })));
    const chosen = options({ resume: one.session_id, forkSession: true });
    const two = await all(query({ prompt: "and again", options: chosen }));
    assert.deepEqual(textOf(two), ["Again."]);
    assert.notEqual(resultOf(two).session_id, one.session_id);
  },

  async partial() {
    const chosen = options({ includePartialMessages: true });
    const messages = await all(query({ prompt: "hello", options: chosen }));
    const events = messages.filter((message) => message.type === "stream_event").map(({ event }) => event);
    const deltas = events.filter(({ type }) => type === "content_block_delta").map(({ delta }) => delta.text);
    assert.equal(deltas.join(""), "Hello there.");
    assert.ok(deltas.length > 3);
    assert.deepEqual([events[0].type, events.at(-1).type], ["message_start", "message_stop"]);
  },

  async interrupt() {
    const talk = conversation(options({ includePartialMessages: true }));
    talk.say("hello");
    const messages = await talk.untilResult(async (message) => {
      if (message.type === "stream_event" && message.event.type === "content_block_delta")
        await talk.messages.interrupt();
    });
    assert.equal(resultOf(messages).subtype, "error_during_execution");
    assert.deepEqual(textOf(await talk.ask("and again")), ["Again."]);
    await talk.end();
  },

  async controls() {
    const { paid, mcpServers } = shop();
    const talk = conversation(options({ mcpServers, allowedTools: [PAY] }));
    const information = await talk.messages.initializationResult();
    assert.ok(Array.isArray(information.commands) && information.output_style);
    await talk.messages.setPermissionMode("plan");
    const messages = await talk.ask("pay order 7");
    const status = await talk.messages.mcpServerStatus();
    assert.deepEqual(status.map(({ name, status }) => [name, status]), [["shop", "connected"]]);
    await talk.end();
    assert.deepEqual(paid, []);
    assert.equal(resultOf(messages).permission_denials.length, 1);
  },

  async limits() {
    const { paid, mcpServers } = shop();
    const talk = conversation(options({ mcpServers, allowedTools: [PAY], maxTurns: 1 }));
    const result = resultOf(await talk.ask("pay order 7"));
    assert.deepEqual([result.subtype, result.is_error], ["error_max_turns", true]);
    assert.deepEqual(paid, ["7"]);
    await talk.end().catch(() => {});
  },

  async errors() {
    const messages = [];
    const read = async (chosen) => {
      for await (const message of query({ prompt: "hello", options: chosen })) messages.push(message);
    };
    await read(options()).catch((error) => assert.match(String(error), /Invalid API key|exited with code 1/));
    const result = resultOf(messages);
    assert.ok(result.is_error && result.result.includes("Invalid API key"));
    assert.equal(messages.find(({ type }) => type === "assistant").error, "authentication_failed");
    const missing = options({ resume: "0d1e2f3a-0000-4000-8000-000000000000" });
    // A CLI that ends before it has read anything breaks the SDK's connection to it.
    await assert.rejects(read(missing), /No conversation found|exited with code 1|EPIPE|write/);
    const nowhere = options({ pathToClaudeCodeExecutable: "/nonexistent/claude" });
    await assert.rejects(read(nowhere), /not found/);
  },
};

const expired = setTimeout(() => {
  console.error("the case did not end");
  process.exit(1);
}, 60_000);
await cases[process.argv[2]]();
clearTimeout(expired);
