// Checks JSON-RPC messages with the SDK's own zod schemas, and reports what those only tolerate: the
// schemas replace malformed optional values in silence, so that a client would lose them.
// As a program: reads lines of both directions (as acpx --format json prints them) from standard
// input, prints one line per problem and exits with 1 when there was one.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const sdk = join(here, "node_modules", "@agentclientprotocol", "sdk");
const zod = await import(join(sdk, "dist", "v1", "schema", "zod.gen.js"));
const schema = JSON.parse(readFileSync(join(sdk, "schema", "v1", "schema.json"), "utf8"));

// method -> { Request, Response, Notification } -> name of the definition
const byMethod = new Map();
for (const [name, definition] of Object.entries(schema.$defs)) {
  const kind = /(Request|Response|Notification)$/.exec(name)?.[1];
  if (definition["x-method"] && kind) {
    byMethod.set(definition["x-method"], { ...byMethod.get(definition["x-method"]), [kind]: name });
  }
}

// Announced although the stable schemas do not have it yet: a client that does not know it loses
// nothing, and one that forks sessions looks for it there (the unstable schema of session/fork).
const unstable = new Set(["agentCapabilities.sessionCapabilities.fork"]);

// Paths of members that are in `before` and not in `after`; _meta may hold anything.
function lost(before, after, path = "") {
  if (Array.isArray(before)) {
    if (!Array.isArray(after) || before.length !== after.length) return [`${path}[]`];
    return before.flatMap((item, index) => lost(item, after[index], `${path}[${index}].`));
  }
  if (before === null || typeof before !== "object") return [];
  return Object.entries(before).flatMap(([key, value]) => {
    if (key === "_meta" || value === undefined) return [];
    if (after === null || typeof after !== "object" || after[key] === undefined) return [path + key];
    return lost(value, after[key], `${path}${key}.`);
  });
}

export class Validator {
  problems = [];
  checked = 0;
  #open = new Map();

  // `value` against the definition `name`.
  #check(name, value, what) {
    const rule = name && zod[`z${name}`];
    if (!rule) {
      if (name === undefined && !what.startsWith("_")) this.problems.push(`${what}: unknown method`);
      return;
    }
    this.checked += 1;
    const outcome = rule.safeParse(value);
    if (!outcome.success) {
      this.problems.push(`${what}: rejected: ${JSON.stringify(outcome.error.issues.slice(0, 3))}`);
      return;
    }
    const gone = lost(value, outcome.data).filter((path) => !unstable.has(path));
    if (gone.length > 0) this.problems.push(`${what}: dropped: ${gone.join(", ")}`);
  }

  // A request that was sent by the client, so that the response can be told. In a log of both
  // directions two requests may be open with the same id, one of each side.
  sent(message) {
    if (!message.method || message.id === undefined) return;
    this.#open.set(message.id, [...(this.#open.get(message.id) ?? []), message.method]);
  }

  // The open request that a result answers: of two, the one whose schema it fits.
  #answered(id, result) {
    const methods = this.#open.get(id) ?? [];
    const fits = (method) => zod[`z${byMethod.get(method)?.Response}`]?.safeParse(result).success;
    const index = Math.max(0, methods.findIndex(fits));
    return methods.splice(index, 1)[0];
  }

  // A message of the agent.
  received(message) {
    if (message.jsonrpc !== "2.0") this.problems.push(`jsonrpc: ${JSON.stringify(message)}`);
    if (message.method) {
      const kind = message.id === undefined ? "Notification" : "Request";
      this.#check(byMethod.get(message.method)?.[kind], message.params,
        `${message.method} ${message.params?.update?.sessionUpdate ?? ""}`);
    } else if (message.result !== undefined) {
      const method = this.#answered(message.id, message.result);
      if (method) this.#check(byMethod.get(method)?.Response, message.result, `result of ${method}`);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const validator = new Validator();
  for await (const line of createInterface({ input: process.stdin })) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      continue;
    }
    if (message.jsonrpc !== "2.0") continue;
    // Both directions are in the log: requests are remembered, everything with a schema is checked.
    validator.sent(message);
    validator.received(message);
  }
  for (const problem of validator.problems) console.log(problem);
  console.log(`${validator.checked} messages checked, ${validator.problems.length} problems`);
  process.exit(validator.problems.length > 0 || validator.checked === 0 ? 1 : 0);
}
