"""Numbers of training runs that went wrong in public, as their trainers print them, and those that look alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

Row = Mapping[str, str]
NOISE = (
    "INFO rollout worker finished a trajectory of 8121 tokens",
    "[2026-06-30 10:00:01] reward of a trajectory is not told here",
    "  warnings.warn('None of the inputs have requires_grad=True')",
)


def printed(rng: Random, rows: Sequence[Row], first: int = 1) -> bytes:
    """The rows in one of the forms that trainers use, some other lines between them."""
    form = rng.choice((_dictionary, _quoted, _pairs))
    lines: list[str] = []
    for step, row in enumerate(rows, start=first):
        lines += rng.sample(NOISE, rng.choice((0, 0, 1, 2)))
        lines.append(form(row, step))
    return ("\n".join(lines) + "\n").encode()


def _dictionary(row: Row, step: int) -> str:
    body = ", ".join(f"'{key}': {value}" for key, value in row.items())
    return f"{{'loss': 0.0, {body}, 'learning_rate': 9e-07, 'epoch': {step / 100:.2f}}}"


def _quoted(row: Row, step: int) -> str:
    body = ", ".join(f"'{key}': '{value}'" for key, value in row.items())
    return f"{{'loss': '0.0', {body}, 'learning_rate': '9e-07', 'epoch': '{step / 100:.2f}'}}"


def _pairs(row: Row, step: int) -> str:
    return f"step={step} " + " ".join(f"{key}={value}" for key, value in row.items())


def row(rng: Random, grad: str | None = None, reward: str | None = None, spread: str | None = None) -> dict[str, str]:
    """One row of a run that learns, but for what is given."""
    return {
        "reward": f"{rng.uniform(0.2, 0.6):.3f}" if reward is None else reward,
        "reward_std": f"{rng.uniform(0.1, 0.3):.3f}" if spread is None else spread,
        "grad_norm": f"{rng.uniform(0.2, 0.6):.3f}" if grad is None else grad,
    }


def _good(rng: Random, low: int, high: int) -> list[dict[str, str]]:
    return [row(rng) for _ in range(rng.randint(low, high))]


def no_gradient(rng: Random) -> bytes:
    """A gradient of exactly zero at every point, while rewards differ."""
    before = rng.choice(([], _good(rng, 1, 9)))
    zeros = rng.randint(5, 12) if before else rng.randint(2, 12)
    return printed(rng, [*before, *(row(rng, grad=rng.choice(("0.0", "0", "0.000"))) for _ in range(zeros))])


def some_gradient(rng: Random) -> bytes:
    """A small gradient, one that came back, rewards that do not differ, or too few zeros."""
    kind = rng.randrange(4)
    if kind == 0:
        return printed(rng, [row(rng, grad=f"{rng.uniform(1, 9):.2f}e-05") for _ in range(rng.randint(3, 12))])
    if kind == 1:
        return printed(rng, [*(row(rng, grad="0.0") for _ in range(rng.randint(2, 12))), row(rng)])
    if kind == 2:
        return printed(rng, [row(rng, grad="0.0", reward="1.0", spread="0.0") for _ in range(rng.randint(3, 12))])
    return printed(rng, [*_good(rng, 4, 9), *(row(rng, grad="0.0") for _ in range(rng.randint(1, 4)))])


def is_no_gradient(flags: frozenset[str]) -> bool:
    """No gradient, and rewards to learn from."""
    return "no-learning-signal" in flags and "reward-dead" not in flags


def grad_alone(rng: Random) -> bytes:
    """The gradient leaves its limit for some steps; nothing else is printed that is a signal."""
    spikes = [row(rng, grad=f"{rng.uniform(3, 20):.2f}", reward=f"{rng.uniform(0.1, 0.3):.3f}") for _ in range(3)]
    return printed(rng, [*_good(rng, 3, 12), *spikes[: rng.randint(2, 3)]], rng.randrange(1, 400))


def grad_and_more(rng: Random) -> bytes:
    """One spike, or a second signal at the same step, which is more than something to watch."""
    if rng.random() < 0.5:
        return printed(rng, [*_good(rng, 11, 14), row(rng, grad="6.7"), row(rng)][: rng.choice((None, -1))])
    good = [{**one, "entropy": f"{rng.uniform(0.5, 0.52):.3f}"} for one in _good(rng, 11, 14)]
    bad = [{**row(rng, grad=f"{rng.uniform(3, 20):.2f}"), "entropy": "0.110"} for _ in range(2)]
    return printed(rng, [*good, *bad])


def is_one_signal(flags: frozenset[str]) -> bool:
    """To be watched, and no collapse."""
    return "rl-grad-warning" in flags and "rl-collapse" not in flags


def dead_reward(rng: Random) -> bytes:
    """Reward and its spread fall to zero and stay there; the gradient is zero with them, or is not."""
    grad = rng.choice(("0.0", None))
    dead = [row(rng, grad=grad, reward="0.0", spread="0.0") for _ in range(rng.randint(5, 12))]
    return printed(rng, [*rng.choice(([], _good(rng, 2, 9))), *dead])


def living_reward(rng: Random) -> bytes:
    """Zeros that are too few, that ended, or that differ."""
    kind = rng.randrange(3)
    if kind == 0:
        return printed(
            rng, [*_good(rng, 2, 9), *(row(rng, reward="0.0", spread="0.0") for _ in range(rng.randint(1, 4)))]
        )
    dead = [row(rng, reward="0.0", spread="0.0" if kind == 1 else None) for _ in range(rng.randint(5, 12))]
    return printed(rng, [*dead, *(_good(rng, 1, 3) if kind == 1 else ())])


def is_dead_reward(flags: frozenset[str]) -> bool:
    """Nothing is rewarded any more, which explains a gradient of zero."""
    return "reward-dead" in flags


def not_a_number(rng: Random) -> bytes:
    """The newest row holds a number that is none."""
    if rng.random() < 0.5:
        return _iterations(
            rng, [f"{rng.uniform(0.2, 0.9):.3f}"] * rng.randrange(4) + [rng.choice(("nan", "NaN", "inf"))]
        )
    bad = rng.choice((row(rng, grad="nan"), row(rng, reward="nan"), row(rng, grad="inf")))
    return printed(rng, [*_good(rng, 1, 9), bad])


def numbers_again(rng: Random) -> bytes:
    """Words of NaN beside numbers, or a row of NaN that others follow."""
    if rng.random() < 0.5:
        return _iterations(rng, [rng.choice(("nan", "0.4")), *(f"{rng.uniform(0.2, 0.9):.3f}" for _ in range(3))])
    return printed(rng, [row(rng, grad="nan"), *_good(rng, 1, 4)]) + b"INFO checked for nan: none\n"


def _iterations(rng: Random, norms: Sequence[str]) -> bytes:
    first = rng.randrange(1, 9000)
    lines = [
        f" iteration {first + number:8d}/  250000 | consumed samples: {8 * (first + number):12d} | elapsed time per "
        f"iteration (ms): {rng.uniform(900, 9000):.1f} | learning rate: 2.999E-04 | grad norm: {norm} | number of "
        "skipped iterations:   0 | number of nan iterations:   0 |"
        for number, norm in enumerate(norms)
    ]
    return ("\n".join(lines) + "\n").encode()


def is_nan(flags: frozenset[str]) -> bool:
    """Critical while it runs, and no failure yet."""
    return "rl-nan" in flags and "failure" not in flags


_SENT = "Submitted batch job {}"
_LOST = (
    "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
    "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
    "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
    "sbatch: error: slurm_receive_msg: Socket timed out on send/recv operation",
)
_REFUSED = (
    "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy",
    "sbatch: error: Batch job submission failed: Requested node configuration is not available",
    'sbatch: error: Invalid --time specification "1x"',
    "INFO the last upload timed out, tried again",
)


def lost_contact(rng: Random) -> bytes:
    """Of several submissions one lost contact."""
    return _submissions(rng, rng.choice(_LOST))


def refused(rng: Random) -> bytes:
    """Of several submissions one was refused for a reason, or something else timed out."""
    return _submissions(rng, rng.choice(_REFUSED))


def _submissions(rng: Random, said: str) -> bytes:
    first = rng.randrange(100_000, 9_999_999)
    lines = [_SENT.format(first + number) for number in range(rng.randint(1, 6))]
    lines.insert(rng.randint(0, len(lines)), said)
    return ("\n".join(lines) + "\n").encode()


def is_uncertain(flags: frozenset[str]) -> bool:
    """A job may be there of which no id is known."""
    return "submit-uncertain" in flags
