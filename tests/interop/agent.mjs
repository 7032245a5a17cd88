// An agent written with the official SDK, for clients of ours: a thought, a card with a diff that asks
// for permission, text, and an edit of notes.txt in the session's folder when it is allowed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const sessions = new Map();
let counter = 0;

function text(value) {
  return { type: "text", text: value };
}

async function runTurn({ params, client }) {
  const { sessionId } = params;
  const path = join(sessions.get(sessionId), "notes.txt");
  const send = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });
  await send({ sessionUpdate: "agent_thought_chunk", content: text("Thinking it over.") });
  const card = {
    toolCallId: `call-${++counter}`, title: "Edit notes.txt", kind: "edit", status: "pending",
    content: [{ type: "diff", path, oldText: "status: draft\n", newText: "status: final\n" }],
  };
  await send({ sessionUpdate: "tool_call", ...card });
  const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
    sessionId, toolCall: card,
    options: [{ optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" }],
  });
  const allowed = outcome.outcome === "selected" && outcome.optionId === "yes";
  if (allowed) writeFileSync(path, "status: final\n");
  await send({ sessionUpdate: "tool_call_update", toolCallId: card.toolCallId,
    status: allowed ? "completed" : "failed" });
  await send({ sessionUpdate: "agent_message_chunk",
    content: text(allowed ? "The notes are final." : "I left the notes alone.") });
  return { stopReason: "end_turn" };
}

acp.agent({ name: "sdk-agent" })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {}, authMethods: [],
    agentInfo: { name: "sdk-agent", version: "0" },
  }))
  .onRequest(acp.methods.agent.session.new, ({ params }) => {
    const sessionId = `session-${++counter}`;
    sessions.set(sessionId, params.cwd);
    return { sessionId };
  })
  .onRequest(acp.methods.agent.session.prompt, runTurn)
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
