// pi's own SessionManager behind a line protocol: a JSON request a line on stdin, a JSON answer a line on stdout.
// node pi_session.mjs FOLDER   where FOLDER/node_modules holds @mariozechner/pi-coding-agent.
//
// {"op":"open","file"}                what pi sees in a session file
// {"op":"write","file","steps"}       opens it and appends; steps are [verb, argument...], see VERBS
// {"op":"create","folder","cwd","steps"}  a new session in pi's own way
// {"op":"hold","file"}, {"op":"write_held","steps"}  a pi that opened the file earlier and does not look again
// {"op":"list","folder"}              pi's session list, and what `pi --continue` would take
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const home = join(process.argv[2], "node_modules", "@mariozechner", "pi-coding-agent");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const pi = await import(pathToFileURL(join(home, "dist", "index.js")).href);
const { SessionManager } = pi;

const usage = {
  input: 1200, output: 80, cacheRead: 10, cacheWrite: 5, totalTokens: 1295,
  cost: { input: 0.5, output: 0.25, cacheRead: 0.125, cacheWrite: 0.125, total: 1 },
};
const assistant = (content, stopReason = "stop", more = {}) => ({
  role: "assistant", content, api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5", usage,
  stopReason, timestamp: Date.now(), ...more,
});

// Every verb is one of SessionManager's own methods; what it returns is the new entry's id.
const VERBS = {
  user: (s, text) => s.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() }),
  assistant: (s, text) => s.appendMessage(assistant([{ type: "text", text }])),
  reply: (s, content, stopReason, more) => s.appendMessage(assistant(content, stopReason, more)),
  message: (s, message) => s.appendMessage({ ...message, timestamp: Date.now() }),
  model: (s, provider, model) => s.appendModelChange(provider, model),
  thinking: (s, level) => s.appendThinkingLevelChange(level),
  compaction: (s, summary, firstKept, tokens) => s.appendCompaction(summary, firstKept, tokens, undefined, false),
  custom: (s, type, data) => s.appendCustomEntry(type, data),
  note: (s, type, content, display) => s.appendCustomMessageEntry(type, content, display, { from: "pi" }),
  name: (s, name) => s.appendSessionInfo(name),
  label: (s, target, label) => s.appendLabelChange(target, label),
  branch: (s, target) => s.branch(target),
  branch_summary: (s, target, summary) => s.branchWithSummary(target, summary, undefined, false),
};

// "@2" as an argument is the id that step 2 (from 0) gave.
function write(session, steps) {
  const ids = [];
  for (const [verb, ...given] of steps) {
    const args = given.map((a) => (typeof a === "string" && /^@\d+$/.test(a) ? ids[Number(a.slice(1))] : a));
    ids.push(VERBS[verb](session, ...args) ?? null);
  }
  return { file: session.getSessionFile(), leaf: session.getLeafId(), ids };
}

// As pi's footer does it, without a check: a reply that lacks a piece is a TypeError there, null here.
function footerCost(replies) {
  try {
    return replies.reduce((sum, e) => sum + e.message.usage.cost.total, 0);
  } catch {
    return null;
  }
}

function seen(session) {
  const { messages, model, thinkingLevel } = session.buildSessionContext();
  const entries = session.getEntries();
  const labels = {};
  for (const { id } of entries) if (session.getLabel(id)) labels[id] = session.getLabel(id);
  const replies = entries.filter((e) => e.type === "message" && e.message.role === "assistant");
  const last = pi.getLastAssistantUsage(entries);
  return {
    leaf: session.getLeafId(), id: session.getSessionId(), name: session.getSessionName() ?? null, model, thinkingLevel,
    messages, forModel: pi.convertToLlm(messages), header: session.getHeader(), labels,
    entries: entries.length, branch: session.getBranch().map((e) => e.id), roots: session.getTree().length,
    cost: footerCost(replies),
    contextTokens: last ? pi.calculateContextTokens(last) : null,
    estimatedTokens: messages.reduce((sum, m) => sum + pi.estimateTokens(m), 0),
  };
}

let held;
const OPS = {
  open: ({ file }) => seen(SessionManager.open(file)),
  write: ({ file, steps }) => write(SessionManager.open(file), steps),
  create: ({ folder, cwd, steps }) => write(SessionManager.create(cwd, folder), steps),
  hold: ({ file }) => ({ leaf: (held = SessionManager.open(file)).getLeafId() }),
  write_held: ({ steps }) => write(held, steps),
  list: async ({ folder }) => ({
    sessions: await SessionManager.list("/", folder),
    recent: SessionManager.continueRecent("/", folder).getSessionFile(),
  }),
};

const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
say({ ready: version });
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const request = JSON.parse(line);
    say({ result: await OPS[request.op](request) });
  } catch (error) {
    say({ error: String(error?.stack ?? error) });
  }
}
