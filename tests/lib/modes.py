"""The dialects side by side: what a model says, in the words of each, for tests that hold in all of them.

A mode knows its strict server (model_server, anthropic_server, responses_server), the configuration that
leads to it, how texts and calls are written, how an error within a stream looks, and where a request has
its instructions, tools, history and results.
"""
import functools
import json
import os
import sqlite3

import anthropic_server as anthropic
import model_server as chat
import responses_server as responses
from acp import AcpTest
from crash import alternation_problem


class ChatServer(chat.ModelServer):
    """As ModelServer; user and assistant must take turns."""

    def choose(self, request):
        if request.json and request.json.get("messages"):
            problem = alternation_problem(request.messages, user_after_tool=True)
            if problem:
                self.errors.append(problem)
        return super().choose(request)


class Chat:
    name = "chat_completions"
    server = ChatServer
    path = "/chat/completions"
    end = 2  # parts at the end of an answer without which it is not complete

    @staticmethod
    def say(*pieces):
        return chat.say(*pieces)

    @staticmethod
    def think(thought, text):
        return [chat.chunk({"reasoning_content": thought}), *chat.say(text)]

    @staticmethod
    def calls(*rows, text=None):
        """Rows of (name, arguments as object)."""
        return chat.calls(*[(f"call_{next(chat.counter)}", *row) for row in rows], text=text)

    @staticmethod
    def raw_call(name, arguments):
        """A call whose arguments are this text, whatever it is."""
        return chat.calls((f"call_{next(chat.counter)}", name, arguments))

    @staticmethod
    def error(message, code="server_error"):
        return chat.event({"error": {"message": message, "type": code}})

    @staticmethod
    def failure(status, message, headers=None):
        return chat.failure(status, message, headers)

    @staticmethod
    def constant(request):
        """What must be the same in each request of a session."""
        return [request.messages[0], request.json["tools"]]

    @staticmethod
    def history(request):
        return request.messages[1:]

    @staticmethod
    def results(request):
        return [(message["tool_call_id"], message["content"]) for message in request.messages
                if message["role"] == "tool"]

    @staticmethod
    def key(request):
        return request.headers.get("authorization")


class Anthropic:
    name = "anthropic_messages"
    server = anthropic.AnthropicServer
    path = "/v1/messages"
    end = 2

    @staticmethod
    def say(*pieces):
        return anthropic.say(*pieces)

    @staticmethod
    def think(thought, text):
        return anthropic.answer(anthropic.thinking(thought), anthropic.text(text))

    @staticmethod
    def calls(*rows, text=None):
        said = [anthropic.text(text)] if text else []
        return anthropic.answer(*said, *[anthropic.use(name, **arguments)
                                         for name, arguments in rows])

    @staticmethod
    def raw_call(name, arguments):
        block = anthropic.use(name)
        place = anthropic.event("content_block_start", index=0, content_block=block)
        return [anthropic.begin(), place,
                anthropic.delta(0, "input_json_delta", partial_json=arguments),
                anthropic.event("content_block_stop", index=0), *anthropic.end("tool_use")]

    @staticmethod
    def error(message, code="api_error"):
        return anthropic.event("error", error={"type": code, "message": message})

    @staticmethod
    def failure(status, message, headers=None):
        return anthropic.failure(status, "some_error", message, headers)

    @staticmethod
    def constant(request):
        return [request.json["system"], request.json["tools"]]

    @classmethod
    def history(cls, request):
        return cls.bare(request.messages)

    @classmethod
    def bare(cls, value):
        """Without the marks of the cache, which move."""
        if isinstance(value, dict):
            return {key: cls.bare(one) for key, one in value.items() if key != "cache_control"}
        return list(map(cls.bare, value)) if isinstance(value, list) else value

    @staticmethod
    def results(request):
        return [(block["tool_use_id"], json.dumps(block["content"], ensure_ascii=False))
                for message in request.messages if message["role"] == "user"
                for block in message["content"] if block["type"] == "tool_result"]

    @staticmethod
    def key(request):
        return request.headers.get("x-api-key") or request.headers.get("authorization")


class Responses:
    name = "codex_responses"
    server = responses.ResponsesServer
    path = "/responses"
    end = 1

    @staticmethod
    def say(*pieces):
        return responses.say(*pieces)

    @staticmethod
    def think(thought, text):
        return responses.Answer().thought(thought).text(text).end()

    @staticmethod
    def calls(*rows, text=None):
        answer = responses.Answer()
        if text:
            answer.text(text)
        for name, arguments in rows:
            answer.call(f"call_{next(chat.counter)}", name, **arguments)
        return answer.end()

    @staticmethod
    def raw_call(name, arguments):
        return responses.Answer().raw_call(f"call_{next(chat.counter)}", name, arguments).end()

    @staticmethod
    def error(message, code="server_error"):
        return responses.Answer(numbered=False).fail(code, message)[-1]

    @staticmethod
    def failure(status, message, headers=None):
        return chat.failure(status, message, headers)

    @staticmethod
    def constant(request):
        return [request.json["instructions"], request.json["tools"]]

    @staticmethod
    def history(request):
        return request.input

    @staticmethod
    def results(request):
        return [(item["call_id"], item["output"])
                for item in request.items("function_call_output")]

    @staticmethod
    def key(request):
        return request.headers.get("authorization")


MODES = (Chat, Anthropic, Responses)


def in_each_mode(test):
    """A decorator: the test gets a mode and is run with each; what is left of one is swept first."""
    @functools.wraps(test)
    def run(self):
        for mode in MODES:
            with self.subTest(mode.name):
                test(self, mode)
                for agent in self.agents:
                    if not agent.swept:
                        self.sweep(agent, quiet=self.stderr_is_quiet)
    return run


class ModesTest(AcpTest):
    KEY = "sk-canary-0123456789"

    def served(self, mode, *script, tls=False, **settings):
        """A server in this dialect that the next agents are configured for."""
        server = mode.server(*script, tls=tls)
        self.servers.append(server)
        self.configure(model={"provider": "custom", "base_url": server.base_url, "default": "fake",
                              "api_mode": mode.name, "api_key": self.KEY, **settings},
                       terminal={"env_passthrough": ["ACP_TEST_TAG"]})
        return server

    def begin(self, mode, *script, environment=None, tls=False, **settings):
        """(server, agent, session)"""
        server = self.served(mode, *script, tls=tls, **settings)
        trust = server.trust if tls else {}
        agent = self.agent(environment={**trust, **(environment or {})})
        return server, agent, agent.new_session(self.work)

    def assert_goes_on(self, server, agent, session):
        """The next prompt works, with a history that the strict server takes."""
        server.script[:] = []
        self.assertEqual(agent.turn(session, "next"), "end_turn")
        self.assertEqual(server.errors, [])

    def rows(self, session):
        """(role, content) of what is stored."""
        path = os.path.join(self.folder, "home", ".hermes", "state.db")
        with sqlite3.connect(path) as database:
            return database.execute("SELECT role, content FROM messages WHERE session_id = ? "
                                    "ORDER BY id", (session,)).fetchall()
