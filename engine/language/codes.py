"""The findings of lint by their stable codes: what each means, why it matters, and what to do."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """One kind of finding. `text` is a paragraph for the person who got it."""

    code: str
    title: str
    text: str


_CODES = (
    Code(
        "SR001",
        "a condition that can never hold",
        "The tests that have to hold together contradict each other whatever is read: two states at once, a number "
        "above one limit and below a lower one, something and its denial. A rule like this never fires, and a branch "
        "like this under any adds nothing. A parameter with overrides counts with each of its values, so only what is "
        "impossible for every job is told. Correct the test that was meant otherwise, or take the rule or branch out.",
    ),
    Code(
        "SR002",
        "a choice that an earlier one always takes",
        "Decisions and routes take the first line that holds. Whatever would make this line hold makes an earlier one "
        "hold too, so this one is never taken. Move the special case above the general one, or take it out.",
    ),
    Code(
        "SR003",
        "a fact that nothing provides",
        "The rule reads a field that no collector fills and nothing decides, so the test is unknown for every subject. "
        "A field that is planned for a later stage of the product counts as provided. Read another field, or decide "
        "this one.",
    ),
    Code(
        "SR004",
        "a parameter that nothing uses",
        "No rule, feature or decision writes $NAME for it. Changing it changes nothing, which is a trap for the next "
        "person who turns it. Use it or take it out.",
    ),
    Code(
        "SR005",
        "a list that nothing uses",
        "No test names the list, so its members mean nothing. Use it or take it out.",
    ),
    Code(
        "SR006",
        "a pattern that nothing reads",
        "Markers are found in logs only for the rules that read them, and no rule reads this one. Faults, benign "
        "lines, progress, metrics and rungs are used by their kind and never told here. Read lines.NAME.count in a "
        "rule, give the pattern another kind, or take it out.",
    ),
    Code(
        "SR007",
        "a feature that nothing reads",
        "The feature would be worked out over each series, and no rule about a step tests it. Read it or take it out.",
    ),
    Code(
        "SR008",
        "a signal without a giver or a taker",
        "A signal is given by a rule and counted by at_least. This one lacks one side: either no rule gives it, so it "
        "never counts, or nothing counts it, so that the rule which gives it has no effect. Add the other side, or "
        "take it out.",
    ),
    Code(
        "SR009",
        "a rule without effect",
        "Nothing follows from the rule, and no other rule asks for its truth with rule. It is worked out for every "
        "subject and never seen but in an explanation. Give it a consequence, ask for it, or take it out.",
    ),
    Code(
        "SR010",
        "a new word that nothing uses",
        "The policy declares a flag or an action of its own that no rule raises or asks for. Use it or take it out.",
    ),
    Code(
        "SR011",
        "a threshold outside the range of its fact",
        "The fact has a range in the catalogue, a share from 0 to 1 or a count from 0 up, and the value it is compared "
        "with lies outside, so the test has the same answer for every subject. Often a percentage was written for a "
        "share. Write the value in the unit of the fact.",
    ),
    Code(
        "SR012",
        "a destructive action without proof",
        "The action destroys something and the catalogue asks for no proof before it. Nothing would keep a mistaken "
        "rule from a loss that can not be undone. Ask for a proof, or for another action.",
    ),
    Code(
        "SR013",
        "a pattern whose regex matches lines without its literal",
        "Only lines that have the literal are shown to the regex. The regex also matches the line that is quoted, "
        "which does not have it: such lines are passed over without a word. Choose a literal that every match has, or "
        "split the pattern.",
    ),
    Code(
        "SR014",
        "the same thing twice",
        "The same condition stands twice beside itself, two rules say the same under two ids, or two patterns find the "
        "same lines. Under at_least it "
        "would count twice; elsewhere it is likely that another one was meant. Take one out or correct it.",
    ),
    Code(
        "SR015",
        "an exemption that has expired",
        "The moment in expires has passed: the exemption covers nothing any more, and its flags count again. Take it "
        "out, or give it a later date with a reason.",
    ),
    Code(
        "SR016",
        "an exemption that matches nothing",
        "No rule raises any of the flags that the exemption names, so it can not cover anything. Perhaps the rule was "
        "disabled, or the flag is written otherwise. Name a flag that is raised, or take the exemption out.",
    ),
    Code(
        "SR017",
        "an override that silences other rules",
        "The site disables or replaces a rule that others build on: they ask for a flag or signal that no rule gives "
        "any more, or for the truth of a rule from which nothing follows. Or it gives a parameter or list a value with "
        "which the rules that read it can never fire, though nobody changed them. Keep the flag in the rule that "
        "replaces it, choose a value that can be reached, or change the rules that are named as well.",
    ),
    Code(
        "SR018",
        "a quorum that can not be reached",
        "at_least asks for more operands than can hold: some of the signals that it counts are given by no rule, or a "
        "site raised the parameter above their number. Lower n, or give the signals.",
    ),
    Code(
        "SR019",
        "an exemption that is about to end",
        "Within a week the exemption no longer holds: the flags that it covers count again, and jobs that still raise "
        "them get the flag exemption-expired. Nothing is wrong yet. Take it out if the reason is gone; give it a later "
        "date, with the reason, if it is not.",
    ),
    Code(
        "SR020",
        "a word that nothing decides",
        "A rule asks a decided field, such as the bucket or the flavour, for a word that none of its choices gives, so "
        "the test is never true. Where a site writes the choices anew, the rules that ask for the words it left out "
        "fall silent. Decide the word, or ask for another.",
    ),
    Code(
        "SR021",
        "two rungs of one height",
        "The rungs of a bring-up are climbed in their order, and two of them have the same one: when both were seen, "
        "nobody can say which of them the job has reached. Give each its own order; there may be gaps between them.",
    ),
    Code(
        "SR022",
        "two rules that give one action unlike arguments",
        "Where both rules are true of a subject, they ask for the action once, and their arguments are put together: "
        "lists are joined, texts are listed unless the action is destructive, and any other two that differ are "
        "unknown, which blocks the action. Against a rule of one's own only constants are told; against a shipped rule "
        "also what is read from facts. Leave the action to the rule that asks for it already and only raise a flag, "
        "give the same arguments, or write conditions that exclude each other.",
    ),
    Code(
        "SR023",
        "a flag that no rule raises",
        "What the rule explains or replaces, or the exemption covers, is a flag that stands in the catalogue and that "
        "no rule raises in this release, or none any more in this site, so that this has no effect. The reference "
        "says by which rules each flag is raised. Name a flag that is raised, or leave it out.",
    ),
)

CODES: dict[str, Code] = {one.code: one for one in _CODES}
"""Code -> what it means, in the order of their numbers. A code never changes its meaning and is never used again."""
