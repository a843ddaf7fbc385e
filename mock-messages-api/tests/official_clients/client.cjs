// Asks each question of the script through the official TypeScript client, and prints what it made of the reply.

const { createRequire } = require('node:module');
const path = require('node:path');

const [modules, baseURL, ...questions] = process.argv.slice(2);
const { Anthropic } = createRequire(path.join(path.resolve(modules), 'client.cjs'))('@anthropic-ai/sdk');
const client = new Anthropic({ baseURL, apiKey: 'dummy', maxRetries: 0 });

const parameters = (question) => ({
  model: 'claude-sonnet-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: question }],
});
const streamed = (question) => client.messages.stream(parameters(question)).finalMessage();
const whole = (question) => client.messages.create(parameters(question));

const kept = ['id', 'type', 'text', 'thinking', 'signature', 'data', 'name', 'input'];
const keep = (block) => Object.fromEntries(kept.filter((key) => key in block).map((key) => [key, block[key]]));

async function seen(ask, question) {
  try {
    const { content, stop_reason, usage } = await ask(question);
    const tokens = [usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens];
    return { content: content.map(keep), stop_reason, tokens };
  } catch (error) {
    return { error: error.constructor.name, status: error.status ?? null };
  }
}

(async () => {
  const answers = {};
  for (const question of questions) {
    answers[question] = { streamed: await seen(streamed, question), whole: await seen(whole, question) };
  }
  process.stdout.write(JSON.stringify(answers));
})();
