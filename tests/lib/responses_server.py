"""A scripted model that speaks OpenAI's Responses on the loopback interface.

It is model_server.py with another dialect: replies, framing and faults are the same. It is strict as the
provider is: every function_call is answered by exactly one function_call_output, sealed thoughts are
ones that this server made and are followed by what they led to, and nothing is stored.
"""
import json

from model_server import ModelServer, Reply, Request, dump, failure

KINDS = {"message", "function_call", "function_call_output", "reasoning"}


class Answer:
    """Builds the events of one answer, numbered as the provider does."""

    def __init__(self, numbered=True, padding=False):
        self.number = 0
        self.numbered = numbered
        self.padding = padding
        self.output = []
        self.parts = []
        self.usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64},
                      "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 8},
                      "total_tokens": 120}
        for kind in ("response.created", "response.in_progress"):
            self.event(kind, response=self.response("in_progress"))

    def response(self, status, **more):
        return {"id": "resp_1", "object": "response", "created_at": 1, "status": status,
                "error": None, "incomplete_details": None, "model": "fake",
                "output": list(self.output), "usage": None, **more}

    def event(self, kind, **more):
        value = {"type": kind, **more}
        if self.numbered:
            value["sequence_number"] = self.number
            self.number += 1
        if self.padding and kind.endswith(".delta"):
            value["obfuscation"] = "x" * (self.number % 16)
        self.parts.append(b"event: " + kind.encode() + b"\ndata: " + dump(value) + b"\n\n")
        return self

    def part(self, part):
        """Something that is no event: seconds to sleep, HANG, a callable …"""
        self.parts.append(part)
        return self

    def item(self, item, whole, pieces=()):
        index = len(self.output)
        place = {"output_index": index, "item_id": item["id"]}
        self.event("response.output_item.added", output_index=index,
                   item={**item, "status": "in_progress"})
        for kind, more in pieces:
            self.event(kind, **place, **more)
        self.output.append({**item, **whole, "status": "completed"})
        return self.event("response.output_item.done", output_index=index,
                          item=self.output[-1])

    def thought(self, *summaries, sealed=None):
        pieces = []
        for at, text in enumerate(summaries):
            more = {"summary_index": at}
            pieces.append(("response.reasoning_summary_part.added",
                           {**more, "part": {"type": "summary_text", "text": ""}}))
            pieces += [("response.reasoning_summary_text.delta", {**more, "delta": piece})
                       for piece in (text[:3], text[3:]) if piece]
            pieces.append(("response.reasoning_summary_text.done", {**more, "text": text}))
        whole = {"summary": [{"type": "summary_text", "text": text} for text in summaries]}
        if sealed:
            whole["encrypted_content"] = sealed
        return self.item({"id": f"rs_{len(self.output)}", "type": "reasoning", "summary": []},
                         whole, pieces)

    def text(self, *pieces, **more):
        place, text = {"content_index": 0}, "".join(pieces)
        part = {"type": "output_text", "text": text, "annotations": []}
        events = [("response.content_part.added", {**place, "part": {**part, "text": ""}}),
                  *[("response.output_text.delta", {**place, "delta": piece})
                    for piece in pieces],
                  ("response.output_text.done", {**place, "text": text}),
                  ("response.content_part.done", {**place, "part": part})]
        return self.item({"id": f"msg_{len(self.output)}", "type": "message",
                          "role": "assistant", "content": [], **more},
                         {"content": [part]}, events)

    def refuse(self, text):
        place = {"content_index": 0}
        return self.item({"id": f"msg_{len(self.output)}", "type": "message",
                          "role": "assistant", "content": []},
                         {"content": [{"type": "refusal", "refusal": text}]},
                         [("response.refusal.delta", {**place, "delta": text}),
                          ("response.refusal.done", {**place, "refusal": text})])

    def call(self, identity, name, **arguments):
        return self.raw_call(identity, name, json.dumps(arguments, ensure_ascii=False))

    def raw_call(self, identity, name, text):
        half = len(text) // 2
        events = [("response.function_call_arguments.delta", {"delta": piece})
                  for piece in (text[:half], text[half:]) if piece]
        events.append(("response.function_call_arguments.done", {"arguments": text}))
        return self.item({"id": f"fc_{len(self.output)}", "type": "function_call",
                          "call_id": identity, "name": name, "arguments": ""},
                         {"arguments": text}, events)

    def end(self, status="completed", **more):
        """The parts, with the event that ends the answer."""
        self.event(f"response.{status}",
                   response=self.response(status, usage=self.usage, **more))
        return self.parts

    def incomplete(self, reason="max_output_tokens"):
        return self.end("incomplete", incomplete_details={"reason": reason})

    def fail(self, code, message):
        return self.end("failed", error={"code": code, "message": message})


