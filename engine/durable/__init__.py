"""The same policy, found a second time by durable-rules, and compared with the native evaluator at every sweep.

durable-rules 2.0.28 is not maintained and has defects that ordinary rules reach. What it is given here stays inside the
part of it that works, it runs in a process of its own, and its answer never becomes a verdict. Its defects, by number
(`tests/engine/durable/test_defects.py` has a test for each), and what keeps them out:

1. A join whose last comparison fails reads past its end: each join ends with a comparison that always holds.
2. A join on `id` or `sid` reads freed memory: joins are on fields of our own.
3. A number it can not read ends a batch without an error: numbers are written by us, and a sentinel ends each batch.
4. Facts are told apart by a 32-bit hash of their id: ids are short and ours, and a collision is seen and avoided.
5. `none` and `$not` answer by the order of facts: a negation is a positive fact of its own (the false side of a rule).
6. The 1025th live state is an error, then a crash: one state lives at a time.
7. Deleting a state in which nothing fired crashes: the sentinel's rule always fires.
8. A rule that the state fact satisfies loops for ever: no pattern can match it, it is not asserted again, and firings
   are bounded.
9. An integer division by zero ends the process: arithmetic is computed beforehand.
10. An empty batch or fact crashes: none is ever sent.
11. A disjunction fires once for each true branch: it is one rule a branch, and what is derived twice is told once.
12. Joins compare how values are printed, so that 5 is not 5.0: numbers are held from both sides by an ordering.
13. A join on a missing field is an error midway: the fields that joins start from are always there.
14. An exception in an action is swallowed: actions are data, run by us, and an error is a reply.
15. An agenda of over ten seconds is dropped: our loop has no lease.
16. An action with two parameters is taken for an asynchronous one: actions are data.
17. Over several states only the last one's agenda runs at once: each batch has one state, and is run to its end.
"""
