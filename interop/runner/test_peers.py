# SPDX-License-Identifier: MIT
"""What cannot be installed, or does not start, has not passed."""

import os
import tempfile
import time
import unittest
from unittest import mock

import run as program
from runner import peers
from runner.scenario import Scenario


def broken_peer(folder, *command, limit_s=peers.INSTALL_S):
    """A library whose installation is this command."""
    # pylint: disable=protected-access
    return peers._installed(
        peers.Peer("broken", "1"), folder, [],
        lambda: peers._run(*command, limit_s=limit_s))


class Installation(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.folder = os.path.join(self.home.name, "broken")

    def test_a_command_that_fails_is_told(self):
        peer = broken_peer(self.folder, "sh", "-c", "echo no registry; exit 1")
        self.assertIn("no registry", peer.missing)

    def test_a_tool_that_is_not_there_is_told(self):
        self.assertIn("no-such-tool",
                      broken_peer(self.folder, "no-such-tool").missing)

    def test_a_registry_that_does_not_answer_is_left(self):
        begin = time.monotonic()
        peer = broken_peer(self.folder, "sh", "-c", "sleep 1000 & wait",
                           limit_s=0.2)
        self.assertIn("not done in 0.2 s", peer.missing)
        self.assertLess(time.monotonic() - begin, 500)

    def test_it_is_tried_once_in_a_run_and_again_in_the_next(self):
        broken_peer(self.folder, "false")
        self.assertTrue(broken_peer(self.folder, "true").missing)
        peers._failed.clear()  # pylint: disable=protected-access
        self.assertFalse(broken_peer(self.folder, "true").missing)

    def test_what_is_installed_is_not_installed_again(self):
        self.assertFalse(broken_peer(self.folder, "true").missing)
        self.assertFalse(broken_peer(self.folder, "false").missing)

    def test_what_is_missing_is_not_run(self):
        function = mock.Mock()
        peer = broken_peer(self.folder, "false")
        result = program.run_one(
            Scenario("any", function, ("broken",), True, "auto"), peer,
            mock.Mock())
        self.assertEqual(result.verdict, "not run")
        function.assert_not_called()
        self.assertEqual(program.summary([result]),
                         "0 passed, 0 failed, 1 not run: broken 1")


class Start(unittest.TestCase):
    def test_a_driver_that_does_not_start_has_failed(self):
        peer = peers.Peer("broken", "1", ["false"])
        result = program.run_one(
            Scenario("any", lambda run: run.repl(peer), ("broken",), True,
                     "auto"), peer, mock.Mock(seconds=1, no_floors=True))
        self.assertEqual(result.verdict, "FAILED")


if __name__ == "__main__":
    unittest.main()
