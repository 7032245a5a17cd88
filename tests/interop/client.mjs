// A client written with the official SDK: starts an agent, runs one turn, and prints as JSON what it saw.
// usage: node client.mjs SCENARIO FOLDER COMMAND [ARGUMENT...]; SCENARIO is turn, deny, cancel or files.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { PassThrough, Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { Validator } from "./validate.mjs";

const [scenario, folder, command, ...commandArguments] = process.argv.slice(2);
const child = spawn(command, commandArguments, { stdio: ["pipe", "pipe", "inherit"] });
const validator = new Validator();
const seen = { updates: {}, permissions: 0, text: "", problems: [], strays: [] };

// Calls `take` with each whole line of a stream that goes by.
function watch(take) {
  let rest = "";
  return (data) => {
    const lines = (rest + data.toString("utf8")).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.trim() !== "") take(line);
  };
}

// The buffers of the scenario "files"; each file begins with an unsaved line.
const buffers = {};
const buffer = (path) => buffers[path] ??= `unsaved\n${readFileSync(path, "utf8")}`;

const fromAgent = new PassThrough();
const toAgent = new PassThrough();
child.stdout.pipe(fromAgent);
toAgent.pipe(child.stdin);
child.stdout.on("data", watch((line) => {
  try {
    validator.received(JSON.parse(line));
  } catch {
    seen.strays.push(line.slice(0, 200));
  }
}));
toAgent.on("data", watch((line) => validator.sent(JSON.parse(line))));

let cancel = () => {};
const client = acp.client({ name: "hermes-acp-interop" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.permissions += 1;
    const wanted = scenario === "deny" ? "reject_once" : "allow_once";
    const option = params.options.find((one) => one.kind === wanted);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => ({ content: buffer(params.path) }))
  .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
    buffers[params.path] = params.content;
    return {};
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const { update } = params;
    seen.updates[update.sessionUpdate] = (seen.updates[update.sessionUpdate] ?? 0) + 1;
    if (update.sessionUpdate === "agent_message_chunk") {
      seen.text += update.content.text ?? "";
      cancel();
    }
  });

const stream = acp.ndJsonStream(Writable.toWeb(toAgent), Readable.toWeb(fromAgent));
await client.connectWith(stream, async (agent) => {
  const { agent: methods } = acp.methods;
  const started = await agent.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: scenario === "files" ? { fs: { readTextFile: true, writeTextFile: true } } : {},
    clientInfo: { name: "hermes-acp-interop", version: "0" },
  });
  seen.protocolVersion = started.protocolVersion;
  const { sessionId } = await agent.request(methods.session.new, { cwd: folder, mcpServers: [] });
  if (scenario === "cancel") {
    cancel = () => {
      cancel = () => {};
      agent.notify(methods.session.cancel, { sessionId });
    };
  }
  const answer = await agent.request(methods.session.prompt,
    { sessionId, prompt: [{ type: "text", text: "Do it" }] });
  seen.stopReason = answer.stopReason;
});
toAgent.end();
seen.exit = await new Promise((resolve) => {
  if (child.exitCode !== null) resolve(child.exitCode);
  child.on("exit", (code) => resolve(code));
  child.stdin.end();
});
seen.buffers = buffers;
seen.problems = validator.problems;
seen.checked = validator.checked;
console.log(JSON.stringify(seen));
process.exit(0);
