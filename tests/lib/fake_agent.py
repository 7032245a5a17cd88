#!/usr/bin/env python3
"""A small ACP agent that plays one scenario, for tests of clients.

usage: fake_agent.py SCENARIO [RECORD]

Everything that the client sends is appended to the file RECORD, one message per line.
Scenarios are the functions named scenario_* and the special cases in main(). It must
never do anything but speak on stdout: it touches no files but RECORD.
"""
import json
import os
import signal
import sys
import time

SESSION = "fake-1"


class Agent:
    def __init__(self, record):
        self.record = open(record, "a") if record else None
        self.next_id = 100

    def send(self, message):
        sys.stdout.write(json.dumps(dict({"jsonrpc": "2.0"}, **message)) + "\n")
        sys.stdout.flush()

    def receive(self):
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if self.record:
            self.record.write(line)
            self.record.flush()
        return json.loads(line)

    def update(self, variant, session=SESSION, **members):
        update = dict({"sessionUpdate": variant}, **members)
        self.send({"method": "session/update",
                   "params": {"sessionId": session, "update": update}})

    def text(self, text, variant="agent_message_chunk", **members):
        self.update(variant, content={"type": "text", "text": text}, **members)

    def answer(self, message, result):
        self.send({"id": message["id"], "result": result})

    def fail(self, message, code, text, data=None):
        error = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        self.send({"id": message["id"], "error": error})

    def end(self, message, reason="end_turn"):
        self.answer(message, {"stopReason": reason})

    def ask(self, method, params):
        """Sends a request and returns the client's answer."""
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.next_id and "method" not in message:
                return message

    def permission(self, title="Write notes.txt", kinds=None, call=None):
        kinds = kinds or ["allow_once", "allow_always", "reject_once"]
        options = [{"optionId": "o-" + kind, "name": "Name of " + kind, "kind": kind}
                   for kind in kinds]
        call = call or {"toolCallId": "call-p", "title": title, "kind": "edit",
                        "status": "pending"}
        answer = self.ask("session/request_permission",
                          {"sessionId": SESSION, "toolCall": call, "options": options})
        return answer["result"]["outcome"]


def prompt_text(message):
    return message["params"]["prompt"][0]["text"]


def scenario_echo(agent, message):
    agent.text("You said: " + prompt_text(message))
    agent.end(message)


def scenario_turn(agent, message):
    agent.text("Let me ", "agent_thought_chunk")
    agent.text("think.", "agent_thought_chunk")
    agent.text("First part, ", messageId="m1")
    agent.text("second part.", messageId="m1")
    agent.update("plan", entries=[
        {"content": "Look", "priority": "high", "status": "completed"},
        {"content": "Edit", "priority": "high", "status": "in_progress"},
        {"content": "Check", "priority": "low", "status": "pending"}])
    agent.update("tool_call", toolCallId="t1", title="Read notes.txt", kind="read",
                 status="pending")
    agent.update("tool_call_update", toolCallId="t1", status="in_progress")
    agent.update("tool_call_update", toolCallId="t1", status="completed", content=[
        {"type": "content", "content": {"type": "text", "text": "line one\nline two\n"}}])
    agent.update("tool_call", toolCallId="t2", title="Edit notes.txt", kind="edit",
                 status="pending", content=[
                     {"type": "diff", "path": "/w/notes.txt",
                      "oldText": "a\nb\nc\nd\ne\nf\ng\nstatus: draft\nz\n",
                      "newText": "a\nb\nc\nd\ne\nf\ng\nstatus: done\nz\n"}])
    agent.update("tool_call_update", toolCallId="t2", status="completed")
    agent.update("tool_call", toolCallId="t3", title="make", kind="execute",
                 status="in_progress")
    for text in ("one\n", "one\ntwo\nthr", "one\ntwo\nthree\n"):
        agent.update("tool_call_update", toolCallId="t3", content=[
            {"type": "content", "content": {"type": "text", "text": text}}])
    agent.update("tool_call_update", toolCallId="t3", status="failed")
    agent.update("available_commands_update", availableCommands=[
        {"name": "help", "description": "Help"}])
    agent.update("of_the_future", content=7)
    agent.text("of another session", session="other")
    agent.text("The end.", messageId="m2")
    agent.end(message)


def scenario_permission(agent, message):
    outcome = agent.permission()
    agent.text("outcome=" + json.dumps(outcome, sort_keys=True))
    agent.end(message)


def scenario_permission_without_once(agent, message):
    outcome = agent.permission(kinds=["allow_always", "reject_always"])
    agent.text("outcome=" + json.dumps(outcome, sort_keys=True))
    agent.end(message)


def scenario_two_permissions(agent, message):
    for number in (1, 2):
        outcome = agent.permission(title="Question %d" % number)
        agent.text("outcome%d=%s " % (number, outcome.get("optionId", outcome["outcome"])))
    agent.end(message)


def scenario_withdrawn(agent, message):
    agent.send({"id": 7, "method": "session/request_permission", "params": {
        "sessionId": SESSION, "toolCall": {"toolCallId": "w", "title": "Withdrawn"},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]}})
    time.sleep(0.5)
    agent.send({"method": "$/cancel_request", "params": {"requestId": 7}})
    answer = agent.receive()
    agent.text("code=%s" % answer.get("error", {}).get("code"))
    agent.end(message)