def say(*pieces):
    return Answer().text(*pieces).end()


def body(**more):
    """A whole answer that is no stream."""
    return Reply([dump(Answer().response("completed", **more))], framing="length",
                 content_type="application/json")


class ResponsesRequest(Request):
    @classmethod
    def of(cls, request):
        same = cls.__new__(cls)
        same.__dict__ = request.__dict__
        return same

    @property
    def input(self):
        return (self.json or {}).get("input", [])

    @property
    def tools(self):
        return [tool["name"] for tool in (self.json or {}).get("tools") or []]

    def kinds(self):
        return [item["type"] for item in self.input]

    def items(self, kind):
        return [item for item in self.input if item["type"] == kind]

    def texts(self, role="user"):
        return ["\n".join(part.get("text", "") for part in item["content"])
                for item in self.items("message") if item["role"] == role]

    @property
    def outputs(self):
        """call id → output, of the whole conversation"""
        return {item["call_id"]: item["output"] for item in self.items("function_call_output")}


def message_problem(item):
    wanted = "output_text" if item.get("role") == "assistant" else "input_text"
    if item.get("role") not in ("user", "assistant", "developer"):
        return f"role {item.get('role')}"
    if not item.get("content"):
        return "a message without content"
    for part in item["content"]:
        if part.get("type") not in (wanted, "input_image"):
            return f"a part {part.get('type')} in a message of {item['role']}"
        if part["type"] == "input_image" and not isinstance(part.get("image_url"), str):
            return "an image whose URL is not a string"
    return None


def input_problem(items, sealed):
    """What the strict provider objects to, None when it is content."""
    calls, outputs = [], []
    for at, item in enumerate(items):
        kind = item.get("type")
        if kind not in KINDS:
            return f"input[{at}]: type {kind}"
        if "id" in item or any(key.startswith("_") for key in item):
            return f"input[{at}]: members {sorted(item)}"
        if kind == "message":
            problem = message_problem(item)
            if problem:
                return f"input[{at}]: {problem}"
        elif kind == "function_call":
            calls.append(item["call_id"])
            if not isinstance(json.loads(item["arguments"]), dict) or len(item["call_id"]) > 64:
                return f"input[{at}]: {item}"
        elif kind == "function_call_output":
            outputs.append(item["call_id"])
            if item["call_id"] not in calls:
                return f"No tool call found for function call output {item['call_id']}"
        elif item.get("encrypted_content") not in sealed:
            return "encrypted"
        elif at + 1 == len(items) or items[at + 1]["type"] not in (
                "reasoning", "message", "function_call"):
            return f"Item 'reasoning' at {at} was provided without its required following item"
    if len(set(outputs)) != len(outputs) or len(set(calls)) != len(calls):
        return f"calls {calls} are answered by {outputs}"
    missing = [call for call in calls if call not in outputs]
    return f"No tool output found for function call {missing[0]}" if missing else None


class ResponsesServer(ModelServer):
    def __init__(self, *script, default=None, **options):
        super().__init__(*script, default=default if default is not None else say("ok"),
                         **options)
        self.sealed = set()  # thoughts that this server takes back

    def rule_problem(self, request):
        asked = request.json
        if request.path.partition("?")[0] != "/v1/responses":
            return f"the path {request.path}"
        if asked.get("store") is not False or asked.get("stream") is not True:
            return "store or stream"
        for tool in asked.get("tools") or []:
            if tool.get("type") != "function" or "function" in tool or \
                    tool.get("strict") is not False:
                return f"tool {tool.get('name')}"
        return input_problem(request.input, self.sealed) if self.strict else None

    def choose(self, request):
        if request.method == "GET" or not isinstance((request.json or {}).get("input"), list):
            return super().choose(request)
        request = ResponsesRequest.of(request)
        problem = self.rule_problem(request)
        if problem == "encrypted":
            return failure(400, "The encrypted content gAAA could not be verified.",
                           type="invalid_request_error", code="invalid_encrypted_content")
        if problem:
            if not self.allow_errors:
                self.errors.append(problem)
            return failure(400, problem, type="invalid_request_error")
        with self.lock:
            self.requests.append(request)
            self.lock.notify_all()
            reply = self.respond(request) if self.respond else None
            if reply is not None:
                return reply
            return self.script.pop(0) if self.script else self.default
