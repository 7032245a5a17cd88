// aimock as a model's server: reads a JSON list of fixtures from the file that the first argument names,
// prints the address, and ends with standard input.
import { readFileSync } from "node:fs";
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, chunkSize: 7, strict: true });
for (const fixture of JSON.parse(readFileSync(process.argv[2], "utf8"))) mock.addFixture(fixture);
console.log(await mock.start());
process.stdin.resume();
process.stdin.on("end", async () => {
  await mock.stop();
  process.exit(0);
});
