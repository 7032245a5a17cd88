"""A scripted model that speaks Anthropic's Messages API, as strict about what it is sent as the real one.

Replies are as in model_server; `answer()` makes one of content blocks. The server refuses roles out of
turn, calls and results that do not pair, blank text, thinking that it has not written so, in that place
and with that signature, more than four cache marks, and requests without the headers of the API.
"""
import hashlib
import json
import re

from model_server import ModelServer, Reply, dump

counter = iter(range(1, 1 << 30))
issued = []  # contents with thinking, as lists of blocks
BLANK = re.compile(r"\s*\Z")
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30,
         "output_tokens": 1}


def event(kind, **members):
    return f"event: {kind}\ndata: ".encode() + dump({"type": kind, **members}) + b"\n\n"


def sign(content):
    return hashlib.sha256(content.encode()).hexdigest() + "=="


def text(*pieces):
    return {"type": "text", "text": "".join(pieces), "pieces": pieces}


def thinking(*pieces):
    whole = "".join(pieces)
    return {"type": "thinking", "thinking": whole, "signature": sign(whole), "pieces": pieces}


def redacted(data="EncryptedThought"):
    return {"type": "redacted_thinking", "data": data}


def use(name, **arguments):
    return {"type": "tool_use", "id": f"toolu_{next(counter):06}", "name": name,
            "input": arguments}


def run(command):
    return use("terminal", command=command)


def plain(block):
    return {key: value for key, value in block.items() if key not in ("pieces", "cache_control")}


def begin(usage=None):
    return event("message_start", message={
        "id": f"msg_{next(counter)}", "type": "message", "role": "assistant", "model": "claude-fake",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage or USAGE})


def delta(index, kind, **members):
    return event("content_block_delta", index=index, delta={"type": kind, **members})


def block_events(index, block):
    kind = block["type"]
    start = {"text": {"type": kind, "text": ""},
             "thinking": {"type": kind, "thinking": "", "signature": ""},
             "tool_use": {**plain(block), "input": {}}}.get(kind, block)
    parts = [event("content_block_start", index=index, content_block=start)]
    if kind == "text":
        parts += [delta(index, "text_delta", text=piece) for piece in block["pieces"]]
    elif kind == "thinking":
        parts += [delta(index, "thinking_delta", thinking=piece) for piece in block["pieces"]]
        half = len(block["signature"]) // 2
        parts += [delta(index, "signature_delta", signature=block["signature"][:half]),
                  delta(index, "signature_delta", signature=block["signature"][half:])]
    elif kind == "tool_use":
        whole = json.dumps(block["input"], ensure_ascii=False)
        parts += [delta(index, "input_json_delta", partial_json=piece)
                  for piece in ("", whole[:7], whole[7:])]
    return [*parts, event("content_block_stop", index=index)]


def end(stop="end_turn", **usage):
    return [event("message_delta", delta={"stop_reason": stop, "stop_sequence": None},
                  usage={"output_tokens": 42, **usage}), event("message_stop")]


def answer(*blocks, stop=None):
    """A whole answer of content blocks."""
    if any("thinking" in block["type"] for block in blocks):
        issued.append([plain(block) for block in blocks])
    if stop is None:
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    parts = [begin(), event("ping")]
    for index, block in enumerate(blocks):
        parts += block_events(index, block)
    return [*parts, *end(stop)]


def say(*pieces, stop="end_turn"):
    return answer(text(*pieces), stop=stop)


def failure(status, kind, message, headers=None):
    return Reply([dump({"type": "error", "error": {"type": kind, "message": message},
                        "request_id": "req_1"})], status, headers, "length", "application/json")