def scenario_unknown_request(agent, message):
    answer = agent.ask("fs/read_text_file", {"sessionId": SESSION, "path": "/etc/hosts"})
    agent.text("code=%d" % answer["error"]["code"])
    agent.end(message)


def scenario_stop(agent, message):
    agent.end(message, prompt_text(message))


def scenario_error(agent, message):
    agent.fail(message, -32603, "Internal error", {"details": "the disk is full"})


def scenario_hostile(agent, message):
    agent.text("A\x1b[31mred\x1b[0m B\x1b]0;ti")
    agent.text("tle\x07C\x1b")
    agent.text("[2JD\u009b5mE\u202eF\u0000G\x7fH\rI\r\nJ\ud800K")
    agent.text("\x1b]8;;never ended\nL")
    agent.update("tool_call", toolCallId="\x1b[5mid", title="bad\x1b[2K\rtitle\nnext",
                 kind="execute", status="completed", content=[
                     {"type": "content",
                      "content": {"type": "text", "text": "out\x1b[1Aput\x07"}}])
    agent.update("plan", entries=[{"content": "pl\x1b[8man", "status": "pending"}])
    outcome = agent.permission(title="ask\x1b[1F\x1b[2Ked")
    agent.text(outcome["outcome"])
    agent.fail(message, -32603, "bad\x1b[31mness", {"details": "de\x1b[0mtail\nx"})


def scenario_nonsense(agent, message):
    sys.stdout.write("this is \x1b[31mnot JSON\n\n[1]\n{\"jsonrpc\":\"2.0\"}\n")
    sys.stdout.write("{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n")
    sys.stdout.write("{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}\n")
    sys.stdout.write("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":5}\n")
    sys.stdout.write("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":"
                     "{\"sessionId\":\"fake-1\",\"update\":{\"sessionUpdate\":\"plan\","
                     "\"entries\":[1,null,{\"content\":5}]}}}\n")
    agent.update("tool_call", toolCallId=5, title=6)
    agent.update("tool_call", toolCallId="x", content=[7, None, {"type": "diff"}])
    agent.update("agent_message_chunk", content="bare")
    agent.text("still here")
    agent.end(message)


def scenario_die(agent, message):
    agent.text("about to die")
    os._exit(3)


def scenario_killed(agent, message):
    os.kill(os.getpid(), signal.SIGKILL)


def scenario_wait(agent, message):
    """Streams until it is cancelled."""
    agent.text("waiting")
    while agent.receive().get("method") != "session/cancel":
        pass
    agent.text(" stopped")
    agent.end(message, "cancelled")


def scenario_wait_with_question(agent, message):
    outcome = agent.permission()
    agent.text("outcome=" + outcome["outcome"])
    agent.end(message, outcome["outcome"])


def scenario_deaf(agent, message):
    agent.text("deaf")
    while True:
        agent.receive()


def scenario_stubborn(agent, message):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    agent.text("stubborn")
    agent.end(message)
    while True:
        time.sleep(1)


def scenario_long(agent, message):
    lines = "".join("line %d\n" % i for i in range(1000))
    agent.update("tool_call", toolCallId="l", title="long", kind="read", status="completed",
                 content=[{"type": "content", "content": {"type": "text", "text": lines}}])
    agent.text("x" * 3000000)
    agent.end(message)


def scenario_slow(agent, message):
    agent.update("tool_call", toolCallId="s", title="slow tool", kind="execute",
                 status="in_progress")
    time.sleep(2.5)
    agent.update("tool_call_update", toolCallId="s", status="completed")
    agent.end(message)


METHODS = [
    {"id": "key", "name": "API key", "description": "Uses a key that is set up"},
    {"id": "setup", "name": "Setup", "type": "terminal", "args": ["--setup", "a b"]},
]


def open_session(agent, scenario, message, authenticated):
    method = message.get("method")
    if method == "initialize":
        if scenario == "silent":
            time.sleep(600)
        if scenario == "die_at_start":
            sys.stderr.write("cannot find my configuration\n")
            sys.exit(9)
        version = 2 if scenario == "other_version" else 1
        agent.answer(message, {"protocolVersion": version, "agentCapabilities": {},
                               "authMethods": METHODS if scenario.startswith("auth") else [],
                               "agentInfo": {"name": "fake", "version": "1"}})
    elif method == "authenticate":
        if message["params"]["methodId"] == "key":
            agent.answer(message, {})
            return True
        agent.fail(message, -32602, "Unknown method")
    elif method == "session/new":
        if scenario.startswith("auth") and not authenticated:
            agent.fail(message, -32000, "Authentication required")
        elif scenario == "no_session":
            agent.fail(message, -32602, "Invalid params", "cwd is not for you")
        else:
            agent.answer(message, {"sessionId": SESSION})
    elif "id" in message and method:
        agent.fail(message, -32601, "Method not found")
    return authenticated


def main():
    scenario = sys.argv[1]
    agent = Agent(sys.argv[2] if len(sys.argv) > 2 else None)
    play = globals().get("scenario_" + scenario, scenario_echo)
    authenticated = False
    while True:
        message = agent.receive()
        if message.get("method") == "session/prompt":
            play(agent, message)
        else:
            authenticated = open_session(agent, scenario, message, authenticated)


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(1)
