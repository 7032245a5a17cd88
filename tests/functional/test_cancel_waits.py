"""A cancel while a request to the model waits: answered by the worker itself, which lives on."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import waits
from crash import sanitized
from modes import ModesTest, in_each_mode


class Cancel(ModesTest):
    REAL_TIME = {"HERMES_ACP_RETRY_SCALE": "1"}

    @staticmethod
    def session_workers(agent):
        return {pid for pid, line in agent.workers().items() if "--session" in line}

    def assert_cancels(self, agent, session, request):
        """The same worker is there afterwards and answers: one that hangs would have been killed."""
        before = self.session_workers(agent)
        agent.cancel(session)
        self.assertEqual(agent.wait(request, 2)["result"]["stopReason"], "cancelled")
        self.assertEqual(agent.turn(session, "/help"), "end_turn")
        self.assertLessEqual(before, self.session_workers(agent))
        self.assertTrue(before)
        self.sweep(agent)

    def begin_at(self, mode, url, environment=None):
        """(agent, session) for a server at this address."""
        self.served(mode, base_url=url)
        agent = self.agent(environment=environment)
        return agent, agent.new_session(self.work)

    @in_each_mode
    def test_slow_name(self, mode):
        """A look-up of the server's name that nobody answers; the process also ends in time"""
        if sanitized():
            self.skipTest("a library cannot be loaded before the sanitizers")
        library = waits.slow_names(self.folder)
        if library is None:
            self.skipTest("no C compiler for slow_names.c")
        agent, session = self.begin_at(mode, f"http://{waits.SLOW_HOST}/v1", {"LD_PRELOAD": library})
        request = agent.prompt_start(session, "go")
        time.sleep(0.5)
        self.assertFalse(agent.answered(request))
        self.assert_cancels(agent, session, request)

    def cancel_mute(self, mode, scheme):
        mute = waits.MuteServer()
        self.servers.append(mute)
        agent, session = self.begin_at(mode, f"{scheme}://127.0.0.1:{mute.port}/v1")
        request = agent.prompt_start(session, "go")
        self.assertTrue(mute.heard.acquire(timeout=10))
        self.assert_cancels(agent, session, request)

    @in_each_mode
    def test_handshake(self, mode):
        """A server that takes the connection and says nothing to the TLS handshake"""
        self.cancel_mute(mode, "https")

    @in_each_mode
    def test_no_headers(self, mode):
        """A server that reads the request and does not answer"""
        self.cancel_mute(mode, "http")

    @in_each_mode
    def test_retry_after(self, mode):
        """A wait of five minutes that the server asked for"""
        _server, agent, session = self.begin(mode, waits.retry_later(mode),
                                             environment=self.REAL_TIME)
        request = agent.prompt_start(session, "go")
        agent.until(lambda: "next try in" in agent.thoughts(session), 5, "a notice")
        self.assert_cancels(agent, session, request)

    @in_each_mode
    def test_silent_stream(self, mode):
        """A stream without a word, over HTTP and TLS"""
        for tls in (False, True):
            server, agent, session = self.begin(mode, waits.silent(mode), tls=tls)
            request = agent.prompt_start(session, "go")
            server.wait_requests(1)
            self.assert_cancels(agent, session, request)
            self.assertTrue(server.requests[0].closed.wait(5))


if __name__ == "__main__":
    import unittest
    unittest.main()
