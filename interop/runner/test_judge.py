# SPDX-License-Identifier: MIT
"""A judge that finds nothing proves nothing: planted violations."""

import os
import random
import tempfile
import unittest

from runner import judge


def grant(got, gave, mode="exclusive", fence=0, side="a"):
    return judge.Grant(side, mode, got - 1, got, gave, fence, "0")


class Inside(unittest.TestCase):
    def test_what_overlaps_counts_once(self):
        grants = [grant(0, 10 ** 9, "shared"), grant(2, 5, "shared"),
                  grant(5 * 10 ** 8, 2 * 10 ** 9, "shared"),
                  grant(3 * 10 ** 9, 4 * 10 ** 9)]
        self.assertEqual(judge.inside_s(grants), 3)


class Overlaps(unittest.TestCase):
    def test_one_after_the_other_is_well(self):
        self.assertEqual(judge.overlaps([grant(0, 10), grant(10, 20)]), [])

    def test_two_at_once_are_found(self):
        self.assertEqual(len(judge.overlaps([grant(0, 10), grant(9, 20)])), 1)

    def test_one_within_another_is_found(self):
        found = judge.overlaps([grant(0, 100), grant(10, 20), grant(50, 60)])
        self.assertEqual(len(found), 2)

    def test_a_long_one_is_not_forgotten_behind_a_short_one(self):
        found = judge.overlaps([grant(0, 100, "shared"), grant(1, 2, "shared"),
                                grant(50, 60)], None)
        self.assertEqual(len(found), 1)

    def test_readers_share(self):
        grants = [grant(i, i + 10, "shared") for i in range(8)]
        self.assertEqual(judge.overlaps(grants, None), [])

    def test_a_reader_beside_a_writer_is_found(self):
        for one, other in (("shared", "exclusive"), ("exclusive", "shared")):
            found = judge.overlaps([grant(0, 10, one), grant(5, 6, other)],
                                   None)
            self.assertEqual(len(found), 1)

    def test_one_permit_too_many_is_found(self):
        grants = [grant(i, 100, "shared") for i in range(4)]
        self.assertEqual(judge.overlaps(grants, 4), [])
        self.assertEqual(len(judge.overlaps(grants, 3)), 1)

    def test_one_overlap_among_many_grants_is_found(self):
        grants = [grant(10 * i, 10 * i + 9) for i in range(10000)]
        self.assertEqual(judge.overlaps(grants), [])
        at = random.Random(1).randrange(len(grants) - 1)
        grants[at] = grant(10 * at, 10 * at + 11)
        self.assertEqual(judge.overlaps(grants),
                         [(grants[at], grants[at + 1])])


    def test_the_sides_are_judged_together(self):
        found = judge.overlaps([grant(0, 10, side="a"), grant(9, 20, side="b")])
        self.assertEqual([(one.side, other.side) for one, other in found],
                         [("a", "b")])

    def test_three_at_once_are_not_taken_for_two(self):
        grants = [grant(0, 10, "shared"), grant(1, 10, "shared"),
                  grant(2, 3, "shared"), grant(4, 5, "shared")]
        self.assertEqual(len(judge.overlaps(grants, 2)), 2)
        self.assertEqual(judge.overlaps(grants, 3), [])


class Leases(unittest.TestCase):
    LEASE_MS = 1e-3  # 1000 ns

    def leased(self, asked, got, gave):
        return judge.Grant("a", "exclusive", asked, got, gave, 0, "0")

    def judged(self, *grants):
        return len(judge.overlaps(judge.until_lease(grants, self.LEASE_MS)))

    def test_who_stays_beyond_a_lease_keeps_nobody_out(self):
        self.assertEqual(self.judged(self.leased(0, 10, 5000),
                                     self.leased(100, 1010, 1500)), 0)

    def test_two_within_one_lease_are_found(self):
        self.assertEqual(self.judged(self.leased(0, 10, 5000),
                                     self.leased(100, 990, 1500)), 1)

    def test_who_gave_back_early_is_judged_until_then(self):
        self.assertEqual(self.judged(self.leased(0, 10, 500),
                                     self.leased(100, 510, 1500)), 0)


class Fences(unittest.TestCase):
    def test_growing_ones_are_well(self):
        grants = [grant(i, i + 1, fence=i + 1) for i in range(5)]
        self.assertEqual(judge.fences_back(grants), [])

    def test_the_same_or_a_smaller_one_is_found(self):
        for fence in (7, 6):
            grants = [grant(0, 1, fence=7), grant(2, 3, fence=fence)]
            self.assertEqual(len(judge.fences_back(grants)), 1)


class Logs(unittest.TestCase):
    def test_a_cut_line_is_left_out(self):
        with tempfile.NamedTemporaryFile("w", delete=False) as log:
            log.write("exclusive 1 2 3 4 0\nexclusive 5 6 7 8")
        self.assertEqual(judge.read_log("a", log.name),
                         [judge.Grant("a", "exclusive", 1, 2, 3, 4, "0")])
        os.unlink(log.name)

    def test_the_longest_gap_counts_both_ends(self):
        grants = [grant(int(4e9), int(5e9))]
        self.assertEqual(judge.longest_gap_s(grants, "a", 0, int(6e9)), 4)
        self.assertEqual(judge.longest_gap_s(grants, "b", 0, int(6e9)), 6)


if __name__ == "__main__":
    unittest.main()
