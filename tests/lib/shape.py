"""The shapes of protocol version 1 that an agent may send, checked without any leniency.

A table per message: required and optional members with a check each. What real clients only
tolerate, or drop in silence, is a problem here.
"""


def text(value):
    return isinstance(value, str)


def filled(value):
    return isinstance(value, str) and value != ""


def number(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def line(value):
    return number(value) and value >= 1


def boolean(value):
    return isinstance(value, bool)


def anything(_value):
    return True


def object_(value):
    return isinstance(value, dict)


def maybe(check):
    return lambda value: value is None or check(value)


def one_of(*names):
    return lambda value: value in names


def path(value):
    return isinstance(value, str) and value.startswith("/")


def structure(required, optional=None):
    """A check that returns a list of problems (empty when there are none)."""
    optional = dict(optional or {}, _meta=maybe(object_))

    def check(value):
        if not isinstance(value, dict):
            return ["not an object"]
        problems = [f"{name} is missing" for name in required if name not in value]
        for name, item in value.items():
            rule = required.get(name) or optional.get(name)
            if rule is None:
                problems.append(f"{name} is not a member of this type")
                continue
            outcome = rule(item)
            if isinstance(outcome, list):
                problems += [f"{name}: {problem}" for problem in outcome]
            elif not outcome:
                problems.append(f"{name} has a wrong value: {str(item)[:80]!r}")
        return problems
    return check


def variants(discriminator, rows):
    """A structure chosen by the value of one member."""
    def check(value):
        if not isinstance(value, dict):
            return ["not an object"]
        row = rows.get(value.get(discriminator))
        if row is None:
            return [f"{discriminator} is {value.get(discriminator)!r}"]
        return row(value)
    return check


def each(rule):
    def check(value):
        if not isinstance(value, list):
            return ["not an array"]
        problems = []
        for index, item in enumerate(value):
            outcome = rule(item)
            if isinstance(outcome, list):
                problems += [f"[{index}] {problem}" for problem in outcome]
            elif not outcome:
                problems.append(f"[{index}] has a wrong value")
        return problems
    return check


def kind(name):
    return one_of(name)


ANNOTATIONS = {"annotations": maybe(object_)}
BLOCK = variants("type", {
    "text": structure({"type": kind("text"), "text": text}, ANNOTATIONS),
    "image": structure({"type": kind("image"), "data": text, "mimeType": filled},
                       {"uri": maybe(text), **ANNOTATIONS}),
    "audio": structure({"type": kind("audio"), "data": text, "mimeType": filled}, ANNOTATIONS),
    "resource_link": structure(
        {"type": kind("resource_link"), "uri": filled, "name": text},
        {"title": maybe(text), "description": maybe(text), "mimeType": maybe(text),
         "size": maybe(number), **ANNOTATIONS}),
    "resource": structure({"type": kind("resource"), "resource": object_}, ANNOTATIONS),
})
TOOL_KIND = one_of("read", "edit", "delete", "move", "search", "execute", "think", "fetch",
                   "switch_mode", "other")
TOOL_STATUS = one_of("pending", "in_progress", "completed", "failed")
CONTENT = variants("type", {
    "content": structure({"type": kind("content"), "content": BLOCK}),
    "diff": structure({"type": kind("diff"), "path": path, "newText": text},
                      {"oldText": maybe(text)}),
    "terminal": structure({"type": kind("terminal"), "terminalId": filled}),
})
LOCATION = structure({"path": path}, {"line": maybe(line)})
CALL = {"title": filled, "name": filled, "kind": TOOL_KIND, "status": TOOL_STATUS,
        "content": each(CONTENT), "locations": each(LOCATION), "rawInput": object_,
        "rawOutput": anything}
CALL_UPDATE = {**{name: maybe(rule) for name, rule in CALL.items()}, "content": CALL["content"]}
CONFIG_OPTION = variants("type", {
    "select": structure({"id": filled, "name": filled, "type": kind("select"),
                         "currentValue": text, "options": each(object_)},
                        {"description": maybe(text), "category": maybe(filled)}),
    "boolean": structure({"id": filled, "name": filled, "type": kind("boolean"),
                          "currentValue": boolean},
                         {"description": maybe(text), "category": maybe(filled)}),
})
COMMAND = structure({"name": lambda value: filled(value) and not value.startswith("/"),
                     "description": text},
                    {"input": maybe(structure({"hint": text}))})
PLAN_ENTRY = structure({"content": text, "priority": one_of("high", "medium", "low"),
                        "status": one_of("pending", "in_progress", "completed")})


def variant(name, required, optional=None):
    return structure({"sessionUpdate": kind(name), **required}, optional)


def chunk(name):
    return variant(name, {"content": BLOCK}, {"messageId": maybe(filled)})


UPDATE = variants("sessionUpdate", {
    "user_message_chunk": chunk("user_message_chunk"),
    "agent_message_chunk": chunk("agent_message_chunk"),
    "agent_thought_chunk": chunk("agent_thought_chunk"),
    "tool_call": variant("tool_call", {"toolCallId": filled, "title": filled},
                         {name: rule for name, rule in CALL.items() if name != "title"}),
    "tool_call_update": variant("tool_call_update", {"toolCallId": filled}, CALL_UPDATE),
    "plan": variant("plan", {"entries": each(PLAN_ENTRY)}),
    "available_commands_update": variant("available_commands_update",
                                         {"availableCommands": each(COMMAND)}),
    "current_mode_update": variant("current_mode_update", {"currentModeId": filled}),
    "config_option_update": variant("config_option_update",
                                    {"configOptions": each(CONFIG_OPTION)}),
    "session_info_update": variant("session_info_update", {},
                                   {"title": maybe(text), "updatedAt": maybe(text)}),
    "usage_update": variant("usage_update", {"used": number, "size": number},
                            {"cost": maybe(object_)}),
    "notice": variant("notice", {"severity": filled, "title": filled},
                      {"description": maybe(text)}),
    "compaction_update": variant("compaction_update", {"compactionId": filled, "status": filled},
                                 {"summary": maybe(object_), "error": maybe(text)}),
    "compaction_summary_chunk": variant("compaction_summary_chunk",
                                        {"compactionId": filled, "content": BLOCK}),
})
PERMISSION_OPTION = structure({
    "optionId": filled, "name": filled,
    "kind": one_of("allow_once", "allow_always", "reject_once", "reject_always")})
PARAMETERS = {
    "session/update": structure({"sessionId": filled, "update": UPDATE}),
    "session/request_permission": structure({
        "sessionId": filled, "options": each(PERMISSION_OPTION),
        "toolCall": structure({"toolCallId": filled}, CALL_UPDATE)}),
    "fs/read_text_file": structure({"sessionId": filled, "path": path},
                                   {"line": maybe(line), "limit": maybe(number)}),
    "fs/write_text_file": structure({"sessionId": filled, "path": path, "content": text}),
    "terminal/create": structure({"sessionId": filled, "command": filled}, {
        "args": each(text), "env": each(structure({"name": filled, "value": text})),
        "cwd": maybe(path), "outputByteLimit": maybe(number)}),
    "terminal/output": structure({"sessionId": filled, "terminalId": filled}),
    "terminal/wait_for_exit": structure({"sessionId": filled, "terminalId": filled}),
    "terminal/kill": structure({"sessionId": filled, "terminalId": filled}),
    "terminal/release": structure({"sessionId": filled, "terminalId": filled}),
    "elicitation/create": object_,
    "elicitation/complete": object_,
    "$/cancel_request": structure({"requestId": anything}),
}
NOTIFICATIONS = {"session/update", "$/cancel_request", "elicitation/complete"}
ERROR = structure({"code": lambda value: isinstance(value, int), "message": filled},
                  {"data": anything})


def message_problems(message):
    """What is wrong with one message from the agent (a parsed object), as a list of texts."""
    if not isinstance(message, dict):
        return ["not an object"]
    if message.get("jsonrpc") != "2.0":
        return ["jsonrpc is not 2.0"]
    if "method" in message:
        return request_problems(message)
    extra = set(message) - {"jsonrpc", "id", "result", "error"}
    if extra:
        return [f"members of a response: {sorted(extra)}"]
    if "id" not in message:
        return ["response without id"]
    if ("result" in message) == ("error" in message):
        return ["response needs exactly one of result and error"]
    if "error" in message:
        return ["error: " + problem for problem in ERROR(message["error"])]
    return [] if isinstance(message["result"], dict) else ["result is not an object"]


def request_problems(message):
    method = message["method"]
    extra = set(message) - {"jsonrpc", "id", "method", "params"}
    if extra:
        return [f"members of a request: {sorted(extra)}"]
    if str(method).startswith("_"):
        return []
    rule = PARAMETERS.get(method)
    if rule is None:
        return [f"unknown method {method!r}"]
    if (method in NOTIFICATIONS) == ("id" in message):
        return [f"{method}: request and notification are mixed up"]
    identity = message.get("id", 1)
    if isinstance(identity, bool) or not isinstance(identity, (int, str)) or \
            (isinstance(identity, int) and not 0 <= identity < 1 << 31):
        return [f"{method}: id {identity!r}"]
    outcome = rule(message.get("params"))
    if isinstance(outcome, list):
        return [f"{method}: {problem}" for problem in outcome]
    return [] if outcome else [f"{method}: params"]