def block_problem(role, block):
    kind = block.get("type")
    allowed = {"user": {"text", "image", "tool_result"},
               "assistant": {"text", "thinking", "redacted_thinking", "tool_use"}}[role]
    if kind not in allowed:
        return f"a block of type {kind} in a message of the {role}"
    if kind == "text" and BLANK.match(block["text"]):
        return "text content blocks must contain non-whitespace text"
    if kind == "text" and not set(block) <= {"type", "text", "cache_control"}:
        return f"extra inputs: {sorted(block)}"
    if kind == "image" and block["source"]["type"] == "base64" and \
            block["source"]["media_type"] not in ("image/png", "image/jpeg", "image/gif",
                                                  "image/webp"):
        return "media_type"
    if kind == "tool_use" and (not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]) or
                               not isinstance(block["input"], dict)):
        return f"tool_use {block['id']!r} with input {block['input']!r}"
    if "thinking" in kind and "cache_control" in block:
        return "cache_control on thinking"
    return None


def pair_problem(content, following):
    """Calls are answered at the head of the next message, each once."""
    wanted = [block["id"] for block in content if block["type"] == "tool_use"]
    results = [block["type"] == "tool_result" for block in following]
    given = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
    if sorted(wanted) != sorted(given) or len(set(wanted)) != len(wanted):
        return f"tool_use {wanted} is answered by {given}"
    return "tool_result after something else" if sorted(results, reverse=True) != results else None


def history_problem(messages):
    seen = set()
    for index, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role != ("user", "assistant")[index % 2]:
            return f"messages.{index}: role {role} out of turn"
        if not isinstance(content, list) or not content:
            return f"messages.{index}: no content"
        problem = next(filter(None, (block_problem(role, block) for block in content)), None)
        if role == "assistant":
            following = messages[index + 1]["content"] if index + 1 < len(messages) else []
            problem = problem or pair_problem(content, following)
            if any("thinking" in block["type"] for block in content) and \
                    [plain(block) for block in content] not in issued:
                problem = "Invalid `signature` in `thinking` block"
            ids = [block["id"] for block in content if block["type"] == "tool_use"]
            if seen & set(ids):
                problem = "tool_use ids must be unique"
            seen |= set(ids)
        elif index == 0 and content[0]["type"] == "tool_result":
            problem = "tool_result without a call"
        if problem:
            return f"messages.{index}: {problem}"
    return "the last message is the assistant's" if messages[-1]["role"] != "user" else None


def marks(value):
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks, value.values()))
    return sum(map(marks, value)) if isinstance(value, list) else 0


def request_problem(request):
    body = request.json
    for name in ("anthropic-version", "content-type"):
        if name not in request.headers:
            return f"header {name} is missing"
    if "x-api-key" not in request.headers and "authorization" not in request.headers:
        return "no key"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        return "max_tokens: field required"
    wanted = body.get("thinking", {})
    if wanted.get("type") == "enabled" and not 1024 <= wanted["budget_tokens"] < body["max_tokens"]:
        return "thinking.budget_tokens"
    unknown = set(body) - {"model", "max_tokens", "messages", "system", "tools", "stream", "thinking",
                           "output_config"}
    if unknown:
        return f"extra inputs are not permitted: {sorted(unknown)}"
    names = [tool["name"] for tool in body.get("tools", [])]
    if len(set(names)) != len(names) or not all("input_schema" in tool
                                                for tool in body.get("tools", [])):
        return "tools"
    if marks(body) > 4:
        return "A maximum of 4 blocks with cache_control may be provided."
    return history_problem(body["messages"])


class AnthropicServer(ModelServer):
    """As ModelServer, for the Messages API; requests have the messages as they came."""

    def __init__(self, *script, **options):
        super().__init__(*script, default=options.pop("default", None) or say("ok"), **options)
        self.base_url = self.base_url.removesuffix("/v1") + "/anthropic"
        self.listings = []  # requests for the list of models

    def choose(self, request):
        if request.method == "GET" and request.path.startswith("/anthropic/v1/models"):
            self.listings.append(request)
            return self.list_models()
        if request.method != "POST" or request.path != "/anthropic/v1/messages":
            self.errors.append(f"{request.method} {request.path}")
            return failure(404, "not_found_error", "Not found")
        problem = request_problem(request)
        if problem:
            if not self.allow_errors:
                self.errors.append(problem)
            with self.lock:
                self.others.append(request)
            return failure(400, "invalid_request_error", problem)
        with self.lock:
            self.requests.append(request)
            self.lock.notify_all()
            return self.script.pop(0) if self.script else self.default
